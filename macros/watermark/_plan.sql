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
        {%- do floodmark._stop(floodmark._counted(waiting.rows_null, 'row') ~ ' of ' ~ upstream.relation
            ~ (' has no ' if waiting.rows_null == 1 else ' have no ') ~ upstream.column ~ ": give "
            ~ ('it' if waiting.rows_null == 1 else 'them')
            ~ " a value, or set watermark.nulls to 'exclude', or with merge to 'include'") -%}
    {%- endif -%}
    {%- set first = floodmark._position_from_text(waiting.first, family) -%}
    {%- set last = floodmark._position_from_text(waiting.last, family) -%}
    {%- set high = floodmark._step_high(first, last, reach.step, family) -%}
    {%- set high = mark if high is none else high -%}
    {#- by its cap a guarded first load is known, also of numbers, which have no greatest one that is due -#}
    {%- set bound = (floodmark._greatest_number() if is_sequence else cap) if guarded else none -%}
    {%- set plan = floodmark._plan_whole(is_last=guarded or high == last or last is none) -%}
    {%- do plan.update({'family': family, 'low_position': mark, 'low': floodmark._position_print(mark, family),
        'high_position': none if guarded else high,
        'high': none if guarded else floodmark._position_print(high, family), 'start_position': reach.start,
        'lookback': reach.lookback, 'nulls': watermark.nulls,
        'cap': floodmark._position_print(bound, family), 'cap_position': bound,
        'is_waiting': first is not none, 'rows_waiting': waiting.rows, 'first_position': first,
        'ceiling': last if last is not none else ceiling, 'rows_null': waiting.rows_null,
        'rows_future': waiting.rows_future}) -%}
    {{ return(plan) }}
{% endmacro %}


{# Whether a run may end here: nothing above the mark, and nothing below it that could have changed. #}
{% macro _is_nothing_new(run, plan, begins) %}
    {%- if run.settings.files and not plan.files and plan.record is none -%}
        {#- without a schema a table waits for its first file -#}
        {{ return(true) }}
    {%- elif begins and not run.target.exists or run.full_refresh and run.first -%}
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
    {{ return(plan.upstream_version is not none and read is not none
        and (run.state.committed.lookback or 0) | int == plan.lookback and plan.upstream_version | int == read | int
        and plan.upstream_at == run.state.committed.upstream_at) }}
{% endmacro %}


{# The plan of a model that reads all that its SELECT gives, in one batch. #}
{% macro _plan_whole(files=none, is_last=true) %}
    {{ return({'family': none, 'low': none, 'high': none, 'cap': none, 'low_position': none, 'high_position': none,
        'cap_position': none, 'start_position': none, 'begins': false, 'lookback': 0, 'nulls': none, 'rows_null': 0,
        'rows_future': 0, 'rows_late': 0, 'files': files, 'is_last': is_last, 'is_held': false,
        'watermark_column': none, 'upstream': none, 'upstream_version': none, 'upstream_at': none, 'upstream_id': none,
        'reason': none, 'asked': none}) }}
{% endmacro %}
