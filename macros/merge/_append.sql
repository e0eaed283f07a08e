{# append, as the protocol sees it (macros/protocol/_strategy.sql), and its statement. #}

{% macro _append_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), needs_stage=false, changes=floodmark._append_changes,
        check_columns=floodmark._check_append_columns, statement=floodmark._append_statement, adds_blindly=true,
        lost_mark_problem=floodmark._append_lost_mark)) }}
{% endmacro %}


{# append needs the column by which it finds the rows of files that are overwritten. Rows that were loaded before the
   column came, or while it had another name, would stay beside those that replace them. #}
{% macro _check_append_columns(run, batch, columns) %}
    {%- set problems = [] -%}
    {%- set name = floodmark._path_column(run.sql) if run.settings.files and batch.kind != 'replay'
        and run.settings.files.allow_overwrites == 'replace' -%}
    {%- if name and not floodmark._find_column(columns, name) -%}
        {%- do problems.append({'setting': 'files.allow_overwrites', 'got': 'replace',
            'expected': "the path of each row's file in the table", 'todo': 'The SELECT calls it ' ~ name
            ~ ', but has no column of this name. Give it one name throughout'}) -%}
    {%- elif name and batch.get('replaces_files') and not floodmark._tell_their_file(run, name) -%}
        {%- do problems.append({'setting': 'files.allow_overwrites', 'got': 'replace',
            'expected': 'the path of its file in each row of ' ~ this, 'todo': 'Files of this batch were loaded '
            'before, and rows without a path in ' ~ name ~ ' may be theirs. Run once with --full-refresh'}) -%}
    {%- endif -%}
    {%- do floodmark._reject_columns(problems + floodmark._own_name_problems(columns)) -%}
{% endmacro %}


{# Whether all rows of the table have a path in this column. #}
{% macro _tell_their_file(run, name) %}
    {%- set column = floodmark._find_column(floodmark._table_columns(run), name) -%}
    {{ return(floodmark._has_no_rows(this ~ (' where ' ~ floodmark._quoted(name) ~ ' is null' if column else ''))) }}
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


{# Insert the batch's rows, columns by name. #}
{% macro _append_sql(source, columns) %}
    insert into {{ this }} ({{ floodmark._quoted_csv(columns) }})
    select {{ floodmark._quoted_csv(columns) }} from (
    {{ source.sql }}
    )
{% endmacro %}


{# Why append cannot go on: without a mark every row would come again. Where the last batch read rows though nothing was
   due, as a count(*) does, nothing of the upstream is loaded yet. #}
{% macro _append_lost_mark(run) %}
    {%- set committed = run.state.committed -%}
    {%- set is_lost = floodmark._has_lost_mark(committed) or run.settings.watermark and committed.mark is none
        and (committed.family is none or not committed.rows_read) -%}
    {{ return('append cannot tell which rows are new: ' if is_lost else none) }}
{% endmacro %}
