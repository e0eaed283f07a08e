{# Sequences: missing numbers between the mark and the high bound, by `gaps`; refused before the batch is planned. #}
{% macro _check_gaps(run, plan) %}
    {%- set watermark = run.settings.watermark -%}
    {%- if not watermark or plan.family != 'sequence' or watermark.gaps == 'ignore' or not plan.is_waiting -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set high = plan.high_position if plan.high_position is not none else plan.ceiling -%}
    {%- set ranges = floodmark._missing_ranges(run.upstream, plan.low_position, high) -%}
    {%- if ranges.shown -%}
        {%- set sentence = floodmark._counted(ranges.count, 'gap') ~ ' in ' ~ run.upstream.relation ~ '.' ~ run.upstream.column ~ ', missing: ' ~ ranges.shown | join(', ')
            ~ (', ...' if ranges.count > ranges.shown | length else '') -%}
        {%- if watermark.gaps == 'fail' -%}
            {%- do floodmark._stop(sentence ~ ". watermark.gaps is 'fail': nothing was loaded; load the missing numbers, or set gaps to 'warn'") -%}
        {%- endif -%}
        {%- do floodmark._warn(sentence) -%}
    {%- endif -%}
{% endmacro %}


{# Missing ranges of a sequence in (low, high]: {count, shown}; two anti joins, so that no single task sorts the batch. #}
{% macro _missing_ranges(upstream, low, high) %}
    {%- set column = floodmark._quoted(upstream.column) -%}
    {%- set bounds = column ~ ' <= ' ~ high ~ (' and ' ~ column ~ ' > ' ~ low if low is not none else '') -%}
    {%- set sql -%}
        with present as (
            select distinct cast({{ column }} as decimal(38, 0)) as n from {{ upstream.relation }} where {{ bounds }}
            {%- if low is not none %} union select cast({{ low }} as decimal(38, 0)){% endif %}
        ),
        edges as (
            select n + 1 as at, 'from' as edge from present left anti join (select n - 1 as before from present) on n = before where n < {{ high }}
            union all
            select n - 1 as at, 'to' as edge from present left anti join (select n + 1 as after from present) on n = after where n > (select min(n) from present)
        )
        select to_json(named_struct(
            'count', count_if(edge = 'from'),
            'from', slice(array_sort(collect_list(cast(at as decimal(38, 0))) filter (where edge = 'from')), 1, 10),
            'to', slice(array_sort(collect_list(cast(at as decimal(38, 0))) filter (where edge = 'to')), 1, 10)
        )) from edges
    {%- endset -%}
    {%- set found = floodmark._query_json(sql)[0] -%}
    {%- set shown = [] -%}
    {%- for start in found.from -%}
        {%- set end = found.to[loop.index0] -%}
        {%- do shown.append(start | string if start == end else start ~ '-' ~ end) -%}
    {%- endfor -%}
    {{ return({'count': found.count, 'shown': shown}) }}
{% endmacro %}


{# Sequences over Delta: rows that came at or below the mark since the last batch are counted and named.
   Files written since are looked at first, so that the cost follows what changed; the count compares two versions. #}
{% macro _warn_late(run, plan) %}
    {%- set committed = run.state.committed -%}
    {%- if not run.first or plan.family != 'sequence' or plan.low_position is none or not committed
            or committed.upstream_version is none or plan.upstream_version is none or plan.upstream_version | int <= committed.upstream_version | int -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set column = floodmark._quoted(run.upstream.column) -%}
    {%- set below = column ~ ' <= ' ~ (plan.low_position - plan.lookback) -%}
    {#- the last plan read the upstream's version a moment before it was recorded -#}
    {%- set since = floodmark._position_literal(run.state.planned.at - 60000000, 'timestamp') -%}
    {%- set recent = '_metadata.file_modification_time >= ' ~ since -%}
    {%- set suspects = run_query('select count(*) as n from ' ~ run.upstream.relation ~ ' where ' ~ below ~ ' and ' ~ recent).rows[0][0] | int -%}
    {%- if not suspects -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set late = run_query('select (select count(*) from ' ~ run.upstream.relation ~ ' where ' ~ below ~ ') - (select count(*) from '
        ~ run.upstream.relation ~ ' version as of ' ~ committed.upstream_version ~ ' where ' ~ below ~ ') as late').rows[0][0] | int -%}
    {%- if late > 0 -%}
        {%- do floodmark._warn(floodmark._counted(late, 'row') ~ ' came late into ' ~ run.upstream.relation ~ ': at or below the mark '
            ~ plan.low ~ ' of ' ~ run.upstream.column ~ ', and not loaded. A sequence that started again shows like this. Set watermark.lookback to catch late rows, or run with --full-refresh') -%}
    {%- endif -%}
    {{ return(late) }}
{% endmacro %}
