{# Finish what an earlier run left, then load batch after batch until nothing waits. #}
{% macro _load(settings, sql) %}
    {%- set ns = namespace(done=false, total={'batches': 0, 'rows_read': 0, 'rows_inserted': 0, 'rows_updated': 0, 'rows_deleted': 0}) -%}
    {%- set run = floodmark._begin_run(settings, sql) -%}
    {%- if run.recovered is not none -%}
        {%- do floodmark._add_counts(ns.total, run.recovered) -%}
    {%- endif -%}
    {%- for _ in range(100000) if not ns.done -%}
        {%- set batch = floodmark._next_batch(run) -%}
        {%- if batch is none -%}
            {%- set ns.done = true -%}
        {%- else -%}
            {%- do floodmark._add_counts(ns.total, floodmark._load_batch(run, batch)) -%}
            {%- set ns.done = batch.is_last -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._report(settings, ns.total) -%}
{% endmacro %}


{% macro _add_counts(total, counts) %}
    {%- do total.update({'batches': total.batches + 1}) -%}
    {%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted'] -%}
        {%- do total.update({name: total[name] + (counts.get(name) or 0)}) -%}
    {%- endfor -%}
{% endmacro %}


{# dbt's result line: what the node loaded. #}
{% macro _report(settings, total) %}
    {%- set changed = total.rows_inserted + total.rows_updated + total.rows_deleted -%}
    {%- if total.batches == 0 -%}
        {%- set message = settings.strategy | upper ~ ' nothing new' -%}
    {%- else -%}
        {%- set parts = ['{:,} read'.format(total.rows_read)] -%}
        {%- for name in ['inserted', 'updated', 'deleted'] if total['rows_' ~ name] -%}
            {%- do parts.append('{:,} '.format(total['rows_' ~ name]) ~ name) -%}
        {%- endfor -%}
        {%- if total.batches > 1 -%}
            {%- do parts.append(total.batches ~ ' batches') -%}
        {%- endif -%}
        {%- set message = settings.strategy | upper ~ ' ' ~ parts | join(', ') -%}
    {%- endif -%}
    {%- do store_raw_result(name='main', message=message, code=settings.strategy | upper, rows_affected=changed | string) -%}
{% endmacro %}


{# What a run knows before its first batch: settings, SELECT, upstream, target, ledger; an unfinished batch is finished here. #}
{% macro _begin_run(settings, sql) %}
    {%- set upstream = floodmark._upstream(settings) if settings.watermark else none -%}
    {%- set state = floodmark._model_state() -%}
    {%- set target_state = floodmark._target_state(has_mark=state.committed is not none) -%}
    {%- set run = {
        'settings': settings, 'sql': sql, 'upstream': upstream, 'state': state, 'target': target_state,
        'full_refresh': should_full_refresh(), 'ceiling': none, 'recovered': none, 'first': true, 'generation': none,
        'guarded': settings.watermark is not none and '/*floodmark:bounds' not in sql,
    } -%}
    {%- if run.guarded and is_incremental() -%}
        {%- do floodmark._refuse([{'setting': 'watermark', 'got': settings.watermark, 'expected': 'floodmark.watermark_filter() in the SELECT of an incremental run',
            'todo': 'Add "where {{ floodmark.watermark_filter() }}" behind is_incremental()'}]) -%}
    {%- endif -%}
    {%- do floodmark._drop_stale_stage(state) -%}
    {%- if state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {%- do run.update({'recovered': floodmark._recover(run, state.planned)}) -%}
    {%- endif -%}
    {%- do floodmark._check_target(run) -%}
    {{ return(run) }}
{% endmacro %}


{# Where mark and table disagree the run stops and names both ways out. #}
{% macro _check_target(run) %}
    {%- set committed = run.state.committed -%}
    {%- if run.full_refresh or run.target.is_empty and (run.target.is_delta or not run.target.exists or run.target.relation.is_view) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set ways_out = 'run it once with --full-refresh to load everything again' -%}
    {%- if not run.target.is_delta -%}
        {%- do floodmark._stop(this ~ ' exists and is not a Delta table: ' ~ ways_out) -%}
    {%- elif committed is none and run.settings.strategy == 'append' -%}
        {%- do floodmark._stop(this ~ ' has rows, but the ledger has no mark for it, so append cannot tell which rows are new: '
            ~ ways_out ~ ', or set the mark with `floodmark reset ' ~ this.identifier ~ ' --to <value>`') -%}
    {%- elif committed is not none and committed.target_id is not none and committed.target_id != run.target.id -%}
        {%- do floodmark._stop(this ~ ' is not the table that batch ' ~ committed.batch_id ~ ' left (it was dropped, recreated or replaced by something else): '
            ~ ways_out ~ ', or set the mark with `floodmark reset ' ~ this.identifier ~ ' --to <value>`') -%}
    {%- elif committed is not none and run.upstream is not none and committed.family is not none and committed.family != run.upstream.family -%}
        {%- do floodmark._stop('its mark is a ' ~ committed.family ~ ', but ' ~ run.upstream.column ~ ' is a ' ~ run.upstream.family ~ ': '
            ~ ways_out ~ ', or set the mark with `floodmark reset ' ~ this.identifier ~ ' --to <value>`') -%}
    {%- endif -%}
{% endmacro %}


{# A run that died between its commit and its last statement left its stage behind. #}
{% macro _drop_stale_stage(state) %}
    {%- if state.last_batch_id is not none and state.last_batch_id == state.finished_id -%}
        {%- set stage = floodmark.ledger_schema() ~ '.' ~ floodmark._stage_name(state.last_batch_id) -%}
        {%- if floodmark._stage_exists(stage) -%}
            {%- do floodmark._execute(['drop table if exists ' ~ stage]) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
