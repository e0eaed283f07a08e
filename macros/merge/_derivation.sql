{# How the partition column of a SELECT follows from the watermark: which expressions of it fit every row. #}

{# How the partition column follows from the watermark column, found in the rows themselves: {rows, zone, first, last,
   least, greatest, units, ways}; first and last are of the watermark column, least and greatest of the partition
   column; units, and ways of writing them, those that fit in the session's zone. #}
{% macro _derivation(run, columns, family, from_sql) %}
    {%- set value = floodmark._quoted(run.settings.watermark.column) -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set candidates = floodmark._partition_expressions(value, partition.type) -%}
    {#- in the SELECT or the table it may be of another type than upstream -#}
    {%- set watermark_text = floodmark._position_text_sql('@(cast(' ~ value ~ ' as ' ~ family ~ '))', family) -%}
    {%- set partition_text = floodmark._range_text_sql(floodmark._quoted(partition.name), partition.type) -%}
    {%- set values = ["'rows', count(*)", "'zone', current_timezone()"] -%}
    {%- for name, text in {'first': watermark_text | replace('@(', 'min(', 1),
        'last': watermark_text | replace('@(', 'max(', 1), 'least': partition_text | replace('@(', 'min(', 1),
        'greatest': partition_text | replace('@(', 'max(', 1)}.items() -%}
        {%- do values.append("'" ~ name ~ "', " ~ text) -%}
    {%- endfor -%}
    {%- for candidate in candidates -%}
        {%- do values.append("'differ_" ~ loop.index0 ~ "', count_if(not (" ~ floodmark._quoted(partition.name)
            ~ ' <=> ' ~ candidate.expression ~ '))') -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(' ~ values | join(', ') ~ ')) from '
        ~ from_sql)[0] -%}
    {%- set ways = [] -%}
    {%- for candidate in candidates -%}
        {%- do ways.extend([] if found['differ_' ~ loop.index0] else [candidate]) -%}
    {%- endfor -%}
    {%- do found.update({'units': ways | map(attribute='unit') | unique | list,
        'ways': ways | map(attribute='way') | list}) -%}
    {{ return(found) }}
{% endmacro %}


{# Watermark and partition in the list of a SELECT: once, where they are one column. #}
{% macro _pair_sql(run, watermark, partition) %}
    {{ return(watermark if run.settings.watermark.column | lower == run.settings.partition_by[0] | lower
        else watermark ~ ', ' ~ partition) }}
{% endmacro %}


{# Ways in which a partition column can follow from a time, the coarsest first: a list of {unit, way, expression}. A
   coarser unit than the true one only reads more whole partitions. A smallint holds years; a tinyint holds none of
   them. #}
{% macro _partition_expressions(value, type) %}
    {%- set type = floodmark._plain_type(type) -%}
    {%- set found = [] -%}
    {%- for unit in ['year', 'quarter', 'month', 'week', 'day', 'hour'] -%}
        {%- set starts = "date_trunc('" ~ unit ~ "', " ~ value ~ ')' -%}
        {%- if type == 'date' and unit != 'hour' -%}
            {%- do found.append({'unit': unit, 'way': unit, 'expression': 'cast(' ~ starts ~ ' as date)'}) -%}
        {%- elif type in ['timestamp', 'timestamp_ntz'] -%}
            {%- do found.append({'unit': unit, 'way': unit, 'expression': 'cast(' ~ starts ~ ' as ' ~ type ~ ')'}) -%}
        {%- elif type in ['string', 'smallint', 'int', 'bigint'] -%}
            {%- for pattern in {'year': ['yyyy'], 'month': ['yyyy-MM', 'yyyyMM'], 'day': ['yyyy-MM-dd', 'yyyyMMdd'],
                'hour': ['yyyy-MM-dd HH', 'yyyy-MM-dd-HH', 'yyyyMMddHH']}.get(unit, [])
                if type == 'string' or '-' not in pattern -%}
                {%- do found.append({'unit': unit, 'way': pattern, 'expression': 'try_cast(date_format(' ~ value ~ ", '"
                    ~ pattern ~ "') as " ~ type ~ ')'}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Counts of a stage of whole partitions: {rows_read, zone, least, greatest, ways}: the range of partitions that it
   replaces, and how they follow from the watermark. A first load is checked too: what does not follow from the
   watermark would be lost when its partition is replaced. Of a judged batch the range is that of all rows that
   follow: a partition whose rows are all held back is read anew, too. A batch that was read for the partitions of its
   upstream's rows replaces these (_due_partitions.sql). #}
{% macro _partition_counts(run, batch, source) %}
    {%- do floodmark._check_partition_columns(run, source.columns) -%}
    {%- if batch.replaces -%}
        {%- do floodmark._check_watermark_column(run, source.stage) -%}
    {%- endif -%}
    {%- if batch.get('judged') and batch.judged.rows_kept < batch.judged.rows_read -%}
        {%- set found = floodmark._kept_derivation(run, source.columns, batch.family,
            floodmark._held_rows_sql(run, batch, source.columns, floodmark._judged_relation(batch))) -%}
    {%- else -%}
        {%- set found = floodmark._derivation(run, source.columns, batch.family, source.stage) -%}
    {%- endif -%}
    {%- if found.rows and not found.units -%}
        {%- do floodmark._refuse_partition(run, source.columns) -%}
    {%- endif -%}
    {%- set range = batch.get('due_range') or found -%}
    {{ return({'rows_read': batch.judged.rows_kept if batch.get('judged') else found.rows, 'zone': found.zone,
        'least': range.get('least'), 'greatest': range.get('greatest'), 'ways': found.ways}) }}
{% endmacro %}


{# Both columns must be in the SELECT. #}
{% macro _check_partition_columns(run, columns) %}
    {%- set problems = [] -%}
    {%- for setting, name in {'watermark.column': run.settings.watermark.column,
        'partition_by': run.settings.partition_by[0]}.items() if not floodmark._find_column(columns, name) -%}
        {%- do problems.append(floodmark._untyped_problem(setting, name) if floodmark._is_untyped_column(run, name)
            else {'setting': setting, 'got': name, 'expected': 'a column of the SELECT',
            'todo': 'Add it: insert_overwrite compares the two'}) -%}
    {%- endfor -%}
    {%- do floodmark._reject_columns(problems, 'the SELECT lacks a column that insert_overwrite needs') -%}
{% endmacro %}


{% macro _refuse_partition(run, columns) %}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set name = run.settings.watermark.column -%}
    {%- do floodmark._refuse([{'setting': 'partition_by', 'got': partition.name ~ ' ' ~ partition.type,
        'expected': 'a year, quarter, month, week, day or hour of ' ~ name,
        'todo': 'Derive it in the SELECT, such as cast(' ~ name ~ ' as date) or date_format(' ~ name
        ~ ", 'yyyy-MM')"}], rejects='partition_by does not follow from the watermark column') -%}
{% endmacro %}


{# A _derivation of rows of which rules hold some back (`_floodmark_held`): partitions follow as the others prove, and a
   row that is held back and does not follow counts for nothing. #}
{% macro _kept_derivation(run, columns, family, from_sql) %}
    {%- set kept = floodmark._derivation(run, columns, family,
        '(select * from ' ~ from_sql ~ ' where not _floodmark_held)') -%}
    {%- set all = kept if kept.rows else floodmark._derivation(run, columns, family, from_sql) -%}
    {#- rows that are all held back may prove nothing -#}
    {%- set proof = all if all.units else kept -%}
    {%- set near = floodmark._derivation(run, columns, family, '(select * from ' ~ from_sql
        ~ ' where not _floodmark_held or ' ~ floodmark._follows_sql(run, columns, proof.ways) ~ ')') -%}
    {{ return(dict(near, units=proof.units, ways=proof.ways)) }}
{% endmacro %}


{# The _kept_derivation of a SELECT that is not judged yet. #}
{% macro _judged_derivation(run, batch, columns, given_sql) %}
    {%- set given = floodmark._columns_of(query=given_sql) -%}
    {%- do floodmark._check_rules(run, batch, given, given_sql) -%}
    {{ return(floodmark._kept_derivation(run, columns, batch.family, floodmark._held_rows_sql(run, batch, columns,
        '(' ~ floodmark._judged_sql(batch.rules, floodmark._asked(run, given), given_sql) ~ ')'))) }}
{% endmacro %}


{# Judged rows of a relation as the table will have them, with `_floodmark_held`, whether a rule holds a row back: for a
   FROM. #}
{% macro _held_rows_sql(run, batch, columns, judged) %}
    {{ return('(' ~ floodmark._conforming_sql(run, columns + [{'name': '_floodmark_held'}], 'select *, '
        ~ floodmark._broken_sql(batch.rules, ['drop', 'quarantine', 'fail']) ~ ' as _floodmark_held from ' ~ judged)
        ~ ')') }}
{% endmacro %}


{# Whether the partition of a row follows from its watermark in one of these ways, any where `ways` is none: never
   NULL. With `derived` of the SELECT's rows, as in _partitions_predicate. #}
{% macro _follows_sql(run, columns, ways, derived=false) %}
    {%- set sql, terms = [], ['false'] -%}
    {%- for name in [run.settings.watermark.column, run.settings.partition_by[0]] -%}
        {%- set column = floodmark._find_column(columns, name) -%}
        {%- do sql.append(floodmark._conformed_value_sql(column) if derived else floodmark._quoted(name)) -%}
    {%- endfor -%}
    {%- for candidate in floodmark._partition_expressions(sql[0],
        floodmark._find_column(columns, run.settings.partition_by[0]).type) if ways is none or candidate.way in ways -%}
        {%- do terms.append(sql[1] ~ ' <=> ' ~ candidate.expression) -%}
    {%- endfor -%}
    {{ return('(' ~ terms | join(' or ') ~ ')') }}
{% endmacro %}
