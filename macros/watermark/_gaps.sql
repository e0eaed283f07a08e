{# Sequences: missing numbers between the mark and the high bound, by `gaps`; refused, or held back, before the batch
   is planned. #}
{% macro _check_gaps(run, plan) %}
    {%- set gaps = floodmark._gaps_of(run, plan) -%}
    {%- if gaps -%}
        {%- set how = run.settings.watermark.gaps -%}
        {%- set sentence = floodmark._counted(gaps.count, 'gap') ~ ' in ' ~ run.upstream.relation ~ '.'
            ~ run.upstream.column ~ ', missing: ' ~ gaps.shown | join(', ')
            ~ (', ...' if gaps.count > gaps.shown | length else '') -%}
        {%- if how == 'fail' -%}
            {%- do floodmark._stop(sentence
                ~ ". watermark.gaps is 'fail', so nothing was loaded. Load the missing numbers, or set gaps to "
                "'warn'") -%}
        {%- endif -%}
        {%- if how == 'wait' -%}
            {%- do floodmark._wait_for_gap(run, plan, gaps, sentence) -%}
        {%- else -%}
            {%- do floodmark._warn_once(run, sentence) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The gaps of a plan, {count, shown, first, high}, `high` the highest number at the time; none where there are none, or
   where they do not count. With `fail` they are those of all that the run would load, before its first batch. #}
{% macro _gaps_of(run, plan) %}
    {%- set watermark = run.settings.watermark -%}
    {%- if not watermark or plan.family != 'sequence' or watermark.gaps == 'ignore' or not plan.is_waiting -%}
        {{ return(none) }}
    {%- elif watermark.gaps == 'fail' and not run.first -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set high = plan.high_position if plan.high_position is not none and watermark.gaps != 'fail'
        else plan.ceiling -%}
    {%- set low = plan.low_position if plan.low_position is not none or plan.start_position is none
        else plan.start_position - 1 -%}
    {%- set ranges = floodmark._missing_ranges(run.upstream, low, high) -%}
    {{ return(dict(ranges, high=[high, plan.ceiling] | max) if ranges.shown else none) }}
{% endmacro %}


{# The gap that this model waited for last, {low, high, at}; none where it never did. A full refresh waits anew, since
   the numbers upstream may be others: what was waited for before it, in another invocation, is over. #}
{% macro _last_wait(run) %}
    {%- if run.full_refresh and run.first -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set sql -%}
        with events as (
            select * from {{ floodmark.ledger_schema() }}.batch_log
            where model = {{ floodmark._string_literal(floodmark._model_id()) }}
        )
        select to_json(struct(low, high, unix_micros(at) as at)) as wait
        from (select * from events where event = 'waiting') as waiting
        left anti join (select * from events where event = 'planned' and kind = 'full_refresh') as begun
            on begun.batch_id > waiting.batch_id and begun.invocation_id <> waiting.invocation_id
        order by waiting.at desc limit 1
    {%- endset -%}
    {%- set waits = floodmark._query_json(sql) -%}
    {{ return(waits[0] if waits else none) }}
{% endmacro %}


{# Hold the batch below the first missing number until `gap_timeout` has passed since the gap was first seen. The ledger
   records that moment and the highest number at the time. #}
{% macro _wait_for_gap(run, plan, gaps, sentence) %}
    {%- set seen = floodmark._seen_gap(gaps, floodmark._last_wait(run)) -%}
    {%- if seen.is_new -%}
        {%- do floodmark._record('waiting', {'batch_id': run.state.last_batch_id or 0, 'txn_version': seen.at,
            'kind': none, 'generation': none, 'family': plan.family, 'low': seen.low},
            {'high': floodmark._string_literal(seen.high)}) -%}
    {%- endif -%}
    {%- set until = floodmark._hold_below_gap(run, plan, gaps, seen) -%}
    {%- do floodmark._warn_once(run, sentence ~ ('. They did not arrive within gap_timeout ('
        ~ run.settings.watermark.gap_timeout ~ '), so this run skips the gap' if until is none
        else '. Rows from ' ~ gaps.first ~ ' on wait, until ' ~ floodmark._position_print(until, 'timestamp')[:19]
        ~ ' UTC')) -%}
{% endmacro %}


{# Bound a plan that is only shown as the run would: nothing is recorded, and nothing said. #}
{% macro _look_at_gaps(run, plan) %}
    {%- set gaps = floodmark._gaps_of(run, plan) if run.settings.watermark.gaps == 'wait' else none -%}
    {%- if gaps -%}
        {%- do floodmark._hold_below_gap(run, plan, gaps, floodmark._seen_gap(gaps,
            floodmark._last_wait(run) if floodmark._ledger_exists() else none)) -%}
    {%- endif -%}
{% endmacro %}


{# When the first of these gaps was seen, {low, high, at, is_new}: as part of the last wait, or now. All gaps up to the
   highest number of that moment count as equally old. #}
{% macro _seen_gap(gaps, wait) %}
    {{ return(dict(wait, is_new=false) if wait and wait.low | int <= gaps.first <= wait.high | int
        else {'low': gaps.first | string, 'high': gaps.high | string, 'at': floodmark._now(), 'is_new': true}) }}
{% endmacro %}


{# Bound a plan below its first missing number, or, once `gap_timeout` has passed, at the highest number of the wait, in
   spite of its gaps. Returns the moment until which rows wait; none where they do no more. #}
{% macro _hold_below_gap(run, plan, gaps, seen) %}
    {%- set until = seen.at + floodmark._parse_duration(run.settings.watermark.gap_timeout) -%}
    {%- set is_over = floodmark._now() >= until -%}
    {%- set limit = seen.high | int if is_over else gaps.first - 1 -%}
    {%- do plan.update({'is_last': limit >= plan.high_position and plan.is_last} if is_over
        else {'is_last': true, 'is_held': true, 'is_waiting': plan.first_position <= limit}) -%}
    {%- if limit < plan.high_position -%}
        {%- do plan.update({'high_position': limit, 'high': floodmark._position_print(limit, plan.family)}) -%}
    {%- endif -%}
    {{ return(none if is_over else until) }}
{% endmacro %}


{# Missing ranges of a sequence in (low, high]: {count, shown, first}. Where the numbers are as many as they should be
   there is none; else anti joins, of which ten edges are collected: no single task sorts the batch, or holds all gaps
   of a sparse sequence. `high` may be a step's bound, which need not be there. #}
{% macro _missing_ranges(upstream, low, high) %}
    {%- set column = floodmark._quoted(upstream.column) -%}
    {%- set least = floodmark._position_literal(low, 'sequence') if low is not none else none -%}
    {%- set bounds = column ~ ' <= ' ~ high ~ (' and ' ~ column ~ ' > ' ~ least if least is not none else '') -%}
    {#- behind the greatest number there is none, and it is there itself -#}
    {%- set has_next = high < floodmark._greatest_number() -%}
    {%- set counted = floodmark._query_json("select to_json(named_struct('n', count(distinct " ~ column
        ~ "), 'least', cast(min(" ~ column ~ ") as string))) from " ~ upstream.relation ~ ' where ' ~ bounds)[0] -%}
    {%- if counted.n == high - (low if low is not none else counted.least | int - 1) -%}
        {{ return({'count': 0, 'shown': [], 'first': none}) }}
    {%- endif -%}
    {%- set sql -%}
        with present as (
            select distinct cast({{ column }} as decimal(38, 0)) as n from {{ upstream.relation }} where {{ bounds }}
            {%- if least is not none %} union select cast({{ least }} as decimal(38, 0)){% endif %}
            {%- if has_next %} union select cast({{ high + 1 }} as decimal(38, 0)){% endif %}
        ),
        starts as (
            select cast(n + 1 as decimal(38, 0)) as at from present
            left anti join (select n - 1 as before from present) on n = before
            where n {{ '<=' if has_next else '<' }} {{ high }}
        ),
        ends as (
            select cast(n - 1 as decimal(38, 0)) as at from present
            left anti join (select n + 1 as after from present) on n = after
            where n > (select min(n) from present)
        )
        select to_json(named_struct(
            'count', (select count(*) from starts),
            'from', (select array_sort(collect_list(at)) from (select at from starts order by at limit 10)),
            'to', (select array_sort(collect_list(at)) from (select at from ends order by at limit 10))
        ))
    {%- endset -%}
    {%- set found = floodmark._query_json(sql)[0] -%}
    {%- set shown = [] -%}
    {%- for start in found.from -%}
        {%- set end = found.to[loop.index0] -%}
        {%- do shown.append(start | string if start == end else start ~ '-' ~ end) -%}
    {%- endfor -%}
    {{ return({'count': found.count, 'shown': shown, 'first': found.from[0] | int if found.from else none}) }}
{% endmacro %}
