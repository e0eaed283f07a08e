{# Sequences over Delta: count the rows that came below the lookback since the last batch, and warn of them. No row is
   late if the upstream only had appends, these added exactly the rows above the mark, and nothing was committed during
   the count. Otherwise, if files written since the last batch hold rows below the bound, two versions of the upstream
   are compared. #}
{% macro _warn_late(run, plan) %}
    {%- set committed = run.state.committed -%}
    {%- if not run.first or plan.family != 'sequence' or plan.low_position is none or not committed
        or committed.upstream_version is none or plan.upstream_version is none
        or plan.upstream_version | int <= committed.upstream_version | int -%}
        {{ return(0) }}
    {%- elif not plan.rows_null and plan.rows_waiting is not none
        and plan.rows_waiting == floodmark._rows_appended(run, committed, plan)
        and floodmark._history(run.upstream.relation, 1)[0].version == plan.upstream_version | int -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set column = floodmark._quoted(run.upstream.column) -%}
    {%- set below = column ~ ' <= ' ~ floodmark._position_literal(floodmark._low_read(plan), plan.family)
        ~ (' and ' ~ column ~ ' >= ' ~ floodmark._position_literal(plan.start_position, plan.family)
        if plan.start_position is not none else '') -%}
    {#- a commit's files are older than the commit: a day is far more than it takes to write them -#}
    {%- set since = floodmark._position_literal(floodmark._parse_timestamp(committed.upstream_at[:19])
        - floodmark._micros_in().day, 'timestamp') -%}
    {#- a column of the upstream's own that is called _metadata hides Spark's -#}
    {%- set recent = '_metadata.file_modification_time >= ' ~ since
        if not floodmark._find_column(run.upstream.columns, '_metadata') else 'true' -%}
    {%- set suspects = run_query('select count(*) as n from ' ~ run.upstream.relation ~ ' where ' ~ below ~ ' and '
        ~ recent).rows[0][0] | int -%}
    {%- if not suspects -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set found = floodmark._tried(floodmark._rows_late, run.upstream, below, committed.upstream_version)
        if floodmark._is_readable(run.upstream.relation, committed.upstream_version | int,
        plan.upstream_version | int) else none -%}
    {%- if not found or found.error -%}
        {%- do floodmark._warn_once(run, 'it is not known whether rows came late into ' ~ run.upstream.relation
            ~ ': files below the mark ' ~ plan.low ~ ' of ' ~ run.upstream.column
            ~ ' were written since the last batch, and version ' ~ committed.upstream_version
            ~ ', which that batch read, has expired. Run `floodmark reconcile` to check') -%}
        {{ return(0) }}
    {%- endif -%}
    {%- if found.value -%}
        {%- do floodmark._warn_once(run, floodmark._counted(found.value, 'row') ~ ' came late into '
            ~ run.upstream.relation ~ ': at or below the mark ' ~ plan.low ~ ' of ' ~ run.upstream.column
            ~ ', and not loaded, unless a run or a backfill did so since: `floodmark reconcile` finds what is '
            'missing. A sequence that was restarted looks the same. Run with --full-refresh to load them. '
            'With merge or cdc, watermark.lookback catches late rows') -%}
    {%- endif -%}
    {{ return(found.value) }}
{% endmacro %}


{# How many values the upstream has that its version `since` had not, of rows that `below` names. Rows that were updated
   or deleted hide none that came. #}
{% macro _rows_late(upstream, below, since) %}
    {%- set values = 'select ' ~ floodmark._quoted(upstream.column) ~ ' from ' ~ upstream.relation -%}
    {{ return(run_query('select count(*) as late from (' ~ values ~ ' where ' ~ below ~ ' except all ' ~ values
        ~ ' version as of ' ~ since ~ ' where ' ~ below ~ ')').rows[0][0] | int) }}
{% endmacro %}


{# Whether the files of a version can still be read, as far as the log tells: the log reaches back to it, no VACUUM has
   run since, and the next version is less than a week old, which is what VACUUM keeps by default. #}
{% macro _is_readable(relation, version, newest) %}
    {%- set commits = floodmark._history(relation, newest - version + 1) -%}
    {%- set week_ago = floodmark._now() - floodmark._parse_duration('1 week') -%}
    {%- for commit in commits if commit.operation == 'VACUUM END'
        or commit.version == version + 1 and floodmark._parse_timestamp(commit.at[:19]) < week_ago -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return((commits | last).version <= version) }}
{% endmacro %}


{# The rows that came into the upstream since the last batch, by its log; none where anything but appends happened, or
   where that batch left rows above its mark. #}
{% macro _rows_appended(run, committed, plan) %}
    {%- set since, until = committed.upstream_version | int, plan.upstream_version | int -%}
    {%- if committed.kind != 'incremental' or not committed.is_last or committed.mark != plan.low
        or until - since > (run.commits or []) | length -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set ns = namespace(rows=0) -%}
    {%- for commit in run.commits if since < commit.version <= until -%}
        {%- if commit.operation in ['WRITE', 'STREAMING UPDATE'] and commit.appends
            and commit.counts.numOutputRows is defined -%}
            {%- set ns.rows = ns.rows + commit.counts.numOutputRows -%}
        {%- elif not floodmark._leaves_rows(commit) -%}
            {{ return(none) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(ns.rows) }}
{% endmacro %}
