{# Names of columns as settings give them: bare, or quoted as in dbt-spark's configs (`id`, "id"). #}

{# A name without its quotes. #}
{% macro _column_name(text) %}
    {%- set text = text | string | trim -%}
    {%- for quote in ['`', '"'] if text | length > 2 and text[0] == quote and text[-1] == quote
        and not modules.re.search('(?<!' ~ quote ~ ')' ~ quote ~ '(?!' ~ quote ~ ')', text[1:-1]) -%}
        {{ return(text[1:-1] | replace(quote ~ quote, quote)) }}
    {%- endfor -%}
    {{ return(text) }}
{% endmacro %}


{# A name or a list of names, as a list without quotes. What is no text stays, for a check to refuse. #}
{% macro _name_list(value) %}
    {%- set names = [] -%}
    {%- for name in floodmark._as_list(value) -%}
        {%- do names.append(floodmark._column_name(name) if name is string else name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# The same of names of columns: each once, in whatever case it comes again. #}
{% macro _distinct_names(value) %}
    {%- set names = [] -%}
    {%- for name in floodmark._name_list(value) -%}
        {%- do names.append(name) if name | lower not in names | map('lower') -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# A name without its quotes; what is not a text, such as none, stays. #}
{% macro _bare_name(value) %}
    {{ return(floodmark._column_name(value) if value is string else value) }}
{% endmacro %}


{# An expression that is no more than a quoted name, as SQL takes it: between double quotes it would be a text. #}
{% macro _bare_expression(value) %}
    {{ return(floodmark._quoted(floodmark._column_name(value))
        if value is string and modules.re.fullmatch('"[^"]+"', value | trim) else value) }}
{% endmacro %}


{# Whether a setting is a name or a list of names. #}
{% macro _is_names(value) %}
    {%- set values = [value] if value is string else value -%}
    {%- if values is none or values is undefined or values is mapping or values is not sequence or not values -%}
        {{ return(false) }}
    {%- endif -%}
    {%- for name in values if name is not string or not name | trim -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{# A value of a setting as a list; what is neither a list nor none is its only member. #}
{% macro _as_list(value) %}
    {%- set is_list = value is iterable and value is not string and value is not mapping -%}
    {{ return([] if value is none or value is undefined else (value | list if is_list else [value])) }}
{% endmacro %}


{# A name as a part of a path: in backticks where it has a dot, so that a column `a.b` is not the field b of a column
   a. #}
{% macro _path_part(name) %}
    {{ return(floodmark._quoted(name) if '.' in name or '`' in name else name) }}
{% endmacro %}
