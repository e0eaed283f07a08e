{#
  Keys that lie anywhere in a large table: Delta finds no files to skip, and since a MERGE that inserts is an outer
  join, Spark shuffles and sorts all rows of the table to join a few of them. A Bloom filter of the batch's keys, tested
  while the table is read, lets pass those that may meet and one of a hundred others; the join decides as before
  (docs/decisions/0012-a-filter-of-keys.md).
#}

{# Make the filter, where it pays: `source.counts.key_filter` is then a condition on DBT_INTERNAL_DEST. It is a
   session variable, an array of bigint, 16 to 32 bits a key, of which each key sets two: two parts of its xxhash64
   say which. Without `session.` before it, which a column could be called. `rows` bounds the number of keys from
   above. #}
{% macro _add_key_filter(run, batch, source, rows) %}
    {%- if floodmark._needs_key_filter(run, batch, source, rows) -%}
        {%- set words = floodmark._filter_words(rows) -%}
        {%- set set_bits = [] -%}
        {%- set tests = [] -%}
        {%- for shift in [0, 32] -%}
            {%- do set_bits.append('struct(' ~ floodmark._filter_word_sql('hash', shift, words) ~ ', shiftleft(1L, '
                ~ floodmark._filter_bit_sql('hash', shift) ~ '))') -%}
            {%- set hash = 'xxhash64(' ~ floodmark._quoted_csv(run.settings.unique_key, 'DBT_INTERNAL_DEST.') ~ ')' -%}
            {%- do tests.append('getbit(element_at(_floodmark_key_filter, '
                ~ floodmark._filter_word_sql(hash, shift, words) ~ ' + 1), ' ~ floodmark._filter_bit_sql(hash, shift)
                ~ ') = 1') -%}
        {%- endfor -%}
        {#- one task, since to shuffle so little would cost more; every word comes, be it 0 -#}
        {%- do floodmark._execute([ 'declare or replace variable _floodmark_key_filter array<bigint>',
            'set variable _floodmark_key_filter = (select array_sort(collect_list(struct(word, '
            'bits))).bits from (select word, bit_or(bits) as bits from (select /*+ coalesce(1) */ * from ('
            ~ 'select inline(array(' ~ set_bits | join(', ') ~ ')) as (word, bits) from (select xxhash64('
            ~ floodmark._quoted_csv(run.settings.unique_key) ~ ') as hash from ' ~ source.stage ~ ')'
            ~ ' union all select cast(id as int), 0L from range(0, ' ~ words ~ ', 1, 1))) group by word))']) -%}
        {%- do source.counts.update({'key_filter': tests | join(' and ')}) -%}
    {%- endif -%}
{% endmacro %}


{# Which word of the array, from 0, and which of its bits, a part of a hash stands for. #}
{% macro _filter_word_sql(hash, shift, words) %}
    {{ return('cast(shiftright(' ~ hash ~ ', ' ~ (shift + 6) ~ ') & ' ~ (words - 1) ~ ' as int)') }}
{% endmacro %}


{% macro _filter_bit_sql(hash, shift) %}
    {{ return('cast(shiftright(' ~ hash ~ ', ' ~ shift ~ ') & 63 as int)') }}
{% endmacro %}


{# The length of the array for so many keys: a power of two. #}
{% macro _filter_words(rows) %}
    {{ return(2 ** [(rows - 1).bit_length() - 2, 0] | max) }}
{% endmacro %}


{# Batches of more rows get no filter: its literal would be too long to plan. #}
{% macro _most_filtered_rows() %}
    {{ return(100000) }}
{% endmacro %}


{# Whether the keys are few, not side by side, and the table is large (`floodmark_key_filter_bytes`, 16 MiB by
   default). The hash of a key depends on its type, which must be that of the table. #}
{% macro _needs_key_filter(run, batch, source, rows) %}
    {%- if batch.replaces or batch.kind == 'stream' or not 0 < rows <= floodmark._most_filtered_rows()
        or floodmark._are_side_by_side(run, source, rows) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if floodmark._detail(this).bytes < var('floodmark_key_filter_bytes', 16 * 1024 * 1024) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set own = floodmark._table_columns(run) -%}
    {%- for key in run.settings.unique_key -%}
        {%- set column = floodmark._find_column(source.columns, key) -%}
        {%- set known = floodmark._find_column(own, key) -%}
        {%- if not (floodmark._has_range(column) or column.type == 'binary') or known is none
            or known.type != column.type -%}
            {{ return(false) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{# Whether one key of whole numbers has not ten times as many values in its range as rows: the range does what the
   filter would. #}
{% macro _are_side_by_side(run, source, rows) %}
    {%- set low = source.counts.min_0 -%}
    {%- set high = source.counts.max_0 -%}
    {%- set column = floodmark._find_column(source.columns, run.settings.unique_key[0]) -%}
    {{ return(run.settings.unique_key | length == 1 and low is defined and low is not none
        and column.type in ['tinyint', 'smallint', 'int', 'bigint'] and (high | int) - (low | int) < 10 * rows) }}
{% endmacro %}
