{#
  What the next run would load under a watermark: for dbt compile and docs, and `floodmark plan`. Of files it is in
  files/_next_files.sql, of streams and of models that read all in operations/_next_loads.sql.
#}

{# The predicate that the next run would use; a placeholder where the upstream does not exist yet. Reads, writes
   nothing. #}
{% macro _next_bounds(column) %}
    {%- set plan = floodmark._next_plan() -%}
    {%- if plan is none -%}
        {{ return('true /* the upstream does not exist yet: bounds come with the first run */') }}
    {%- elif var('floodmark_bounds', none) == 'passed' -%}
        {%- do plan.update({'high_position': plan.mark_position if plan.mark_position is not none
            else floodmark._least_position(), 'low_position': none, 'nulls': none}) -%}
    {%- endif -%}
    {{ return(floodmark._plan_comment(plan) ~ floodmark._bounds_predicate(column, plan)) }}
{% endmacro %}


{# With the variable `floodmark_plan`, what `floodmark plan` prints, as a comment in the compiled SQL. #}
{% macro _plan_comment(plan) %}
    {%- if not var('floodmark_plan', false) -%}
        {{ return('') }}
    {%- endif -%}
    {%- set shown = {'kind': plan.kind, 'low': plan.low, 'high': plan.high if plan.kind != 'nothing new' else none,
        'lookback': plan.lookback, 'rows_null': plan.rows_null, 'rows_future': plan.rows_future,
        'files': plan.get('file_count'), 'bytes': plan.get('file_bytes'), 'paths': plan.get('file_paths'),
        'new_columns': plan.get('new_columns')} -%}
    {{ return('/*floodmark:plan ' ~ tojson(shown) | replace('*/', '* /') ~ '*/ ') }}
{% endmacro %}


{# The plan of the next run's first batch, or with the variable `floodmark_plan` of all its batches in one; none where
   the upstream does not exist yet. Reads, writes nothing. #}
{% macro _next_plan() %}
    {%- set settings = floodmark._settings() -%}
    {%- set upstream = floodmark._upstream(settings, required=false) -%}
    {%- if upstream is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set run = floodmark._look(settings, upstream) -%}
    {%- set committed = run.state.committed -%}
    {%- do upstream.update({'commit': floodmark._upstream_commit(run, run.replaces)}) -%}
    {%- if var('floodmark_plan', false) -%}
        {%- do settings.watermark.update({'step': none}) -%}
    {%- endif -%}
    {%- set mark = floodmark._position_parse(committed.mark if committed else none, upstream.family) -%}
    {%- set low = none if run.replaces else mark -%}
    {%- set plan = floodmark._plan_version(run, low) if upstream.family == 'version'
        else floodmark._plan_watermark(run, low, none) -%}
    {%- do plan.update({'upstream_version': upstream.commit.version, 'mark_position': mark}) -%}
    {%- do plan.update({'kind': run.kind if run.replaces or not floodmark._is_nothing_new(run, plan, run.replaces)
        else 'nothing new'}) -%}
    {{ return(plan) }}
{% endmacro %}


{# What `dbt compile` knows of a model's next run; nothing is written. #}
{% macro _look(settings, upstream=none) %}
    {%- set state = floodmark._model_state() if floodmark._ledger_exists() else {'committed': none, 'landed': none} -%}
    {%- set target_state = floodmark._target_state(state) -%}
    {%- set replaces = should_full_refresh() or target_state.is_empty -%}
    {{ return({'settings': settings, 'upstream': upstream, 'state': state, 'target': target_state, 'guarded': false,
        'ceiling': none, 'first': true, 'full_refresh': should_full_refresh(), 'replaces': replaces,
        'kind': ('full_refresh' if should_full_refresh() and target_state.exists else 'first_load') if replaces
        else 'incremental'}) }}
{% endmacro %}
