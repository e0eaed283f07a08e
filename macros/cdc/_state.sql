{#
  What cdc must remember beside the table lives in a Delta table next to it, <model>__cdc_state (docs/guides/cdc.md).
  In SCD 1 these are deletes (tombstones) and truncates. _compact_state drops those that no longer count, so the table
  grows with the keys that are deleted and do not come back.
  In SCD 2 they are the deletes that end no row and the events of a row but its last, of closed rows too, since a late
  event can split any of them. Nothing drops them: the table grows with each upsert that leaves the tracked columns as
  they were, and with each delete that ends no row.
  `_floodmark_kind` is delete, truncate or upsert (SCD 2).
#}

{% macro _state_relation() %}
    {{ return(api.Relation.create(database=this.database, schema=this.schema,
        identifier=this.identifier ~ '__cdc_state', type='table')) }}
{% endmacro %}


{# Whether the model has a state table yet: it is made when there is something to remember. #}
{% macro _has_state() %}
    {{ return(floodmark._is_there(floodmark._state_relation())) }}
{% endmacro %}


{# The property by which the model's table says that there is one. #}
{% macro _state_mark() %}
    {{ return('floodmark.cdc_state') }}
{% endmacro %}


{# Drop the state table of an empty table: its events are gone. #}
{% macro _forget_state() %}
    {%- do floodmark._execute(['drop table if exists ' ~ floodmark._state_relation(),
        'alter table ' ~ this ~ " unset tblproperties if exists ('" ~ floodmark._state_mark() ~ "')"]) -%}
{% endmacro %}


{# Without what it remembers a table cannot tell which late events count: the run stops where that is gone. #}
{% macro _check_state(run, source) %}
    {%- if run.get('is_state_marked') is none -%}
        {%- do run.update({'is_state_marked': floodmark._properties_of(this).get(
            floodmark._state_mark()) is not none}) -%}
    {%- endif -%}
    {%- if run.is_state_marked and not source.has_state -%}
        {%- do floodmark._stop(floodmark._state_relation()
            ~ ' is gone. It holds the deletes and the earlier events of ' ~ this
            ~ ', and late events would be applied wrongly without it: put it back, or run the model once with '
            '--full-refresh to load everything again', rejects='the state table of cdc is gone') -%}
    {%- endif -%}
{% endmacro %}


{# Have the table say that there is one, before the statement that relies on it. #}
{% macro _mark_state(run, source) %}
    {%- if source.has_state and not run.is_state_marked -%}
        {%- do floodmark._set_properties({floodmark._state_mark(): 'true'}) -%}
        {%- do run.update({'is_state_marked': true}) -%}
    {%- endif -%}
{% endmacro %}


{# The columns of the state table, for a table with these own columns: key and sequence, and in SCD 2 what the table's
   row of the event would hold. #}
{% macro _state_columns(run, source, own) %}
    {%- set columns = [] -%}
    {%- for column in own if run.settings.cdc.scd_type == 2
        or column.name | lower in run.settings.unique_key | map('lower') | list -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- set sequence = floodmark._find_column(source.columns, '_floodmark_sequence') -%}
    {%- if run.settings.cdc.scd_type == 2 and floodmark._ignores_nulls(run.settings.cdc) -%}
        {%- do columns.append({'name': '_floodmark_columns', 'type': floodmark._memory_type(sequence.type)}) -%}
    {%- endif -%}
    {{ return(columns + [sequence, {'name': '_floodmark_kind', 'type': 'string'},
        {'name': '_floodmark_at', 'type': 'timestamp'}]) }}
{% endmacro %}


{# Make the state table, or have it follow the table. #}
{% macro _prepare_state(run, source) %}
    {%- set state = floodmark._state_relation() -%}
    {%- set columns = floodmark._state_columns(run, source, floodmark._table_own_columns(run)) -%}
    {%- if not source.has_state -%}
        {#- a text may be as long as it likes: the table's length may grow -#}
        {%- do floodmark._execute(['create table if not exists ' ~ state ~ ' ('
            ~ floodmark._as_ddl(columns, is_plain=true) ~ ') using delta '
            ~ floodmark._state_properties_sql(columns)]) -%}
    {%- else -%}
        {%- do floodmark._fit_state(state, columns) -%}
    {%- endif -%}
    {%- do run.update({'state_fits': true}) -%}
{% endmacro %}


{# Give the state table the columns, fields and types that the table has. Fields may stand elsewhere, or be more: they
   meet by their names (_remembered). Any other type is refused. #}
{% macro _fit_state(state, columns) %}
    {%- set known = floodmark._columns_of(relation=state) -%}
    {%- set changes = {'new': [], 'fields': []} -%}
    {%- for column in columns -%}
        {%- set own = floodmark._find_column(known, column.name) -%}
        {%- if own is none -%}
            {%- do changes.new.append(column) -%}
        {%- elif own.type != column.type -%}
            {%- do changes.fields.extend(floodmark._new_fields(column.name, floodmark._quoted(own.name),
                column.ddl or column.type, own.ddl)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._add_columns_beside(state, changes) -%}
    {%- if floodmark._widen_columns(state, known, columns) -%}
        {%- set known = floodmark._columns_of(relation=state) -%}
    {%- endif -%}
    {%- set wrong = floodmark._unfit_columns(known, columns) -%}
    {%- if wrong -%}
        {%- do floodmark._stop(state ~ ', which holds the deletes and the earlier events of ' ~ this ~ ', has '
            ~ wrong | join(', ') ~ ': give the column of ' ~ this ~ ' its type back, or run the model once with '
            '--full-refresh to load everything again', rejects='the state table of cdc has other types') -%}
    {%- endif -%}
{% endmacro %}


{# What of the known columns has other types than it is to have, as parts of a sentence. #}
{% macro _unfit_columns(known, columns) %}
    {%- set wrong = [] -%}
    {%- for column in columns -%}
        {%- set own = floodmark._find_column(known, column.name) -%}
        {%- set ddl = column.ddl or column.type -%}
        {%- if own and floodmark._plain_type(floodmark._conformed_type(own.ddl, ddl, false) | lower)
            != floodmark._plain_type(ddl | lower) -%}
            {%- do wrong.append(column.name ~ ' as ' ~ own.type ~ ' where the table has ' ~ ddl | lower) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(wrong) }}
{% endmacro %}


{# The state table, for columns of the table: {columns, from}, the columns that it has, and what stands in a FROM and
   gives them in the table's types. #}
{% macro _remembered(own) %}
    {%- set state = floodmark._state_relation() -%}
    {%- set known = floodmark._columns_of(relation=state) -%}
    {%- set columns, values, ns = [], [], namespace(differs=false) -%}
    {%- for column in known -%}
        {%- set wanted = floodmark._find_column(own, column.name) -%}
        {%- if wanted and floodmark._plain_type(wanted.type) != floodmark._plain_type(column.type) -%}
            {%- set ns.differs = true -%}
            {%- do values.append(floodmark._conformed_column_sql(dict(wanted, given=column.ddl))) -%}
        {%- else -%}
            {%- do values.append(floodmark._quoted(column.name)) -%}
        {%- endif -%}
        {%- do columns.append(wanted or column) -%}
    {%- endfor -%}
    {{ return({'columns': columns,
        'from': '(select ' ~ values | join(', ') ~ ' from ' ~ state ~ ')' if ns.differs else state}) }}
{% endmacro %}


{% macro _state_properties_sql(columns) %}
    {{ return("comment 'What floodmark remembers of the events of " ~ this ~ "' tblproperties "
        ~ floodmark._properties_sql(dict({'delta.enableDeletionVectors': 'true'},
        **floodmark._beside_properties(columns)))) }}
{% endmacro %}


{# SQL of whether a row of the state table still counts. #}
{% macro _alive_sql(run) %}
    {{ return("(_floodmark_kind <> 'delete' or _floodmark_at > " ~ floodmark._remembered_since_sql(run) ~ ')'
        if run.settings.cdc.tombstone_ttl else 'true') }}
{% endmacro %}


{# SQL of the time up to which deletes are forgotten: they live for tombstone_ttl, counted up to the first event that
   is still to come, of the next batch or from the quarantine. One that was ignored when it came stays ignored, runs may
   be rare, and rows may wait to be corrected. #}
{% macro _remembered_since_sql(run) %}
    {%- set ttl = floodmark._parse_duration(run.settings.cdc.tombstone_ttl) -%}
    {%- set until = [floodmark._now(), floodmark._next_read_from(run)] | reject('none') | min -%}
    {%- set since = floodmark._position_literal(until - ttl, 'timestamp') -%}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- if not floodmark._has_quarantine(quarantine) -%}
        {{ return(since) }}
    {%- endif -%}
    {{ return('least(' ~ since ~ ', (select timestamp_micros(unix_micros(min(_floodmark_quarantined_at)) - '
        ~ floodmark._nearest_position(ttl, 'timestamp') ~ ') from ' ~ quarantine
        ~ " where _floodmark_state = 'open'))") }}
{% endmacro %}


{# The time from which the next batch may read; none before the first batch. A mark that is a number tells no time, and
   the commit of the upstream that the last batch knew does: within a day, since its text may be of any time zone. #}
{% macro _next_read_from(run) %}
    {%- set watermark, committed = run.settings.watermark, (run.state or {}).get('committed') -%}
    {%- if not watermark or not committed or committed.mark is none -%}
        {{ return(none) }}
    {%- elif floodmark._is_counted(committed.family) -%}
        {{ return(floodmark._parse_timestamp(committed.upstream_at[:19]) - floodmark._micros_in().day
            if committed.upstream_at else none) }}
    {%- endif -%}
    {{ return(floodmark._position_parse(committed.mark, committed.family)
        - floodmark._reach(watermark, committed.family).lookback) }}
{% endmacro %}


{# Every so many batches the state table is made small again. #}
{% macro _batches_a_compaction() %}
    {{ return(16) }}
{% endmacro %}


{# Every 16th batch, compact the state table of SCD 1. Keep the greatest truncate and, for each key, the greatest delete
   and the smaller ones that live longer. Drop deletes that have expired, and those of keys whose row in the table is
   not older. The deletes mean the same afterwards, so this commit is not part of the batch. #}
{% macro _compact_state(run, batch, source) %}
    {%- if run.settings.cdc.scd_type == 1 and source.has_state
        and batch.batch_id % floodmark._batches_a_compaction() == 0 -%}
        {%- set state = floodmark._state_relation() -%}
        {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
        {%- do floodmark._execute(['insert overwrite ' ~ state
            ~ ' by name select s.* except (_floodmark_until) from (select * from (select *, '
            'max(_floodmark_at) over (partition by ' ~ keys
            ~ ', _floodmark_kind order by _floodmark_sequence desc, _floodmark_at desc rows between '
            'unbounded preceding and 1 preceding) as _floodmark_until from ' ~ state ~ ' where '
            ~ floodmark._alive_sql(run) ~ ') where _floodmark_until is null'
            ~ (" or _floodmark_kind = 'delete' and _floodmark_at > _floodmark_until" if run.settings.cdc.tombstone_ttl
            else '') ~ ') as s left anti join ' ~ this ~ ' as t on ' ~ floodmark._same_key(run, 's', 't')
            ~ " and s._floodmark_kind = 'delete' and " ~ floodmark._row_sequence(run.settings.cdc, 't.')
            ~ ' >= s._floodmark_sequence']) -%}
    {%- endif -%}
{% endmacro %}
