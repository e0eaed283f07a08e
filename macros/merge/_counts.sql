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


{# Rows of a batch that differ from another row of their key and of its greatest watermark value, in more than where
   they were read. #}
{% macro _count_ties(run, stage, columns) %}
    {%- set order = floodmark._order_column(run, columns) -%}
    {%- if order is none -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set value = floodmark._quoted(order) -%}
    {%- set deletes = floodmark._deletes_predicate(run, columns) -%}
    {%- set hash = floodmark._row_hash_sql(floodmark._without_columns(floodmark._target_columns(run, columns),
        floodmark._origin_columns(run.settings)), rescued=floodmark._rescued_column(run.settings)) -%}
    {{ return(run_query('select cast(coalesce(sum(hashes - 1), 0) as bigint) as ties from (select count(distinct '
        ~ hash ~ ') as hashes from (select *, max(' ~ value ~ ') over (partition by ' ~ keys
        ~ ') as _floodmark_latest from ' ~ stage ~ (' where not ' ~ deletes if deletes else '') ~ ') where ' ~ value
        ~ ' <=> _floodmark_latest group by ' ~ keys ~ ')').rows[0][0] | int) }}
{% endmacro %}


{# Staged rows that would insert or update: a batch that re-reads rows commits nothing where they stand already. #}
{% macro _count_changes(run, source) %}
    {%- set columns = [] -%}
    {%- for column in source.columns if floodmark._find_column(floodmark._table_columns(run), column.name) -%}
        {%- do columns.append(column.name) -%}
    {%- endfor -%}
    {%- do source.update({'written': columns}) -%}
    {%- if floodmark._columns_count(run, floodmark._schema_changes(source.columns, floodmark._table_columns(run))) -%}
        {{ return(1) }}
    {%- endif -%}
    {%- set wins = floodmark._wins_predicate(run, source, columns) if floodmark._updated_columns(columns)
        else 'false' -%}
    {{ return(run_query('select count(*) as changes from (' ~ floodmark._latest_sql(run, source)
        ~ ') as DBT_INTERNAL_SOURCE left join (select *, true as _floodmark_matched from ' ~ this
        ~ ') as DBT_INTERNAL_DEST on ' ~ floodmark._key_predicates(run, source) | join(' and ')
        ~ ' where DBT_INTERNAL_DEST._floodmark_matched is null or ' ~ wins).rows[0][0] | int) }}
{% endmacro %}
