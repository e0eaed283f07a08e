{# What people query: name and SELECT of each view. #}
{% macro _ledger_views(schema) %}
    {%- set terminal = "event in ('committed', 'failed')" -%}
    {%- set counts = [] -%}
    {%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_kept', 'rows_dropped',
        'rows_quarantined'] -%}
        {%- do counts.append('max(' ~ name ~ ') as ' ~ name) -%}
    {%- endfor -%}
    {%- set state = "case when count(target_version) > 0 then 'committed' when count_if(event = 'failed') > "
        "0 then 'failed' when count_if(event = 'committed') > 0 then 'committed' else 'planned' end" -%}
    {{ return({'batches': "select model, batch_id, max(kind) as kind, max(low) as low, "
        ~ "coalesce(max(high) filter (where event = 'committed'), max(high)) as high, " ~ state ~ " as state, "
        ~ counts | join(', ') ~ ", min(at) filter (where event = 'planned') as started_at, " ~ "max(at) filter (where "
        ~ terminal ~ ") as finished_at, max(target_version) as target_version, "
        ~ "coalesce(max(invocation_id) filter (where " ~ terminal
        ~ "), max(invocation_id)) as invocation_id, max(error) as error, "
        ~ "max(rows_null) as rows_null, max(rows_future) as rows_future, max(rows_late) as "
        "rows_late, max(rows_tied) as rows_tied, "
        ~ "max(reason) as reason, max(recorded_by) as recorded_by, max(asked) as asked " ~ "from " ~ schema
        ~ ".batch_log where event <> 'waiting' group by model, batch_id",
        'watermarks': "select model as table_name, last.mark as watermark_value, last.at as last_updated, "
        ~ "if(last.family in ('sequence', 'version'), last.family, 'timestamp') as kind, last.batch_id "
        ~ "from (select model, max_by(struct(mark, at, family, batch_id), batch_id) as last from " ~ schema
        ~ ".batch_log " ~ "where event = 'committed' group by model) where last.mark is not null",
        'files': "select model, file.path, file.size, timestamp_micros(file.modified_at) as modified_at, "
        "batch_id, state, file.rows "
        ~ "from (select *, max_by(generation, if(state = 'committed', batch_id, null)) over "
        "(partition by model) as newest from (" ~ "select model, batch_id, max(generation) as generation, " ~ state
        ~ " as state, max_by(files, if(event = 'planned', 0, 1)) filter (where files is not null) as files "
        ~ "from " ~ schema ~ ".batch_log where event <> 'waiting' group by model, batch_id)) lateral view "
        "explode(files) f as file " ~ "where state = 'planned' or state = 'committed' and generation = newest",
        'expectation_results': "select cast(null as string) as model, cast(null as bigint) as batch_id, cast(null as "
        "string) as name, " ~ "cast(null as bigint) as violations, cast(null as string) as action where false"}) }}
{% endmacro %}
