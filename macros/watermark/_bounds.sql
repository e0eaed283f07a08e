{#
  The bounds of a batch. `mark` is the last committed position, `first` the least position still to load,
  `last` the greatest that may be loaded now. A batch reads (low, high]; low lies below the mark by the lookback.
#}

{# What lies above the mark: a JSON row with first, last, how many rows, the NULLs, and what waits beyond max_future. #}
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
        'rows', count(*),
        'rows_future', count_if({{ future }})
    ), map('ignoreNullFields', 'false')) as waiting
    from {{ upstream.relation }}
    {%- if conditions %}
    where {{ conditions | join(' and ') }} or {{ column }} is null
    {%- endif %}
{% endmacro %}


{# The high mark that `watermark.sql` computes over the upstream: a position of the column's family. NULL, or no row,
   lets nothing pass. #}
{% macro _high_by_sql(watermark, upstream) %}
    {%- set query = 'select (' ~ watermark.sql ~ ') as high from ' ~ upstream.relation -%}
    {%- set type = floodmark._columns_of(query=query)[0].type -%}
    {%- if floodmark._position_family(type) != upstream.family -%}
        {%- do floodmark._refuse([{'setting': 'watermark.sql', 'got': watermark.sql,
            'expected': 'an aggregate of type ' ~ upstream.family ~ ', like ' ~ upstream.column ~ ', not '
            ~ type, 'todo': 'Cast it, such as cast(' ~ watermark.sql ~ ' as '
            ~ ('bigint' if upstream.family == 'sequence' else upstream.family) ~ ')'}]) -%}
    {%- endif -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(\'high\', '
        ~ floodmark._position_text_sql('high', upstream.family) ~ "), map('ignoreNullFields', 'false')) from (" ~ query
        ~ ') group by high limit 2') -%}
    {%- if found | length > 1 -%}
        {%- do floodmark._refuse([{'setting': 'watermark.sql', 'got': watermark.sql,
            'expected': 'one value for the whole of ' ~ upstream.relation ~ ', and this gives one a row',
            'todo': 'Write an aggregate, such as max(' ~ upstream.column ~ ')'}]) -%}
    {%- endif -%}
    {%- set text = found[0].get('high') if found else none -%}
    {{ return(floodmark._least_position() if text is none else floodmark._position_from_text(text, upstream.family)) }}
{% endmacro %}


{# The greatest time that is due now: rows further ahead wait. #}
{% macro _future_cap(watermark) %}
    {{ return(floodmark._now() + floodmark._parse_duration(watermark.max_future)) }}
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


{# The position above which a batch with a mark reads: below the mark by the lookback, but not below `start`, unless the
   mark is. #}
{% macro _low_read(batch) %}
    {%- set unit = floodmark._position_unit(batch.family) -%}
    {%- set low = batch.low_position - batch.lookback -%}
    {%- set low = (low // unit) * unit if batch.family == 'date' else low -%}
    {%- set start = batch.start_position -%}
    {{ return([low, start - unit] | max if start is not none and batch.low_position >= start else low) }}
{% endmacro %}


{# The predicate of a batch over the watermark column, open below and closed above, with literals. #}
{% macro _bounds_predicate(column, batch) %}
    {%- set family = batch.family -%}
    {%- set terms = [] -%}
    {%- if batch.low_position is not none -%}
        {%- do terms.append(column ~ ' > ' ~ floodmark._position_literal(floodmark._low_read(batch), family)) -%}
    {%- elif batch.start_position is not none -%}
        {%- do terms.append(column ~ ' >= ' ~ floodmark._position_literal(batch.start_position, family)) -%}
    {%- endif -%}
    {%- if batch.high_position is none and batch.get('unbounded') is not sameas true -%}
        {#- nothing was due when the batch was planned: what has come since is the next run's -#}
        {#- not `false`: Spark reads `where (false)` as a table alias -#}
        {%- set terms = ['1 = 0'] -%}
    {%- elif batch.high_position is not none -%}
        {%- do terms.append(column ~ ' <= ' ~ floodmark._position_literal(batch.high_position, family)) -%}
    {%- endif -%}
    {%- set within = terms | join(' and ') or column ~ ' is not null' -%}
    {{ return('(' ~ within ~ (' or ' ~ column ~ ' is null' if batch.nulls == 'include' else '') ~ ')') }}
{% endmacro %}
