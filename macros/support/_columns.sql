{# The columns of a query, or of a relation, in order: a list of {name, type}. Plans the query, runs nothing. #}
{% macro _columns_of(query=none, relation=none) %}
    {%- if relation is none -%}
        {%- set described = run_query('describe query select * from (\n' ~ query ~ '\n)') -%}
    {%- else -%}
        {%- set described = run_query('describe table ' ~ relation) -%}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- set ns = namespace(done=false) -%}
    {%- for row in described.rows -%}
        {#- what follows an empty name or a '#' is partitioning, not columns -#}
        {%- if not row[0] or row[0].startswith('#') -%}
            {%- set ns.done = true -%}
        {%- endif -%}
        {%- if not ns.done -%}
            {%- do columns.append({'name': row[0], 'type': row[1] | lower, 'comment': row[2]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The entry of `columns` whose name equals `name` without regard to case, or none. #}
{% macro _find_column(columns, name) %}
    {%- for column in columns if column.name | lower == name | lower -%}
        {{ return(column) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}
