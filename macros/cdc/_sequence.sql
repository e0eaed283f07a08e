{# What orders the events of a key (`cdc.sequence_by`): what a table says of it, and which sequences cannot order. #}

{# What the table's rows are ordered by must order the events, too. `made_by` is the property's text; none in a table
   of earlier code. #}
{% macro _changed_sequence_problems(cdc, made_by) %}
    {%- if made_by is none or made_by == floodmark._sequence_text(cdc) -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': 'cdc.sequence_by', 'got': floodmark._sequence_text(cdc),
        'expected': made_by ~ ', by which the rows of ' ~ this ~ ' are ordered',
        'todo': 'Run it once with --full-refresh to order all events anew. If both give every event the same value: '
        'alter table ' ~ this ~ " unset tblproperties ('floodmark.sequence')"}]) }}
{% endmacro %}


{# A table with column mapping may have a sequence whose parts have names that Delta does not take without it: its
   events keep them. #}
{% macro _keep_sequence_names(run, batch) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set as_named = floodmark._sequence_sql(cdc.sequence_by, as_named=true) -%}
    {%- if as_named != cdc.sequence and run.target.is_delta and not batch.replaces -%}
        {%- set memory = floodmark._find_column(floodmark._table_columns(run), floodmark._memory_column(cdc)) -%}
        {%- if memory is not none and not modules.re.search('[<,]part_\\d+:', memory.type) -%}
            {%- do cdc.update({'sequence': as_named}) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Where a deleted row of the upstream is a delete, the feed gives it as it was last: by a column of the upstream it
   ties with its own row, and would change nothing. What such a state is now, the order of its commits tells: a column
   of the upstream that comes first may be set back, which only warns, since tables are ordered by it. #}
{% macro _feed_sequence_problems(run, columns) %}
    {%- set cdc = run.settings.cdc -%}
    {%- if not cdc.deletes or not cdc.reads_feed or not floodmark._are_of_a_state(run, columns)
        or not floodmark._names_beyond(run, columns, [cdc.deletes]) -%}
        {{ return([]) }}
    {%- elif floodmark._names_beyond(run, columns, cdc.sequence_by) -%}
        {%- if not floodmark._names_beyond(run, columns, cdc.sequence_by[:1]) -%}
            {%- do floodmark._warn_once(run, 'the events are the changes of a table, and their order is that of its '
                'commits, but cdc.sequence_by has ' ~ cdc.sequence_by[0] ~ ' first. If a change sets this back, '
                'floodmark ignores the change, and a later delete of the row too. '
                "Write sequence_by: '_commit_version', and run a model that is loaded once with --full-refresh "
                '(SCD 2 begins its history anew then)') -%}
        {%- endif -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': 'cdc.sequence_by', 'got': cdc.sequence_by | join(', '),
        'expected': '_commit_version, or a column that the SELECT makes: a deleted row comes with the values '
        'that it had, so its delete would be no later than the row',
        'todo': "Write sequence_by: '_commit_version', keep it in the SELECT, and run a model that is loaded once with "
        '--full-refresh'}]) }}
{% endmacro %}


{# Whether a model makes something of the version in which an event came: its order, or another value. That it selects
   the column makes nothing of it, since the table does not get it. #}
{% macro _uses_versions(run) %}
    {%- set words = modules.re.sub('((?:\\bselect|,)\\s*)(?:\\w+\\.)?`?_commit_version`?(?=\\s*(?:,|from\\b))', '\\1',
        floodmark._words_beside_changes(run.sql)) -%}
    {{ return(floodmark._is_named('_commit_version', run.settings.cdc.sequence_by) or '_commit_version' in words) }}
{% endmacro %}


{# Stop where the versions in which events came are lost: without `start` a feed is read as it is now. #}
{% macro _stop_without_versions(run) %}
    {%- do floodmark._stop('without watermark.start, ' ~ run.upstream.relation
        ~ ' is read as it is now: each of its events has the newest _commit_version, so nobody can tell in which one '
        'it came. Set watermark.start to the version from which its change feed is complete',
        rejects='the versions of the events are lost') -%}
{% endmacro %}


{# Reject events that tie in a load without a mark, which gives all of them the newest version: a delete would tie with
   the upsert before it. Keys that come once are in order. #}
{% macro _check_versions(run, batch, source) %}
    {%- if batch.family == 'version' and batch.kind in ['first_load', 'full_refresh', 'incremental']
        and batch.low_position is none and batch.start_position is none and source.counts.rows_tied
        and not floodmark._reads_state(run.sql) and floodmark._uses_versions(run)
        and floodmark._names_beyond(run, source.columns, run.settings.cdc.sequence_by) -%}
        {%- do floodmark._stop_without_versions(run) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a stream's text, or its settings, name the feed's column that tells what a change is. #}
{% macro _tells_change(cdc) %}
    {{ return(floodmark._kind_of_changes('events', floodmark._model_text() ~ ' ' ~ (cdc.deletes or '')) == '') }}
{% endmacro %}


{# Whether expressions name a column that the upstream does not have: one of the change feed, or one that the SELECT
   makes. Of a stream only its text tells. #}
{% macro _names_beyond(run, columns, expressions) %}
    {%- set known = run.upstream.columns if run.upstream else none -%}
    {%- for column in columns if floodmark._is_named(column.name, expressions) -%}
        {%- if column.name | lower in floodmark._change_columns() + ['_commit_timestamp']
            or (floodmark._names_expression(floodmark._model_text(), column.name) if known is none
            else not floodmark._find_column(known, column.name)) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# An event that has no sequence: of a struct every part counts. #}
{% macro _unordered_sql(columns) %}
    {%- set sequence = floodmark._find_column(columns, '_floodmark_sequence') -%}
    {%- set terms = ['_floodmark_sequence is null'] -%}
    {%- if sequence.type.startswith('struct<') -%}
        {%- for leaf in floodmark._leaves('', '_floodmark_sequence', '', sequence.ddl) -%}
            {%- do terms.append(leaf.sql ~ ' is null') -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return('(' ~ terms | join(' or ') ~ ')') }}
{% endmacro %}
