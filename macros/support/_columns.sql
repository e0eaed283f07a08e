{# The columns of a query, or of a relation, in order: a list of {name, type}. Plans the query, runs nothing. #}
{% macro _columns_of(query=none, relation=none) %}
    {%- if relation is none -%}
        {%- set described = run_query('describe query select * from (\n' ~ query ~ '\n)') -%}
    {%- else -%}
        {%- set described = run_query('describe table ' ~ relation) -%}
    {%- endif -%}
    {{ return(floodmark._described_columns(described.rows)) }}
{% endmacro %}


{# The columns in the rows of a DESCRIBE, in order: a list of {name, type, ddl, comment}; `type` in lower case, for comparing. #}
{% macro _described_columns(rows) %}
    {%- set columns = [] -%}
    {%- set ns = namespace(done=false) -%}
    {%- for row in rows -%}
        {#- what follows an empty name or such a heading is partitioning, not columns -#}
        {%- if not row[0] or row[0].startswith('# ') and not row[1] or row[0] == '# col_name' -%}
            {%- set ns.done = true -%}
        {%- endif -%}
        {%- if not ns.done -%}
            {%- do columns.append({'name': row[0], 'type': row[1] | lower, 'ddl': row[1], 'comment': row[2]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# What a relation is: {columns, provider}; provider is `delta`, another format's name, or none for a view. dbt's cache does
   not tell the format of a table that this invocation has made. #}
{% macro _describe(relation) %}
    {%- set rows = run_query('describe table extended ' ~ relation).rows -%}
    {%- set ns = namespace(in_details=false, provider=none) -%}
    {%- for row in rows -%}
        {%- set ns.in_details = ns.in_details or row[0] == '# Detailed Table Information' -%}
        {%- if ns.in_details and row[0] == 'Provider' -%}
            {%- set ns.provider = row[1] | lower -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'columns': floodmark._described_columns(rows), 'provider': ns.provider}) }}
{% endmacro %}


{# A relation as the ledger names it: schema.table. #}
{% macro _relation_name(relation) %}
    {{ return(relation.schema ~ '.' ~ relation.identifier) }}
{% endmacro %}


{# The entry of `columns` whose name equals `name` without regard to case, or none. #}
{% macro _find_column(columns, name) %}
    {%- for column in columns if column.name | lower == name | lower -%}
        {{ return(column) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}
