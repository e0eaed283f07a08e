{# A table's properties, as a mapping. #}
{% macro _properties_of(relation) %}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation).rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{# Set properties of the model's table, or of another. #}
{% macro _set_properties(properties, relation=none) %}
    {%- do floodmark._execute(['alter table ' ~ (relation or this) ~ ' set tblproperties '
        ~ floodmark._properties_sql(properties)]) -%}
{% endmacro %}


{# Properties as SQL: the list behind TBLPROPERTIES. #}
{% macro _properties_sql(properties) %}
    {%- set pairs = [] -%}
    {%- for name, value in properties.items() -%}
        {%- do pairs.append(floodmark._string_literal(name) ~ ' = ' ~ floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {{ return('(' ~ pairs | join(', ') ~ ')') }}
{% endmacro %}


{# A text as a table property holds it, in hex digits: Spark blacks out properties that look like a secret or have a
   url in them. #}
{% macro _to_property(text) %}
    {{ return(text.encode('utf-8').hex()) }}
{% endmacro %}


{# The text that a property holds; none where it holds none of ours. #}
{% macro _from_property(value) %}
    {{ return(''.encode('utf-8').fromhex(value).decode('utf-8')
        if value and modules.re.fullmatch('([0-9a-f][0-9a-f])+', value) else none) }}
{% endmacro %}
