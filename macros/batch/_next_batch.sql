{# The next batch of this run, recorded in the ledger; none where nothing waits. #}
{% macro _next_batch(run) %}
    {%- set begins = floodmark._begins(run) -%}
    {%- set mark = none if begins or not run.state.committed else run.state.committed.mark -%}
    {%- if run.settings.watermark -%}
        {%- if run.first -%}
            {%- do run.upstream.update({'commit': floodmark._upstream_commit(run, begins)}) -%}
        {%- endif -%}
        {%- set position = floodmark._position_parse(mark, run.upstream.family) -%}
        {%- if run.upstream.family == 'version' -%}
            {%- if run.first -%}
                {%- do floodmark._require_change_feed(run.upstream.relation) -%}
            {%- endif -%}
            {%- set plan = floodmark._plan_version(run, position) -%}
            {%- do floodmark._warn_of_kept_rows(run) if not begins and mark is none and plan.start_position is none -%}
        {%- else -%}
            {%- set plan = floodmark._plan_watermark(run, position, run.ceiling) -%}
        {%- endif -%}
        {%- do run.update({'ceiling': plan.ceiling}) -%}
        {%- do plan.update({'watermark_column': run.settings.watermark.column,
            'upstream': floodmark._relation_name(run.upstream.relation),
            'upstream_version': run.upstream.commit.version, 'upstream_at': run.upstream.commit.at,
            'upstream_id': run.upstream.commit.id}) -%}
        {%- do plan.update({'rows_late': floodmark._warn_late(run, plan)}) -%}
    {%- elif run.settings.files -%}
        {%- set plan = floodmark._plan_files(run, begins) -%}
    {%- else -%}
        {%- set plan = floodmark._plan_whole() -%}
    {%- endif -%}
    {%- do plan.update({'is_held': run.settings.watermark and run.settings.watermark.sql is not none}) -%}
    {%- do floodmark._check_gaps(run, plan) -%}
    {%- if run.settings.files and not plan.files and plan.record is none and not run.target.exists -%}
        {%- do run.update({'waits_for': run.settings.files.path}) -%}
    {%- endif -%}
    {%- if floodmark._is_nothing_new(run, plan, begins) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set kind = 'incremental' if not begins and run.state.committed
        else ('full_refresh' if run.full_refresh and run.target.exists else 'first_load') -%}
    {%- do plan.update({'settings': run.settings,
        'batch_id': floodmark._next_batch_id(floodmark._model_id(), this, run.state), 'kind': kind, 'begins': begins,
        'replaces': begins and floodmark._replaces_target(run, kind),
        'generation': run.generation or invocation_id if begins or not run.state.committed
        else run.state.committed.generation}) -%}
    {%- do floodmark._record_plan(run, plan) -%}
    {%- do run.update({'first': false}) -%}
    {{ return(plan) }}
{% endmacro %}


{# Whether the next batch begins a table: it knows no mark, and reads all. #}
{% macro _begins(run) %}
    {{ return(run.first and (run.full_refresh or run.target.is_empty)) }}
{% endmacro %}


{# Whether such a batch makes the table. An empty one that is there is loaded into as it is: somebody may have made it
   with columns, constraints and properties of its own. #}
{% macro _replaces_target(run, kind) %}
    {{ return(kind == 'full_refresh' or not run.target.is_delta) }}
{% endmacro %}


{# Say what a table with rows and no mark keeps where its upstream is read as it is now: nobody tells which rows were
   deleted there. A feed of events deletes nothing. #}
{% macro _warn_of_kept_rows(run) %}
    {%- if floodmark._reads_state(run.sql) -%}
        {%- do floodmark._warn_once(run, this ~ ' has rows, but the ledger has no mark for it, so this load reads '
            ~ run.upstream.relation ~ ' as it is now: rows that were deleted there before stay. To delete them, '
            ~ floodmark._ways_out() ~ " (the upstream's version that the rows of " ~ this ~ ' are of)') -%}
    {%- endif -%}
{% endmacro %}
