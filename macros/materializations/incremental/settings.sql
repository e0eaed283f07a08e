{# A floodmark setting of this model, from config or from `meta: {floodmark: {...}}`; none where it is not set. #}
{% macro _setting(name) %}
    {%- set meta = config.get('meta') or {} -%}
    {{ return(config.get(name) if config.get(name) is not none else (meta.get('floodmark') or {}).get(name)) }}
{% endmacro %}


{# Whether the model uses a setting of floodmark's; all others load exactly as in dbt-spark. #}
{% macro _is_managed() %}
    {%- for name in ['watermark', 'files', 'expectations', 'cdc', 'snapshot_diff'] if floodmark._setting(name) is not none -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# The validated settings of this model as one mapping: durations as they were written, unique_key a list. #}
{% macro _settings() %}
    {%- do floodmark._validate_settings() -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- set unique_key = config.get('unique_key') or [] -%}
    {%- set settings = {
        'strategy': config.get('incremental_strategy') or 'append',
        'unique_key': [unique_key] if unique_key is string else unique_key | list,
        'on_schema_change': config.get('on_schema_change') or 'ignore',
        'files': floodmark._setting('files'),
        'watermark': none,
    } -%}
    {%- if watermark is not none -%}
        {%- do settings.update({'watermark': {
            'column': watermark.column,
            'kind': watermark.get('kind'),
            'from': watermark.get('from'),
            'lookback': watermark.get('lookback'),
            'step': watermark.get('step'),
            'start': watermark.get('start'),
            'nulls': watermark.get('nulls', 'error'),
            'max_future': watermark.get('max_future', '1 day'),
            'gaps': watermark.get('gaps', 'warn'),
        }}) -%}
    {%- endif -%}
    {{ return(settings) }}
{% endmacro %}
