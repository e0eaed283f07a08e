{# Finish what an earlier run left, then load batch after batch until nothing waits, or read a range again
   (_backfill). What the run found is told behind it (_tell_violations). #}
{% macro _load(settings, sql) %}
    {%- set ns = namespace(run=floodmark._begin_run(settings, sql),
        total={'batches': 0, 'rows_read': 0, 'rows_inserted': 0, 'rows_updated': 0, 'rows_deleted': 0,
        'rows_quarantined': 0, 'rows_dropped': 0, 'rows_warned': 0}) -%}
    {%- set ns.done = ns.run.is_untouched -%}
    {%- do floodmark._relax_constraints(ns.run) -%}
    {%- do floodmark._add_counts(ns.total, ns.run.recovered) -%}
    {%- set next = floodmark._next_restate_batch if ns.run.restate
        else (floodmark._next_backfill_batch if ns.run.backfill
        else (floodmark._next_replay_batch if ns.run.replay else floodmark._next_batch)) -%}
    {%- for _ in range(100000) -%}
        {%- if ns.done -%}
            {%- break -%}
        {%- endif -%}
        {%- set batch = next(ns.run) -%}
        {%- if ns.run.is_stale -%}
            {%- set found = {'errors': ns.run.get('errors'), 'warnings': ns.run.get('warnings')} -%}
            {%- set ns.run = floodmark._begin_run(settings, sql, remembers=false, found=found) -%}
            {%- do floodmark._add_counts(ns.total, ns.run.recovered) -%}
            {%- set ns.done = ns.run.is_untouched -%}
        {%- elif batch is none -%}
            {%- set ns.done = true -%}
        {%- else -%}
            {%- do floodmark._add_counts(ns.total, floodmark._load_batch(ns.run, batch)) -%}
            {%- set ns.done = batch.is_last -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if settings.files -%}
        {%- do ns.total.update({'files_moved': floodmark._tidy_files(floodmark._model_id(), settings.files),
            'moved': {'archive': 'archived', 'delete': 'deleted'}.get(settings.files.on_loaded)}) -%}
    {%- endif -%}
    {%- do floodmark._report(settings.strategy | upper, dict(ns.total, waits_for=ns.run.waits_for,
        still_open=floodmark._still_open(ns.run) if ns.run.replay else 0)) -%}
    {%- do ns.run.update({'total': ns.total}) -%}
    {%- do floodmark._check_added_constraints(ns.run, ns.run.properties, 'What the run loaded is committed'
        if ns.total.batches else 'Nothing was loaded') if ns.run.properties -%}
    {{ return(ns.run) }}
{% endmacro %}


{# Add the counts of a batch to the run's; none is no batch. #}
{% macro _add_counts(total, counts) %}
    {%- do total.update({'batches': total.batches + (1 if counts else 0)}) -%}
    {%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_quarantined', 'rows_dropped',
        'rows_warned'] if counts -%}
        {%- do total.update({name: total.get(name, 0) + (counts.get(name) or 0)}) -%}
    {%- endfor -%}
{% endmacro %}


{# dbt's result line: what the node loaded, and how. #}
{% macro _report(how, total) %}
    {%- set changed = total.rows_inserted + total.rows_updated + total.rows_deleted -%}
    {%- if total.get('waits_for') -%}
        {%- set message = how ~ ' waits for the first file in ' ~ total.waits_for -%}
    {%- elif total.batches == 0 -%}
        {%- set message = how ~ ' nothing new' -%}
    {%- else -%}
        {%- set parts = ['{:,} read'.format(total.rows_read)] -%}
        {%- for name in ['inserted', 'updated', 'deleted', 'quarantined', 'dropped', 'warned']
            if total.get('rows_' ~ name) -%}
            {%- do parts.append('{:,} '.format(total['rows_' ~ name]) ~ name) -%}
        {%- endfor -%}
        {%- if total.batches > 1 -%}
            {%- do parts.append(total.batches ~ ' batches') -%}
        {%- endif -%}
        {%- set message = how ~ ' ' ~ parts | join(', ') -%}
    {%- endif -%}
    {%- if total.get('still_open') -%}
        {%- set message = message ~ ', {:,} '.format(total.still_open) ~ ('stays' if total.still_open == 1 else 'stay')
            ~ ' open' -%}
    {%- endif -%}
    {%- if total.get('files_moved') -%}
        {%- set message = message ~ ', ' ~ floodmark._counted(total.files_moved, 'file') ~ ' ' ~ total.moved -%}
    {%- endif -%}
    {%- do store_raw_result(name='main', message=message, code=how, rows_affected=changed | string) -%}
{% endmacro %}


{# What a run knows before its first batch: settings, SELECT, upstream, target, ledger; an unfinished batch is
   finished here. With `remembers` the ledger is read only where what the invocation knew when it began does not fit
   the target any more. `found` is what another run of the node has found and not told yet. #}
{% macro _begin_run(settings, sql, remembers=true, found={}) %}
    {%- set state = floodmark._remembered_state()
        if remembers and not floodmark._backfill_range() and not floodmark._restate_asked()
        and not floodmark._replay_asked() else none -%}
    {%- set target = floodmark._target_state(state) if state else none -%}
    {%- if not target or not target.is_known -%}
        {%- set state = floodmark._model_state() -%}
        {%- set target = floodmark._target_state(state) -%}
    {%- endif -%}
    {%- set run = {'settings': settings, 'sql': sql, 'upstream': none, 'errors': found.get('errors'),
        'warnings': found.get('warnings'), 'commits': floodmark._upstream_log(settings, state), 'state': state,
        'target': target, 'is_stale': false,
        'backfill': floodmark._backfill_range(), 'restate': floodmark._restate_asked(),
        'replay': floodmark._replay_asked(),
        'full_refresh': should_full_refresh(), 'ceiling': none, 'recovered': none, 'first': true, 'waits_for': none,
        'zone': none,
        'generation': none, 'guarded': settings.watermark is not none
        and not floodmark._has_mark('bounds', sql) and not floodmark._has_mark('changes', sql)} -%}
    {%- do run.update({'is_untouched': floodmark._is_untouched(run)}) -%}
    {%- if run.is_untouched -%}
        {{ return(run) }}
    {%- endif -%}
    {%- do run.update({'upstream': floodmark._upstream(settings, commits=run.commits) if settings.watermark
        else none}) -%}
    {%- if run.guarded and is_incremental() -%}
        {%- do floodmark._refuse([{'setting': 'watermark', 'got': settings.watermark,
            'expected': 'floodmark.watermark_filter() in the SELECT of an incremental run',
            'todo': 'Add "where {{ floodmark.watermark_filter() }}" inside the is_incremental() guard'}]) -%}
    {%- endif -%}
    {%- do floodmark._check_zone(run) -%}
    {%- set stages = floodmark._stages(this, state.is_remembered) -%}
    {%- do run.update({'stages': stages}) -%}
    {%- if state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {%- if state.planned.kind in ['incremental', 'backfill', 'replay'] -%}
            {%- do floodmark._check_target(run) -%}
        {%- endif -%}
        {%- do run.update({'recovered': floodmark._recover(run, state.planned)}) -%}
    {%- endif -%}
    {%- do floodmark._drop_left_stages(stages, run.state.finished_id) -%}
    {%- do floodmark._check_target(run) -%}
    {%- if run.guarded and not (run.full_refresh or run.target.is_empty) -%}
        {%- do floodmark._stop(this ~ ' got its rows, from a hook or another run, after dbt had compiled the SELECT '
            'without what stands behind is_incremental(). Nothing was loaded: run again') -%}
    {%- endif -%}
    {%- if run.upstream and run.upstream.family == 'version' -%}
        {%- do floodmark._check_changes(run) -%}
    {%- endif -%}
    {{ return(run) }}
{% endmacro %}


{# Where mark and table, or mark and upstream, disagree the run stops and names both ways out. A mark counts for its own
   column alone. Earlier code named none for the version of a snapshot, where the table itself tells (`whole`). #}
{% macro _check_target(run) %}
    {%- set committed = run.state.committed -%}
    {%- do floodmark._number_behind(run.state, run.target.unknown) if run.target.unknown -%}
    {%- if run.full_refresh or run.target.is_empty
        and (run.target.is_delta or not run.target.exists or run.target.relation.is_view) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set settings = run.settings -%}
    {%- set strategy = floodmark._strategy(settings) -%}
    {%- set lost_mark = strategy.lost_mark_problem(run) if strategy.lost_mark_problem else none -%}
    {%- if not run.target.is_delta -%}
        {%- do floodmark._stop(this
            ~ ' exists and is not a Delta table: run it once with --full-refresh to load everything again') -%}
    {%- elif committed and committed.mark is not none and committed.family is not none
        and not floodmark._is_position(committed.mark, committed.family) -%}
        {%- do floodmark._stop("the ledger has '" ~ committed.mark ~ "' as its mark, which is not a " ~ committed.family
            ~ '. Somebody changed ' ~ floodmark.ledger_schema()
            ~ '.batch_log by hand, so nobody can tell which rows are loaded: ' ~ floodmark._ways_out()) -%}
    {%- elif committed and (settings.watermark or strategy.adds_blindly) and (committed.kind == 'stream'
        or committed.kind == 'replay' and 'floodmark.stream' in floodmark._properties_of(this)) -%}
        {%- do floodmark._stop(this ~ ' was filled by a stream, which leaves no mark: '
            ~ floodmark._ways_out()) -%}
    {%- elif lost_mark -%}
        {%- do floodmark._stop(this ~ ' has rows, but the ledger has no mark for it, so ' ~ lost_mark
            ~ floodmark._ways_out()) -%}
    {%- elif committed is not none and committed.target_id is not none and committed.target_id != run.target.id -%}
        {%- do floodmark._stop(this ~ ' is not the table that batch ' ~ committed.batch_id
            ~ ' left (it was dropped, recreated or replaced by something else): '
            ~ floodmark._ways_out(is_replaced=true)) -%}
    {%- elif run.target.disturbed and not floodmark._mends_table(settings, committed) -%}
        {%- do floodmark._stop(this ~ ' ' ~ run.target.disturbed ~ ' after batch ' ~ run.state.landed.batch_id
            ~ ', so rows below the mark are missing: ' ~ floodmark._ways_out(is_restored=true)) -%}
    {%- elif run.target.unknown and not floodmark._mends_table(settings, committed) -%}
        {%- do floodmark._stop(floodmark._unknown_sentence(run.target.unknown) ~ floodmark._ways_out()) -%}
    {%- elif committed is not none and run.upstream is not none and committed.family is not none
        and committed.family != run.upstream.family -%}
        {%- set now = 'the versions of ' ~ run.upstream.relation if run.upstream.family == 'version'
            else run.upstream.column ~ ' is a ' ~ run.upstream.family -%}
        {%- do floodmark._stop('its mark is a ' ~ committed.family ~ ', but '
            ~ ('the watermark is now ' if run.upstream.family == 'version' else '') ~ now ~ ': '
            ~ floodmark._ways_out()) -%}
    {%- elif committed is not none and settings.watermark
        and (committed.watermark_column or committed.mark is not none and not strategy.whole)
        and (committed.watermark_column or '') | lower != (settings.watermark.column or '') | lower -%}
        {%- do floodmark._stop('its mark is of ' ~ ('the column ' ~ committed.watermark_column
            if committed.watermark_column else 'something other than a watermark') ~ ', but the watermark is now '
            ~ settings.watermark.column ~ ': ' ~ floodmark._ways_out()) -%}
    {%- endif -%}
    {%- set disturbed = floodmark._upstream_disturbed(run) -%}
    {%- if disturbed -%}
        {%- do floodmark._stop('its upstream ' ~ run.upstream.relation ~ ' ' ~ disturbed ~ ' after batch '
            ~ committed.batch_id ~ ', so the mark may not fit it: ' ~ floodmark._ways_out()) -%}
    {%- endif -%}
{% endmacro %}
