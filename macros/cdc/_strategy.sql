{# cdc, as the protocol sees it (macros/protocol/_strategy.sql): its batches write two tables. #}
{% macro _cdc_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), conforms=false, contracted=none,
        shape=floodmark._cdc_shape_sql, restated=floodmark._restated_open_sql, asked=floodmark._asked_of_upserts,
        unlike=floodmark._unkept_columns, own_columns=floodmark._cdc_own_columns, named=floodmark._named_by_events,
        staged=floodmark._cdc_staged, check_columns=floodmark._check_event_columns, counts=floodmark._cdc_counts,
        check_staged=floodmark._check_staged_events, finds_by_key=true, apply=floodmark._apply_cdc,
        reads_mark_in_stage=true, app_suffix='/cdc', writer=floodmark._writer,
        selected=floodmark._conformed_event_columns, take_over=floodmark._take_over_half,
        made=floodmark._recover_state, take_back=floodmark._take_back_half, note_refused=floodmark._take_back_refused,
        give_up=floodmark._give_up_half, leave=floodmark._leave_half)) }}
{% endmacro %}


{# Rules are asked of upserts: a delete has no payload, and held back it would let its row live on. A NULL that is
   ignored was not sent. #}
{% macro _asked_of_upserts(run, columns) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set exempt, conditions = [], [] -%}
    {%- for condition in [cdc.deletes, cdc.truncates] -%}
        {%- do conditions.append('coalesce((' ~ condition ~ '), false)' if condition else 'false') -%}
        {%- do exempt.append(conditions[-1]) if condition -%}
    {%- endfor -%}
    {%- if cdc.reads_feed and floodmark._find_column(columns, '_change_type') -%}
        {%- do exempt.append("_change_type in ('delete', 'update_preimage')") -%}
    {%- endif -%}
    {{ return(dict(floodmark._asked_of_sent(cdc, run.settings.unique_key, columns),
        exempt='(' ~ exempt | join(' or ') ~ ')' if exempt else none,
        commits=floodmark._event_commits(run, columns, '(' ~ cdc.sequence ~ ')', conditions[0], conditions[1]))) }}
{% endmacro %}


{# How rules are asked of what was sent, for _asked_terms: a row of the table, too, has NULL in what no event sent. #}
{% macro _asked_of_sent(cdc, keys, columns) %}
    {%- set listed = none if cdc.ignore_null_updates is sameas true
        else floodmark._as_list(cdc.ignore_null_updates or none) | map('lower') | list -%}
    {%- set names = floodmark._without_columns(columns, keys) | map(attribute='name') | list -%}
    {%- set unsent = [] -%}
    {%- for name in names if floodmark._ignores_nulls(cdc) and (listed is none or name | lower in listed) -%}
        {%- do unsent.append(name) -%}
    {%- endfor -%}
    {{ return({'exempt': none, 'unsent': unsent, 'columns': names}) }}
{% endmacro %}


{# The columns that events and table share. #}
{% macro _cdc_own_columns(run, columns) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set added = [cdc.start_at | lower, cdc.end_at | lower] if cdc.scd_type == 2 else [] -%}
    {%- set own = [] -%}
    {%- for column in floodmark._own_columns(cdc, columns) if column.name | lower not in added -%}
        {%- do own.append(column) -%}
    {%- endfor -%}
    {{ return(own) }}
{% endmacro %}


{# What its settings name. A list of columns of the table finds them there, too. #}
{% macro _named_by_events(run) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set ignored = [] if cdc.ignore_null_updates is boolean else cdc.ignore_null_updates -%}
    {{ return(floodmark._event_expressions(cdc) + [floodmark._quoted_csv(cdc.column_list + cdc.except_column_list
        + floodmark._names_beyond_table(run, cdc.tracked + cdc.untracked + ignored))]) }}
{% endmacro %}


{# What orders the events, and what tells deletes and truncates. #}
{% macro _event_expressions(cdc) %}
    {{ return(cdc.sequence_by + [cdc.deletes or '', cdc.truncates or '']) }}
{% endmacro %}


{# The columns that the table does not keep: an event that differs in these alone is the same, unless they say what or
   where it is. #}
{% macro _unkept_columns(run, columns) %}
    {%- set cdc, names = run.settings.cdc, [] -%}
    {%- set texts = floodmark._event_expressions(cdc) + [(run.settings.watermark or {}).column or ''] -%}
    {%- set kept = floodmark._own_columns(cdc, columns) | map(attribute='name') | list -%}
    {%- for column in floodmark._without_columns(floodmark._own_columns(dict(cdc, column_list=[],
        except_column_list=[]), columns), kept) if not floodmark._is_named(column.name, texts, fields=true) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro _cdc_staged(run, batch, select_sql) %}
    {%- set columns = floodmark._checked_events(run, batch, select_sql) -%}
    {{ return({'columns': columns, 'sql': floodmark._staged_events_sql(run, batch, columns, select_sql)}) }}
{% endmacro %}


{# The events of a batch as they are staged. #}
{% macro _staged_events_sql(run, batch, columns, select_sql) %}
    {%- set sql = floodmark._conforming_sql(run, columns, floodmark._events_sql(run.settings.cdc, select_sql)) -%}
    {%- if batch.kind == 'backfill' and run.settings.cdc.tombstone_ttl and floodmark._restates_from(batch) is none -%}
        {%- set sql = floodmark._with_deletes_sql(run, batch, columns, sql) -%}
    {%- endif -%}
    {%- set sql = floodmark._without_replaced_sql(run, columns,
        floodmark._partition_values_sql(run, columns, sql)) -%}
    {%- if floodmark._restates_from(batch) is not none -%}
        {%- set sql = floodmark._restated_events_sql(run, batch, sql,
            floodmark._find_column(columns, '_floodmark_sequence').type) -%}
    {%- endif -%}
    {{ return(sql) }}
{% endmacro %}


{# The events of a backfill, and the deletes of their keys in all of the feed up to the mark. Where deletes are
   forgotten, an event that was ignored when it came would bring its key back: its delete may lie before or behind the
   range. What lies below `start` was never loaded. #}
{% macro _with_deletes_sql(run, batch, columns, events_sql) %}
    {%- set start = floodmark._reach(run.settings.watermark, batch.family).start -%}
    {%- set first = batch.low_position + floodmark._position_unit(batch.family) -%}
    {%- set bounds = dict(batch, low_position=none, start_position=[start, first] | min if start is not none else none,
        high_position=floodmark._position_parse(run.state.committed.mark, batch.family)) -%}
    {%- set feed = floodmark._events_sql(run.settings.cdc, floodmark._select_of(bounds, run.sql)) %}
    with _floodmark_events as (
    {{ events_sql }}
    )
    select * from _floodmark_events where _floodmark_truncate or not _floodmark_delete
    union all
    select d.* from (
    {{ floodmark._conforming_sql(run, columns, feed) }}
    ) as d left semi join _floodmark_events as e
        on {{ floodmark._same_key(run, 'd', 'e') }} and not e._floodmark_truncate
    where d._floodmark_delete and not d._floodmark_truncate
{% endmacro %}


{% macro _cdc_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._event_counts(run, stage,
        source.columns if source else floodmark._columns_of(relation=stage))) }}
{% endmacro %}


{% macro _check_staged_events(run, batch, source) %}
    {%- do floodmark._check_versions(run, batch, source) -%}
    {%- do floodmark._check_events(run, batch, source) -%}
    {%- if floodmark._restates_from(batch) is not none -%}
        {%- do floodmark._check_restated(run, batch, source) -%}
    {%- endif -%}
{% endmacro %}


{# Take a batch over: where half of it is written, finish it from the staging table that its commit names, or take that
   half back where the batch is abandoned. #}
{% macro _take_over_half(run, batch, abandons) %}
    {%- set landed = floodmark._take_over(batch) -%}
    {%- if batch.get('state_is_written') and abandons and landed is none -%}
        {%- do floodmark._take_back_half(batch) -%}
    {%- elif batch.get('state_is_written') -%}
        {%- do floodmark._read_stage_of(run, batch, batch.state_is_written.writer) -%}
    {%- endif -%}
    {{ return(landed) }}
{% endmacro %}


{# Take back what a batch wrote beside the table, where the other half will not be written. #}
{% macro _take_back_half(batch) %}
    {%- if batch.get('state_is_written') -%}
        {%- do floodmark._undo_state(floodmark._state_relation(), batch.state_is_written) -%}
    {%- endif -%}
{% endmacro %}


{# Take back what a batch wrote beside the table, after Spark refused its statement. A batch that makes the table has
   written nothing beside it by then. #}
{% macro _take_back_refused(run, batch) %}
    {%- if not batch.replaces -%}
        {%- do floodmark._take_back_state(batch) -%}
    {%- endif -%}
{% endmacro %}


{# A batch that a reset gives up may have written beside the table: that half goes as well. #}
{% macro _give_up_half(id, relation, batch, landed) %}
    {%- set beside = adapter.get_relation(none, relation.schema, relation.identifier ~ '__cdc_state') -%}
    {%- if landed is not none and 'AS SELECT' in landed.operation -%}
        {%- do floodmark._stop('batch ' ~ batch.batch_id
            ~ ' has made the table, but its state table may be missing: run the model '
            'once to finish the batch, then reset', id) -%}
    {%- elif beside is not none and landed is none -%}
        {%- do batch.update({'attempt': floodmark._next_attempt(batch, [relation, beside])}) -%}
        {%- do floodmark._fence(batch, beside) -%}
        {%- set written = floodmark._landed(beside, batch) -%}
        {%- if written is not none and not floodmark._is_undone(beside, written) -%}
            {%- do floodmark._undo_state(beside, written) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Before a full refresh: if the last batch created the table but died before it wrote the state table, drop the state
   table that is left of an older table. Otherwise it would decide about late events if this refresh fails. Without it,
   the run stops (_check_state). #}
{% macro _leave_half(batch, landed) %}
    {%- set state = floodmark._state_relation() -%}
    {%- if 'AS SELECT' in landed.operation and floodmark._has_state()
        and floodmark._landed(state, batch) is none -%}
        {%- do floodmark._execute(['drop table if exists ' ~ state]) -%}
    {%- endif -%}
{% endmacro %}
