{#
  Whole partitions: what lies in those that a range of the watermark touches. A SELECT may aggregate them: half of a day
  would give a row for each half. So a batch of insert_overwrite, and its backfill, reads and replaces them whole.
#}

{# The SELECT of the whole partitions that the batch's rows lie in. It reads what _partition_edges gives, and keeps
   these partitions alone: a range that is too wide does no harm. `given_sql` is the same before it was conformed, where
   rules judge it: rows that they hold back may lie in no partition, and come with those of the batch's bounds. #}
{% macro _whole_partitions_select(run, batch, select_sql, given_sql=none) %}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._check_partition_columns(run, columns) -%}
    {%- do floodmark._check_watermark_column(run, select_sql) -%}
    {%- if floodmark._reads_own_table(run.sql) -%}
        {%- do floodmark._warn_once(run, 'the SELECT reads ' ~ this ~ ', and finds the rows there whose partitions the '
            'batch replaces: what it leaves out because it is there already is deleted. Leave that part out, or use '
            'merge') -%}
    {%- endif -%}
    {%- set family = batch.family -%}
    {%- set found = floodmark._derivation(run, columns, family, '(\n' ~ select_sql ~ '\n)') -%}
    {%- set follows = none -%}
    {%- if found.rows and not found.units and given_sql is not none and floodmark._row_rules(batch.rules) -%}
        {%- set kept = floodmark._judged_derivation(run, batch, columns, given_sql) -%}
        {#- the bounds are those of all rows -#}
        {%- set found = dict(kept, first=found.first, last=found.last) -%}
        {%- set follows = floodmark._follows_sql(run, columns, found.ways, derived=true) -%}
    {%- endif -%}
    {%- set near = floodmark._with_due_rows(run, batch, columns, found) -%}
    {%- do batch.update({'due_range': near if near.get('is_due') else none}) -%}
    {%- if not near.rows -%}
        {{ return('select * from (\n' ~ given_sql ~ '\n) where not ' ~ follows if follows else select_sql) }}
    {%- elif not near.units -%}
        {%- do floodmark._refuse_partition(run, columns) -%}
    {%- endif -%}
    {%- set rounded = floodmark._rounded_select(run, batch, columns, near) -%}
    {%- set odd = ' or not ' ~ follows ~ ' and '
        ~ floodmark._bounds_predicate(floodmark._quoted(run.settings.watermark.column), batch) if follows else '' -%}
    {{ return('select * from (\n' ~ rounded ~ '\n) where '
        ~ floodmark._partitions_predicate(run, columns, near, derived=true) ~ odd) }}
{% endmacro %}


{# The SELECT of all that can be in the partitions of a _derivation. #}
{% macro _rounded_select(run, batch, columns, found) %}
    {%- set edges = floodmark._partition_edges(found, floodmark._find_column(columns, run.settings.partition_by[0]),
        batch.family) -%}
    {{ return(floodmark._select_of(dict(batch, lookback=0, start_position=none,
        **floodmark._rounded_bounds(run, batch, columns, found, edges)), run.sql)) }}
{% endmacro %}


{# The bounds of the whole partitions of a batch, {low_position, high_position}. #}
{% macro _rounded_bounds(run, batch, columns, found, edges) %}
    {%- set first = batch.low_position + floodmark._position_unit(batch.family) if batch.low_position is not none
        else none -%}
    {%- set whole = floodmark._whole_bounds(run, batch.family, edges, first, batch.high_position,
        floodmark._partitions_predicate(run, columns, found)) -%}
    {{ return({'low_position': whole.low, 'high_position': whole.high}) }}
{% endmacro %}


{# The bounds of whole partitions, {low, high}, from `edges`, their first position and the first behind them. Rows that
   are not due stay out, even if their partition is replaced: those beyond max_future, or, with `sql`, those above
   `due`, up to which it let rows pass. Rows below `start` stay out of a range that begins above it, at `first` (none:
   at `start`), unless the table has such rows. `within`: a condition on the table's rows of these partitions. #}
{% macro _whole_bounds(run, family, edges, first, due, within) %}
    {%- set watermark, smallest = run.settings.watermark, floodmark._position_unit(family) -%}
    {%- set start = floodmark._reach(watermark, family).start -%}
    {%- set begins_at_start = start is not none and edges.low < start and (first is none or start <= first)
        and not floodmark._has_below_start(run, family, start, within) -%}
    {#- nothing that the batch itself reads is left out -#}
    {%- set limit = due if watermark.sql is not none else [floodmark._future_cap(watermark), due] | max -%}
    {{ return({'low': (start if begins_at_start else edges.low) - smallest,
        'high': [edges.high - smallest, limit] | min}) }}
{% endmacro %}


{# Whether the table has rows below `start`: a batch of its generation has read across it, as a backfill does, or
   `start` had another value. The rows alone do not tell: one of an aggregate may have the time of a later one. #}
{% macro _has_below_start(run, family, start, within) %}
    {#- an empty table may lack these columns until the batch adds them -#}
    {%- if run.target.is_empty -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set last = floodmark._position_literal(start - floodmark._position_unit(family), 'timestamp') -%}
    {%- set across = floodmark._log_of() ~ ' and generation = '
        ~ floodmark._string_literal(run.state.committed.generation) ~ " and event = 'committed' and kind <> 'reset' "
        "and try_cast(low || '+00:00' as timestamp) < " ~ last ~ " and try_cast(high || '+00:00' as timestamp) >= "
        ~ last if run.state.committed else none -%}
    {%- if across and not floodmark._has_no_rows(across) -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(not floodmark._has_no_rows(this ~ ' where ' ~ within ~ ' and '
        ~ floodmark._quoted(run.settings.watermark.column) ~ ' < ' ~ floodmark._position_literal(start, family))) }}
{% endmacro %}


{# Positions between which all lies that can be in the partitions of a _derivation, {low, high}: from the start of the
   coarsest unit that fits to its end, a week more on both sides where weeks fit too. Two days more where the clocks
   change nearby: of an hour, or a day, that comes twice one partition holds both, and what a clock leaves out lies in
   the next. #}
{% macro _partition_edges(found, partition, family) %}
    {%- if not floodmark._ascend_in_time(found, partition.type, family) -%}
        {{ return({'low': floodmark._least_position(), 'high': -floodmark._least_position()}) }}
    {%- endif -%}
    {%- set unit = found.units[0] -%}
    {%- set week = ' @ interval 1 week' if 'week' in found.units and unit != 'week' else '' -%}
    {#- a pattern that Java 7's formatter knows, too (spark.sql.legacy.timeParserPolicy) -#}
    {%- set changes = "date_format(@ - interval 47 hours, 'XXX') <> date_format(@ + interval 47 hours, 'XXX')" -%}
    {%- set query -%}
        with edges as (
            select low{{ week | replace('@', '-') }} as low, high{{ week | replace('@', '+') }} as high from (
                {{ floodmark._unit_edges_sql(unit, floodmark._position_from_text(found.first, family),
                    floodmark._position_from_text(found.last, family), family) }}
            )
        )
        select if({{ changes | replace('@', 'low') }}, low - interval 48 hours, low) as low,
            if({{ changes | replace('@', 'high') }}, high + interval 48 hours, high) as high
        from edges
    {%- endset -%}
    {{ return(floodmark._edge_positions(query, family)) }}
{% endmacro %}


{# A SELECT of the start of the unit in which one position lies, and the end of that of another: low, high. A day starts
   with its first moment, also where the clock shows midnight twice, or never. Of a date the hour is the day's first,
   and it ends with the day. #}
{% macro _unit_edges_sql(unit, first, last, family) %}
    {%- set unit = 'day' if family == 'date' and unit == 'hour' else unit -%}
    {%- set starts = [] -%}
    {%- for position in [first, last] -%}
        {%- set start = "date_trunc('" ~ unit ~ "', " ~ floodmark._position_literal(position, family) ~ ')' -%}
        {%- do starts.append(start if unit == 'hour' else 'cast(' ~ start ~ ' as date)') -%}
    {%- endfor -%}
    {%- set type = 'timestamp_ntz' if family == 'timestamp_ntz' else 'timestamp' %}
    select cast({{ starts[0] }} as {{ type }}) as low,
        cast({{ starts[1] }} + interval {{ {'quarter': '3 month'}.get(unit, '1 ' ~ unit) }} as {{ type }}) as high
{% endmacro %}


{# What such a SELECT gives, as positions {low, high}. #}
{% macro _edge_positions(query, family) %}
    {%- set texts = [] -%}
    {%- for name in ['low', 'high'] -%}
        {%- do texts.append("'" ~ name ~ "', " ~ floodmark._position_text_sql('cast(' ~ name ~ ' as ' ~ family ~ ')',
            family)) -%}
    {%- endfor -%}
    {%- set edges = floodmark._query_json('select to_json(named_struct(' ~ texts | join(', ') ~ ')) from (' ~ query
        ~ ')')[0] -%}
    {{ return({'low': floodmark._position_from_text(edges.low, family),
        'high': floodmark._position_from_text(edges.high, family)}) }}
{% endmacro %}


{# Whether the partitions of a _derivation stand in the order of time. Texts and numbers do in the years 0 to 9999. #}
{% macro _ascend_in_time(found, type, family) %}
    {%- set first, last = floodmark._position_from_text(found.first, family),
        floodmark._position_from_text(found.last, family) -%}
    {{ return(type in ['date', 'timestamp', 'timestamp_ntz']
        or floodmark._parse_timestamp('0000-01-08') < first and last < floodmark._parse_timestamp('9999-12-24')) }}
{% endmacro %}


{# A range of positions, open below and closed above, rounded outward to whole partitions: {low, high}. What lies up to
   the mark is loaded. #}
{% macro _whole_partitions_range(run, low, high) %}
    {%- set family = run.upstream.family -%}
    {%- set unit = floodmark._partition_unit(run) -%}
    {%- if unit is none -%}
        {{ return({'low': low, 'high': high}) }}
    {%- endif -%}
    {%- set first = low + floodmark._position_unit(family) -%}
    {#- of an hour that comes twice one partition may hold both -#}
    {%- if unit == 'hour' and floodmark._changes_clock([first, high], family) -%}
        {%- set unit = 'day' -%}
    {%- endif -%}
    {%- set edges = floodmark._edge_positions(floodmark._unit_edges_sql(unit, first, high, family), family) -%}
    {%- set within = floodmark._quoted(run.settings.watermark.column) ~ ' >= '
        ~ floodmark._position_literal(edges.low, family) -%}
    {%- set mark = floodmark._position_parse(run.state.committed.mark, family) -%}
    {{ return(floodmark._whole_bounds(run, family, edges, first, [mark, high] | max, within)) }}
{% endmacro %}


{# Whether the clock changes within hours of one of these positions. #}
{% macro _changes_clock(positions, family) %}
    {%- set terms = [] -%}
    {%- for position in positions -%}
        {%- set moment = floodmark._position_literal(position, family) -%}
        {%- do terms.append('date_format(' ~ moment ~ " - interval 3 hours, 'XXX') <> date_format(" ~ moment
            ~ " + interval 3 hours, 'XXX')") -%}
    {%- endfor -%}
    {{ return(run_query('select 1 as one where ' ~ terms | join(' or ')).rows | length > 0) }}
{% endmacro %}


{# The unit of time of the table's partitions, the coarsest that fits; none where none does. The table says how they
   follow from the watermark, or its rows do. #}
{% macro _partition_unit(run) %}
    {%- set columns = floodmark._table_columns(run) -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set kept = run.zone.partitions if run.get('zone') else none -%}
    {%- if not partition -%}
        {{ return(none) }}
    {%- elif kept and kept.column == partition.name | lower -%}
        {%- set units = floodmark._partition_expressions('null', partition.type) | selectattr('way', 'in', kept.ways)
            | map(attribute='unit') | list -%}
    {%- else -%}
        {%- set units = floodmark._derivation(run, columns, run.upstream.family, this).units -%}
    {%- endif -%}
    {{ return(units | first | default(none)) }}
{% endmacro %}
