{# The rows of a Delta table that changed since the last batch, for watermark kind `version`: the table's columns,
   `_change_type` and `_commit_version`. Stands in a FROM; the materialization puts in the versions of each batch. #}
{% macro changes(relation, preimages=false) %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set snapshot = "(select *, 'insert' as _change_type, cast(0 as bigint) as _commit_version from " ~ relation
        ~ ')' -%}
    {%- if model.resource_type == 'unit_test' or floodmark._is_dry() -%}
        {{ return(snapshot) }}
    {%- endif -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- if model.config.materialized != 'incremental' or watermark is not mapping
        or watermark.get('kind') != 'version' -%}
        {%- do floodmark._refuse([{'setting': 'watermark', 'got': watermark,
            'expected': "{'kind': 'version'} on an incremental model",
            'todo': 'floodmark.changes() reads from version to version of its upstream'}]) -%}
    {%- endif -%}
    {%- do floodmark._require_opt_in() -%}
    {#- events of a feed are events whatever becomes of their rows later, unless the model says what a deleted row
       means (_kind_of_changes) -#}
    {%- set cdc = floodmark._setting('cdc') -%}
    {%- set said = tojson([cdc.get('apply_as_deletes'), cdc.get('apply_as_truncates'), cdc.get('sequence_by')])
        if cdc is mapping else '' -%}
    {%- set kind = 'preimages' if preimages else ('events' if cdc is not none and '_change_type' not in said | lower
        else '') -%}
    {%- set name = floodmark._relation_name(relation) -%}
    {%- set rows = snapshot -%}
    {%- set comment = '' -%}
    {%- if floodmark._only_looks() -%}
        {%- set plan = floodmark._next_plan() -%}
        {%- set rows = floodmark._changes_sql(name, plan, floodmark._kind_of_changes(kind, model.raw_code)) if plan
            else snapshot -%}
        {%- set comment = floodmark._plan_comment(plan) if plan else '' -%}
    {%- endif -%}
    {{ return('/*floodmark:changes ' ~ name ~ (' ' ~ kind if kind else '') ~ '*/ ' ~ comment ~ rows
        ~ ' /*floodmark:end*/') }}
{% endmacro %}


{# Whether a SELECT reads the changes of a state, where a row that is deleted is a delete, and not a feed of events. #}
{% macro _reads_state(sql) %}
    {%- for kind in modules.re.findall('/\\*floodmark:changes \\S+?( preimages| events)?\\*/', sql)
        if floodmark._kind_of_changes(kind | trim, sql) != 'events' -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# A relation over the changes of a batch (`kind`: with preimages, only what was added, or all but preimages): the
   versions above its low bound up to its high one; at first the whole table as it is at the high version, as inserts.
   The feed is named by its path: one query that reads a table and its feed by one name gets the table twice, without
   the feed's columns (Spark keeps resolved relations by name). #}
{% macro _changes_sql(name, batch, kind) %}
    {%- set low = batch.low_position if batch.low_position is not none
        else (batch.start_position - 1 if batch.start_position is not none else none) -%}
    {%- if low is none -%}
        {{ return("(select *, 'insert' as _change_type, cast(" ~ batch.high_position
            ~ ' as bigint) as _commit_version from ' ~ name ~ ' version as of ' ~ batch.high_position ~ ')') }}
    {%- endif -%}
    {%- if low >= batch.high_position -%}
        {{ return("(select *, 'insert' as _change_type, cast(null as bigint) as _commit_version from " ~ name
            ~ ' where false)') }}
    {%- endif -%}
    {{ return('(select * except (_commit_timestamp) from table_changes_by_path('
        ~ floodmark._string_literal(floodmark._detail(name).location) ~ ', ' ~ (low + 1) ~ ', ' ~ batch.high_position
        ~ ')' ~ {'preimages': '', 'events': " where _change_type not in ('delete', 'update_preimage')"}.get(kind,
        " where _change_type <> 'update_preimage'") ~ ')') }}
{% endmacro %}


{# SQL that is true where a change takes its row away; none where the rows say nothing of it. Preimages do: what an
   update moved to another key, or out of the SELECT's filter, leaves this table. #}
{% macro _deletes_predicate(run, columns, prefix='') %}
    {%- if not floodmark._reads_changes(run) or not floodmark._find_column(columns, '_change_type') -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return('coalesce(' ~ prefix ~ "_change_type in ('delete', 'update_preimage'), false)") }}
{% endmacro %}


{# Every changes() must be of the table that the mark is of. #}
{% macro _check_changes(run) %}
    {%- set name = floodmark._relation_name(run.upstream.relation) -%}
    {%- for found in modules.re.findall('/\\*floodmark:changes (\\S+?)(?: preimages| events)?\\*/', run.sql)
        if found | lower != name | lower -%}
        {%- do floodmark._refuse([{'setting': 'watermark.from', 'got': found,
            'expected': 'changes() of ' ~ name ~ ' alone',
            'todo': 'A model has one mark: read other tables with ref()'}]) -%}
    {%- endfor -%}
{% endmacro %}


{# append keeps every row it is given: changes that say more than "new" are refused, and so are names that Delta keeps
   for itself. #}
{% macro _check_change_columns(run, columns) %}
    {%- set problems = [] -%}
    {%- for name in floodmark._change_columns()
        if run.settings.strategy not in ['merge', 'cdc'] and floodmark._find_column(columns, name) -%}
        {%- do problems.append({'setting': 'incremental_strategy',
            'got': run.settings.strategy ~ ' with a column ' ~ name,
            'expected': "'merge', or another name for the column",
            'todo': 'merge applies updates and deletes; to keep every change as a row, write ' ~ name ~ ' as '
            ~ name[1:]}) -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems, rejects='append cannot write columns of the change feed') -%}
    {%- endif -%}
{% endmacro %}


{# The next versions to read. The whole history between the mark and now must still be there. #}
{% macro _plan_version(run, mark) %}
    {%- set watermark = run.settings.watermark -%}
    {%- set reach = floodmark._reach(watermark, 'version') -%}
    {%- set newest = run.upstream.commit.version -%}
    {%- set ceiling = run.ceiling if run.ceiling is not none else newest -%}
    {%- set before = mark if mark is not none else (reach.start - 1 if reach.start is not none else none) -%}
    {%- if before is not none and ceiling > before and not floodmark._only_looks() -%}
        {%- do floodmark._require_versions(run.upstream.relation, before + 1, ceiling, from_start=mark is none) -%}
    {%- endif -%}
    {%- set high = ceiling if before is none or reach.step is none else [before + reach.step, ceiling] | min -%}
    {#- nothing below the mark, or below `start`, is read again where the upstream has not come so far -#}
    {%- set high = [high, before] | max if before is not none else high -%}
    {%- set plan = floodmark._plan_whole(is_last=high >= ceiling) -%}
    {%- do plan.update({
        'family': 'version', 'low_position': mark, 'low': floodmark._position_print(mark, 'version'),
        'high_position': high, 'high': floodmark._position_print(high, 'version'), 'start_position': reach.start,
        'is_waiting': mark is none or high > mark, 'ceiling': ceiling,
    }) -%}
    {{ return(plan) }}
{% endmacro %}


{# A batch reads what the upstream recorded: from `first` on every version must be in its log, and the change feed on.
   Where it reads `from_start`, nothing that is loaded anew helps. #}
{% macro _require_versions(relation, first, last, from_start=false) %}
    {%- set limit = last - first + 2 -%}
    {%- set commits = floodmark._history(relation, limit) -%}
    {%- if commits | length == limit and (commits | last).version > first -%}
        {#- others have written since the run began: the newest commits do not reach down to the first -#}
        {%- set commits = floodmark._history(relation) -%}
    {%- endif -%}
    {%- set oldest = (commits | last).version -%}
    {%- if oldest > first -%}
        {%- do floodmark._stop('versions ' ~ first ~ ' to ' ~ (oldest - 1) ~ ' of ' ~ relation
            ~ ' have expired (delta.logRetentionDuration): '
            ~ ('set watermark.start to ' ~ oldest ~ ' or higher, or remove it' if from_start
            else floodmark._ways_out() ~ '. Run more often, before the log expires')) -%}
    {%- endif -%}
{% endmacro %}


{# What to do where Delta cannot give the changes that a batch reads, in a sentence; none for any other error. A full
   refresh begins at `start`, so a version behind these changes must be there, or none. #}
{% macro _unreadable_changes(batch, error) %}
    {%- set reasons = {
        'DELTA_CHANGE_DATA_FEED_INCOMPATIBLE': 'a column of it was renamed, dropped or given another type since',
        'DELTA_MISSING_CHANGE_DATA': 'its change feed was switched off for a while'} -%}
    {%- for condition, reason in reasons.items() if batch.family == 'version' and condition in error -%}
        {%- set begins = batch.low_position is none -%}
        {%- set first = batch.start_position if begins else batch.low_position + 1 -%}
        {%- set start = 'set watermark.start to a later version, or remove it' -%}
        {{ return('The changes of ' ~ batch.upstream ~ ' from version ' ~ first ~ ' to ' ~ batch.high_position
            ~ ' cannot be read, since ' ~ reason ~ ': ' ~ (start if begins else floodmark._ways_out()
            ~ ('. Before a full refresh, ' ~ start if batch.start_position is not none else ''))) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{% macro _require_change_feed(relation) %}
    {%- if not modules.re.search('delta.enablechangedatafeed\\W+true',
        floodmark._detail(relation).properties | lower) -%}
        {%- do floodmark._refuse([{'setting': 'watermark.kind', 'got': 'version',
            'expected': 'a change feed on ' ~ relation,
            'todo': "Switch it on: alter table " ~ relation
            ~ " set tblproperties ('delta.enableChangeDataFeed' = 'true')"}]) -%}
    {%- endif -%}
{% endmacro %}
