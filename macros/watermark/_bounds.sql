{#
  The bounds of a batch. `mark` is the last committed position, `first` the least position still to load,
  `last` the greatest that may be loaded now. A batch reads (low, high]; low lies below the mark by the lookback.
#}

{# What lies above the mark: a JSON row with first, last, the NULLs, and what waits beyond max_future. #}
{% macro _waiting_sql(upstream, mark, start, cap, ceiling) %}
    {%- set column = floodmark._quoted(upstream.column) -%}
    {%- set family = upstream.family -%}
    {%- set conditions = [] -%}
    {%- if mark is not none -%}
        {%- do conditions.append(column ~ ' > ' ~ floodmark._position_literal(mark, family)) -%}
    {%- elif start is not none -%}
        {%- do conditions.append(column ~ ' >= ' ~ floodmark._position_literal(start, family)) -%}
    {%- endif -%}
    {%- set bounds = [column ~ ' is not null'] -%}
    {%- for limit in [cap, ceiling] if limit is not none -%}
        {%- do bounds.append(column ~ ' <= ' ~ floodmark._position_literal(limit, family)) -%}
    {%- endfor -%}
    {%- set due = bounds | join(' and ') -%}
    {%- set future = column ~ ' > ' ~ floodmark._position_literal(cap, family) if cap is not none else 'false' -%}
    select to_json(named_struct(
        'first', {{ floodmark._position_text_sql('min(case when ' ~ due ~ ' then ' ~ column ~ ' end)', family) }},
        'last', {{ floodmark._position_text_sql('max(case when ' ~ due ~ ' then ' ~ column ~ ' end)', family) }},
        'rows_null', count_if({{ column }} is null),
        'rows_future', count_if({{ future }})
    ), map('ignoreNullFields', 'false')) as waiting
    from {{ upstream.relation }}
    {%- if conditions %}
    where {{ conditions | join(' and ') }} or {{ column }} is null
    {%- endif %}
{% endmacro %}


{# The high bound of the next batch: all that waits, or one step from the next existing value on. #}
{% macro _step_high(first, last, step, family) %}
    {%- if step is none or last is none -%}
        {{ return(last) }}
    {%- endif -%}
    {%- set unit = floodmark._position_unit(family) -%}
    {%- set high = first + [(step // unit) * unit, unit] | max - unit -%}
    {{ return([high, last] | min) }}
{% endmacro %}


{# The predicate of a batch over the watermark column, open below and closed above, with literals. #}
{% macro _bounds_predicate(column, batch) %}
    {%- set family = batch.family -%}
    {%- set terms = [] -%}
    {%- if batch.low_position is not none -%}
        {%- set low = batch.low_position - batch.lookback -%}
        {%- if family == 'date' -%}
            {%- set low = (low // 86400000000) * 86400000000 -%}
        {%- endif -%}
        {%- do terms.append(column ~ ' > ' ~ floodmark._position_literal(low, family)) -%}
    {%- elif batch.start_position is not none -%}
        {%- do terms.append(column ~ ' >= ' ~ floodmark._position_literal(batch.start_position, family)) -%}
    {%- endif -%}
    {%- if batch.high_position is not none -%}
        {%- do terms.append(column ~ ' <= ' ~ floodmark._position_literal(batch.high_position, family)) -%}
    {%- endif -%}
    {%- set within = terms | join(' and ') if terms else column ~ ' is not null' -%}
    {{ return('(' ~ within ~ (' or ' ~ column ~ ' is null' if batch.nulls == 'include' else '') ~ ')') }}
{% endmacro %}
