{# Insert the batch under a transaction id of its own and make sure that it is there: only what is stored counts.
   Delta says whether the insert made a commit; else the log's newest commits show it, and where many threads wrote
   since, the log itself is read. A run whose knowledge is as old as its invocation may find the number taken: then it
   is stale, and begins again. #}
{% macro _record_plan(run, plan) %}
    {%- set waiting = floodmark._waiting_events(floodmark._batch_model(plan)) -%}
    {%- do plan.update({'rules': floodmark._rules_of_kind(plan.kind,
        floodmark._planned_rules(run.settings.get('expectations'), model))}) -%}
    {%- do floodmark._forget_commit() -%}
    {%- set values = {'high': floodmark._string_literal(plan.high), 'cap': floodmark._string_literal(plan.cap),
        'upstream_version': plan.upstream_version if plan.upstream_version is not none else 'null',
        'upstream_at': floodmark._string_literal(plan.upstream_at),
        'upstream_id': floodmark._string_literal(plan.upstream_id), 'is_last': plan.is_last and not plan.is_held,
        'lookback': plan.lookback, 'files': floodmark._files_literal(plan.files) if plan.get('files') else 'null',
        'file_schema': floodmark._string_literal(tojson(plan.file_schema)) if plan.get('file_schema') else 'null',
        'expectations': floodmark._string_literal(tojson(plan.rules)) if plan.rules else 'null',
        'rows_null': plan.get('rows_null', 0), 'rows_future': plan.get('rows_future', 0),
        'recorded_by': 'current_user()' if plan.asked else 'null'} -%}
    {%- do floodmark._record('planned', plan, values, waiting.values() | list) -%}
    {%- set was_remembered = run.state.is_remembered -%}
    {%- do run.state.update({'is_remembered': false}) -%}
    {%- if floodmark._is_recorded('planned', plan) -%}
        {%- do floodmark._forget_events(waiting) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set state = floodmark._model_state() -%}
    {%- set stored = state.planned -%}
    {%- if stored and stored.batch_id | int == plan.batch_id and stored.invocation_id == invocation_id -%}
        {%- do floodmark._forget_events(waiting) -%}
        {{ return(none) }}
    {%- elif was_remembered and state.last_batch_id == state.finished_id -%}
        {%- do run.update({'is_stale': true}) -%}
    {%- elif floodmark._has_lost_events(state, plan) -%}
        {%- if plan.kind not in ['first_load', 'full_refresh'] -%}
            {%- do floodmark._stop('batch ' ~ plan.batch_id ~ ' was planned before, and ' ~ floodmark.ledger_schema()
                ~ '.batch_log has no event of it. Somebody deleted rows there, or restored it, so nobody can tell '
                'which rows are loaded: ' ~ floodmark._ways_out()) -%}
        {%- endif -%}
        {%- do floodmark._record_under_free_number('planned', plan, values) -%}
    {%- elif not stored or stored.batch_id | int != state.last_batch_id -%}
        {%- do floodmark._stop_for_now('its mark was reset while this run loaded it') -%}
    {%- else -%}
        {%- do floodmark._stop('another run is loading it now (batch ' ~ stored.batch_id ~ ', invocation '
            ~ stored.invocation_id ~ ', since ' ~ floodmark._position_print(stored.at, 'timestamp')[:19]
            ~ ' UTC): let that run end, then run again', is_passing=true) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the log has this event of ours: Delta may have skipped it, since another has its number. #}
{% macro _is_recorded(event, batch) %}
    {{ return(floodmark._committed_version() is not none
        or floodmark._event_tag(event, batch) in floodmark._recent_tags(floodmark.ledger_schema() ~ '.batch_log')) }}
{% endmacro %}


{# Whether the log lost events, where Delta skipped one: it knows the number, and the log knows nobody who took it. #}
{% macro _has_lost_events(state, batch) %}
    {{ return(state.last_batch_id == state.finished_id and (state.last_batch_id or 0) < batch.batch_id) }}
{% endmacro %}


{# Record an event under a number that Delta has not seen, further and further away. #}
{% macro _record_under_free_number(event, batch, values) %}
    {%- for step in range(40) -%}
        {%- do batch.update({'batch_id': batch.batch_id + 2 ** step}) -%}
        {%- do floodmark._forget_commit() -%}
        {%- do floodmark._record(event, batch, values) -%}
        {%- if floodmark._is_recorded(event, batch) -%}
            {{ return(none) }}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._stop(floodmark.ledger_schema() ~ '.batch_log has none of the events that this run wrote under '
        ~ 'higher and higher batch numbers: see whether that table can be written, then run again', batch.model) -%}
{% endmacro %}
