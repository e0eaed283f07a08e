{# Counts of a staging table of merge in one pass: rows_read, keys that come more than once, NULL keys, the range of
   each key column, least and greatest value of the column that says which row is the latest, and the rows without
   one. #}
{% macro _merge_counts(run, stage, batch, source=none) %}
    {%- set keys = run.settings.unique_key -%}
    {%- set columns = source.columns if source else floodmark._columns_of(relation=stage) -%}
    {%- set ranges = [] -%}
    {%- for key in keys -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- do ranges.append("'null_" ~ loop.index0 ~ "', count_if(" ~ quoted ~ " is null)") -%}
    {%- endfor -%}
    {%- do ranges.extend(floodmark._key_ranges(keys, columns)) -%}
    {%- set order = floodmark._find_column(columns, floodmark._order_column(run, columns) or '') -%}
    {%- set ordered = '' -%}
    {%- if order and floodmark._position_family(order.type) -%}
        {%- set ordered = ', min(@) as _floodmark_least, max(@) as _floodmark_greatest, count_if(@ is null) as '
            '_floodmark_unordered' | replace('@', floodmark._quoted(order.name)) -%}
        {%- do ranges.extend(floodmark._range_counts('least', 'greatest', order.type, '_floodmark_least',
            '_floodmark_greatest') + ["'unordered', coalesce(sum(_floodmark_unordered), 0)"]) -%}
    {%- endif -%}
    {%- set counts = floodmark._query_json(
        "select to_json(named_struct('rows_read', coalesce(sum(_floodmark_rows), 0), 'repeated', "
        "count_if(_floodmark_rows > 1), " ~ ranges | join(', ') ~ ")) " ~ "from (select " ~ floodmark._quoted_csv(keys)
        ~ ", count(*) as _floodmark_rows" ~ ordered ~ " from " ~ stage ~ " group by " ~ floodmark._quoted_csv(keys)
        ~ ")" )[0] -%}
    {%- do counts.update({'rows_tied': floodmark._count_ties(run, stage, columns) if counts.repeated else 0}) -%}
    {{ return(counts) }}
{% endmacro %}


{# Counts of a staging table of insert_overwrite: of its partitions, but for a backfill, which replaces a range. #}
{% macro _overwrite_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._partition_counts(run, batch, source) if source and batch.kind != 'backfill'
        else floodmark._row_counts(run, stage, batch)) }}
{% endmacro %}
