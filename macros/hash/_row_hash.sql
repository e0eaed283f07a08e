{#
  The hash by which the strategies that compare rows do so: 128 bits, two of Spark's xxhash64 over the typed values,
  seeded in two ways. It takes a fifth of the time of a digest of text, and the odds that a row which changed keeps its
  hash are 1 in 2^128. Values go in in the order of their names, so neither the SELECT's order nor the case of a
  struct's field tells; both sides of a comparison have the table's types (_conformed.sql). Texts go in as bytes, so
  those that are no UTF-8 differ where they differ.
#}

{# The version of the hash of nested values: tables that keep hashes say by it of which they are (snapshot_diff). #}
{% macro _nested_hash_version() %}
    {{ return(3) }}
{% endmacro %}


{# SQL of the hash of a row over these columns, a list of {name, type}: a struct of two bigints. `rescued` as in
   _hashed_values. #}
{% macro _row_hash_sql(columns, prefix='', rescued=none) %}
    {%- set values = floodmark._hashed_values(columns, columns | map(attribute='name') | map('lower') | sort,
        prefix, rescued) -%}
    {{ return(floodmark._hash_pair_sql(values, ['a', 'b'])) }}
{% endmacro %}


{# SQL of the hash of one value: a struct of two bigints, as for a row. #}
{% macro _value_hash_sql(value, type) %}
    {{ return(floodmark._hash_pair_sql([floodmark._hashed_value_sql(value, type)], ['a', 'b'])) }}
{% endmacro %}


{# Two hashes of a list of SQL values, as fields of these names. #}
{% macro _hash_pair_sql(values, names) %}
    {%- set fields = [] -%}
    {%- for name in names -%}
        {%- do fields.append("'" ~ name ~ "', xxhash64(" ~ ([loop.index0] + values) | join(', ') ~ ')') -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ fields | join(', ') ~ ')') }}
{% endmacro %}


{# The hash that snapshot_diff keeps with a row: of what is compared (a and b) and, in SCD 2, of what is kept up
   beside (c and d). #}
{% macro _snapshot_hash_sql(source, columns, prefix='') %}
    {%- set fields = [] -%}
    {%- for names in [source.compared] + ([source.beside] if source.scd_type == 2 else []) -%}
        {%- set arguments = floodmark._hashed_values(columns, names, prefix, source.rescued) -%}
        {%- for seed in [0, 1] -%}
            {%- do fields.append("'" ~ 'abcd'[fields | length] ~ "', xxhash64(" ~ ([seed] + arguments) | join(', ')
                ~ ')') -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ fields | join(', ') ~ ')') }}
{% endmacro %}


{# The type of the hash, as Spark prints it. #}
{% macro _snapshot_hash_type(scd_type) %}
    {{ return('struct<a:bigint,b:bigint' ~ (',c:bigint,d:bigint' if scd_type == 2 else '') ~ '>') }}
{% endmacro %}


{# What the hash function takes: the values, and which of them are NULL, since it passes over those. A column that is
   not there yet is NULL. `rescued` is the column of rescued data, if there is one: a record is the same in another
   file, so the path at its end is left out. #}
{% macro _hashed_values(columns, names, prefix, rescued=none) %}
    {%- set values, nulls = [], [] -%}
    {%- for name in names -%}
        {%- set column = floodmark._find_column(columns, name) -%}
        {%- set bit = 2 ** (loop.index0 % 30) -%}
        {%- if column is none -%}
            {%- do nulls.append(bit | string) -%}
            {%- continue -%}
        {%- endif -%}
        {%- set value = prefix ~ floodmark._quoted(column.name) -%}
        {%- set is_rescued = rescued and name | lower == rescued | lower
            and (column.type | lower).split('(')[0] in ['string', 'varchar'] -%}
        {%- do values.append(floodmark._pathless_sql(value) if is_rescued
            else floodmark._hashed_value_sql(value, column.ddl or column.type)) -%}
        {%- do nulls.append('if(' ~ value ~ ' is null, ' ~ bit ~ ', 0)') -%}
    {%- endfor -%}
    {%- for part in nulls | batch(30) -%}
        {%- do values.append(part | join(' + ')) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{# Rescued data without the path of its file, which is the last entry. #}
{% macro _pathless_sql(value) %}
    {{ return('regexp_replace(' ~ value ~ ", ',\"_file_path\":\"[^\"]*\"[}]$', '}')") }}
{% endmacro %}


{# A value in a form that xxhash64 takes and that differs where the value does. xxhash64 passes over NULLs, does not
   see the bounds of arrays and structs, and refuses maps and variants, and a collation hides upper case. So an array
   comes with its size and says of each element whether it is NULL; a struct names each field that is not NULL, so
   that one which it grows changes nothing while it is empty, and says where it ends; a map is its entries, hashed and
   put in order; a variant is its JSON, behind its types. #}
{% macro _hashed_value_sql(value, type, depth=0) %}
    {%- set e = 'h' ~ depth -%}
    {%- set nesting = floodmark._nesting(type) -%}
    {%- if nesting == 'array' -%}
        {{ return('if(' ~ value ~ ' is null, null, struct(size(' ~ value ~ '), transform(' ~ value ~ ', ' ~ e
            ~ ' -> struct(' ~ e ~ ' is null, ' ~ floodmark._hashed_value_sql(e, type[6:-1], depth + 1) ~ '))))') }}
    {%- elif nesting == 'map' -%}
        {%- set key, held = floodmark._map_types(type) -%}
        {%- set values = [] -%}
        {%- for part, of in [('key', key), ('value', held)] -%}
            {%- set hashed = floodmark._hashed_value_sql(e ~ '.' ~ part, of, depth + 1) -%}
            {%- do values.extend(['xxhash64(0, ' ~ hashed ~ ')', 'xxhash64(1, ' ~ hashed ~ ')']) -%}
        {%- endfor -%}
        {{ return('if(' ~ value ~ ' is null, null, struct(size(' ~ value ~ '), array_sort(transform(map_entries('
            ~ value ~ '), ' ~ e ~ ' -> struct(' ~ (values + [e ~ '.value is null']) | join(', ') ~ ')))))') }}
    {%- elif nesting == 'struct' -%}
        {%- set parts = ['0'] -%}
        {%- for field in floodmark._struct_fields(type) -%}
            {%- set held = value ~ '.' ~ floodmark._quoted(field.name) -%}
            {%- do parts.append('if(' ~ held ~ ' is null, null, ' ~ floodmark._string_literal(field.name | lower)
                ~ '), ' ~ floodmark._hashed_value_sql(held, field.type, depth)) -%}
        {%- endfor -%}
        {{ return('if(' ~ value ~ ' is null, null, struct(' ~ (parts + ['1']) | join(', ') ~ '))') }}
    {%- elif type | lower == 'variant' -%}
        {{ return('concat(schema_of_variant(' ~ value ~ "), ' ', to_json(" ~ value ~ ", map('timeZone', 'UTC')))") }}
    {%- elif (type | lower).startswith('string ') -%}
        {{ return('cast(' ~ value ~ ' as binary)') }}
    {%- endif -%}
    {{ return(value) }}
{% endmacro %}


{# A hash as the list of changes has it: 32 hex digits; NULL for none. #}
{% macro _hash_text_sql(hash) %}
    {{ return('lower(concat(lpad(hex(' ~ hash ~ ".a), 16, '0'), lpad(hex(" ~ hash ~ ".b), 16, '0')))") }}
{% endmacro %}


{# The hash in such a text. #}
{% macro _hash_from_text_sql(text) %}
    {{ return("named_struct('a', cast(conv(left(" ~ text ~ ", 16), 16, -10) as bigint), 'b', cast(conv(right(" ~ text
        ~ ', 16), 16, -10) as bigint))') }}
{% endmacro %}
