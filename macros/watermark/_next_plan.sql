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
    {%- do floodmark._look_at_gaps(run, plan) -%}
    {%- do plan.update({'kind': run.kind if run.replaces or not floodmark._is_nothing_new(run, plan, run.replaces)
        else 'nothing new'}) -%}
    {{ return(plan) }}
{% endmacro %}


{# What `dbt compile` knows of a model's next run; nothing is written. Under a watermark, a batch that the next run only
   records, since a dead run has it in the table already, counts as committed. #}
{% macro _look(settings, upstream=none) %}
    {%- set state = floodmark._model_state() if floodmark._ledger_exists() else {'committed': none, 'landed': none} -%}
    {%- set target_state = floodmark._target_state(state) -%}
    {%- set replaces = should_full_refresh() or target_state.is_empty -%}
    {%- if upstream and not replaces -%}
        {%- do state.update({'committed': floodmark._committed_by_then(settings, state)}) -%}
    {%- endif -%}
    {{ return({'settings': settings, 'upstream': upstream, 'state': state, 'target': target_state, 'guarded': false,
        'ceiling': none, 'first': true, 'full_refresh': should_full_refresh(), 'replaces': replaces,
        'kind': ('full_refresh' if should_full_refresh() and target_state.exists else 'first_load') if replaces
        else 'incremental'}) }}
{% endmacro %}


{# The last batch that is committed once the next run has recorded what is in the table. A backfill and a replay leave
   the mark as it is. #}
{% macro _committed_by_then(settings, state) %}
    {%- set open = floodmark._landed_and_open(this, state) -%}
    {%- if not open or open.kind in ['backfill', 'replay'] -%}
        {{ return(state.committed) }}
    {%- endif -%}
    {{ return(dict(open, mark=floodmark._mark_left(open, settings.watermark.column, this))) }}
{% endmacro %}


{# The mark that a batch leaves: its high bound, none where nothing was due. A first load behind a guard has no high
   bound, but a cap: its mark is the greatest value in `loaded`, which has its rows. #}
{% macro _mark_left(batch, column, loaded) %}
    {%- if batch.high is not none or batch.get('cap') is none -%}
        {{ return(batch.high) }}
    {%- endif -%}
    {#- the setting may have changed since the batch was planned -#}
    {{ return(floodmark._greatest_mark(loaded, batch.watermark_column or column, batch.family,
        floodmark._position_parse(batch.cap, batch.family))) }}
{% endmacro %}


{# The greatest value of a watermark column in a table, as a mark; none where it has no such column. Values above `cap`
   do not count. #}
{% macro _greatest_mark(relation, name, family, cap) %}
    {%- if not floodmark._find_column(floodmark._columns_of(relation=relation), name) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set column = floodmark._quoted(name) -%}
    {%- set counted = ' where ' ~ column ~ ' <= ' ~ floodmark._position_literal(cap, family) if cap is not none
        else '' -%}
    {%- set greatest = run_query('select ' ~ floodmark._position_text_sql('max(' ~ column ~ ')', family)
        ~ ' as greatest from ' ~ relation ~ counted).rows[0][0] -%}
    {{ return(floodmark._position_print(floodmark._position_from_text(greatest, family), family)) }}
{% endmacro %}
