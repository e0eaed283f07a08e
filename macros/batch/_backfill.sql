{#
  A backfill reads a range again: `dbt run --select <model> --vars '{floodmark_backfill: {from: ..., to: ..., step:
  ...}}'`, or `floodmark backfill`. It is a batch like any other, but it leaves the mark where it is. By merge, or for
  append and insert_overwrite by delete and insert in one commit, so that it may be repeated.
#}

{# The range of this run's backfill as it was asked for: {from, to, step}; none where the run is none. #}
{% macro _backfill_range() %}
    {{ return(var('floodmark_backfill', none)) }}
{% endmacro %}


{# The next batch of a backfill, recorded in the ledger; none at its end. A backfill that died goes on after its last
   batch. #}
{% macro _next_backfill_batch(run) %}
    {%- if run.first -%}
        {%- do floodmark._begin_backfill(run) -%}
    {%- endif -%}
    {%- set range = run.backfill -%}
    {%- if range.low >= range.high -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set plan = floodmark._plan_watermark(run, range.low, range.high,
        {'start': none, 'step': range.step, 'lookback': 0}) -%}
    {%- set rounds = floodmark._strategy(run.settings).rounds -%}
    {%- if rounds and not plan.is_last -%}
        {%- set high = [rounds(run, range.low, plan.high_position).high, range.high] | min -%}
        {%- do plan.update({'high_position': high, 'high': floodmark._position_print(high, plan.family),
            'is_last': high == range.high}) -%}
    {%- endif -%}
    {#- the last batch reaches to the end of the range: rows that are gone upstream go from the table too -#}
    {%- if plan.is_last -%}
        {%- do plan.update({'high_position': range.high,
            'high': floodmark._position_print(range.high, plan.family)}) -%}
    {%- endif -%}
    {%- do plan.update({'settings': run.settings, 'batch_id': run.state.last_batch_id + 1, 'kind': 'backfill',
        'replaces': false, 'generation': run.state.committed.generation, 'reason': range.reason, 'asked': range.asked,
        'watermark_column': run.settings.watermark.column, 'upstream': run.state.committed.upstream}) -%}
    {%- do floodmark._record_plan(run, plan) -%}
    {%- do run.backfill.update({'low': plan.high_position}) -%}
    {%- do run.update({'first': false}) -%}
    {{ return(plan) }}
{% endmacro %}


{# Check the range and bring it into positions: run.backfill = {low, high, step, asked, reason}, open below, closed
   above. #}
{% macro _begin_backfill(run) %}
    {%- set range = run.backfill -%}
    {%- set family = run.upstream.family if run.upstream else none -%}
    {%- do floodmark._refuse(floodmark._backfill_problems(run, range, family)) -%}
    {%- if floodmark._strategy(run.settings).orders_by_mark and not floodmark._orders_rows(run) -%}
        {%- set column = run.settings.watermark.column -%}
        {%- do floodmark._warn_once(run, 'nobody can tell which row of a key is the later, since ' ~ column
            ~ ' is not in the SELECT and in each row of ' ~ this ~ ': where ' ~ run.upstream.relation
            ~ ' has older rows of a key in the range, they replace newer ones. Add ' ~ column
            ~ ' to the SELECT, and load the table once with --full-refresh') -%}
    {%- endif -%}
    {%- set unit = floodmark._position_unit(family) -%}
    {%- set reach = floodmark._reach({'start': range.from, 'step': range.step if range.step is defined else none},
        family) -%}
    {#- between two dates lies none: the first one that is not below a bound stands for it -#}
    {%- set end = (floodmark._reach({'start': range.to}, family).start + unit - 1) // unit * unit - unit -%}
    {%- set mark = floodmark._position_parse(run.state.committed.mark, family) -%}
    {%- set low = (reach.start + unit - 1) // unit * unit - unit -%}
    {%- if low >= end -%}
        {%- do floodmark._stop('the backfill from ' ~ range.from ~ ' to ' ~ range.to
            ~ ' is empty: `from` is inclusive, `to` is exclusive') -%}
    {%- elif low >= mark -%}
        {%- do floodmark._stop('the backfill begins above the mark ' ~ run.state.committed.mark
            ~ ': dbt build loads what lies there') -%}
    {%- endif -%}
    {%- set reason = 'backfill from ' ~ range.from ~ ' to ' ~ range.to
        ~ (' by ' ~ range.step if reach.step is not none else '') -%}
    {%- set asked = {'from': range.from | string, 'to': range.to | string,
        'step': range.step | string if reach.step is not none else none} -%}
    {%- set high = [end, mark] | min -%}
    {%- set rounds = floodmark._strategy(run.settings).rounds -%}
    {%- set whole = rounds(run, low, high) if rounds else {'low': low, 'high': high} -%}
    {%- set low, high = whole.low, whole.high -%}
    {%- set reached = floodmark._position_parse(floodmark._backfill_reached(run, asked), family) -%}
    {%- do run.update({'backfill': {'high': high, 'step': reach.step, 'asked': {'backfill': asked}, 'reason': reason,
        'low': reached if reached is not none and low < reached < high else low}}) -%}
{% endmacro %}


{# The high bound of the last committed batch of this backfill; none where it has not begun or has come to its end. #}
{% macro _backfill_reached(run, asked) %}
    {%- set last = floodmark._query_json(
        "select to_json(named_struct('last', max_by(struct(high, is_last), batch_id))) from "
        "(select batch_id, max(high) as high, " ~ "bool_or(is_last) filter (where event = 'planned') as is_last from "
        ~ floodmark._log_of() ~ " and kind = 'backfill' and " ~ floodmark._is_asked_sql(asked) ~ ' and generation = '
        ~ floodmark._string_literal(run.state.committed.generation)
        ~ " group by batch_id having count_if(event = 'committed') > 0)")[0].get('last') -%}
    {{ return(last.high if last and not last.is_last else none) }}
{% endmacro %}


{# Whether the SELECT has the watermark column, and the table a value in it in each row. Rows from before it came have
   none, and lie below those that have one: they do not count where one of those lies at or below `first`, if that is
   given. With `nulls: include` NULL is a value like others. #}
{% macro _orders_rows(run, first=none) %}
    {%- set column = run.settings.watermark.column -%}
    {%- set rows = this ~ ' where ' ~ floodmark._quoted(column) -%}
    {{ return(floodmark._find_column(floodmark._columns_of(relation=this), column) is not none
        and floodmark._find_column(floodmark._columns_of(query=run.sql), column) is not none
        and (run.settings.watermark.nulls == 'include' or floodmark._has_no_rows(rows ~ ' is null')
        or first is not none and not floodmark._has_no_rows(rows ~ ' <= ' ~ first))) }}
{% endmacro %}


{# What makes a backfill impossible: a list for _refuse. #}
{% macro _backfill_problems(run, range, family) %}
    {%- set problems = [] -%}
    {%- if not floodmark._strategy(run.settings).backfills -%}
        {{ return([{'setting': 'floodmark_backfill', 'got': range, 'expected': 'an incremental_strategy that can '
            'load a part of its source, and ' ~ run.settings.strategy ~ ' takes whole snapshots, in their order',
            'todo': 'Use --full-refresh to load them again'}]) }}
    {%- endif -%}
    {%- set expected = 'a model with a timestamp or sequence watermark, loaded before' -%}
    {%- if family is none or family == 'version'
        or not run.state.committed or run.state.committed.mark is none or run.target.is_empty or run.full_refresh -%}
        {{ return([{'setting': 'floodmark_backfill', 'got': range, 'expected': expected,
            'todo': 'Run the model first; files and versions are loaded again by --full-refresh'}]) }}
    {%- endif -%}
    {%- for key in ['from', 'to'] -%}
        {%- set value = range.get(key) -%}
        {%- if value is none or not floodmark._is_position(value, family) -%}
            {%- do problems.append({'setting': 'floodmark_backfill.' ~ key,
                'got': value | string if value is not none else none,
                'expected': 'a whole number' if family == 'sequence'
                else "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00'",
                'todo': 'from is inclusive, to is exclusive'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if range.get('step') is not none -%}
        {%- do problems.extend(floodmark._distance_problems('floodmark_backfill.step', range.step,
            'sequence' if family == 'sequence' else 'timestamp', 'step')) -%}
    {%- endif -%}
    {%- if not problems and not floodmark._strategy(run.settings).finds_by_key
        and not floodmark._orders_rows(run, floodmark._position_literal(
        floodmark._reach({'start': range.from}, family).start, family)) -%}
        {%- do problems.append({'setting': 'watermark.column', 'got': run.settings.watermark.column,
            'expected': 'a column of the SELECT and of ' ~ this ~ ', with a value in each row that may be of the range',
            'todo': 'A backfill deletes and inserts by it, so rows without a value would be there twice. Add '
            'it to the SELECT and load the table once with --full-refresh, or use merge'}) -%}
    {%- endif -%}
    {#- a value in each row, such as a number that goes on from the table's greatest, loses no row -#}
    {%- if not floodmark._strategy(run.settings).finds_by_key and floodmark._reads_own_table(run.sql)
        and not floodmark._reads_values_alone(run.sql) -%}
        {%- do problems.append({'setting': 'floodmark_backfill', 'got': 'a SELECT that reads ' ~ this,
            'expected': 'one that does not: it still finds the rows that the backfill deletes, and rows that it '
            'leaves out for them would be lost', 'todo': "Leave that part out of a backfill (is_incremental() and not "
            "var('floodmark_backfill', none)), use merge, or load all again with --full-refresh"}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
