{# insert_overwrite, as the protocol sees it (macros/protocol/_strategy.sql): it reads and replaces whole partitions. #}

{% macro _insert_overwrite_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), reads=floodmark._overwrite_reads,
        replaced=floodmark._overwritten_rows_sql, rounds=floodmark._whole_partitions_range,
        staged=floodmark._overwrite_staged, selected=floodmark._overwrite_selected,
        counts=floodmark._overwrite_counts, changes=floodmark._overwrite_changes,
        statement=floodmark._overwrite_statement)) }}
{% endmacro %}


{# Whether a batch replaces whole partitions; a backfill replaces its bounds alone. #}
{% macro _replaces_partitions(run, batch) %}
    {{ return(run.settings.strategy == 'insert_overwrite' and not batch.replaces
        and batch.kind not in ['backfill', 'replay']) }}
{% endmacro %}


{# Whether the whole partitions that the batch's rows lie in have to be read first. Behind an is_incremental() guard a
   first load has no bounds: its SELECT gives them whole. #}
{% macro _reads_partitions(run, batch) %}
    {{ return(floodmark._replaces_partitions(run, batch) and not run.guarded) }}
{% endmacro %}


{# Under a watermark insert_overwrite reads the whole partitions that the batch's rows lie in. #}
{% macro _overwrite_reads(run, batch, select_sql) %}
    {%- if not floodmark._reads_partitions(run, batch) -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {{ return(floodmark._whole_partitions_select(run, batch, floodmark._conformed_select(run, batch, select_sql),
        select_sql)) }}
{% endmacro %}


{# What insert_overwrite stages: the whole partitions that the batch's rows lie in, unless its rules have read them
   already. #}
{% macro _overwrite_staged(run, batch, select_sql) %}
    {%- if floodmark._reads_partitions(run, batch) and not batch.get('judged') -%}
        {%- set select_sql = floodmark._conformed_select(run, batch,
            floodmark._whole_partitions_select(run, batch, select_sql)) -%}
    {%- endif -%}
    {{ return(floodmark._staged_select(run, batch, select_sql)) }}
{% endmacro %}


{# The columns that the stage of a dead run must have. None fits where the partitions that it was read for are not those
   of its rows alone (_due_partitions.sql). #}
{% macro _overwrite_selected(run, batch, select_sql) %}
    {{ return([] if floodmark._reads_partitions(run, batch) and floodmark._filters_groups(run.sql)
        else floodmark._select_columns_of(run, batch, select_sql)) }}
{% endmacro %}


{# Counts of a staging table of insert_overwrite: of its partitions, but for a backfill, which replaces a range. #}
{% macro _overwrite_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._partition_counts(run, batch, source) if source and batch.kind not in ['backfill', 'replay']
        else floodmark._row_counts(run, stage, batch)) }}
{% endmacro %}


{# Whether insert_overwrite has anything to write. If a batch found nothing above its mark, the partitions of its
   lookback are compared with the table. #}
{% macro _overwrite_changes(run, batch, source) %}
    {%- if batch.kind == 'backfill' -%}
        {{ return(true) }}
    {%- elif not floodmark._has_rows(run, batch, source) and batch.get('due_range') -%}
        {{ return(not floodmark._has_no_rows(this ~ ' where '
            ~ floodmark._partitions_predicate(run, source.columns, source.counts))) }}
    {%- elif not floodmark._has_rows(run, batch, source) -%}
        {#- of rows that lie in no partition there is none to replace -#}
        {{ return(floodmark._replaces_partitions(run, batch) and floodmark._has_judged_rows(batch)
            and source.counts.get('least') is not none) }}
    {%- elif floodmark._replaces_partitions(run, batch) and batch.lookback and batch.low_position is not none
        and batch.high_position == batch.low_position -%}
        {{ return(floodmark._changes_partitions(run, source)) }}
    {%- endif -%}
    {{ return(true) }}
{% endmacro %}


{# A replay adds its rows to their partitions. #}
{% macro _overwrite_statement(run, batch, source, columns) %}
    {{ return(floodmark._append_sql(source, columns) if batch.kind == 'replay'
        else floodmark._replace_range_sql(run, batch, source, columns)) }}
{% endmacro %}


{# A condition on the quarantine of rows that a batch has read again: those of its partitions, also where nothing of
   them is left, and those within its bounds, which may lie in none; none where the quarantine has no partition column:
   its rows are of a time when the table was not partitioned by it. #}
{% macro _overwritten_rows_sql(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set held = floodmark._columns_of(relation=quarantine) if floodmark._has_quarantine(quarantine) else [] -%}
    {%- set kept = floodmark._find_column(held, run.settings.partition_by[0]) -%}
    {%- if not kept -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set is_judged = batch.get('judged') and batch.judged.get('columns') -%}
    {%- set rows = floodmark._judged_relation(batch) if is_judged else floodmark._stage_relation(batch) -%}
    {%- if not is_judged
        and not (floodmark._has_stage(batch) and floodmark._is_stage_whole(rows, run.settings.strategy)) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set partition = floodmark._quoted(run.settings.partition_by[0]) -%}
    {%- set values = [] -%}
    {%- set is_held = floodmark._broken_sql(batch.rules, ['drop', 'quarantine']) if is_judged else 'false' -%}
    {%- set follows = 'true' if is_held == 'false'
        else 'not ' ~ is_held ~ ' or ' ~ floodmark._follows_sql(run, batch.judged.columns, none) -%}
    {%- set read = floodmark._find_column(batch.judged.columns if is_judged
        else floodmark._columns_of(relation=rows), run.settings.partition_by[0]) -%}
    {#- where clocks are set back two hours print alike: moments are compared as numbers -#}
    {%- set is_moment = read.type == 'timestamp' -%}
    {%- for value in run_query('select distinct cast(' ~ ('unix_micros(' ~ partition ~ ')' if is_moment
        else partition) ~ ' as string) as value from ' ~ rows ~ ' where ' ~ partition ~ ' is not null and ('
        ~ follows ~ ')').columns[0].values() -%}
        {%- do values.append(floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {#- a column keeps the type in which it came first: what came in another stands in the text of its row -#}
    {%- set came = floodmark._value_of_text_sql(kept.name, 'timestamp' if is_moment else 'string') -%}
    {%- set value = came if is_moment and kept.type != 'timestamp'
        else 'coalesce(' ~ (partition if is_moment else 'cast(' ~ partition ~ ' as string)') ~ ', ' ~ came ~ ')' -%}
    {%- set in_partitions = ('cast(unix_micros(' ~ value ~ ') as string)' if is_moment else value)
        ~ ' in (' ~ values | join(', ') ~ ')' if values else none -%}
    {%- set in_bounds = floodmark._range_again_sql(dict(batch, low_position=floodmark._low_read(batch)), held)
        if is_judged and batch.low_position is not none else none -%}
    {%- set terms = [in_partitions, in_bounds, floodmark._due_again_sql(run, batch, value)] | reject('none') | list -%}
    {{ return('(' ~ terms | join(' or ') ~ ')' if terms else none) }}
{% endmacro %}
