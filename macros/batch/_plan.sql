{# The next batch of this run, recorded in the ledger; none where nothing waits. #}
{% macro _next_batch(run) %}
    {%- set begins = floodmark._begins(run) -%}
    {%- set mark = none if begins or not run.state.committed else run.state.committed.mark -%}
    {%- if run.settings.watermark -%}
        {%- do run.upstream.update({'commit': floodmark._upstream_commit(run, begins)}) -%}
        {%- set position = floodmark._position_parse(mark, run.upstream.family) -%}
        {%- if run.upstream.family == 'version' -%}
            {%- if run.first -%}
                {%- do floodmark._require_change_feed(run.upstream.relation) -%}
            {%- endif -%}
            {%- set plan = floodmark._plan_version(run, position) -%}
        {%- else -%}
            {%- set plan = floodmark._plan_watermark(run, position, run.ceiling) -%}
        {%- endif -%}
        {%- do run.update({'ceiling': plan.ceiling}) -%}
        {%- do plan.update({'watermark_column': run.settings.watermark.column, 'upstream': floodmark._relation_name(run.upstream.relation), 'upstream_version': run.upstream.commit.version,
            'upstream_at': run.upstream.commit.at, 'upstream_id': run.upstream.commit.id}) -%}
        {%- do plan.update({'rows_late': floodmark._warn_late(run, plan)}) -%}
    {%- elif run.settings.files -%}
        {%- set plan = floodmark._plan_files(run, begins) -%}
    {%- else -%}
        {%- set plan = floodmark._plan_whole() -%}
    {%- endif -%}
    {#- what came since the run's first plan lies above its ceiling: only a run of one batch has seen all that its version holds -#}
    {%- do plan.update({'is_held': not run.first or run.settings.watermark and run.settings.watermark.sql is not none}) -%}
    {%- do floodmark._check_gaps(run, plan) -%}
    {%- if floodmark._is_nothing_new(run, plan, begins) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set kind = 'incremental' if not begins and run.state.committed else ('full_refresh' if run.full_refresh and run.target.exists else 'first_load') -%}
    {%- do plan.update({
        'settings': run.settings,
        'batch_id': (run.state.last_batch_id or 0) + 1,
        'kind': kind,
        'begins': begins,
        'replaces': begins and floodmark._replaces_target(run, kind),
        'generation': run.generation or invocation_id if begins or not run.state.committed else run.state.committed.generation,
    }) -%}
    {%- do floodmark._record_plan(run, plan) -%}
    {%- do run.update({'first': false}) -%}
    {{ return(plan) }}
{% endmacro %}


{# Whether the next batch begins a table: it knows no mark, and reads all. #}
{% macro _begins(run) %}
    {{ return(run.first and (run.full_refresh or run.target.is_empty)) }}
{% endmacro %}


{# Whether such a batch makes the table. An empty one that is there is loaded into as it is: somebody may have made it with columns, constraints and
   properties of its own. #}
{% macro _replaces_target(run, kind) %}
    {{ return(kind == 'full_refresh' or not run.target.is_delta) }}
{% endmacro %}


{# Bounds of the next batch in positions and in the ledger's text. #}
{% macro _plan_watermark(run, mark, ceiling, reach=none) %}
    {%- set watermark = run.settings.watermark -%}
    {%- set upstream = run.upstream -%}
    {%- set guarded = run.guarded -%}
    {%- set family = upstream.family -%}
    {%- set is_sequence = family == 'sequence' -%}
    {%- set cap = none if is_sequence else floodmark._future_cap(watermark) -%}
    {%- set reach = reach or floodmark._reach(watermark, family) -%}
    {%- set ceiling = floodmark._high_by_sql(watermark, upstream) if watermark.sql and ceiling is none else ceiling -%}
    {%- set waiting = floodmark._query_json(floodmark._waiting_sql(upstream, mark, reach.start, cap, ceiling))[0] -%}
    {%- if waiting.rows_null and watermark.nulls == 'error' and not floodmark._only_looks() -%}
        {%- do floodmark._stop(floodmark._counted(waiting.rows_null, 'row') ~ ' of ' ~ upstream.relation ~ (' has no ' if waiting.rows_null == 1 else ' have no ') ~ upstream.column
            ~ ": give " ~ ('it' if waiting.rows_null == 1 else 'them') ~ " a value, or set watermark.nulls to 'exclude' or 'include'") -%}
    {%- endif -%}
    {%- set first = floodmark._position_from_text(waiting.first, family) -%}
    {%- set last = floodmark._position_from_text(waiting.last, family) -%}
    {%- set high = floodmark._step_high(first, last, reach.step, family) -%}
    {%- set high = mark if high is none else high -%}
    {%- set plan = floodmark._plan_whole(is_last=guarded or high == last or last is none) -%}
    {%- do plan.update({
        'family': family,
        'low_position': mark, 'low': floodmark._position_print(mark, family),
        'high_position': none if guarded else high, 'high': none if guarded else floodmark._position_print(high, family),
        'start_position': reach.start, 'lookback': reach.lookback, 'nulls': watermark.nulls,
        'cap': floodmark._position_print(cap, family) if guarded else none,
        'cap_position': cap if guarded else none,
        'is_waiting': first is not none, 'rows_waiting': waiting.rows, 'first_position': first, 'ceiling': last if ceiling is none else ceiling,
        'rows_null': waiting.rows_null, 'rows_future': waiting.rows_future,
    }) -%}
    {{ return(plan) }}
{% endmacro %}


{# Whether a run may end here: nothing above the mark, and nothing below it that could have changed. #}
{% macro _is_nothing_new(run, plan, begins) %}
    {%- if begins and not run.target.exists or run.full_refresh and run.first -%}
        {{ return(false) }}
    {%- elif run.settings.files -%}
        {{ return(not plan.files) }}
    {%- elif not run.settings.watermark -%}
        {{ return(false) }}
    {%- elif plan.is_waiting -%}
        {{ return(false) }}
    {%- elif plan.family == 'version' -%}
        {{ return(true) }}
    {%- endif -%}
    {%- if plan.nulls == 'include' and plan.rows_null -%}
        {{ return(not run.first) }}
    {%- elif not plan.lookback or plan.low_position is none or not run.first -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set read = run.state.committed.upstream_version -%}
    {{ return(plan.upstream_version is not none and read is not none and (run.state.committed.lookback or 0) | int == plan.lookback and plan.upstream_version | int == read | int) }}
{% endmacro %}


{# Insert the batch under a transaction id of its own and make sure that it is there: only what is stored counts. Delta says whether the
   insert made a commit; else the log's newest commits show it, and where many threads wrote since, the log itself is read. A run whose
   knowledge is as old as its invocation may find the number taken: then it is stale, and begins again. #}
{% macro _record_plan(run, plan) %}
    {%- do floodmark._forget_commit() -%}
    {%- do floodmark._record('planned', plan, {
        'high': floodmark._string_literal(plan.high),
        'cap': floodmark._string_literal(plan.cap),
        'upstream_version': plan.upstream_version if plan.upstream_version is not none else 'null',
        'upstream_at': floodmark._string_literal(plan.upstream_at), 'upstream_id': floodmark._string_literal(plan.upstream_id),
        'is_last': plan.is_last and not plan.is_held, 'lookback': plan.lookback,
        'files': floodmark._files_literal(plan.files) if plan.get('files') else 'null',
        'rows_null': plan.get('rows_null', 0), 'rows_future': plan.get('rows_future', 0),
    }) -%}
    {%- set log = floodmark.ledger_schema() ~ '.batch_log' -%}
    {%- set was_remembered = run.state.is_remembered -%}
    {%- do run.state.update({'is_remembered': false}) -%}
    {%- if floodmark._committed_version() is not none or floodmark._event_tag('planned', plan) in floodmark._recent_tags(log) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set state = floodmark._model_state() -%}
    {%- set stored = state.planned -%}
    {%- if stored and stored.batch_id | int == plan.batch_id and stored.invocation_id == invocation_id -%}
        {{ return(none) }}
    {%- elif was_remembered and state.last_batch_id == state.finished_id -%}
        {%- do run.update({'is_stale': true}) -%}
    {%- elif not stored or stored.batch_id | int != state.last_batch_id -%}
        {%- do floodmark._stop_for_now('its mark was reset while this run loaded it') -%}
    {%- else -%}
        {%- do floodmark._stop('another run is loading it now (batch ' ~ stored.batch_id ~ ', invocation ' ~ stored.invocation_id
            ~ ', since ' ~ floodmark._position_print(stored.at, 'timestamp')[:19] ~ ' UTC): let that run end, then run again', is_passing=true) -%}
    {%- endif -%}
{% endmacro %}


{# The plan of a model that reads all that its SELECT gives, in one batch. #}
{% macro _plan_whole(files=none, is_last=true) %}
    {{ return({
        'family': none, 'low': none, 'high': none, 'cap': none,
        'low_position': none, 'high_position': none, 'cap_position': none, 'start_position': none,
        'begins': false, 'lookback': 0, 'nulls': none, 'rows_null': 0, 'rows_future': 0, 'rows_late': 0, 'files': files, 'is_last': is_last, 'is_held': false,
        'watermark_column': none, 'upstream': none, 'upstream_version': none, 'upstream_at': none, 'upstream_id': none, 'reason': none, 'asked': none,
    }) }}
{% endmacro %}
