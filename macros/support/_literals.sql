{# A SQL string literal, safe for quotes, backslashes and line ends; `null` for none and undefined. #}
{% macro _string_literal(value) %}
    {%- if value is none or value is undefined -%}
        {{ return('null') }}
    {%- endif -%}
    {{ return("'" ~ (value | string
        | replace('\\', '\\\\') | replace("'", "\\'") | replace('\n', '\\n') | replace('\r', '\\r')) ~ "'") }}
{% endmacro %}


{# A column name in backticks, safe for backticks inside. #}
{% macro _quoted(name) %}
    {{ return('`' ~ (name | replace('`', '``')) ~ '`') }}
{% endmacro %}


{# Column names in backticks, each behind `prefix`, separated by commas. #}
{% macro _quoted_csv(names, prefix='') %}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return(quoted | join(', ')) }}
{% endmacro %}


{# A count and its noun, such as '1 row' and '1,200 rows'. #}
{% macro _counted(count, noun) %}
    {{ return('{:,} '.format(count) ~ noun ~ ('' if count == 1 else 's')) }}
{% endmacro %}
