{# A floodmark setting of this model, from config or from `meta: {floodmark: {...}}`; none where it is not set. #}
{% macro _setting(name) %}
    {{ return(floodmark._configured(config, name)) }}
{% endmacro %}


{# The same in any config: this model's, or that of a node in the graph. A null in a mapping is as if it were not there. #}
{% macro _configured(settings, name) %}
    {%- set meta = settings.get('meta') or {} -%}
    {%- set found = settings.get(name) if settings.get(name) is not none else (meta.get('floodmark') or {}).get(name) -%}
    {%- if found is not mapping -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set given = {} -%}
    {%- for key, value in found.items() if value is not none -%}
        {%- do given.update({key: value}) -%}
    {%- endfor -%}
    {{ return(given) }}
{% endmacro %}


{# The settings that make a model floodmark's. #}
{% macro _managing_settings() %}
    {{ return(['watermark', 'files', 'expectations', 'cdc', 'snapshot_diff']) }}
{% endmacro %}


{# Whether a model, this one or that of another config, uses a setting of floodmark's; all others load exactly as in dbt-spark. #}
{% macro _is_managed(settings=none) %}
    {%- set settings = config if settings is none else settings -%}
    {%- for name in floodmark._managing_settings() if floodmark._configured(settings, name) is not none -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(settings.get('incremental_strategy') in ['cdc', 'snapshot_diff']) }}
{% endmacro %}


{# The validated settings of this model as one mapping: durations as they were written, unique_key a list. #}
{% macro _settings() %}
    {%- do floodmark._validate_settings() -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- set unique_key = config.get('unique_key') or [] -%}
    {%- set partition_by = config.get('partition_by') or [] -%}
    {%- set settings = {
        'strategy': config.get('incremental_strategy') or 'append',
        'unique_key': [unique_key] if unique_key is string else unique_key | list,
        'on_schema_change': config.get('on_schema_change') or 'ignore',
        'files': floodmark._setting('files'),
        'cdc': floodmark._cdc_settings(),
        'snapshot': floodmark._snapshot_settings(),
        'partition_by': [partition_by] if partition_by is string else partition_by | list,
        'watermark': none,
    } -%}
    {%- if watermark is not none -%}
        {%- do settings.update({'watermark': {
            'column': watermark.get('column'),
            'kind': watermark.get('kind'),
            'from': watermark.get('from'),
            'lookback': watermark.get('lookback'),
            'step': watermark.get('step'),
            'start': watermark.get('start'),
            'nulls': watermark.get('nulls', 'error'),
            'max_future': watermark.get('max_future', '1 day'),
            'gaps': watermark.get('gaps', 'warn'),
            'gap_timeout': watermark.get('gap_timeout', '1 hour'),
            'sql': watermark.get('sql'),
        }}) -%}
    {%- endif -%}
    {{ return(settings) }}
{% endmacro %}
