{#
  A diff in SQL: the rows of A and B, stacked, fall into one row a key, which has the values of both. Grouping puts NULL
  keys together, -0.0 to 0.0 and NaN to NaN, needs no join, and reads each side once.
#}

{# WITH ... compared: one row a key: k0.., in_a and in_b (how many rows), a and b (structs of c0..), d0.. (the column
   differs), change. #}
{% macro _diff_compared_sql(plan) %}
    {%- set keys, differs = [], [] -%}
    {%- for pair in plan.key -%}
        {%- do keys.append('k' ~ loop.index0) -%}
    {%- endfor -%}
    {%- for pair in plan.compared -%}
        {%- set n = loop.index0 -%}
        {%- do differs.append('in_a = 1 and in_b = 1 and not ('
            ~ floodmark._diff_equal_sql('a.c' ~ n, 'b.c' ~ n, pair.a.ddl, pair.b.ddl) ~ ') as d' ~ n) -%}
    {%- endfor -%}
    {%- set updated = 'd' ~ range(differs | length) | join(' or d') if differs else 'false' -%}
    with stacked as (
        select {{ floodmark._diff_key_csv(plan, 'a', 'b') }}, {{ floodmark._diff_row_sql(plan, 'a') }} as a, null as b
        from {{ plan.a.sql }}
        union all
        select {{ floodmark._diff_key_csv(plan, 'b', 'a') }}, null as a, {{ floodmark._diff_row_sql(plan, 'b') }} as b
        from {{ plan.b.sql }}
    ),
    keyed as (
        select {{ keys | join(', ') }}, count(a) as in_a, count(b) as in_b, first(a, true) as a, first(b, true) as b
        from stacked group by {{ keys | join(', ') }}
    ),
    looked as (
        select {{ (['*'] + differs) | join(',\n            ') }}
        from keyed
    ),
    compared as (
        select *, case
            when in_a > 1 or in_b > 1 then 'repeated' when in_b = 0 then 'deleted' when in_a = 0 then 'inserted'
            when {{ updated }} then 'updated' else 'unchanged' end as change
        from looked
    )
{% endmacro %}


{# A SELECT of one JSON row: rows, keys by change, keys that come more than once or have a NULL, and d0.., rows in
   which a column differs. #}
{% macro _diff_counts_sql(plan) %}
    {%- set nulls, counts = [], [] -%}
    {%- for pair in plan.key -%}
        {%- do nulls.append('k' ~ loop.index0 ~ ' is null') -%}
    {%- endfor -%}
    {%- for side in ['a', 'b'] -%}
        {%- do counts.append("'rows_" ~ side ~ "', coalesce(sum(in_" ~ side ~ '), 0)') -%}
    {%- endfor -%}
    {%- for change in ['unchanged', 'updated', 'deleted', 'inserted', 'repeated'] -%}
        {%- do counts.append("'" ~ change ~ "', count_if(change = '" ~ change ~ "')") -%}
    {%- endfor -%}
    {%- for side in ['a', 'b'] -%}
        {%- do counts.append("'repeated_" ~ side ~ "', count_if(in_" ~ side ~ ' > 1)') -%}
    {%- endfor -%}
    {%- for side in ['a', 'b'] -%}
        {%- do counts.append("'null_" ~ side ~ "', count_if(in_" ~ side ~ ' > 0 and (' ~ nulls | join(' or ')
            ~ '))') -%}
    {%- endfor -%}
    {%- for pair in plan.compared -%}
        {%- do counts.append("'d" ~ loop.index0 ~ "', count_if(d" ~ loop.index0 ~ ')') -%}
    {%- endfor -%}
    {{ floodmark._diff_compared_sql(plan) }}
    select to_json(named_struct({{ counts | join(', ') }})) from compared
{% endmacro %}


{# A SELECT of one JSON row a key, at most `limit` of each change: change, key, in_a, in_b, and the columns that
   differ with both values. #}
{% macro _diff_sample_sql(plan, limit) %}
    {%- set keys, named, columns = [], [], [] -%}
    {%- for pair in plan.key -%}
        {%- do keys.append('k' ~ loop.index0) -%}
        {%- do named.append(floodmark._string_literal(pair.name) ~ ', k' ~ loop.index0) -%}
    {%- endfor -%}
    {%- for pair in plan.compared -%}
        {%- set n = loop.index0 -%}
        {%- do columns.append('if(d' ~ n ~ ", named_struct('column', " ~ floodmark._string_literal(pair.name)
            ~ ", 'a', " ~ floodmark._diff_text_sql('a.c' ~ n, pair.a.ddl) ~ ", 'b', "
            ~ floodmark._diff_text_sql('b.c' ~ n, pair.b.ddl) ~ '), null)') -%}
    {%- endfor -%}
    {{ floodmark._diff_compared_sql(plan) }}
    select to_json(named_struct('change', change, 'key',
        {{ floodmark._diff_json_sql('named_struct(' ~ named | join(', ') ~ ')') }}, 'in_a', in_a, 'in_b', in_b,
        'columns', {{'array_compact(array(' ~ columns | join(', ') ~ '))' if columns else 'null' }}),
            map('ignoreNullFields', 'false'))
    from (select *, row_number() over (partition by change order by {{ keys | join(', ') }}) as place from compared
        where change <> 'unchanged')
    where place <= {{ limit }} order by change, place
{% endmacro %}


{# The key columns of one side as k0..; `other` is the side whose types they must meet. #}
{% macro _diff_key_csv(plan, side, other) %}
    {%- set columns = [] -%}
    {%- for pair in plan.key -%}
        {%- set value = floodmark._quoted(pair[side].name) -%}
        {%- set type = pair[side].ddl -%}
        {%- if not floodmark._diff_meets(pair.a.ddl, pair.b.ddl) -%}
            {%- set value = floodmark._diff_common_sql(value, type, pair[other].ddl) -%}
        {%- elif floodmark._diff_is_reordered(pair.a.ddl, pair.b.ddl) -%}
            {%- set value = floodmark._diff_ordered_sql(value, type, by_name=true) -%}
        {%- endif -%}
        {%- do columns.append(value ~ ' as k' ~ loop.index0) -%}
    {%- endfor -%}
    {{ return(columns | join(', ')) }}
{% endmacro %}


{# The compared columns of one side as a struct of c0.., which is never NULL. #}
{% macro _diff_row_sql(plan, side) %}
    {%- set fields = ["'row', true"] -%}
    {%- for pair in plan.compared -%}
        {%- do fields.append("'c" ~ loop.index0 ~ "', " ~ floodmark._quoted(pair[side].name)) -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ fields | join(', ') ~ ')') }}
{% endmacro %}


{# Whether two types compare as they are: equal ones, two numbers, two of dates and times, and structs with the same
   fields in any order. #}
{% macro _diff_meets(type, other) %}
    {%- set families = ['(tinyint|smallint|int|bigint|float|double|decimal\\(.*\\))',
        '(date|timestamp|timestamp_ntz)'] -%}
    {%- for family in families if modules.re.fullmatch(family, type | lower)
        and modules.re.fullmatch(family, other | lower) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(floodmark._diff_by_name(type) == floodmark._diff_by_name(other)) }}
{% endmacro %}


{# Whether two types differ in the order of their fields alone. #}
{% macro _diff_is_reordered(type, other) %}
    {{ return(type | lower != other | lower and floodmark._diff_by_name(type) == floodmark._diff_by_name(other)) }}
{% endmacro %}


{# A type with the fields of its structs in the order of their names, at whatever depth: fields meet by name. #}
{% macro _diff_by_name(type) %}
    {%- set type = type | lower -%}
    {%- if type.startswith('array<') -%}
        {{ return('array<' ~ floodmark._diff_by_name(type[6:-1]) ~ '>') }}
    {%- elif type.startswith('map<') -%}
        {%- set key, value = floodmark._map_types(type) -%}
        {{ return('map<' ~ floodmark._diff_by_name(key) ~ ',' ~ floodmark._diff_by_name(value) ~ '>') }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(type) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for field in floodmark._struct_fields(type) | sort(attribute='name') -%}
        {%- do parts.append(floodmark._quoted(field.name) ~ ':' ~ floodmark._diff_by_name(field.type)) -%}
    {%- endfor -%}
    {{ return('struct<' ~ parts | join(',') ~ '>') }}
{% endmacro %}


{# A predicate: two values are equal, or both NULL. Types that Spark does not compare as they are meet as text. #}
{% macro _diff_equal_sql(left, right, type, other) %}
    {%- if not floodmark._diff_meets(type, other) -%}
        {{ return(floodmark._diff_common_sql(left, type, other) ~ ' <=> '
            ~ floodmark._diff_common_sql(right, other, type)) }}
    {%- endif -%}
    {%- set by_name = floodmark._diff_is_reordered(type, other) -%}
    {{ return(floodmark._diff_ordered_sql(left, type, by_name=by_name) ~ ' <=> '
        ~ floodmark._diff_ordered_sql(right, other, by_name=by_name)) }}
{% endmacro %}


{# A value as the text in which it meets a value of another type. A text that can be read as the other type
   without a loss is read so ('007' is 7); another one stays what it is, where Spark would make it NULL, or stop in
   ANSI mode. #}
{% macro _diff_common_sql(value, type, other) %}
    {%- set readable = '(tinyint|smallint|int|bigint|float|double|decimal\\(.*\\)|date|timestamp|timestamp_ntz'
        '|boolean|binary)' -%}
    {%- if type | lower == 'string' and modules.re.fullmatch(readable, other | lower) -%}
        {%- set read = 'try_cast(' ~ value ~ ' as ' ~ other ~ ')' -%}
        {%- if floodmark._type_kind(other).family in ['decimal', 'date', 'timestamp', 'timestamp_ntz'] -%}
            {#- of a text Spark cuts off what the type does not hold -#}
            {%- set read = 'if(' ~ floodmark._cast_holds_sql(value, read, type, other) ~ ', ' ~ read ~ ', null)' -%}
        {%- endif -%}
        {{ return('coalesce(' ~ floodmark._diff_common_sql(read, other, type) ~ ', ' ~ value ~ ')') }}
    {%- elif type | lower in ['float', 'double'] -%}
        {{ return('cast(0D + ' ~ value ~ ' as string)') }}
    {%- endif -%}
    {{ return(floodmark._diff_text_sql(value if type | lower == 'variant'
        else floodmark._diff_ordered_sql(value, type, by_name=true), type)) }}
{% endmacro %}


{# A value as people read it: nested ones as JSON, bytes as hexadecimal digits. #}
{% macro _diff_text_sql(value, type) %}
    {%- if modules.re.match('(?i)(array|map|struct)<|variant', type) -%}
        {{ return(floodmark._diff_json_sql(value)) }}
    {%- endif -%}
    {{ return('hex(' ~ value ~ ')' if type | lower == 'binary' else 'cast(' ~ value ~ ' as string)') }}
{% endmacro %}


{# SQL of a nested value as JSON, with NULLs and microseconds. #}
{% macro _diff_json_sql(value) %}
    {{ return('to_json(' ~ value
        ~ ", map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', "
        "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))") }}
{% endmacro %}


{# A value of which Spark can say whether it equals another: a map as its entries in the order of their keys, a
   variant as its JSON, at whatever depth. NaN and -0.0 inside stay numbers, so they equal what they should. With
   `by_name` the fields of structs come in the order of their names. #}
{% macro _diff_ordered_sql(value, type, depth=0, by_name=false) %}
    {%- set e = 'e' ~ depth -%}
    {%- if not (by_name and 'struct<' in type) and not floodmark._has_no_order(type | lower) -%}
        {{ return(value) }}
    {%- elif type | lower == 'variant' -%}
        {{ return('to_json(' ~ value ~ ')') }}
    {%- elif type.startswith('array<') -%}
        {{ return('transform(' ~ value ~ ', ' ~ e ~ ' -> '
            ~ floodmark._diff_ordered_sql(e, type[6:-1], depth + 1, by_name) ~ ')') }}
    {%- elif type.startswith('struct<') -%}
        {{ return(floodmark._diff_ordered_struct_sql(value, type, depth, by_name)) }}
    {%- elif type.startswith('map<') -%}
        {{ return(floodmark._diff_ordered_map_sql(value, type, depth, by_name)) }}
    {%- endif -%}
    {{ return(value if type | lower == 'void' else 'cast(' ~ value ~ ' as string)') }}
{% endmacro %}


{# A struct whose fields Spark can compare. #}
{% macro _diff_ordered_struct_sql(value, type, depth, by_name) %}
    {%- set named = {} -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- set held = floodmark._diff_ordered_sql(value ~ '.' ~ floodmark._quoted(field.name), field.type, depth,
            by_name) -%}
        {%- set name = field.name | lower if by_name else field.name -%}
        {%- do named.update({name: floodmark._string_literal(name) ~ ', ' ~ held}) -%}
    {%- endfor -%}
    {%- set fields = named.keys() | sort | list if by_name else named.keys() | list -%}
    {%- set parts = [] -%}
    {%- for name in fields -%}
        {%- do parts.append(named[name]) -%}
    {%- endfor -%}
    {{ return('if(' ~ value ~ ' is null, null, named_struct(' ~ parts | join(', ') ~ '))') }}
{% endmacro %}


{# A map as its entries, in the order of their keys. #}
{% macro _diff_ordered_map_sql(value, type, depth, by_name) %}
    {%- set e, l, r = 'e' ~ depth, 'l' ~ depth, 'r' ~ depth -%}
    {%- set key_type, held_type = floodmark._map_types(type) -%}
    {%- set key = e ~ '.key' if not by_name else floodmark._diff_ordered_sql(e ~ '.key', key_type, depth + 1,
        by_name) -%}
    {%- set held = floodmark._diff_ordered_sql(e ~ '.value', held_type, depth + 1, by_name) -%}
    {%- set by_key = ', (' ~ l ~ ', ' ~ r ~ ') -> case when ' ~ l ~ '.key < ' ~ r ~ '.key then -1 when ' ~ l ~ '.key > '
        ~ r ~ '.key then 1 else 0 end)' -%}
    {%- set entries = 'map_entries(' ~ value ~ ')' -%}
    {%- set made = ', ' ~ e ~ ' -> struct(' ~ key ~ ' as key, ' ~ held ~ ' as value))' -%}
    {%- if key != e ~ '.key' -%}
        {{ return('array_sort(transform(' ~ entries ~ made ~ by_key) }}
    {%- endif -%}
    {%- set entries = 'array_sort(' ~ entries ~ by_key -%}
    {{ return(entries if held == e ~ '.value' else 'transform(' ~ entries ~ made) }}
{% endmacro %}
