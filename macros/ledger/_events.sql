{# What the ledger knows of a model: {last_batch_id, finished_id, planned, committed, landed}. `planned` is the last
   planned batch, `committed` the last committed one, `landed` the last that wrote to the target. The newest events
   tell, nearly always. #}
{% macro _model_state(model_id=none) %}
    {%- set id = model_id or floodmark._model_id() -%}
    {%- set events = floodmark._newest_events([id]) -%}
    {%- set state = floodmark._fold_events(events) -%}
    {%- if events | length == floodmark._newest_most() and state.committed is none -%}
        {%- do events.extend(floodmark._newest_events([id], " and event = 'committed'")) -%}
    {%- endif -%}
    {%- if events | length >= floodmark._newest_most() and state.landed is none -%}
        {%- do events.extend(floodmark._newest_events([id], ' and target_version is not null')) -%}
        {#- what lies between was not looked at -#}
        {{ return(dict(floodmark._fold_events(events), has_read_since=true)) }}
    {%- endif -%}
    {{ return(floodmark._fold_events(events)) }}
{% endmacro %}


{# Read the states of all models that this invocation builds, once, before its threads start; a ledger that `is_new`
   has none of them. #}
{% macro _remember_states(is_new=false) %}
    {%- set ids = [] -%}
    {%- for node in floodmark._managed_nodes().values() if node.unique_id in selected_resources -%}
        {%- do ids.append(floodmark._node_id(node)) -%}
    {%- endfor -%}
    {%- if ids -%}
        {%- set events = [] if is_new else floodmark._newest_events(ids) -%}
        {%- for id in ids -%}
            {%- do floodmark._memory().states.update({id: floodmark._fold_events(
                events | selectattr('model', 'equalto', id) | list)}) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# The model's state as this invocation found it when it began; none where it did not look, or an unfinished batch was
   there. Good for as long as the target stands at the batch that it names, or is not there where it names none, and
   the next batch's number is free. #}
{% macro _remembered_state() %}
    {%- set state = floodmark._memory().states.get(floodmark._model_id()) -%}
    {{ return(dict(state, is_remembered=true) if state and (state.landed or state.last_batch_id is none)
        and state.last_batch_id == state.finished_id else none) }}
{% endmacro %}


{# The events of a model, this one if none is given, as they stand in a FROM; ` and ...` may follow. #}
{% macro _log_of(id=none) %}
    {{ return(floodmark.ledger_schema() ~ '.batch_log where model = '
        ~ floodmark._string_literal(id or floodmark._model_id())) }}
{% endmacro %}


{# How many events of a model are read at first: enough for its last batches, however often they failed. #}
{% macro _newest_most() %}
    {{ return(30) }}
{% endmacro %}


{# The newest events of each of these models that meet a condition (` and ...`), the greatest batch first. Plain
   rows: aggregates over an event's columns cost Spark four times as much to compile. #}
{% macro _newest_events(model_ids, condition='') %}
    {%- set names = [] -%}
    {%- for id in model_ids -%}
        {%- do names.append(floodmark._string_literal(id)) -%}
    {%- endfor -%}
    {%- set log = floodmark.ledger_schema() ~ '.batch_log' -%}
    {%- set which = ' where model in (' ~ names | join(', ') ~ ") and event in ('planned', 'committed', 'failed')"
        ~ condition -%}
    {%- set rows = log ~ which if names | length == 1
        else '(select *, row_number() over (partition by model order by batch_id desc) as _floodmark_rank from ' ~ log
        ~ which ~ ') where _floodmark_rank <= ' ~ floodmark._newest_most() -%}
    {{ return(floodmark._query_json(
        "select to_json(struct(model, batch_id, event, kind, generation, invocation_id, family, "
        "watermark_column, low, high, cap, mark, is_last, lookback, "
        ~ "upstream, upstream_version, upstream_at, upstream_id, target_id, target_version, "
        "rows_read, rows_kept, reason, unix_micros(at) as at, "
        ~ floodmark._held_rules_sql() ~ " as held_rules), map('ignoreNullFields', 'false')) as event from " ~ rows
        ~ ' order by batch_id desc' ~ (' limit ' ~ floodmark._newest_most() if names | length == 1 else '') )) }}
{% endmacro %}


{# Whether an event tells of rules that no row broke (_results_literal). #}
{% macro _held_rules_sql() %}
    {{ return("event = 'committed' and expectations is not null and not exists(from_json(expectations, "
        "'array<struct<violations: bigint>>'), result -> coalesce(result.violations, 0) > 0)") }}
{% endmacro %}


{# The state that these events tell. A batch that one run failed and another committed is committed where it is in the
   target. `has_read_since` says whether a batch behind `landed` read rows, and had nothing to write into the target.
   #}
{% macro _fold_events(events) %}
    {%- set state = {'last_batch_id': none, 'finished_id': none, 'planned': none, 'committed': none, 'landed': none,
        'has_read_since': false} -%}
    {%- set failed = events | selectattr('event', 'equalto', 'failed') | map(attribute='batch_id') | list -%}
    {%- for event in events -%}
        {%- set found = [] -%}
        {%- if event.event == 'planned' -%}
            {%- do found.append('planned') -%}
        {%- elif event.event == 'committed' and (event.target_version is not none or event.batch_id not in failed) -%}
            {%- do found.extend(['committed', 'landed'] if event.target_version is not none else ['committed']) -%}
        {%- endif -%}
        {%- if found == ['committed'] and state.landed is none and event.rows_read -%}
            {%- do state.update({'has_read_since': true}) -%}
        {%- endif -%}
        {%- for name in found if state[name] is none -%}
            {%- do state.update({name: event}) -%}
        {%- endfor -%}
        {%- if state.last_batch_id is none -%}
            {%- do state.update({'last_batch_id': event.batch_id}) -%}
        {%- endif -%}
        {%- if state.finished_id is none and event.event in ['committed', 'failed'] -%}
            {%- do state.update({'finished_id': event.batch_id}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(state) }}
{% endmacro %}


{# Whether a table's mark is gone: no batch is known, or the last one's mark was taken out by hand. A batch that found
   nothing has neither mark nor upper bound; that of a backfill is its own. #}
{% macro _has_lost_mark(committed) %}
    {{ return(committed is none or committed.mark is none and committed.high
        and committed.kind != 'backfill') }}
{% endmacro %}


{# Append an event of a batch. Plans, waits, failures and resets are inserted under a transaction id: if two runs use
   one number, Delta commits one insert and skips the other. The id makes Delta read the log's whole state, so events
   that may be recorded twice have none. `others` are events for the same commit. #}
{% macro _record(event, batch, values, others=[]) %}
    {%- set step = {'planned': 'plan', 'waiting': 'wait', 'failed': 'finish'}.get(event,
        'plan' if batch.kind == 'reset' else none) -%}
    {%- set once = "txnAppId = " ~ floodmark._string_literal('floodmark/' ~ step ~ '/' ~ floodmark._batch_model(batch))
        ~ ", txnVersion = '" ~ batch.get('txn_version', batch.batch_id) ~ "', " -%}
    {%- do floodmark._insert_events([floodmark._event_columns(event, batch, values)] + others,
        (once if step else '') ~ 'userMetadata = ' ~ floodmark._string_literal(floodmark._event_tag(event, batch))) -%}
{% endmacro %}


{# SQL of a time behind `before` (microseconds; none: there is none), by Spark's clock, which may have been set back. #}
{% macro _time_behind_sql(before) %}
    {{ return('greatest(current_timestamp(), timestamp_micros(' ~ (before + 1) ~ '))' if before is not none
        else 'current_timestamp()') }}
{% endmacro %}


{# SQL of the time of a committed batch, behind that of the last one that wrote to the target. The next one is behind
   this. #}
{% macro _take_time(state) %}
    {%- set before = (state.landed or {}).get('at') -%}
    {%- if before is not none -%}
        {%- do state.update({'landed': dict(state.landed, at=before + 1)}) -%}
    {%- endif -%}
    {{ return(floodmark._time_behind_sql(before)) }}
{% endmacro %}


{# An event of a batch as {column: SQL}. #}
{% macro _event_columns(event, batch, values) %}
    {%- set columns = {'model': floodmark._string_literal(floodmark._batch_model(batch)), 'batch_id': batch.batch_id,
        'event': floodmark._string_literal(event), 'at': 'current_timestamp()',
        'kind': floodmark._string_literal(batch.kind), 'generation': floodmark._string_literal(batch.generation),
        'invocation_id': floodmark._string_literal(invocation_id), 'family': floodmark._string_literal(batch.family),
        'watermark_column': floodmark._string_literal(batch.get('watermark_column')),
        'upstream': floodmark._string_literal(batch.get('upstream')), 'low': floodmark._string_literal(batch.low),
        'reason': floodmark._string_literal(batch.get('reason')),
        'asked': floodmark._string_literal(tojson(batch.asked)) if batch.get('asked') else 'null'} -%}
    {%- do columns.update(values) -%}
    {{ return(columns) }}
{% endmacro %}


{# Append events, each {column: SQL}, in one commit with these options. #}
{% macro _insert_events(events, options) %}
    {%- set names = [] -%}
    {%- for event in events -%}
        {%- do names.extend(event.keys() | reject('in', names) | list) -%}
    {%- endfor -%}
    {%- set rows = [] -%}
    {%- for event in events -%}
        {%- set values = [] -%}
        {%- for name in names -%}
            {%- do values.append(event.get(name, 'null')) -%}
        {%- endfor -%}
        {%- do rows.append('(' ~ values | join(', ') ~ ')') -%}
    {%- endfor -%}
    {%- call statement('floodmark_record', auto_begin=false) -%}
        insert into {{ floodmark.ledger_schema() }}.batch_log with ({{ options }}) ({{ names | join(', ') }})
        values {{ rows | join(',\n        ') }}
    {%- endcall -%}
{% endmacro %}
