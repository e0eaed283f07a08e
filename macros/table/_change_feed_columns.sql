{# The columns of a batch that its table has: all but those that changes() put beside them. Of a model that does not
   read changes(), columns of these names are the analyst's. #}
{% macro _target_columns(run, columns) %}
    {{ return(floodmark._without_columns(columns, floodmark._change_columns()) if floodmark._reads_changes(run)
        else columns) }}
{% endmacro %}


{# What changes() is to read, now that the whole SELECT is known: one that names _change_type says itself what a
   deleted row means. Texts and comments name nothing, nor does a list of columns that are left out. #}
{% macro _kind_of_changes(kind, code) %}
    {{ return('' if kind == 'events' and '_change_type' in floodmark._words_beside_changes(code) else kind) }}
{% endmacro %}


{# The text of a SELECT in lower case, without its changes(), texts, comments and lists of columns that are left out. #}
{% macro _words_beside_changes(code) %}
    {%- set outside = modules.re.sub('/\\*floodmark:changes .*?/\\*floodmark:end\\*/', ' ', code,
        flags=modules.re.S) -%}
    {%- set words = floodmark._without_strings(floodmark._without_jinja_comments(outside)) | lower -%}
    {{ return(modules.re.sub('\\bexcept\\s*\\((?![^)]*\\bselect\\b)[^()]*\\)', ' ', words)) }}
{% endmacro %}


{# Whether the model reads changes(). #}
{% macro _reads_changes(run) %}
    {{ return(run.settings.watermark is not none and run.settings.watermark.kind == 'version') }}
{% endmacro %}


{# The columns that changes() adds: Delta keeps their names for itself, so no table with a change feed can have them. #}
{% macro _change_columns() %}
    {{ return(['_change_type', '_commit_version']) }}
{% endmacro %}


{# The SELECT without the columns of the change feed, as its table has it. #}
{% macro _without_change_columns(run, select_sql) %}
    {%- if not floodmark._reads_changes(run) -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {%- set columns = floodmark._target_columns(run, floodmark._columns_of(query=select_sql)) -%}
    {{ return('select ' ~ floodmark._quoted_csv(columns | map(attribute='name') | list) ~ ' from (\n' ~ select_sql
        ~ '\n)') }}
{% endmacro %}
