{# Names of columns as settings give them: bare, or quoted as in dbt-spark's configs (`id`, "id"). #}

{# A name without its quotes. #}
{% macro _column_name(text) %}
    {%- set text = text | string | trim -%}
    {%- for quote in ['`', '"'] if text | length > 2 and text[0] == quote and text[-1] == quote and not modules.re.search('(?<!' ~ quote ~ ')' ~ quote ~ '(?!' ~ quote ~ ')', text[1:-1]) -%}
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


{# The same of one name; none stays none. #}
{% macro _bare_name(value) %}
    {{ return(floodmark._column_name(value) if value is string else value) }}
{% endmacro %}


{# An expression that is no more than a quoted name, as SQL takes it: between double quotes it would be a text. #}
{% macro _bare_expression(value) %}
    {{ return(floodmark._quoted(floodmark._column_name(value)) if value is string and modules.re.fullmatch('"[^"]+"', value | trim) else value) }}
{% endmacro %}
