{# Record a batch as committed, now that the target shows it, and drop its stage. Returns the counts. #}
{% macro _finish(run, batch, landed, source) %}
    {#- what is not in the table's history is given up (_recover), and what it settles in the quarantine would stay -#}
    {%- if landed.version is none and batch.kind in ['backfill', 'replay'] and floodmark._is_judged(batch) -%}
        {%- set landed = floodmark._land_without_rows(batch) -%}
    {%- endif -%}
    {%- set metrics = landed.metrics -%}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set staged = source.counts if source else (landed.counted or (strategy.counts(run, stage, batch)
        if batch.staged_by and floodmark._is_stage_whole(stage, run.settings.strategy) else {})) -%}
    {%- set rows_kept = staged.get('rows_read', floodmark._inserted(metrics)) -%}
    {%- if floodmark._is_judged(batch) and not batch.get('judged') -%}
        {%- do floodmark._judge_again(run, batch, landed, rows_kept) -%}
    {%- endif -%}
    {%- set held = floodmark._held_counts(batch) -%}
    {%- if batch.files -%}
        {%- do floodmark._settle_files(run, batch, rows_kept + held.rows_dropped + held.rows_quarantined) -%}
    {%- endif -%}
    {%- set leaves_mark = batch.kind in ['backfill', 'replay'] -%}
    {%- set mark = run.state.committed.mark if leaves_mark else floodmark._mark_after(run, batch) -%}
    {#- a backfill and a replay read below the mark: what the last batch knew of the upstream stays -#}
    {%- set known = run.state.committed if leaves_mark else batch -%}
    {%- set target_id = floodmark._detail(this).id if batch.replaces or not run.target.id else run.target.id -%}
    {%- set counts = floodmark._batch_counts(batch, metrics, rows_kept, staged.get('rows_tied', 0)) -%}
    {%- set is_last = known.is_last and not known.is_held and not (known.rows_future or 0) -%}
    {%- set values = {'high': floodmark._string_literal(batch.high if batch.kind == 'backfill' else mark),
        'mark': floodmark._string_literal(mark),
        'upstream_version': known.upstream_version if known.upstream_version is not none else 'null',
        'upstream_at': floodmark._string_literal(known.upstream_at),
        'upstream_id': floodmark._string_literal(known.upstream_id), 'is_last': is_last,
        'lookback': known.lookback or 0, 'target_id': floodmark._string_literal(target_id),
        'target_version': landed.version if landed.version is not none else 'null',
        'files': floodmark._files_literal(batch.files) if batch.get('files') is not none else 'null',
        'expectations': floodmark._results_literal(batch), 'at': floodmark._take_time(run.state)} -%}
    {%- do values.update(counts) -%}
    {%- if batch.kind == 'replay' -%}
        {%- do floodmark._settle_replayed(batch) -%}
    {%- elif floodmark._may_supersede(run, batch) -%}
        {%- do floodmark._supersede_quarantined(run, batch) -%}
    {%- endif -%}
    {%- if floodmark._may_wait(run, batch, landed) -%}
        {%- do floodmark._keep_event(batch, values) -%}
    {%- else -%}
        {%- do floodmark._record('committed', batch, values) -%}
    {%- endif -%}
    {%- do batch.update({'is_committed': true}) -%}
    {%- do floodmark._drop_what_was_read(run, batch, source) -%}
    {%- do run.state.update({'last_batch_id': batch.batch_id, 'finished_id': batch.batch_id,
        'committed': {'batch_id': batch.batch_id, 'mark': mark, 'generation': batch.generation, 'family': batch.family,
        'target_id': target_id, 'watermark_column': batch.watermark_column, 'upstream': batch.upstream,
        'is_last': is_last, 'lookback': known.lookback or 0, 'rows_read': counts.rows_read,
        'rows_kept': counts.rows_kept, 'held_rules': floodmark._held_rules(batch),
        'upstream_version': known.upstream_version, 'upstream_at': known.upstream_at, 'upstream_id': known.upstream_id},
        }) -%}
    {%- do floodmark._raise_peak(run, batch, landed, rows_kept) -%}
    {%- do run.target.update({'id': target_id, 'exists': true, 'is_delta': true, 'is_empty': false}) -%}
    {{ return(dict(counts, rows_warned=held.get('rows_warned', 0))) }}
{% endmacro %}


{# Drop the staging tables of a batch that is committed. #}
{% macro _drop_what_was_read(run, batch, source) %}
    {%- set tables = [] -%}
    {%- if floodmark._needs_stage(run) -%}
        {%- do tables.append(floodmark._stage_relation(batch)) -%}
    {%- endif -%}
    {%- if batch.records_by -%}
        {%- do tables.append(floodmark._records_stage(batch)) -%}
    {%- endif -%}
    {%- if floodmark._is_judged(batch) and not batch.get('judges_straight') -%}
        {%- do tables.append(floodmark._judged_relation(batch)) -%}
    {%- endif -%}
    {%- if source and source.get('resolved') -%}
        {%- do tables.append(source.resolved) -%}
    {%- endif -%}
    {%- do floodmark._drop_staging_tables(tables) -%}
{% endmacro %}


{# What the rules of a batch held back: {rows_dropped, rows_quarantined}. #}
{% macro _held_counts(batch) %}
    {{ return(batch.judged if batch.get('judged') else {'rows_dropped': 0, 'rows_quarantined': 0}) }}
{% endmacro %}


{# What became of the rules of a batch that was judged by the statement that loads it, or whose commit a dead run made:
   counted again where that run's table is whole, else as the commit says. A commit without counts is of such a
   statement. #}
{% macro _judge_again(run, batch, landed, rows_kept) %}
    {%- set relation, told_by = floodmark._judged_relation(batch), floodmark._told_by(batch) -%}
    {%- if batch.kind == 'replay' and not floodmark._is_replay_told(batch) -%}
        {%- if (floodmark._model_state().finished_id or 0) >= batch.batch_id -%}
            {%- do floodmark._stop_for_now('another run has finished batch ' ~ batch.batch_id ~ ' meanwhile') -%}
        {%- endif -%}
        {%- do floodmark._stop('batch ' ~ batch.batch_id ~ ' has replayed rows, and its staging table ' ~ told_by
            ~ ' is gone, so nobody can tell which: run it once with --full-refresh, or discard the open rows of the '
            'quarantine that ' ~ this ~ ' has and reset the model to its mark') -%}
    {%- elif batch.judged_by and floodmark._is_stage_whole(relation) -%}
        {%- set columns = floodmark._judged_columns(relation) -%}
        {%- do floodmark._count_judged(batch, columns, floodmark._path_of_rows(run), floodmark._asked(run, columns),
            run.settings.unique_key) -%}
    {%- elif landed.counted -%}
        {%- do batch.update({'judged': dict(landed.counted, results=none)}) -%}
    {%- elif not floodmark._needs_stage(run) and batch.kind == 'incremental' -%}
        {%- do floodmark._count_all_hold(batch, rows_kept) -%}
    {%- endif -%}
{% endmacro %}


{# The staging table that tells which rows a replay has loaded: that of its records, or of its judged rows. #}
{% macro _told_by(batch) %}
    {{ return(floodmark._records_stage(batch) if floodmark._replays_records(batch)
        else floodmark._judged_relation(batch)) }}
{% endmacro %}


{# Whether that table is there, and whole: else no run can finish the replay. #}
{% macro _is_replay_told(batch) %}
    {{ return(batch.judged_by and floodmark._is_stage_whole(floodmark._told_by(batch))) }}
{% endmacro %}


{# Whether the rows of a batch are judged: there are rules, or they come from the quarantine. #}
{% macro _is_judged(batch) %}
    {{ return(batch.get('rules') or batch.kind == 'replay') }}
{% endmacro %}


{# What rules are asked of, by the strategy (_asked_terms). #}
{% macro _asked(run, columns) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {{ return(strategy.asked(run, columns)) }}
{% endmacro %}


{# The rows that a commit inserted, by its metrics. One that replaces rows also writes those that lay in a file with
   them. #}
{% macro _inserted(metrics) %}
    {{ return(metrics.get('numTargetRowsInserted',
        metrics.get('numOutputRows', 0) - metrics.get('numCopiedRows', 0))) }}
{% endmacro %}


{# The counts of a committed batch: what it read is what it kept, dropped and quarantined. #}
{% macro _batch_counts(batch, metrics, rows_kept, rows_tied) %}
    {%- set held = floodmark._held_counts(batch) -%}
    {%- set rows_quarantined = held.rows_quarantined + (batch.get('rows_corrupt') or 0) -%}
    {#- of what was judged a strategy may leave out rows, such as deletes that a newer row of their commit replaces -#}
    {%- set rows_kept = held.get('rows_kept', rows_kept) -%}
    {{ return({'rows_read': rows_kept + held.rows_dropped + rows_quarantined, 'rows_kept': rows_kept,
        'rows_dropped': held.rows_dropped, 'rows_quarantined': rows_quarantined,
        'rows_inserted': floodmark._inserted(metrics),
        'rows_updated': metrics.get('numTargetRowsUpdated', 0),
        'rows_deleted': metrics.get('numTargetRowsDeleted', metrics.get('numDeletedRows', 0)), 'rows_tied': rows_tied,
        'rows_null': batch.get('rows_null') or 0, 'rows_future': batch.get('rows_future') or 0,
        'rows_late': adapter.floodmark_streams().rows_late()
        if batch.kind == 'stream' and adapter.floodmark_plugin is defined else batch.get('rows_late') or 0}) }}
{% endmacro %}


{# Whether the event of a committed batch may wait: its commit is in the table, one statement has made all of it, other
   models follow, no hook of the model may look at the ledger now, and the plugin is there, which has recorded what is
   left. #}
{% macro _may_wait(run, batch, landed) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {{ return(landed.version is not none and not strategy.load and not strategy.apply and not batch.files
        and not floodmark._is_judged(batch)
        and batch.kind != 'stream' and not post_hooks and adapter.floodmark_ends_runs is defined
        and floodmark._loads_several()) }}
{% endmacro %}


{# The mark that a batch leaves (_mark_left). For a guarded first load it is the greatest value that the batch
   committed, or of its events, since deletes leave no row. #}
{% macro _mark_after(run, batch) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- if batch.kind == 'stream' or batch.high is not none -%}
        {{ return(batch.high) }}
    {%- elif run.settings.watermark is none -%}
        {{ return(strategy.mark(run, batch) if strategy.mark else none) }}
    {%- elif batch.get('cap') is none -%}
        {{ return(none) }}
    {%- endif -%}
    {#- of a stage that a dead run left and that is not whole the events are not known: the table's rows give a mark
       that is not above them -#}
    {%- set has_judged = batch.get('judged') and batch.judged.get('columns') -%}
    {%- set reads_stage = strategy.reads_mark_in_stage
        and not (batch.staged_by and not floodmark._is_stage_whole(floodmark._stage_relation(batch))) -%}
    {#- what rules hold back has been read, too -#}
    {%- set loaded = floodmark._judged_relation(batch) if has_judged
        else (floodmark._stage_relation(batch) if reads_stage else this) -%}
    {{ return(floodmark._mark_left(batch, run.settings.watermark.column, loaded)) }}
{% endmacro %}
