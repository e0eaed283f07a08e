{# The rows of a query that yields one JSON text a row, parsed: exact on session and Thrift alike, where types differ.
   #}
{% macro _query_json(sql) %}
    {%- set rows = [] -%}
    {%- for value in run_query(sql).columns[0].values() -%}
        {%- do rows.append(fromjson(value)) -%}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}


{# Execute statements in order, without results. #}
{% macro _execute(statements) %}
    {%- for sql in statements -%}
        {%- call statement('floodmark', auto_begin=false) -%}{{ sql }}{%- endcall -%}
    {%- endfor -%}
{% endmacro %}
