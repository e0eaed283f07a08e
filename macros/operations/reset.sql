{# Move a model's mark on purpose: the next run loads what lies above `to`. The ledger keeps who did it and why.
   Without `to` the mark is forgotten, and merge loads from `start`; not of kind `version`, where a table without a mark
   is given no deletes. #}
{% macro reset(model, to=none, reason=none) %}
    {%- do floodmark._check_arguments('reset',
        {'model': [model, 'name'], 'to': [to, 'value'], 'reason': [reason, 'text']}) -%}
    {%- set node = floodmark._managed_node(model) -%}
    {%- set id = floodmark._node_id(node) -%}
    {%- set watermark = floodmark._node_setting(node, 'watermark') -%}
    {%- if watermark is not mapping -%}
        {%- do floodmark._stop('it has no watermark, so there is no mark to move: use --full-refresh', id) -%}
    {%- endif -%}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- set detail = floodmark._detail(relation) if relation is not none and relation.is_delta else none -%}
    {%- if relation is none -%}
        {%- do floodmark._stop('it has no table yet: its next run is a first load, from `start` on', id) -%}
    {%- endif -%}
    {%- set begins = detail and not detail.files
        and not floodmark._may_be_left_empty(node.config, {'kind': 'reset'}) -%}
    {%- set state = floodmark._model_state(id) -%}
    {%- set strategy = node.config.get('incremental_strategy') or 'append' -%}
    {%- if to is none and strategy == 'append' -%}
        {%- do floodmark._stop('append without a mark would load every row again: name a value with `to`, or use '
            '--full-refresh', id) -%}
    {%- endif -%}
    {%- if to is none and watermark.get('kind') == 'version' and watermark.get('start') is none -%}
        {%- do floodmark._stop('without a mark it would load the rows of its upstream as they are now, and keep those '
            'that were deleted there: name a version with `to`, or use --full-refresh', id) -%}
    {%- endif -%}
    {%- if strategy == 'snapshot_diff' -%}
        {%- do floodmark._stop('its snapshots are loaded in ascending order, so the mark stays: use --full-refresh '
            'to load them again', id) -%}
    {%- endif -%}
    {%- set known = state.landed.target_version if state.landed else none -%}
    {%- set commits = floodmark._commits_since(relation, floodmark._history(relation, 1)[0].version, known)
        if relation.is_delta and state.landed else [] -%}
    {%- set disturbed = floodmark._restored_below(commits, known) -%}
    {%- set is_replaced = detail and state.committed and state.committed.target_id not in [none, detail.id] -%}
    {%- if floodmark._misfits_state(relation, strategy, disturbed, is_replaced) -%}
        {%- do floodmark._stop(relation ~ ' ' ~ (disturbed ~ ', but its state table was not' if disturbed
            else 'is not the table that batch ' ~ state.committed.batch_id ~ ' left, but its state table is')
            ~ ', so late events would be applied wrongly: run it once with --full-refresh to load everything '
            'again', id) -%}
    {%- endif -%}
    {%- set upstream = floodmark._node_upstream(node) -%}
    {%- if upstream is none or upstream.family is none -%}
        {%- do floodmark._stop('its upstream, or the watermark column in it, is not found: build it, or name it in '
            'watermark.from', id) -%}
    {%- endif -%}
    {%- set position = floodmark._reach({'start': to}, upstream.family).start
        if to is not none and floodmark._is_position(to, upstream.family) else none -%}
    {%- if to is not none and position is none -%}
        {%- do floodmark._stop("got '" ~ to ~ "' as a mark: expected "
            ~ ('a whole number' if floodmark._is_counted(upstream.family)
            else "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00'"), id) -%}
    {%- endif -%}
    {%- if state.last_batch_id != state.finished_id -%}
        {%- do floodmark._give_up(id, relation, dict(state.planned, settings={'strategy': strategy},
            nulls=watermark.get('nulls')), state.committed,
            sql=floodmark._written_select(node)) -%}
        {#- it may have landed, and moved the mark; what another run has planned since has the number of the reset -#}
        {%- set state = dict(state, committed=floodmark._model_state(id).committed) -%}
    {%- endif -%}
    {%- set unknown = floodmark._unknown_batch(id, commits, known) -%}
    {%- do floodmark._number_behind(state, unknown) if unknown -%}
    {%- set before = state.committed.mark if state.committed else none -%}
    {%- set mark = floodmark._position_print(position, upstream.family) -%}
    {%- set batch = {'model': id, 'batch_id': floodmark._next_batch_id(id, relation, state), 'kind': 'reset',
        'generation': state.committed.generation if state.committed else invocation_id, 'family': upstream.family,
        'watermark_column': upstream.column, 'upstream': floodmark._relation_name(upstream.relation), 'low': before,
        'reason': reason} -%}
    {%- set values = {'high': floodmark._string_literal(mark), 'mark': floodmark._string_literal(mark),
        'is_last': false, 'target_id': floodmark._string_literal((detail or floodmark._detail(relation)).id),
        'target_version': floodmark._history(relation, 1)[0].version, 'recorded_by': 'current_user()'} -%}
    {%- do floodmark._forget_commit() -%}
    {%- do floodmark._record('committed', batch, values) -%}
    {%- set now = none if floodmark._is_recorded('committed', batch) else floodmark._model_state(id) -%}
    {%- if now and floodmark._has_lost_events(now, batch) -%}
        {%- do floodmark._record_under_free_number('committed', batch, values) -%}
    {%- elif now and not (now.committed and now.committed.batch_id | int == batch.batch_id
        and now.committed.invocation_id == invocation_id) -%}
        {%- do floodmark._stop('another run is loading it now: let that run end, then reset again', id) -%}
    {%- endif -%}
    {%- set start = watermark.get('start') -%}
    {%- set superseded = floodmark._supersede_above(relation, batch, position,
        floodmark._reach({'start': start}, upstream.family).start if start is not none else none,
        floodmark._written_select(node)) -%}
    {%- set goes_back = before is not none and position is not none and state.committed.family == upstream.family
        and position < floodmark._position_parse(before, upstream.family) -%}
    {%- set again = {'append': ' append loads the rows above it again: delete them first if they are there. If that '
        'leaves the table empty, the next run loads from `start` on.',
        'cdc': ' The events above it are read again. If one of them came late for a key whose delete lies below it, '
        'and the delete is forgotten by now (cdc.tombstone_ttl), the key comes back: `floodmark restate` rebuilds it '
        'from the feed.' if (floodmark._node_setting(node, 'cdc') or {}).tombstone_ttl
        else ''}.get(strategy, '') if goes_back else '' -%}
    {%- do print('The mark of ' ~ id ~ ' is now ' ~ (mark or 'none') ~ ' (it was ' ~ (before or 'none') ~ ').'
        ~ (' Its table is empty: the next run loads from `start` on, whatever the mark.' if begins else again)
        ~ superseded) -%}
{% endmacro %}


{# A model's SELECT as its file has it, with a word for each relation: an operation has no other. #}
{% macro _written_select(node) %}
    {{ return(modules.re.sub('\\{\\{-?\\s*(?:ref|source)\\s*\\([^{}]*\\)\\s*-?\\}\\}', 'a.relation',
        node.raw_code)) }}
{% endmacro %}


{# Rows of the quarantine above a mark that goes back are open no more: they come again. Without a mark all from `start`
   on do. Behind the event, so that a reset which dies before it leaves them open. `sql` is the text of the SELECT.
   Returns a sentence about it. #}
{% macro _supersede_above(relation, batch, position, start, sql) %}
    {%- set quarantine = floodmark._quarantine_relation(relation) -%}
    {%- if not floodmark._has_quarantine(quarantine) -%}
        {{ return('') }}
    {%- endif -%}
    {%- set open = run_query('select count(*) from ' ~ quarantine ~ " where _floodmark_state = 'open'").rows[0][0] -%}
    {%- set low = position if position is not none
        else (start - floodmark._position_unit(batch.family) if start is not none else none) -%}
    {%- set column = floodmark._placing_column(batch, floodmark._columns_of(relation=quarantine),
        sql if low is not none else none) -%}
    {%- if not open | int -%}
        {{ return('') }}
    {%- elif column is none -%}
        {{ return(' Its quarantine does not tell which of its ' ~ floodmark._counted(open | int, 'open row')
            ~ (' lies' if open | int == 1 else ' lie') ~ ' above it: discard those that the next run reads again.') }}
    {%- endif -%}
    {%- do floodmark._supersede(quarantine, '_floodmark_batch_id < ' ~ batch.batch_id ~ ' and '
        ~ floodmark._held_position_sql(column, batch.family)
        ~ (' > ' ~ floodmark._position_literal(low, batch.family) if low is not none else ' is not null')) -%}
    {{ return(' Open rows of its quarantine above it are superseded: they come again.') }}
{% endmacro %}
