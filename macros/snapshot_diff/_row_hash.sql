{#
  The hash by which snapshot_diff knows a row again: 128 bits of what is compared (fields a and b) and, in SCD 2, 128 bits of what is
  kept up beside (c and d). Each pair is Spark's xxhash64 over the typed values, seeded in two ways: a fifth of the time of a
  digest of text, and the odds that a row which changed keeps its hash are 1 in 2^128. Values go in as the table has them, in the
  order of their names, so neither the SELECT's order nor its types tell.
#}

{# SQL of a row's hash. #}
{% macro _snapshot_hash_sql(source, columns, prefix='') %}
    {%- set fields = [] -%}
    {%- for names in [source.compared] + ([source.beside] if source.scd_type == 2 else []) -%}
        {%- set arguments = floodmark._hashed_values(source, columns, names, prefix) -%}
        {%- for seed in [0, 1] -%}
            {%- do fields.append("'" ~ 'abcd'[fields | length] ~ "', xxhash64(" ~ ([seed] + arguments) | join(', ') ~ ')') -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return('named_struct(' ~ fields | join(', ') ~ ')') }}
{% endmacro %}


{# The type of the hash, as Spark prints it. #}
{% macro _snapshot_hash_type(scd_type) %}
    {{ return('struct<a:bigint,b:bigint' ~ (',c:bigint,d:bigint' if scd_type == 2 else '') ~ '>') }}
{% endmacro %}


{# What the hash function takes: the values, and which of them are NULL, since it passes over those. A column that is not there yet is NULL. #}
{% macro _hashed_values(source, columns, names, prefix) %}
    {%- set values, nulls = [], [] -%}
    {%- for name in names -%}
        {%- set column = floodmark._find_column(columns, name) -%}
        {%- set bit = 2 ** (loop.index0 % 30) -%}
        {%- if column is none -%}
            {%- do nulls.append(bit | string) -%}
            {%- continue -%}
        {%- endif -%}
        {%- set kept = floodmark._find_column(source.table, name) or column -%}
        {%- set value = prefix ~ floodmark._quoted(column.name) -%}
        {%- if kept.type != column.type -%}
            {#- a struct has the table's fields in its order and types and, behind them, those that it has grown: it is another value where these are not NULL -#}
            {%- set wanted = floodmark._conformed_type(kept.ddl, floodmark._conformed_type(column.ddl, kept.ddl, true), true) if 'struct<' in kept.type else kept.ddl -%}
            {%- set is_text = floodmark._plain_type(kept.type) == floodmark._plain_type(column.type) -%}
            {%- set value = 'cast(' ~ value ~ ' as ' ~ kept.ddl ~ ')' if is_text else floodmark._conformed_sql(value, column.ddl, wanted) -%}
        {%- endif -%}
        {%- do values.append(floodmark._hashed_value_sql(value, kept.type)) -%}
        {%- do nulls.append('if(' ~ value ~ ' is null, ' ~ bit ~ ', 0)') -%}
    {%- endfor -%}
    {%- for part in nulls | batch(30) -%}
        {%- do values.append(part | join(' + ')) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{# A value that xxhash64 takes: maps it refuses, the bounds of arrays and structs it does not see, and a collation hides upper case. #}
{% macro _hashed_value_sql(value, type) %}
    {%- if type in ['string', 'binary', 'boolean', 'tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'date', 'timestamp', 'timestamp_ntz']
            or modules.re.match('(decimal|varchar|char)\\(', type) -%}
        {{ return(value) }}
    {%- elif type.startswith('string') -%}
        {{ return('cast(' ~ value ~ ' as binary)') }}
    {%- elif modules.re.match('map<(binary|array|struct)', type) -%}
        {#- as a name of JSON such a key is Java's own text of it, another one in every run -#}
        {{ return(floodmark._value_text_sql('map_entries(' ~ value ~ ')')) }}
    {%- endif -%}
    {{ return(floodmark._value_text_sql(value)) }}
{% endmacro %}


{# A hash as the list of changes has it: 32 hex digits; NULL for none. #}
{% macro _hash_text_sql(hash) %}
    {{ return('lower(concat(lpad(hex(' ~ hash ~ ".a), 16, '0'), lpad(hex(" ~ hash ~ ".b), 16, '0')))") }}
{% endmacro %}


{# The hash in such a text. #}
{% macro _hash_from_text_sql(text) %}
    {{ return("named_struct('a', cast(conv(left(" ~ text ~ ", 16), 16, -10) as bigint), 'b', cast(conv(right(" ~ text ~ ', 16), 16, -10) as bigint))') }}
{% endmacro %}
