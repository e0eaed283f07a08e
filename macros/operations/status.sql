{# Print each model's mark, how far it lies behind its source, and its last batch. #}
{% macro status(models=none) %}
    {%- do run_query(floodmark._status_sql(models)).print_table(max_rows=none, max_columns=none,
        max_column_width=none) -%}
{% endmacro %}


{# A SELECT of one row a model that floodmark loads: model, kind, mark, source_value (the greatest value upstream),
   lag (seconds, numbers or versions), rows_waiting (upstream, beyond max_future), rows_open (in its quarantine), then
   its last batch; without `reads_sources` or `counts_open` what is known without its source, or its quarantine.
   Reads, writes nothing. #}
{% macro _status_sql(models=none, reads_sources=true, counts_open=true) %}
    {%- do floodmark._check_arguments('status', {'models': [models, 'names']}) -%}
    {%- do floodmark._check_names(models) -%}
    {%- set log = floodmark.ledger_schema() -%}
    {%- set has_ledger = floodmark._ledger_exists() -%}
    {%- set rows = [] -%}
    {%- set names = floodmark._node_names(floodmark._managed_nodes()) -%}
    {%- for id, node in floodmark._managed_nodes(models).items() -%}
        {%- set upstream = floodmark._node_upstream(node) if reads_sources else none -%}
        {%- set greatest = floodmark._source_value(upstream) -%}
        {%- do rows.append([names[id], floodmark._node_id(node), upstream.family if upstream else none, greatest,
            floodmark._rows_ahead(node, upstream, greatest)]) -%}
    {%- endfor -%}
    with configured as ({{ floodmark._values_sql({'name': 'string', 'model': 'string', 'family': 'string',
        'source_value': 'string', 'rows_waiting': 'bigint'}, rows) }}),
    marks as (
        {%- if has_ledger %}
        select table_name, watermark_value, last_updated from {{ log }}.watermarks
        {%- else %}
        select cast(null as string) as table_name, cast(null as string) as watermark_value,
            cast(null as timestamp) as last_updated
        where false
        {%- endif %}
    ),
    last_batches as (
        {%- if has_ledger %}
        select model, max_by(struct(batch_id, kind, state, rows_read, rows_inserted, rows_updated, rows_deleted,
            rows_future, rows_quarantined, rows_dropped, finished_at, error), batch_id) as b
        from {{ log }}.batches group by model
        {%- else %}
        select cast(null as string) as model,
            cast(null as struct<batch_id: bigint, kind: string, state: string, rows_read: bigint,
                rows_inserted: bigint, rows_updated: bigint, rows_deleted: bigint, rows_future: bigint,
                rows_quarantined: bigint, rows_dropped: bigint, finished_at: timestamp, error: string>) as b
        where false
        {%- endif %}
    ),
    quarantined as ({{ floodmark._open_counts_sql(floodmark._nodes_with_quarantine(models) if counts_open else []) }})
    select name, configured.model,
        case when family in ('sequence', 'version') then family when family is not null then 'timestamp' end as kind,
        watermark_value as mark, source_value,
        case when family is null then null when family in ('sequence', 'version')
            then cast(cast(source_value as decimal(38, 0)) - cast(watermark_value as decimal(38, 0)) as string)
            else cast(unix_seconds(try_cast(source_value || '+00:00'
                as timestamp)) - unix_seconds(try_cast(watermark_value || '+00:00' as timestamp)) as string) end as lag,
        rows_waiting, coalesce(rows_open, 0) as rows_open,
        b.batch_id, b.kind as batch_kind, b.state, b.rows_read, b.rows_inserted, b.rows_updated, b.rows_deleted,
            b.rows_future, b.rows_quarantined, b.rows_dropped,
        {{ floodmark._utc_text_sql('b.finished_at') }} as finished_at, b.error
    from configured left join marks on marks.table_name = configured.model left join last_batches
        on last_batches.model = configured.model
        left join quarantined on quarantined.model = configured.model
    order by configured.model
{% endmacro %}


{# The greatest value of the watermark upstream, as the ledger prints marks; none where there is none, as of versions
   where it is no Delta table. #}
{% macro _source_value(upstream) %}
    {%- if upstream is none or upstream.family is none or upstream.family == 'version' and not upstream.is_delta -%}
        {{ return(none) }}
    {%- elif upstream.family == 'version' -%}
        {{ return(floodmark._history(upstream.relation, 1)[0].version | string) }}
    {%- endif -%}
    {%- set greatest = floodmark._position_text_sql('max(' ~ floodmark._quoted(upstream.column) ~ ')',
        upstream.family) -%}
    {%- set text = floodmark._query_json("select to_json(named_struct('v', " ~ greatest
        ~ "), map('ignoreNullFields', 'false')) from " ~ upstream.relation)[0].v -%}
    {%- set position = floodmark._position_from_text(text, upstream.family) -%}
    {{ return(floodmark._position_print(position, upstream.family)) }}
{% endmacro %}


{# How many rows of a node's upstream lie beyond max_future; none where nobody can tell. They are counted only if the
   greatest value does: that one Delta knows without a scan. #}
{% macro _rows_ahead(node, upstream, greatest) %}
    {%- if upstream is none or upstream.family is none -%}
        {{ return(none) }}
    {%- elif greatest is none or floodmark._is_counted(upstream.family) -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set watermark = floodmark._with_defaults(floodmark._node_setting(node, 'watermark'),
        floodmark._watermark_schema()) -%}
    {%- if floodmark._parse_duration(watermark.max_future) is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set cap = floodmark._future_cap(watermark) -%}
    {%- if floodmark._position_parse(greatest, upstream.family) <= cap -%}
        {{ return(0) }}
    {%- endif -%}
    {{ return(run_query('select count(*) as n from ' ~ upstream.relation ~ ' where '
        ~ floodmark._quoted(upstream.column) ~ ' > ' ~ floodmark._position_literal(cap, upstream.family)).rows[0][0]) }}
{% endmacro %}
