{#
  A batch of events takes two statements, one on the state table and one on the table. Both must read the staging table
  of the same run; the first commit names that run (`/by/<run>` in its user metadata). A batch writes the state table
  first. A first load or full refresh replaces the table first, so if it dies before that, both old tables are
  unchanged.
#}

{# Apply a staged batch, and record it as committed. Returns its counts. With ignore_null_updates a row is made of
   leaves and then compared as a whole: of that condition Spark would infer one more for every subset of the columns,
   and plan for hours where they are many. #}
{% macro _apply_cdc(run, batch, source) %}
    {%- set infers = 'spark.sql.constraintPropagation.enabled' -%}
    {%- if floodmark._ignores_nulls(run.settings.cdc) -%}
        {%- do floodmark._set_conf({infers: 'false'}) -%}
    {%- endif -%}
    {%- set counts = floodmark._apply_events(run, batch, source) -%}
    {%- if floodmark._ignores_nulls(run.settings.cdc) -%}
        {%- do floodmark._reset_conf([infers]) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{% macro _apply_events(run, batch, source) %}
    {%- do source.update({'has_state': floodmark._has_state(),
        'restates': floodmark._restates_from(batch) is not none}) -%}
    {%- if source.restates -%}
        {#- what goes may have no events any more, and so lie beyond their range -#}
        {%- do source.update({'counts': {'rows_read': source.counts.rows_read, 'deletes': source.counts.deletes,
            'truncates': source.counts.truncates, 'same': source.counts.same,
            'rows_tied': source.counts.rows_tied}}) -%}
    {%- endif -%}
    {%- if floodmark._batch_way(run, source) in ['scd1', 'scd2'] -%}
        {%- do floodmark._compare_with_peak(run, batch, source,
            floodmark._find_column(source.columns, '_floodmark_sequence')) -%}
        {#- a truncate reaches rows that have no event in the batch -#}
        {%- do source.update({'is_ahead': source.get('is_ahead') and not source.counts.truncates}) -%}
    {%- endif -%}
    {%- if batch.replaces -%}
        {%- do run.update({'is_state_marked': none}) -%}
        {%- do floodmark._resolve(run, batch, source) -%}
        {%- do floodmark._check_formed_rows(run, batch, source) -%}
        {%- do floodmark._drop_what_is_not_delta(run) -%}
        {%- set beside = dict(floodmark._made_properties(run,
            floodmark._own_columns(run.settings.cdc, source.columns)),
            **({floodmark._state_mark(): 'true'} if floodmark._replaces_state(run, source) else {})) -%}
        {%- do floodmark._apply_once(this, batch,
            floodmark._replace_table_sql(floodmark._first_rows_sql(run, source), beside)) -%}
    {%- else -%}
        {%- do floodmark._check_state(run, source) -%}
        {%- do floodmark._align_cdc(run, source) -%}
        {%- do floodmark._resolve(run, batch, source) -%}
        {%- do floodmark._check_formed_rows(run, batch, source) -%}
        {%- if not batch.get('state_is_written') -%}
            {%- do floodmark._write_state(run, batch, source) -%}
        {%- endif -%}
        {%- do floodmark._mark_state(run, source) -%}
        {%- if floodmark._changes_cdc_target(run, batch, source) -%}
            {%- set merge = {'scd1': floodmark._scd1_merge_sql, 'partial': floodmark._partial_merge_sql,
                'restated': floodmark._scd1_restated_merge_sql,
                'scd2': floodmark._scd2_merge_sql}[floodmark._batch_way(run, source)] -%}
            {%- do floodmark._apply_once(this, batch, merge(run, source), reads_stage=source.resolved is defined) -%}
        {%- else -%}
            {{ return(floodmark._finish(run, batch, floodmark._landed_if_read(run, batch, source,
                floodmark._cdc_table_columns(run.settings.cdc, source.columns)), source)) }}
        {%- endif -%}
    {%- endif -%}
    {%- set landed = floodmark._require_landed(batch) -%}
    {%- if batch.replaces -%}
        {%- do floodmark._replace_state(run, batch, source, landed) -%}
    {%- endif -%}
    {%- set counts = floodmark._finish(run, batch, landed, source) -%}
    {%- do floodmark._compact_state(run, batch, source) -%}
    {{ return(counts) }}
{% endmacro %}


{# How the events become rows: scd1, partial (SCD 1 with ignore_null_updates) or scd2. #}
{% macro _cdc_way(run) %}
    {{ return('scd2' if run.settings.cdc.scd_type == 2
        else ('partial' if floodmark._ignores_nulls(run.settings.cdc) else 'scd1')) }}
{% endmacro %}


{# The columns to write, after on_schema_change. #}
{% macro _align_cdc(run, source) %}
    {%- set shaped = dict(source, columns=floodmark._cdc_table_columns(run.settings.cdc, source.columns)) -%}
    {%- do source.update({'written': floodmark._align_columns(run, shaped), 'lacking': []}) -%}
    {%- for column in floodmark._table_own_columns(run) if column.name not in source.written -%}
        {%- do source.lacking.append(column.name) -%}
    {%- endfor -%}
    {%- for name in run.settings.cdc.tracked if not floodmark._find_column(floodmark._table_own_columns(run), name)
        and not floodmark._is_untyped_column(run, name) -%}
        {%- do floodmark._refuse([{'setting': 'cdc.track_history_column_list', 'got': name,
            'expected': 'columns of ' ~ this,
            'todo': "It is new: set on_schema_change to 'append_new_columns', or run once with --full-refresh"}],
            rejects='a column of track_history_column_list is not in the table') -%}
    {%- endfor -%}
    {#- in SCD 1 it has the key alone, whose type changes with the table's, by an ALTER -#}
    {%- if source.has_state and (run.settings.cdc.scd_type == 2
        or not run.get('state_fits', run.target.is_known)) -%}
        {%- do floodmark._prepare_state(run, source) -%}
    {%- endif -%}
{% endmacro %}


{# How this batch's events become rows: scd1, partial or scd2; `restated` if it rebuilds rows of SCD 1. #}
{% macro _batch_way(run, source) %}
    {%- set way = floodmark._cdc_way(run) -%}
    {{ return('restated' if source.get('restates') and way != 'scd2' else way) }}
{% endmacro %}


{# SCD 2 and restatements: what becomes of every event that the batch touches, written once, so that both statements
   read the same. #}
{% macro _resolve(run, batch, source) %}
    {%- set way = floodmark._batch_way(run, source) -%}
    {%- if way in ['scd2', 'restated'] -%}
        {%- set relation = floodmark._resolved_relation(batch) -%}
        {%- if not batch.get('resolved_by') -%}
            {#- a stream that starts again in its process has left one of this name -#}
            {%- if batch.get('is_taken_over') -%}
                {%- do floodmark._drop_staging_tables([relation]) -%}
            {%- endif -%}
            {%- do floodmark._execute([floodmark._create_stage_sql(relation) ~ '\n'
                ~ (floodmark._scd2_sql(run, batch, source) if way == 'scd2'
                else floodmark._scd1_restated_sql(run, batch, source))]) -%}
        {%- endif -%}
        {%- if batch.get('resolved_by') -%}
            {#- the table may have been given columns since -#}
            {%- do source.update({'resolved_columns': floodmark._columns_of(relation=relation)}) -%}
        {%- endif -%}
        {%- set changes = ['table_write', 'table_remove', 'state_write', 'state_remove'] -%}
        {%- set counts = [] -%}
        {%- for change in changes -%}
            {%- do counts.append("'" ~ change ~ "', count_if(_floodmark_" ~ change ~ ')') -%}
        {%- endfor -%}
        {%- if batch.get('resolved_by') -%}
            {%- do floodmark._require_whole(batch, relation) -%}
        {%- endif -%}
        {%- do source.update({'resolved': relation,
            'changes': floodmark._query_json('select to_json(named_struct(' ~ counts | join(', ') ~ ')) from '
            ~ relation)[0]}) -%}
    {%- endif -%}
{% endmacro %}


{# Named after the stage that it is made of and the run that makes it. #}
{% macro _resolved_relation(batch) %}
    {{ return(floodmark._stage_relation(batch) ~ '__' ~ (batch.get('resolved_by') or invocation_id[:8])) }}
{% endmacro %}


{# The runs whose stages the statements of a batch read, as their commits name them. #}
{% macro _writer(batch) %}
    {%- set staged_by = batch.staged_by or invocation_id[:8] -%}
    {%- set resolves = batch.settings.cdc.scd_type == 2 or floodmark._restates_from(batch) is not none -%}
    {{ return(staged_by ~ ('-' ~ (batch.get('resolved_by') or invocation_id[:8]) if resolves else '')) }}
{% endmacro %}


{# The rows of a first load. #}
{% macro _first_rows_sql(run, source) %}
    {%- set columns = floodmark._cdc_table_columns(run.settings.cdc, source.columns) | map(attribute='name') | list -%}
    {%- set way = floodmark._cdc_way(run) -%}
    {%- if way == 'scd2' -%}
        {{ return('select ' ~ floodmark._quoted_csv(columns) ~ ' from ' ~ source.resolved
            ~ ' where _floodmark_table_write') }}
    {%- endif -%}
    {%- set rows = floodmark._partial_rows_sql(run, source, is_first=true) if way == 'partial'
        else floodmark._winners_sql(run, source, remembers=false) -%}
    {{ return('select ' ~ floodmark._quoted_csv(columns) ~ ' from (\n' ~ rows ~ '\n) where not _floodmark_delete') }}
{% endmacro %}


{# Write into the state table what the batch's events ask for. #}
{% macro _write_state(run, batch, source) %}
    {%- set way = floodmark._batch_way(run, source) -%}
    {%- set statement = {'scd2': floodmark._scd2_state_sql, 'restated': floodmark._scd1_restated_state_sql}.get(way,
        floodmark._scd1_state_sql) -%}
    {%- if source.get('changes') -%}
        {%- set needed = source.changes.state_write or source.changes.state_remove -%}
    {%- else -%}
        {%- set needed = source.counts.deletes or source.counts.truncates -%}
    {%- endif -%}
    {%- if needed and way != 'scd2' and not source.restates and source.has_state and not run.settings.files
        and floodmark._reads_again(run, batch) -%}
        {%- do source.update({'adds_unknown': true}) -%}
        {%- set needed = not floodmark._has_no_rows('(\n' ~ floodmark._scd1_added_state_sql(run, source) ~ '\n)') -%}
    {%- endif -%}
    {%- if needed -%}
        {%- if not source.has_state -%}
            {%- do floodmark._prepare_state(run, source) -%}
        {%- endif -%}
        {%- do floodmark._apply_once(floodmark._state_relation(), batch, statement(run, source),
            reads_stage=source.resolved is defined) -%}
        {%- set landed = floodmark._landed(floodmark._state_relation(), batch) -%}
        {%- if landed is none or landed.writer != floodmark._writer(batch) -%}
            {%- do floodmark._stop_unlanded(batch) -%}
        {%- endif -%}
        {%- do source.update({'has_state': true}) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a first load leaves such a table: it has something to remember, or there is one to replace. #}
{% macro _replaces_state(run, source) %}
    {%- set needed = source.changes.state_write if run.settings.cdc.scd_type == 2
        else source.counts.deletes or source.counts.truncates -%}
    {{ return(source.has_state or needed > 0) }}
{% endmacro %}


{# What a first load remembers, from the stage of the run whose table landed. #}
{% macro _replace_state(run, batch, source, landed) %}
    {%- if landed.writer != floodmark._writer(batch) -%}
        {%- do floodmark._stop_unlanded(batch) -%}
    {%- endif -%}
    {#- what another run resolved has the columns that its settings asked for: the next batch adds others -#}
    {%- set own = floodmark._columns_named(source.columns, source.resolved_columns | map(attribute='name')
        | reject('in', ['_floodmark_sequence', '_floodmark_delete']) | list) if source.get('resolved_columns')
        else floodmark._own_columns(run.settings.cdc, source.columns) -%}
    {%- set columns = floodmark._state_columns(run, source, own) -%}
    {%- if floodmark._replaces_state(run, source) -%}
        {%- set rows = floodmark._scd2_state_rows_sql(source, columns) if run.settings.cdc.scd_type == 2
            else floodmark._scd1_state_rows_sql(run, source) -%}
        {%- do floodmark._apply_once(floodmark._state_relation(), batch,
            'create or replace table ' ~ floodmark._state_relation() ~ ' using delta '
            ~ floodmark._state_properties_sql(columns) ~ ' as\nselect '
            ~ floodmark._quoted_csv(columns | map(attribute='name') | list) ~ ' from (\n' ~ rows ~ '\n)') -%}
    {%- endif -%}
{% endmacro %}


{# Whether a batch may give events that were applied before. #}
{% macro _reads_again(run, batch) %}
    {{ return(batch.kind != 'stream' and (not run.settings.watermark or batch.lookback or batch.kind == 'backfill')) }}
{% endmacro %}


{# With ignore_null_updates a row has its values from several events, so the contract's constraints are asked of the
   rows themselves. #}
{% macro _check_formed_rows(run, batch, source) %}
    {%- if floodmark._ignores_nulls(run.settings.cdc) and floodmark._has_constraints() -%}
        {%- set rows = 'select * from ' ~ source.resolved ~ ' where _floodmark_table_write' if source.get('resolved')
            else 'select * from (\n' ~ floodmark._partial_rows_sql(run, source, is_first=batch.replaces)
            ~ '\n) where not _floodmark_delete' -%}
        {%- do floodmark._check_constraints(batch, '(' ~ rows ~ ')', floodmark._constraints()) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the batch changes the table: one that reads events again commits nothing where they stand already. #}
{% macro _changes_cdc_target(run, batch, source) %}
    {%- if source.get('changes') -%}
        {{ return(source.changes.table_write + source.changes.table_remove > 0) }}
    {%- elif not source.counts.rows_read -%}
        {{ return(false) }}
    {%- elif not floodmark._reads_again(run, batch) -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(not floodmark._has_no_rows('(\n' ~ floodmark._partial_rows_sql(run, source) ~ '\n)')
        if floodmark._cdc_way(run) == 'partial' else floodmark._count_scd1_changes(run, source) > 0) }}
{% endmacro %}


{# Take over an unfinished batch: the transaction ids of every run before are used up on both tables, so that none of
   them can write any more, and what one of them had written already says whose stage counts. Returns the batch's
   commit on the table where it is there. #}
{% macro _take_over(batch) %}
    {%- set state = floodmark._state_relation() -%}
    {%- do batch.update({'attempt': floodmark._next_attempt(batch,
        [this, state] if floodmark._has_state() else [this])}) -%}
    {#- it may be made until the fence on the table stands -#}
    {%- for table in [this, state] if table == this or floodmark._has_state() -%}
        {%- do floodmark._fence(batch, table) -%}
        {%- if floodmark._fence_tag(batch) not in floodmark._recent_tags(table) -%}
            {%- do floodmark._stop_for_now('another run is finishing batch ' ~ batch.batch_id ~ ' now') -%}
        {%- endif -%}
        {%- set landed = floodmark._landed(table, batch) -%}
        {%- if landed is not none and table == this -%}
            {{ return(landed) }}
        {%- elif landed is not none and not floodmark._is_undone(state, landed) -%}
            {%- do batch.update({'state_is_written': landed}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Take back what a batch of this run wrote beside the table, whose statement on the table was refused. Fences on both
   tables come first, so that no run can still write the other half. #}
{% macro _take_back_state(batch) %}
    {%- set state = floodmark._state_relation() -%}
    {%- set written = floodmark._landed(state, batch) if floodmark._has_state() else none -%}
    {%- if written is not none and not floodmark._is_undone(state, written) -%}
        {%- do batch.update({'attempt': floodmark._next_attempt(batch, [this, state]), 'state_is_written': none,
            'applied': none}) -%}
        {%- do floodmark._fence(batch) -%}
        {%- do floodmark._fence(batch, state) -%}
        {%- do floodmark._undo_state(state, written) -%}
    {%- endif -%}
{% endmacro %}


{# Take back what a batch wrote beside the table, where its other half will not be written: the fences keep every
   other run away but one that gives the batch up as well, and went on. #}
{% macro _undo_state(relation, landed) %}
    {%- set commits = floodmark._history(relation, 20) -%}
    {%- set own = commits | selectattr('version', 'equalto', landed.version) | map(attribute='tag') | list -%}
    {%- for commit in commits if commit.version > landed.version and commit.tag and commit.tag not in own
        and not floodmark._leaves_rows(commit) -%}
        {%- do floodmark._stop_for_now('another run has written ' ~ relation ~ ' meanwhile') -%}
    {%- endfor -%}
    {%- do floodmark._execute(['restore table ' ~ relation ~ ' to version as of ' ~ (landed.version - 1)]) -%}
{% endmacro %}


{# Whether a commit was taken back since. #}
{% macro _is_undone(relation, landed) %}
    {%- for commit in floodmark._history(relation, 20)
        if commit.version > landed.version and commit.operation == 'RESTORE' -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Let a batch read the stage of the run that a commit names. #}
{% macro _read_stage_of(run, batch, writer) %}
    {%- set runs = writer.split('-') -%}
    {%- set resolved_by = runs[1] if runs | length > 1 else none -%}
    {%- set found = run.stages | selectattr('batch_id', 'equalto', batch.batch_id)
        | selectattr('staged_by', 'equalto', runs[0]) | selectattr('part', 'equalto', resolved_by) | list -%}
    {%- if not found -%}
        {%- do floodmark._stop('batch ' ~ batch.batch_id ~ ' cannot be resumed. If another run finished it, run again. '
            ~ 'If its staging table was dropped after half of it was written, run once with --full-refresh',
            is_passing=true) -%}
    {%- endif -%}
    {%- do batch.update({'staged_by': runs[0], 'resolved_by': resolved_by}) -%}
{% endmacro %}


{# A first load or full refresh whose table is there: write the state table, from the same staging table. #}
{% macro _recover_state(run, batch, landed) %}
    {%- if landed.writer is none -%}
        {%- do floodmark._stop('incremental_strategy was changed while batch ' ~ batch.batch_id
            ~ ' was unfinished: run it once with --full-refresh') -%}
    {%- elif ('-' in landed.writer) != (run.settings.cdc.scd_type == 2) -%}
        {%- do floodmark._stop('stored_as_scd_type was changed while batch ' ~ batch.batch_id
            ~ ' was unfinished: run it once with --full-refresh') -%}
    {%- endif -%}
    {%- do floodmark._read_stage_of(run, batch, landed.writer) -%}
    {%- set has_state = floodmark._has_state() -%}
    {%- do batch.update({'attempt': floodmark._next_attempt(batch,
        [floodmark._state_relation()] if has_state else [])}) -%}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- do floodmark._require_whole(batch, stage) -%}
    {%- set columns = floodmark._columns_of(relation=stage) -%}
    {%- set source = {'sql': 'select * from ' ~ stage, 'stage': stage, 'columns': columns,
        'counts': floodmark._event_counts(run, stage, columns), 'has_state': has_state} -%}
    {%- do floodmark._resolve(run, batch, source) -%}
    {%- if source.get('resolved_columns') and floodmark._ignores_nulls(run.settings.cdc)
        != (floodmark._find_column(source.resolved_columns, '_floodmark_columns') is not none) -%}
        {%- do floodmark._stop('ignore_null_updates was changed while batch ' ~ batch.batch_id
            ~ ' was unfinished: run it once with --full-refresh') -%}
    {%- endif -%}
    {%- do floodmark._replace_state(run, batch, source, landed) -%}
    {{ return(source) }}
{% endmacro %}
