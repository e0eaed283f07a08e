{# What people query: name and SELECT of each view. A view is made anew where its property names an older format
   (_ledger_format), and not where only its text differs. #}
{% macro _ledger_views(schema) %}
    {%- set log = schema ~ '.batch_log' -%}
    {{ return({
        'batches': floodmark._batches_view_sql(log),
        'watermarks': floodmark._watermarks_view_sql(log),
        'files': floodmark._files_view_sql(log),
        'file_schemas': floodmark._file_schemas_view_sql(log),
        'expectation_results': floodmark._expectation_results_view_sql(log),
    }) }}
{% endmacro %}


{# The state of a batch, over its events. #}
{% macro _batch_state_sql() -%}
    case when count(target_version) > 0 then 'committed' when count_if(event = 'failed') > 0 then 'failed'
        when count_if(event = 'committed') > 0 then 'committed' else 'planned' end
{%- endmacro %}


{# The view `batches`: one row per batch. Two runs may finish one batch, and both say so. #}
{% macro _batches_view_sql(log) %}
    select model, batch_id, max(kind) as kind, max(low) as low,
        coalesce(max(high) filter (where event = 'committed'), max(high)) as high,
        {{ floodmark._batch_state_sql() }} as state,
        max(rows_read) as rows_read, max(rows_inserted) as rows_inserted, max(rows_updated) as rows_updated,
        max(rows_deleted) as rows_deleted, max(rows_kept) as rows_kept, max(rows_dropped) as rows_dropped,
        max(rows_quarantined) as rows_quarantined,
        min(at) filter (where event = 'planned') as started_at,
        max(at) filter (where event in ('committed', 'failed')) as finished_at,
        max(target_version) as target_version,
        coalesce(max(invocation_id) filter (where event in ('committed', 'failed')), max(invocation_id))
            as invocation_id,
        max(error) as error, max(rows_null) as rows_null, max(rows_future) as rows_future, max(rows_late) as rows_late,
        max(rows_tied) as rows_tied, max(reason) as reason, max(recorded_by) as recorded_by, max(asked) as asked
    from {{ log }}
    where event in ('planned', 'committed', 'failed')
    group by model, batch_id
{% endmacro %}


{# The view `watermarks`: the mark of each model, as its last committed batch left it. #}
{% macro _watermarks_view_sql(log) %}
    select model as table_name, last.mark as watermark_value, last.at as last_updated,
        if(last.family in ('sequence', 'version'), last.family, 'timestamp') as kind, last.batch_id
    from (
        select model, max_by(struct(mark, at, family, batch_id), batch_id) as last
        from {{ log }} where event = 'committed' group by model
    )
    where last.mark is not null
{% endmacro %}


{# The view `file_schemas`: the schema in which each batch read its files. #}
{% macro _file_schemas_view_sql(log) %}
    select model, cast(get_json_object(file_schema, '$.version') as bigint) as version, batch_id, at as decided_at,
        get_json_object(file_schema, '$.format') as format, get_json_object(file_schema, '$.record') as schema,
        get_json_object(file_schema, '$.added') as added, reason, recorded_by
    from {{ log }}
    where file_schema is not null
{% endmacro %}


{# The view `expectation_results`: what became of each rule in each batch. Where two runs finished one batch, the
   results are those of the last. #}
{% macro _expectation_results_view_sql(log) %}
    select model, batch_id, result.name, result.action, result.rows_judged, result.violations, result.sample,
        at as judged_at, event as state
    from (
        select model, batch_id, event, at, explode(from_json(expectations,
            'array<struct<name:string,action:string,rows_judged:bigint,violations:bigint,sample:string>>')) as result
        from (
            select model, batch_id, event, max(at) as at, max_by(expectations, at) as expectations
            from {{ log }}
            where event in ('committed', 'failed') and expectations is not null
            group by model, batch_id, event
        )
    )
{% endmacro %}


{# The view `files`: what became of each file, the newest load of each table. What was forgotten since its load is not
   there, unless `has_forgotten`. #}
{% macro _files_view_sql(log, has_forgotten=false) %}
    with batches as (
        select *, max_by(generation, if(state = 'committed', batch_id, null)) over (partition by model) as newest
        from (
            select model, batch_id, max(generation) as generation,
                {{ floodmark._batch_state_sql() }} as state,
                max_by(files, if(event = 'planned', 0, 1)) filter (where files is not null) as files,
                min(at) as discovered_at, max(at) as at
            from {{ log }} where event in ('planned', 'committed', 'failed') group by model, batch_id
        )
    ),
    told as (
        select model, batch_id, at, event, reason, explode(files) as file from {{ log }}
        where event in ('skipped', 'forgotten', 'archived')
    ),
    known as (
        select model, batch_id, at, discovered_at, file, file.reason,
            if(state = 'committed' and file.rows = 0 and file.rows_quarantined > 0, 'quarantined', state) as state
        from (select *, explode(files) as file from batches)
        where state = 'planned' or state = 'committed' and generation = newest
        union all
        select model, batch_id, at, at, file, reason, event from told where event = 'skipped'
    )
    select known.model, known.file.path, known.file.size, timestamp_micros(known.file.modified_at) as modified_at,
        known.discovered_at, known.batch_id, known.state, known.file.rows, known.file.rows_rescued,
        known.file.rows_quarantined, known.reason, archived.archived_at, archived.archived_to
    from known
    {% if not has_forgotten -%}
    left anti join (select * from told where event = 'forgotten') as forgotten
        on forgotten.model = known.model and forgotten.file.path = known.file.path
            and struct(forgotten.batch_id, forgotten.at) > struct(known.batch_id, known.at)
    {%- endif %}
    left join (
        select model, batch_id, file.path, min(at) as archived_at, max(file.reason) as archived_to
        from told where event = 'archived' group by model, batch_id, file.path
    ) as archived
        on archived.model = known.model and archived.path = known.file.path and archived.batch_id = known.batch_id
{% endmacro %}
