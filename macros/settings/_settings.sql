{# A floodmark setting of this model, from config or from `meta: {floodmark: {...}}`; none where it is not set. #}
{% macro _setting(name) %}
    {{ return(floodmark._configured(config, name)) }}
{% endmacro %}


{# A floodmark setting in a config, this model's or that of a node in the graph; none if it is not set. A mapping comes
   without the keys whose value is null, and with bare names of columns. #}
{% macro _configured(settings, name) %}
    {%- set in_meta = floodmark._meta_settings(settings) -%}
    {%- set found = settings.get(name) -%}
    {%- if found is none and in_meta is mapping -%}
        {%- set found = in_meta.get(name) -%}
    {%- endif -%}
    {%- if found is not mapping -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set given = {} -%}
    {%- for key, value in found.items() if value is not none -%}
        {%- do given.update({key: value}) -%}
    {%- endfor -%}
    {{ return(floodmark._with_bare_names(given)) }}
{% endmacro %}


{# What `meta: {floodmark: ...}` of a config holds: a mapping, or what somebody wrote in its place; none where it is
   not there. #}
{% macro _meta_settings(settings) %}
    {{ return((settings.get('meta') or {}).get('floodmark')) }}
{% endmacro %}


{# A mapping of settings with the names of columns bare, however they were quoted. #}
{% macro _with_bare_names(given) %}
    {%- set lists = ['column_list', 'except_column_list', 'track_history_column_list',
        'track_history_except_column_list', 'compare_columns', 'except_columns', 'ignore_null_updates'] -%}
    {%- for key, value in given.items() -%}
        {%- if key in ['column', 'start_at', 'end_at', 'version', 'rescued_data_column', 'single_variant_column'] -%}
            {%- do given.update({key: floodmark._bare_name(value)}) -%}
        {%- elif key in lists and value is not boolean and value is not mapping and value is sequence -%}
            {%- do given.update({key: floodmark._name_list(value)}) -%}
        {%- elif key == 'sequence_by' and value is not mapping and value is sequence -%}
            {%- set expressions = [] -%}
            {%- for one in floodmark._as_list(value) -%}
                {%- do expressions.append(floodmark._bare_expression(one)) -%}
            {%- endfor -%}
            {%- do given.update({key: expressions[0] if value is string else expressions}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(given) }}
{% endmacro %}


{# The text of this model's SELECT: once it is compiled also what ephemeral models, macros and variables give it. #}
{% macro _model_text() %}
    {{ return(model.get('compiled_code') or model.raw_code) }}
{% endmacro %}


{# The code of a model without the comments of Jinja. #}
{% macro _without_jinja_comments(code) %}
    {{ return(modules.re.sub('(?s)\\{#.*?#\\}', '', code)) }}
{% endmacro %}


{# Whether this model calls is_incremental(): in its Jinja, and not in a comment. #}
{% macro _is_guarded() %}
    {{ return(modules.re.search('(?s)\\{%(?:(?!%\\}).)*?is_incremental\\s*\\('
        ~ '|\\{\\{(?:(?!\\}\\}).)*?is_incremental\\s*\\(',
        floodmark._without_jinja_comments(model.raw_code)) is not none) }}
{% endmacro %}


{# Whether this model calls macros of its own package: one may have a guard in it. #}
{% macro _calls_own_macros() %}
    {%- for id in (model.get('depends_on') or {}).get('macros') or []
        if id.split('.')[1] == model.package_name -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# The settings that make a model floodmark's. #}
{% macro _managing_settings() %}
    {{ return(['watermark', 'files', 'expectations', 'cdc', 'snapshot_diff']) }}
{% endmacro %}


{# Whether a model, this one or that of another config, uses a setting of floodmark's; all others load exactly as in
   dbt-spark. #}
{% macro _is_managed(settings=none) %}
    {%- set settings = config if settings is none else settings -%}
    {%- for name in floodmark._managing_settings() if floodmark._configured(settings, name) is not none -%}
        {{ return(true) }}
    {%- endfor -%}
    {#- settings that cannot be read are refused, not passed over -#}
    {%- set in_meta = floodmark._meta_settings(settings) -%}
    {%- set is_odd = in_meta is not none and in_meta is not mapping
        or floodmark._misplaced_in_meta(in_meta) != [] -%}
    {{ return(is_odd or settings.get('incremental_strategy') in ['cdc', 'snapshot_diff']) }}
{% endmacro %}


{# The validated settings of this model as one mapping: durations as they were written, unique_key a list. #}
{% macro _settings() %}
    {%- do floodmark._validate_settings() -%}
    {{ return({
        'strategy': config.get('incremental_strategy') or 'append',
        'unique_key': floodmark._distinct_names(config.get('unique_key')),
        'on_schema_change': floodmark._on_schema_change(),
        'files': floodmark._files_settings(),
        'expectations': floodmark._expectations(),
        'cdc': floodmark._cdc_settings(),
        'snapshot': floodmark._snapshot_settings(),
        'partition_by': floodmark._distinct_names(config.get('partition_by')),
        'watermark': floodmark._watermark_settings(),
    }) }}
{% endmacro %}


{# What becomes of new columns. The table of files has all columns that the files' schema has, since those are not
   rescued: dbt does not tell its default, 'ignore', from one that somebody wrote. #}
{% macro _on_schema_change() %}
    {%- set mode = config.get('on_schema_change') or 'ignore' -%}
    {{ return('append_new_columns' if mode == 'ignore' and floodmark._setting('files') is mapping else mode) }}
{% endmacro %}
