{#
  A restatement makes the rows of some keys anew from the feed, without a full refresh: `floodmark restate`, or `dbt run
  --select <model> --vars '{floodmark_restate: {from: ...}}'`. The keys are those that have, in the feed, in the table
  or beside it, anything at or after the sequence `from`. It is a batch of kind backfill that leaves the mark where it
  is.
#}

{# What this run was asked to restate: {from}; none where it was not. #}
{% macro _restate_asked() %}
    {{ return(var('floodmark_restate', none)) }}
{% endmacro %}


{# The sequence that a batch restates from, as it was written; none for every other batch. #}
{% macro _restates_from(batch) %}
    {%- set asked = (batch.asked or {}).get('restate') -%}
    {{ return(asked.from if asked else none) }}
{% endmacro %}


{# The one batch of a restatement: all of the feed up to the mark. #}
{% macro _next_restate_batch(run) %}
    {%- if not run.first -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set asked = run.restate -%}
    {%- if run.settings.strategy != 'cdc' or run.settings.files or not run.state.committed
        or run.settings.watermark and run.state.committed.mark is none or run.target.is_empty or run.full_refresh
        or asked is not mapping or asked.get('from') is none -%}
        {%- do floodmark._refuse([{'setting': 'floodmark_restate', 'got': asked,
            'expected': "{from: <sequence>} on a cdc model that reads a table and was loaded before",
            'todo': 'Run the model first; other models are repaired by a backfill or --full-refresh'}]) -%}
    {%- endif -%}
    {%- set committed = run.state.committed -%}
    {%- set family = run.upstream.family if run.upstream else none -%}
    {%- set high = floodmark._position_parse(committed.mark, family) -%}
    {%- set waiting = floodmark._history(run.upstream.relation, 1)[0].version - high if family == 'version' else 0 -%}
    {%- if waiting > 0 -%}
        {%- do floodmark._stop(floodmark._counted(waiting, 'version') ~ ' of ' ~ run.upstream.relation
            ~ (' is' if waiting == 1 else ' are')
            ~ ' not loaded yet, and may still hold rows from before the correction. '
            ~ 'The next run would bring those back: run the model first, then restate') -%}
    {%- endif -%}
    {%- set start = floodmark._reach(run.settings.watermark or {}, family).start -%}
    {%- if family == 'version' and start is none and floodmark._reads_state(run.sql) -%}
        {%- do floodmark._stop(run.upstream.relation
            ~ ' is not a feed of events: a row that is deleted there is a delete here, so the table as it is '
            'now does not show what its rows were at ' ~ asked.get('from')
            ~ '. Run the model once with --full-refresh, or set watermark.start to the version from which '
            'its change feed is complete') -%}
    {%- elif family == 'version' and start is none and floodmark._uses_versions(run) -%}
        {%- do floodmark._stop_without_versions(run) -%}
    {%- endif -%}
    {%- set plan = floodmark._plan_whole() -%}
    {%- do plan.update({'settings': run.settings, 'batch_id': run.state.last_batch_id + 1, 'kind': 'backfill',
        'replaces': false, 'generation': committed.generation, 'reason': 'restate from ' ~ asked.get('from'),
        'asked': {'restate': {'from': asked.get('from') | string}}, 'family': family,
        'high': floodmark._position_print(high, family), 'high_position': high, 'start_position': start,
        'nulls': run.settings.watermark.nulls if run.settings.watermark else none,
        'watermark_column': committed.watermark_column, 'upstream': committed.upstream}) -%}
    {%- do floodmark._record_plan(run, plan) -%}
    {%- do run.update({'first': false}) -%}
    {{ return(plan) }}
{% endmacro %}


{# `from` as a literal of the sequence's type; refused where it is none. #}
{% macro _restate_literal(batch, type) %}
    {%- set text = floodmark._string_literal(floodmark._restates_from(batch)) -%}
    {%- set plain = not modules.re.match('struct|array|binary', type) -%}
    {%- if not plain or run_query('select try_cast(' ~ text ~ ' as ' ~ type ~ ') is null as bad').rows[0][0] | string
        | lower == 'true' -%}
        {%- do floodmark._refuse([{'setting': 'floodmark_restate.from', 'got': floodmark._restates_from(batch),
            'expected': 'a value of the sequence, ' ~ type,
            'todo': 'Write it as text' if plain
            else 'A sequence of several parts has no such value: use --full-refresh'}],
            rejects='the value of from does not have the type of the sequence') -%}
    {%- endif -%}
    {%- set time = floodmark._parse_timestamp(floodmark._restates_from(batch)) if type == 'timestamp' else none -%}
    {{ return(floodmark._position_literal(time, type) if time is not none else 'cast(' ~ text ~ ' as ' ~ type ~ ')') }}
{% endmacro %}


{# Reject a restatement that would lose data: if the SELECT lacks columns of an SCD 2 table (in SCD 1, rows keep their
   values), or if there is a truncate at or after `from`, in the feed or the state table. A truncate also affects keys
   that have no event after it. #}
{% macro _check_restated(run, batch, source) %}
    {%- set lacking = [] -%}
    {%- for column in floodmark._table_own_columns(run)
        if run.settings.cdc.scd_type == 2 and not floodmark._find_column(floodmark._own_columns(run.settings.cdc,
        source.columns), column.name) -%}
        {%- do lacking.append(column.name) -%}
    {%- endfor -%}
    {%- if lacking -%}
        {%- do floodmark._stop('the SELECT lacks ' ~ lacking | join(', ') ~ ', which ' ~ this
            ~ ' has: rows that are rebuilt would lose their values there. Add it to the SELECT, '
            'or run the model once with --full-refresh', rejects='the SELECT lacks columns of the table') -%}
    {%- endif -%}
    {%- set from = floodmark._restate_literal(batch,
        floodmark._find_column(source.columns, '_floodmark_sequence').type) -%}
    {%- set remembered = ' union all select _floodmark_sequence from ' ~ floodmark._state_relation()
        ~ " where _floodmark_kind = 'truncate'" if floodmark._has_state() else '' -%}
    {%- set found = run_query('select cast(max(_floodmark_sequence) as string) as greatest from (select '
        '_floodmark_sequence from ' ~ source.stage ~ ' where _floodmark_truncate' ~ remembered
        ~ ') where _floodmark_sequence >= ' ~ from).rows[0][0] -%}
    {%- if found is not none -%}
        {%- do floodmark._stop('there is a truncate at ' ~ found
            ~ ', which reaches every key: run it once with --full-refresh, or restate from a later sequence',
            rejects='a truncate lies in the range to restate') -%}
    {%- endif -%}
{% endmacro %}


{# The keys to restate, of the events of a relation, the table and what lies beside it. #}
{% macro _restated_keys_sql(run, batch, events, type, has_state) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set from = floodmark._restate_literal(batch, type) -%}
    {%- set ends = ' or ' ~ floodmark._quoted(cdc.end_at) ~ ' >= ' ~ from if cdc.scd_type == 2 else '' -%}
    {%- set deletes = ' or _floodmark_columns.deleted_at >= ' ~ from if floodmark._cdc_way(run) == 'partial' else '' -%}
    select {{ keys }} from {{ events }} where not _floodmark_truncate and _floodmark_sequence >= {{ from }}
    union select {{ keys }} from {{ this }}
        where {{ floodmark._row_sequence(cdc) }} >= {{ from }}{{ ends }}{{ deletes }}
    {%- if has_state %}
    union select {{ keys }} from {{ floodmark._state_relation() }} where _floodmark_kind <> 'truncate'
        and _floodmark_sequence >= {{ from }}
    {%- endif %}
{% endmacro %}


{# The events of these keys, and the truncates of all. #}
{% macro _restated_events_sql(run, batch, events_sql, type) %}
    with events as (
    {{ events_sql }}
    )
    select * from events where _floodmark_truncate
    union all
    select e.* from events as e left semi join (
        {{ floodmark._restated_keys_sql(run, batch, 'events', type, floodmark._has_state()) }}
    ) as k on {{ floodmark._same_key(run, 'e', 'k') }} and not e._floodmark_truncate
{% endmacro %}


{# A condition on open rows of the quarantine whose events are among those that a restatement has loaded; none where
   there are none. A quarantine that lacks columns of the sequence tells of none. #}
{% macro _restated_open_sql(run, batch) %}
    {%- set quarantine, stage = floodmark._quarantine_relation(this), floodmark._stage_relation(batch) -%}
    {%- if not floodmark._has_quarantine(quarantine) or not floodmark._is_stage_whole(stage) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set open = 'select *, (' ~ run.settings.cdc.sequence ~ ') as _floodmark_at from ' ~ quarantine
        ~ " where _floodmark_state = 'open'" -%}
    {%- set found = floodmark._tried(floodmark._query_json, "select to_json(named_struct('id', q._floodmark_id)) from ("
        ~ open ~ ') as q left semi join ' ~ stage ~ ' as e on ' ~ floodmark._same_key(run, 'q', 'e')
        ~ ' and not e._floodmark_truncate and q._floodmark_at <=> e._floodmark_sequence') -%}
    {%- set ids = [] -%}
    {%- for row in found.value or [] -%}
        {%- do ids.append(floodmark._string_literal(row.id)) -%}
    {%- endfor -%}
    {{ return('_floodmark_id in (' ~ ids | join(', ') ~ ')' if ids else none) }}
{% endmacro %}


{# SCD 1: the rows of the keys as the feed has them, and their rows of the state table, with the flags of _scd2_sql. #}
{% macro _scd1_restated_sql(run, batch, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set names = floodmark._cdc_table_columns(cdc, source.columns) | map(attribute='name') | list -%}
    {%- set memory = floodmark._memory_column(cdc) -%}
    {%- set columns = [] -%}
    {%- set nulls = [] -%}
    {%- for name in names -%}
        {%- set quoted = floodmark._quoted(name) -%}
        {%- set is_key = name | lower in run.settings.unique_key | map('lower') | list -%}
        {%- do columns.append(('k.' if is_key else 'r.') ~ quoted) -%}
        {%- do nulls.append(('s.' if is_key else 'null as ') ~ quoted) -%}
    {%- endfor -%}
    {%- set state = floodmark._state_relation() %}
    with restated as (
        {{ floodmark._restated_keys_sql(run, batch, source.stage, type, source.has_state) }}
    ),
    formed as (
        {{ floodmark._first_rows_sql(run, source) }}
    ),
    remembered as (
        select {{ keys }}, _floodmark_sequence, _floodmark_kind from ({{ floodmark._scd1_state_rows_sql(run, source) }})
            where _floodmark_kind <> 'truncate'
    )
    select {{ columns | join(', ') }}, r._floodmark_there is null as _floodmark_delete,
        cast(null as {{ type }}) as _floodmark_at, cast(null as string) as _floodmark_kind,
        r._floodmark_there is not null as _floodmark_table_write, r._floodmark_there is null as _floodmark_table_remove,
            false as _floodmark_state_write, false as _floodmark_state_remove
    from restated as k left join (select *, true as _floodmark_there from formed) as r
        on {{ floodmark._same_key(run, 'k', 'r') }}
    union all
    select {{ nulls | join(', ') }}, null, s._floodmark_sequence, s._floodmark_kind, false, false, true, false
        from remembered as s
    {%- if source.has_state %}
    union all
    select {{ nulls | join(', ') }}, null, s._floodmark_sequence, s._floodmark_kind, false, false, false, true
    from (select distinct {{ keys }}, _floodmark_sequence, _floodmark_kind from {{ state }}
        where _floodmark_kind <> 'truncate') as s
    left semi join restated as k on {{ floodmark._same_key(run, 'k', 's') }}
    left anti join remembered as n on {{ floodmark._same_key(run, 'n', 's') }}
        and n._floodmark_sequence = s._floodmark_sequence and n._floodmark_kind = s._floodmark_kind
    {%- endif %}
{% endmacro %}


{# The MERGE of these rows into an SCD 1 table. #}
{% macro _scd1_restated_merge_sql(run, source) %}
    {%- set names = source.written %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (select * from {{ source.resolved }} where _floodmark_table_write or _floodmark_table_remove)
        as DBT_INTERNAL_SOURCE
    on {{ floodmark._same_key(run, 'DBT_INTERNAL_SOURCE', 'DBT_INTERNAL_DEST') }}
    {{- floodmark._write_matches_sql(names, 'DBT_INTERNAL_SOURCE._floodmark_table_remove') }}
{% endmacro %}


{# And into what SCD 1 remembers. #}
{% macro _scd1_restated_state_sql(run, source) %}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) %}
    merge into {{ floodmark._state_relation() }} as DBT_INTERNAL_DEST
    using (
        select {{ keys }}, _floodmark_at as _floodmark_sequence, _floodmark_kind, _floodmark_state_remove
            from {{ source.resolved }}
        where _floodmark_state_write or _floodmark_state_remove
    ) as DBT_INTERNAL_SOURCE
    on {{ floodmark._same_key(run, 'DBT_INTERNAL_SOURCE', 'DBT_INTERNAL_DEST') }}
        and DBT_INTERNAL_DEST._floodmark_sequence = DBT_INTERNAL_SOURCE._floodmark_sequence
        and DBT_INTERNAL_DEST._floodmark_kind = DBT_INTERNAL_SOURCE._floodmark_kind
    when matched and DBT_INTERNAL_SOURCE._floodmark_state_remove then delete
    when not matched and not DBT_INTERNAL_SOURCE._floodmark_state_remove
        then insert ({{ keys }}, _floodmark_sequence, _floodmark_kind, _floodmark_at)
        values ({{ floodmark._quoted_csv(run.settings.unique_key, 'DBT_INTERNAL_SOURCE.') }},
            DBT_INTERNAL_SOURCE._floodmark_sequence, DBT_INTERNAL_SOURCE._floodmark_kind, current_timestamp())
{% endmacro %}


{# SCD 2: what is known of the keys, as marks of what goes: where a row starts ('start'), and the events of the
   state table ('gone'). #}
{% macro _scd2_marked_sql(run, batch, source, own, parts, type) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set restated = '(' ~ floodmark._restated_keys_sql(run, batch, source.stage, type, source.has_state) ~ ')' -%}
    {%- set more = ', cast(null as string)' if parts else '' %}
        select {{ floodmark._known_columns(run, own, parts, 't.') }}, t.{{ floodmark._quoted(cdc.start_at) }}, false,
            'start', null, null{{ more }}
        from {{ this }} as t left semi join {{ restated }} as k on {{ floodmark._same_key(run, 't', 'k') }}
        {%- if source.has_state %}
        {%- set remembered = floodmark._remembered(own) %}
        union all
        select {{ floodmark._known_columns(run, own, parts, 'h.', remembered) }}, h._floodmark_sequence, false,
            'gone', null, null{{ more }}
        from {{ remembered.from }} as h left semi join {{ restated }} as k
            on {{ floodmark._same_key(run, 'h', 'k') }}
        {%- endif %}
{% endmacro %}
