{#
  insert_overwrite under a watermark, and backfills: rows of a range are deleted and inserted in one commit. The range is
  literal, so files outside of it are not touched.
#}

{# Whether a batch replaces whole partitions; a backfill replaces its bounds alone. #}
{% macro _replaces_partitions(run, batch) %}
    {{ return(run.settings.strategy == 'insert_overwrite' and not batch.replaces and batch.kind != 'backfill') }}
{% endmacro %}


{# Delete and insert what lies in the batch's range: whole partitions, or (a backfill) the bounds of the watermark column. #}
{% macro _replace_range_sql(run, batch, source, columns) %}
    {%- set predicate = floodmark._partitions_predicate(run, source.columns, source.counts) if floodmark._replaces_partitions(run, batch)
        else floodmark._bounds_predicate(floodmark._quoted(run.settings.watermark.column), batch) -%}
    {#- by name: what the SELECT lacks is NULL, or what the table generates -#}
    insert into {{ this }} by name replace where {{ predicate }}
    select {{ floodmark._quoted_csv(columns) }} from (
    {{ source.sql }}
    )
{% endmacro %}


{# The partitions in a range {least, greatest}, as a condition on the table; with `derived` on the SELECT. There the column may be a cast of a
   time, which Spark's optimizer turns around (`cast(ts as date) >= date'…'` becomes `ts >= timestamp'…'`), wrong where a clock was set back.
   It leaves structs alone. #}
{% macro _partitions_predicate(run, columns, range, derived=false) %}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set terms = [] -%}
    {%- for sql in [floodmark._quoted(partition.name), floodmark._range_literal(range.least, partition.type), floodmark._range_literal(range.greatest, partition.type)] -%}
        {%- do terms.append("named_struct('p', " ~ sql ~ ')' if derived else sql) -%}
    {%- endfor -%}
    {{ return(terms[0] ~ ' between ' ~ terms[1] ~ ' and ' ~ terms[2]) }}
{% endmacro %}


{# Whether a batch that found nothing above its mark differs from the partitions that it read again. #}
{% macro _changes_partitions(run, source) %}
    {%- set changes = floodmark._schema_changes(source.columns, floodmark._table_columns(run)) -%}
    {%- if changes.new or changes.fields or changes.gone or changes.retyped -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set hash = 'select ' ~ floodmark._row_hash_sql(source.columns) ~ ' from ' -%}
    {%- set staged = hash ~ source.stage -%}
    {%- set held = hash ~ this ~ ' where ' ~ floodmark._partitions_predicate(run, source.columns, source.counts) -%}
    {{ return(run_query('select 1 as one from ((' ~ staged ~ ' except all ' ~ held ~ ') union all (' ~ held ~ ' except all ' ~ staged ~ ')) limit 1').rows | length > 0) }}
{% endmacro %}


{# How the partition column follows from the watermark column, found in the rows themselves: {rows, zone, first, last, least, greatest,
   units}; first and last are of the watermark column, least and greatest of the partition column; units those that fit in the session's zone. #}
{% macro _derivation(run, columns, family, from_sql) %}
    {%- set value = floodmark._quoted(run.settings.watermark.column) -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set candidates = floodmark._partition_expressions(value, partition.type) -%}
    {%- set watermark_text = floodmark._position_text_sql('@(' ~ value ~ ')', family) -%}
    {%- set partition_text = floodmark._range_text_sql(floodmark._quoted(partition.name), partition.type) -%}
    {%- set values = ["'rows', count(*)", "'zone', current_timezone()"] -%}
    {%- for name, text in {'first': watermark_text | replace('@(', 'min('), 'last': watermark_text | replace('@(', 'max('),
            'least': partition_text | replace('@(', 'min('), 'greatest': partition_text | replace('@(', 'max(')}.items() -%}
        {%- do values.append("'" ~ name ~ "', " ~ text) -%}
    {%- endfor -%}
    {%- for candidate in candidates -%}
        {%- do values.append("'differ_" ~ loop.index0 ~ "', count_if(not (" ~ floodmark._quoted(partition.name) ~ ' <=> ' ~ candidate.expression ~ '))') -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(' ~ values | join(', ') ~ ')) from ' ~ from_sql)[0] -%}
    {%- set units = [] -%}
    {%- for candidate in candidates -%}
        {%- if not found['differ_' ~ loop.index0] and candidate.unit not in units -%}
            {%- do units.append(candidate.unit) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do found.update({'units': units}) -%}
    {{ return(found) }}
{% endmacro %}


{% macro _refuse_partition(run, batch, columns) %}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set name = run.settings.watermark.column -%}
    {%- do floodmark._fail(batch, 'partition_by does not follow from the watermark column') -%}
    {%- do floodmark._refuse([{'setting': 'partition_by', 'got': partition.name ~ ' ' ~ partition.type,
        'expected': 'a year, quarter, month, week, day or hour of ' ~ name,
        'todo': 'Derive it in the SELECT, such as cast(' ~ name ~ ' as date) or date_format(' ~ name ~ ", 'yyyy-MM')"}]) -%}
{% endmacro %}


{# The SELECT of the whole partitions that the batch's rows lie in. It reads what _partition_edges gives, and keeps these partitions alone: a
   range that is too wide does no harm. #}
{% macro _whole_partitions_select(run, batch, select_sql) %}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._check_partition_columns(run, batch, columns) -%}
    {%- set family = batch.family -%}
    {%- set found = floodmark._derivation(run, columns, family, '(\n' ~ select_sql ~ '\n)') -%}
    {%- if not found.rows -%}
        {{ return(select_sql) }}
    {%- elif not found.units -%}
        {%- do floodmark._refuse_partition(run, batch, columns) -%}
    {%- endif -%}
    {%- set edges = floodmark._partition_edges(found, floodmark._find_column(columns, run.settings.partition_by[0]), family) -%}
    {%- set rounded = floodmark._select_of(dict(batch, lookback=0, start_position=none, **floodmark._rounded_bounds(run, batch, columns, found, edges)), run.sql) -%}
    {{ return('select * from (\n' ~ rounded ~ '\n) where ' ~ floodmark._partitions_predicate(run, columns, found, derived=true)) }}
{% endmacro %}


{# Positions between which all lies that can be in the partitions of a _derivation, {low, high}: from the start of the coarsest unit that fits to
   its end, a week more on both sides where weeks fit too. Two days more where the clocks change nearby: of an hour, or a day, that comes twice
   one partition holds both, and what a clock leaves out lies in the next. #}
{% macro _partition_edges(found, partition, family) %}
    {%- if not floodmark._ascend_in_time(found, partition.type, family) -%}
        {{ return({'low': floodmark._least_position(), 'high': -floodmark._least_position()}) }}
    {%- endif -%}
    {%- set unit = found.units[0] -%}
    {%- set week = ' @ interval 1 week' if 'week' in found.units and unit != 'week' else '' -%}
    {%- set starts = {} -%}
    {%- for name, sign in {'first': '-', 'last': '+'}.items() -%}
        {%- set moment = floodmark._position_literal(floodmark._position_from_text(found[name], family), family) -%}
        {%- do starts.update({name: "date_trunc('" ~ unit ~ "', " ~ moment ~ ')' ~ week | replace('@', sign)}) -%}
    {%- endfor -%}
    {%- set changes = "date_format(@ - interval 47 hours, 'xxxxx') <> date_format(@ + interval 47 hours, 'xxxxx')" -%}
    {%- set query -%}
        with edges as (
            select {{ starts.first }} as low, {{ starts.last }} + interval {{ {'quarter': '3 month'}.get(unit, '1 ' ~ unit) }} as high
        ),
        wide as (
            select if({{ changes | replace('@', 'low') }}, low - interval 48 hours, low) as low,
                if({{ changes | replace('@', 'high') }}, high + interval 48 hours, high) as high
            from edges
        )
        select to_json(named_struct(
            'low', {{ floodmark._position_text_sql('cast(low as ' ~ family ~ ')', family) }},
            'high', {{ floodmark._position_text_sql('cast(high as ' ~ family ~ ')', family) }}
        )) from wide
    {%- endset -%}
    {%- set edges = floodmark._query_json(query)[0] -%}
    {{ return({'low': floodmark._position_from_text(edges.low, family), 'high': floodmark._position_from_text(edges.high, family)}) }}
{% endmacro %}


{# Whether the partitions of a _derivation stand in the order of time. Texts and numbers do in the years 0 to 9999. #}
{% macro _ascend_in_time(found, type, family) %}
    {%- set first, last = floodmark._position_from_text(found.first, family), floodmark._position_from_text(found.last, family) -%}
    {{ return(type in ['date', 'timestamp', 'timestamp_ntz'] or floodmark._parse_timestamp('0000-01-08') < first and last < floodmark._parse_timestamp('9999-12-24')) }}
{% endmacro %}


{# The bounds of whole partitions, {low_position, high_position}, from `edges`, their first position and the first behind them.
   What must wait does so in a partition too. Rows below `start` stay out of the partition that it lies in, unless they are there: a backfill
   brought them, or `start` was another. #}
{% macro _rounded_bounds(run, batch, columns, found, edges) %}
    {%- set watermark = run.settings.watermark -%}
    {%- set smallest = floodmark._position_unit(batch.family) -%}
    {%- set lowest = edges.low -%}
    {%- if batch.start_position is not none and lowest < batch.start_position and (batch.low_position is none or batch.start_position <= batch.low_position - batch.lookback) -%}
        {%- set below = floodmark._quoted(watermark.column) ~ ' < ' ~ floodmark._position_literal(batch.start_position, batch.family) -%}
        {%- set is_there = run_query('select 1 as one from ' ~ this ~ ' where ' ~ floodmark._partitions_predicate(run, columns, found) ~ ' and ' ~ below ~ ' limit 1').rows | length > 0 -%}
        {%- set lowest = lowest if is_there else batch.start_position -%}
    {%- endif -%}
    {#- nothing that the batch itself reads is left out -#}
    {%- set limit = batch.high_position if watermark.sql is not none else [floodmark._future_cap(watermark), batch.high_position] | max -%}
    {{ return({'low_position': lowest - smallest, 'high_position': [edges.high - smallest, limit] | min}) }}
{% endmacro %}


{# Both columns must be in the SELECT. #}
{% macro _check_partition_columns(run, batch, columns) %}
    {%- set problems = [] -%}
    {%- for setting, name in {'watermark.column': run.settings.watermark.column, 'partition_by': run.settings.partition_by[0]}.items() if not floodmark._find_column(columns, name) -%}
        {%- do problems.append({'setting': setting, 'got': name, 'expected': 'a column of the SELECT', 'todo': 'insert_overwrite compares the two: add it'}) -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, 'columns are missing') -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# Counts of a stage of whole partitions: {rows_read, zone, least, greatest}, the last two the range of partitions that it replaces. A first load is
   checked too: what does not follow from the watermark would be lost when its partition is replaced. #}
{% macro _partition_counts(run, batch, source) %}
    {%- do floodmark._check_partition_columns(run, batch, source.columns) -%}
    {%- set found = floodmark._derivation(run, source.columns, batch.family, source.stage) -%}
    {%- if found.rows and not found.units -%}
        {%- do floodmark._refuse_partition(run, batch, source.columns) -%}
    {%- endif -%}
    {{ return({'rows_read': found.rows, 'zone': found.zone, 'least': found.get('least'), 'greatest': found.get('greatest')}) }}
{% endmacro %}


{# Ways in which a partition column can follow from a time, the coarsest first: a list of {unit, expression}. A coarser unit than
   the true one only reads more whole partitions. A smallint holds years; a tinyint holds none of them. #}
{% macro _partition_expressions(value, type) %}
    {%- set type = floodmark._plain_type(type) -%}
    {%- set found = [] -%}
    {%- for unit in ['year', 'quarter', 'month', 'week', 'day', 'hour'] -%}
        {%- set starts = "date_trunc('" ~ unit ~ "', " ~ value ~ ')' -%}
        {%- if type == 'date' and unit != 'hour' -%}
            {%- do found.append({'unit': unit, 'expression': 'cast(' ~ starts ~ ' as date)'}) -%}
        {%- elif type in ['timestamp', 'timestamp_ntz'] -%}
            {%- do found.append({'unit': unit, 'expression': 'cast(' ~ starts ~ ' as ' ~ type ~ ')'}) -%}
        {%- elif type in ['string', 'smallint', 'int', 'bigint'] -%}
            {%- for pattern in {'year': ['yyyy'], 'month': ['yyyy-MM', 'yyyyMM'], 'day': ['yyyy-MM-dd', 'yyyyMMdd'], 'hour': ['yyyy-MM-dd HH', 'yyyy-MM-dd-HH', 'yyyyMMddHH']}.get(unit, [])
                    if type == 'string' or '-' not in pattern -%}
                {%- do found.append({'unit': unit, 'expression': 'cast(date_format(' ~ value ~ ", '" ~ pattern ~ "') as " ~ type ~ ')'}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
