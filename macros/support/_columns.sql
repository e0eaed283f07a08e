{# The columns of a query, or of a relation, in order: a list of {name, type, ddl, comment}; `type` is `ddl` in lower
   case, for comparing. Plans the query, runs nothing. #}
{% macro _columns_of(query=none, relation=none) %}
    {%- set from = relation if query is none else '(\n' ~ query ~ '\n)' -%}
    {%- set described = run_query('describe table ' ~ relation if query is none
        else 'describe query select * from ' ~ from) -%}
    {{ return(floodmark._with_exact_types(floodmark._described_columns(described.rows, query is not none), from)) }}
{% endmacro %}


{# Columns of a DESCRIBE, with the types of structs read again: DESCRIBE prints the names of fields bare, so `a:int,b`
   may be one name or two fields, and cuts long types short. Spark describes only views as JSON. `from` is what stands
   in a FROM. #}
{% macro _with_exact_types(columns, from) %}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- set nested = [] -%}
    {#- a table of snapshots has this struct of two numbers, whose type DESCRIBE prints as it is -#}
    {%- for column in columns if 'struct<' in column.type and column.name != '_floodmark_hash' -%}
        {%- do nested.append(column) -%}
    {%- endfor -%}
    {#- a view cannot have one name twice: what does is refused, whatever its types -#}
    {%- if not nested or names | unique | list | length < names | length -%}
        {{ return(columns) }}
    {%- endif -%}
    {%- set view = '_floodmark_types' -%}
    {%- do floodmark._execute(['create or replace temporary view ' ~ view ~ ' as select * from ' ~ from]) -%}
    {%- set exact = floodmark._query_json('describe table extended ' ~ view ~ ' as json')[0].columns -%}
    {%- do floodmark._execute(['drop view if exists ' ~ view]) -%}
    {%- for column in nested -%}
        {%- set ddl = floodmark._type_ddl(exact[columns.index(column)].type) -%}
        {%- do column.update({'ddl': ddl, 'type': ddl | lower}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The columns in the rows of a DESCRIBE, in order; those that partition a table have `is_partition`. Of a query all
   rows are columns, and a name may be empty. #}
{% macro _described_columns(rows, is_query=false) %}
    {%- set columns = [] -%}
    {%- set ns = namespace(heading=none) -%}
    {%- for row in rows -%}
        {#- what follows an empty name or such a heading is partitioning, not columns -#}
        {%- if is_query -%}
        {%- elif not row[0] or row[0].startswith('# ') and not row[1] -%}
            {%- set ns.heading = row[0] -%}
        {%- elif row[0] == '# col_name' -%}
            {%- set ns.heading = ns.heading or row[0] -%}
        {%- endif -%}
        {%- if ns.heading is none -%}
            {%- do columns.append({'name': row[0], 'type': row[1] | lower, 'ddl': row[1], 'comment': row[2]}) -%}
        {%- elif ns.heading == '# Partition Information' -%}
            {#- here Spark quotes a name that is no plain one -#}
            {%- set column = floodmark._find_column(columns, row[0])
                or floodmark._find_column(columns, floodmark._unquoted(row[0])) -%}
            {%- do column.update({'is_partition': true}) if column -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# What a relation is: {columns, provider}; provider is `delta`, another format's name, or none for a view. dbt's
   cache does not tell the format of a table that this invocation has made. #}
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


{# The columns of a list that have one of these names, in the order of the names. #}
{% macro _columns_named(columns, names) %}
    {%- set found = [] -%}
    {%- for name in names -%}
        {%- do found.append(floodmark._find_column(columns, name)) -%}
    {%- endfor -%}
    {{ return(found | reject('none') | list) }}
{% endmacro %}


{# The entry of `columns` whose name equals `name` without regard to case, or none. #}
{% macro _find_column(columns, name) %}
    {%- for column in columns if column.name | lower == name | lower -%}
        {{ return(column) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The columns but those of these names. #}
{% macro _without_columns(columns, names) %}
    {%- set names = names | map('lower') | list -%}
    {%- set found = [] -%}
    {%- for column in columns if column.name | lower not in names -%}
        {%- do found.append(column) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Columns without floodmark's own. #}
{% macro _without_own_names(columns) %}
    {%- set found = [] -%}
    {%- for column in columns if not column.name.startswith('_floodmark_') -%}
        {%- do found.append(column) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
