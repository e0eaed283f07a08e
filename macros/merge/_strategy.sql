{# append, merge and insert_overwrite, as the protocol sees them (macros/protocol/_strategy.sql). #}
{% macro _append_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), needs_stage=false, changes=floodmark._append_changes,
        statement=floodmark._append_statement, adds_blindly=true, lost_mark_problem=floodmark._append_lost_mark)) }}
{% endmacro %}


{% macro _merge_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), staged=floodmark._merge_staged,
        check_columns=floodmark._check_merge_columns, counts=floodmark._merge_counts,
        check_staged=floodmark._check_keys, finds_by_key=true, orders_by_mark=true, compares_all=true,
        changes=floodmark._merge_changes, before_replace=floodmark._note_made_peak,
        statement=floodmark._merge_statement)) }}
{% endmacro %}


{% macro _insert_overwrite_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), reads=floodmark._overwrite_reads,
        replaced=floodmark._overwritten_rows_sql, rounds=floodmark._whole_partitions_range,
        staged=floodmark._overwrite_staged, counts=floodmark._overwrite_counts, changes=floodmark._overwrite_changes,
        statement=floodmark._overwrite_statement)) }}
{% endmacro %}


{# A micro-batch that gives the whole table also writes where nothing is left of it. #}
{% macro _append_changes(run, batch, source) %}
    {{ return(floodmark._gives_whole_table(run, batch) or floodmark._has_changes(run, batch, source)) }}
{% endmacro %}


{% macro _append_statement(run, batch, source, columns) %}
    {%- if floodmark._gives_whole_table(run, batch) -%}
        {{ return(floodmark._replace_where_sql('true', source, columns)) }}
    {%- endif -%}
    {{ return(floodmark._replace_range_sql(run, batch, source, columns) if batch.kind == 'backfill'
        else (floodmark._replace_files_sql(run, batch, source, columns) if batch.get('replaces_files')
        else floodmark._append_sql(source, columns))) }}
{% endmacro %}


{# A replay adds its rows to their partitions. #}
{% macro _overwrite_statement(run, batch, source, columns) %}
    {{ return(floodmark._append_sql(source, columns) if batch.kind == 'replay'
        else floodmark._replace_range_sql(run, batch, source, columns)) }}
{% endmacro %}


{# Why append cannot go on: without a mark every row would come again. Where the last batch read rows though nothing was
   due, as a count(*) does, nothing of the upstream is loaded yet. #}
{% macro _append_lost_mark(run) %}
    {%- set committed = run.state.committed -%}
    {%- set is_lost = committed is none or run.settings.watermark and committed.mark is none
        and (committed.family is none or not committed.rows_read) -%}
    {{ return('append cannot tell which rows are new: ' if is_lost else none) }}
{% endmacro %}


{# The peak of a table that the batch makes. #}
{% macro _note_made_peak(run, batch, source) %}
    {%- set names = floodmark._target_columns(run, source.columns) | map(attribute='name') | list -%}
    {%- do floodmark._compare_with_peak(run, batch, source, floodmark._written_order(run, source, names)) -%}
{% endmacro %}


{% macro _merge_statement(run, batch, source, columns) %}
    {%- do source.update({'written': columns}) -%}
    {%- do floodmark._compare_with_peak(run, batch, source, floodmark._written_order(run, source, columns)) -%}
    {{ return(floodmark._merge_sql(run, source, columns)) }}
{% endmacro %}


{# Whether a MERGE has anything to write. One that reads again below the mark may find all as it was: it is counted
   before, since a MERGE that changes nothing still makes a commit. #}
{% macro _merge_changes(run, batch, source) %}
    {%- if not floodmark._has_rows(run, batch, source) -%}
        {{ return(false) }}
    {%- elif batch.kind == 'stream' or batch.family == 'version'
        or run.settings.watermark and not batch.lookback and batch.nulls != 'include'
        and batch.low_position is not none -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(floodmark._count_changes(run, source) > 0) }}
{% endmacro %}


{# Whether insert_overwrite has anything to write. If a batch found nothing above its mark, the partitions of its
   lookback are compared with the table. #}
{% macro _overwrite_changes(run, batch, source) %}
    {%- if batch.kind == 'backfill' -%}
        {{ return(true) }}
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
