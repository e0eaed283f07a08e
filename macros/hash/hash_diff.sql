{#
  A digest of a row. Each value stands in it with its column's name, the kind of its type and its length in bytes, so
  that no two rows that differ have one text: NULL is not '', 1 is not '1', and a separator inside a value cannot shift
  what follows. NULLs are left out, so that a column which is added and empty changes no digest. typeof() is known when
  Spark plans, which leaves one branch of each CASE; nested values and times go through JSON, which writes times in UTC
  whatever the session's zone.
#}

{# The digest of a row over these columns, whatever their order: to find rows that changed. #}
{% macro hash_diff(columns, algorithm='sha256') %}
    {%- set named = {} -%}
    {%- for name in floodmark._hashed_columns('hash_diff', columns) -%}
        {%- do named.update({name | lower: floodmark._quoted(name)}) -%}
    {%- endfor -%}
    {%- set values = [] -%}
    {%- for name in named | sort -%}
        {%- do values.append([name, named[name]]) -%}
    {%- endfor -%}
    {{ return(floodmark._digest_sql(floodmark._row_text_sql(values), algorithm)) }}
{% endmacro %}


{# The digest of a key over these columns in their order, whatever their names: to join tables by it. NULL where all
   of them are. #}
{% macro hash_key(columns, algorithm='sha256') %}
    {%- set values, nulls = [], [] -%}
    {%- for name in floodmark._hashed_columns('hash_key', columns) -%}
        {%- do values.append([loop.index0 | string, floodmark._quoted(name)]) -%}
        {%- do nulls.append(floodmark._quoted(name) ~ ' is null') -%}
    {%- endfor -%}
    {{ return('if(' ~ nulls | join(' and ') ~ ', null, '
        ~ floodmark._digest_sql(floodmark._row_text_sql(values), algorithm) ~ ')') }}
{% endmacro %}


{# The names that were given, quoted or bare, as a list of bare ones. #}
{% macro _hashed_columns(macro, columns) %}
    {%- if not floodmark._is_names(columns) -%}
        {%- do floodmark._raise('floodmark.' ~ macro ~ ' got ' ~ columns
            ~ ': expected a column or a list of columns. Name at least one') -%}
    {%- endif -%}
    {{ return(floodmark._name_list(columns)) }}
{% endmacro %}


{# A text as a digest: 256 bits as 64 hex digits, or 64 bits as a bigint. #}
{% macro _digest_sql(text, algorithm) %}
    {%- if algorithm not in ['sha256', 'xxhash64'] -%}
        {%- do floodmark._raise("algorithm got '" ~ algorithm
            ~ "': expected 'sha256' or 'xxhash64'. Use sha256 where in doubt") -%}
    {%- endif -%}
    {{ return('sha2(' ~ text ~ ', 256)' if algorithm == 'sha256' else 'xxhash64(' ~ text ~ ')') }}
{% endmacro %}


{# The text of a row: a list of [name, SQL]. #}
{% macro _row_text_sql(values) %}
    {%- set parts = ["''"] -%}
    {%- for name, value in values -%}
        {%- set text = floodmark._value_text_sql(value) -%}
        {%- do parts.append('coalesce(concat(' ~ floodmark._string_literal((name | length) ~ ':' ~ name) ~ ', '
            ~ floodmark._value_kind_sql(value) ~ ', octet_length(' ~ text ~ "), ':', " ~ text ~ "), '')") -%}
    {%- endfor -%}
    {{ return('concat(' ~ parts | join(', ') ~ ')') }}
{% endmacro %}


{# The kind of a value's type: whole numbers are one, so that a column may grow from int to bigint. #}
{% macro _value_kind_sql(value) %}
    {{ return("case when typeof(" ~ value ~ ") in ('tinyint', 'smallint', 'int', 'bigint') then 'i' else typeof("
        ~ value ~ ') end') }}
{% endmacro %}


{# A value as text, NULL for NULL. Maps whose keys are no plain values go through Spark's cast: as a name of JSON such
   a key is Java's own text of it, another one in every run. -0.0 is 0.0, which equals it, in nested values too: there
   the JSON's strings are stepped over (possessively, which Java does in a loop: else a long text takes a stack frame
   a character). #}
{% macro _value_text_sql(value) %}
    {%- set json = "to_json(named_struct('v', " ~ value
        ~ "), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', "
        "'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timeZone', 'UTC'))" -%}
    {%- set unsigned = 'regexp_replace(' ~ json
        ~ ", '(\"(?:[^\"\\\\\\\\]|\\\\\\\\.)*+\")|-(?=0\\\\.0[,}\\\\]])', '$1')" -%}
    {{ return('case when typeof(' ~ value
        ~ ") in ('string', 'tinyint', 'smallint', 'int', 'bigint', 'boolean', 'date') or typeof(" ~ value
        ~ ") like 'decimal%' then cast(" ~ value ~ ' as string)' ~ ' when typeof(' ~ value
        ~ ") in ('float', 'double') then case when cast(" ~ value ~ " as string) = '-0.0' then '0.0' else cast(" ~ value
        ~ " as string) end" ~ ' when ' ~ value ~ ' is null then null' ~ ' when regexp_like(typeof(' ~ value
        ~ "), 'map<(binary|struct|array|map)') then hex(cast(cast(" ~ value ~ ' as string) as binary))'
        ~ ' when typeof(' ~ value ~ ") like '%float%' or typeof(" ~ value ~ ") like '%double%' then " ~ unsigned
        ~ ' else ' ~ json ~ ' end') }}
{% endmacro %}
