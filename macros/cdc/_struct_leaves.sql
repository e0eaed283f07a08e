{# The column in which a row remembers its last event, and SQL of that event's sequence. #}
{% macro _memory_column(cdc) %}
    {{ return('_floodmark_columns' if floodmark._ignores_nulls(cdc) else '_floodmark_sequence') }}
{% endmacro %}


{% macro _row_sequence(cdc, prefix='') %}
    {{ return(prefix ~ ('_floodmark_columns.sequence' if floodmark._ignores_nulls(cdc) else '_floodmark_sequence')) }}
{% endmacro %}


{# The type of `_floodmark_columns`, for a sequence type. #}
{% macro _memory_type(type) %}
    {{ return('struct<sequence:' ~ type ~ ',deleted_at:' ~ type ~ ',set:map<string,' ~ type ~ '>>') }}
{% endmacro %}


{# The own columns whose NULLs are ignored, those that are written as they come, and the leaves of the first:
   {ignoring, plain, leaves}; a leaf is {path, column, sql, type}. A column that the events lack stays as it was: as
   one of the first in SCD 1, which has one row of a key; in SCD 2 as the event before had it, so that a NULL which
   was set stays one. #}
{% macro _leaves_of(run, own, given) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = run.settings.unique_key | map('lower') | list -%}
    {%- set listed = none if cdc.ignore_null_updates is sameas true
        else cdc.ignore_null_updates | map('lower') | list -%}
    {%- set found = {'ignoring': [], 'plain': [], 'leaves': []} -%}
    {%- for column in own if column.name | lower not in keys -%}
        {%- if listed is none or column.name | lower in listed
            or cdc.scd_type == 1 and not floodmark._find_column(given, column.name) -%}
            {%- do found.ignoring.append(column) -%}
            {%- do found.leaves.extend(floodmark._leaves(floodmark._path_part(column.name),
                floodmark._quoted(column.name), column.name, column.ddl)) -%}
        {%- else -%}
            {%- do found.plain.append(column) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The leaves of a column or field: itself, or those of its fields where it is a struct. #}
{% macro _leaves(path, sql, column, type) %}
    {%- if not type.startswith('struct<') -%}
        {{ return([{'path': path, 'column': column, 'sql': sql, 'type': type}]) }}
    {%- endif -%}
    {%- set leaves = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- do leaves.extend(floodmark._leaves(path ~ '.' ~ floodmark._path_part(field.name),
            sql ~ '.' ~ floodmark._quoted(field.name), column, field.type)) -%}
    {%- endfor -%}
    {{ return(leaves) }}
{% endmacro %}


{# A column put together from its leaves; `values` maps a leaf's path to SQL. A struct none of whose leaves has a
   value is NULL. #}
{% macro _from_leaves_sql(path, type, values) %}
    {%- if not type.startswith('struct<') -%}
        {{ return(values[path]) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- do parts.append(floodmark._string_literal(field.name) ~ ', '
            ~ floodmark._from_leaves_sql(path ~ '.' ~ floodmark._path_part(field.name), field.type, values)) -%}
    {%- endfor -%}
    {%- set filled = [] -%}
    {%- for leaf in floodmark._leaves(path, '', '', type) -%}
        {%- do filled.append(values[leaf.path] ~ ' is not null') -%}
    {%- endfor -%}
    {{ return('if(' ~ filled | join(' or ') ~ ', cast(named_struct(' ~ parts | join(', ') ~ ') as ' ~ type
        ~ '), null)') }}
{% endmacro %}


{# The map of leaves that have a value to the sequences that set them; `at` maps a leaf's path to SQL. #}
{% macro _set_sql(leaves, at, type) %}
    {%- set entries = [] -%}
    {%- if not leaves -%}
        {{ return('cast(map() as map<string,' ~ type ~ '>)') }}
    {%- endif -%}
    {%- for leaf in leaves -%}
        {%- do entries.append('struct(' ~ floodmark._string_literal(leaf.path) ~ ' as key, ' ~ at[leaf.path]
            ~ ' as value)') -%}
    {%- endfor -%}
    {{ return('cast(map_from_entries(filter(array(' ~ entries | join(', ')
        ~ '), e -> e.value is not null)) as map<string,' ~ type ~ '>)') }}
{% endmacro %}


{# A hash of a leaf's value. #}
{% macro _leaf_hash_sql(leaf, value) %}
    {{ return(floodmark._value_hash_sql(value, leaf.type)) }}
{% endmacro %}


{# The paths of the leaves of a relation's columns. #}
{% macro _leaf_paths(columns) %}
    {%- set paths = [] -%}
    {%- for column in columns -%}
        {%- do paths.extend(floodmark._leaves(floodmark._path_part(column.name), '', '', column.ddl)
            | map(attribute='path') | map('lower') | list) -%}
    {%- endfor -%}
    {{ return(paths) }}
{% endmacro %}
