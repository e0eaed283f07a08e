{#
  What macros hand to each other: a run, a batch, what a batch reads, and what the ledger tells of a model. Each shape
  names every key that a macro may use, and what it means. tests/unit/house/test_shapes.py fails where a macro uses
  another.
#}

{# One run of one model, from the materialization to the last batch. Made by _begin_run, by _begin_stream for streams,
   and by _look for what only shows the next run. #}
{% macro _run_shape() %}
    {{ return({
        'settings': 'the validated settings (_settings, _stream_settings)',
        'sql': "the model's compiled SELECT",
        'given_sql': 'the SELECT of the batch before it is conformed to the table',
        'state': 'what the ledger tells of the model (_state_shape)',
        'target': 'what the table is (_target_state)',
        'upstream': 'the relation that the watermark is of, its column and family (_upstream); none without one',
        'commits': "the upstream's newest commits; none where they are not needed",
        'stages': 'the staging tables of the model (_stages)',
        'unseen': 'files that are new and were not planned yet; none before they are listed',
        'unseen_is_cut': 'whether there may be more',
        'known_record': 'the columns of files that are known, a struct; none before the first batch',
        'waits_for': 'the folder whose first file the table waits for',
        'full_refresh': 'whether the run was asked to load everything anew',
        'backfill': 'the range of a backfill: {low, high, step, asked, reason}; none where it is none',
        'replay': 'what a replay was asked for: {rule, where, set}; none where it is none',
        'to_replay': 'what of it is left to load: `rows`, `records`',
        'errors': 'sentences of violated rules by which the node fails at the end of the run',
        'restate': 'what a restatement was asked for: {from}; none where it is none',
        'generation': 'the generation that the next first load takes on; none for a new one',
        'guarded': 'whether the filter stands behind is_incremental(), so that a first load has no bounds',
        'partitions': 'the columns by which the table is partitioned, in lower case; none where nobody has asked',
        'chars_checked': "whether the table's CHAR columns were looked for",
        'first': "whether no batch of this run has been planned yet",
        'ceiling': 'the position that the run goes up to, of its first plan; none before it',
        'kind': 'of a look: the kind of the next batch',
        'replaces': 'of a look: whether the next batch makes the table',
        'is_stale': 'whether what the invocation remembered of the model is no longer so: the run begins again',
        'is_untouched': 'whether neither upstream nor table changed since the last batch: nothing is to do',
        'recovered': 'counts of the unfinished batch that the run finished; none where there was none',
        'total': 'the number of batches that the run loaded, or recorded, and the sums of their counts',
        'request': 'of a stream: what its query is started with (streaming/query.py, Request)',
        'zone': 'of insert_overwrite: the time zones of session and table, and how partitions follow from the '
            'watermark: {session, kept, partitions}',
        'properties': "the table's, where its constraints were looked at before the first batch",
        'is_mapped': 'whether the table has column mapping; none where nobody has asked',
        'table_columns': "the table's columns, as they were last described; none where they have to be again",
        'selected': 'the columns of the SELECT that was last described: {sql, columns}',
        'reader': 'of files that are read straight: what stands for them in the SELECT, and where only its columns are '
            'asked for: {sql, described}; none elsewhere',
        'checked_rules': 'the rules that were found to fit the SELECT',
        'foreign_columns': "columns of a hand-made table that the SELECT does not give: names in small letters",
        'leaves_out': 'whether the conformed SELECT has fewer columns than the given one',
        'warnings': 'sentences of which the run has warned, or does at its end',
        'untyped': 'columns of the SELECT that have no type yet, in the form of _untyped_names',
        'awaits': "columns without a type that the table's property remembers",
        'awaited': 'the ones to which the SELECT gives a type now',
        'known_peak': "the table's peak: {peak, tag, at}; none before it was looked for",
        'state_fits': "of cdc: whether the state table has the types of the table; none where nobody has asked",
        'is_state_marked': "of cdc: whether the table's properties say that it has a state table",
    }) }}
{% endmacro %}


{# One batch. What its plan fixes is recorded in the ledger and never changes; the rest is what became of it. #}
{% macro _batch_shape() %}
    {{ return({
        'settings': "the run's settings", 'batch_id': 'its number, per model, never falling',
        'model': 'the model it is of, where that is another than the node',
        'kind': 'incremental, first_load, full_refresh, backfill, replay, stream or reset',
        'generation': 'the invocation that began the table: part of the transaction id',
        'begins': 'whether it begins a table: it knows no mark, and reads all',
        'replaces': 'whether it makes the table',
        'asked': "what a backfill or a restatement was asked for, as the ledger's column has it",
        'reason': 'the same as a sentence',
        'family': 'timestamp, timestamp_ntz, date, sequence or version; none without a watermark',
        'watermark_column': 'the column that the bounds are of',
        'low': 'the mark before it, as text', 'low_position': 'the same as a position',
        'high': 'the high bound, as text', 'high_position': 'the same as a position',
        'cap': 'of a guarded first load: the greatest value to load, as text', 'cap_position': 'as a position',
        'start_position': 'the position from which a first load reads',
        'first_position': 'the least position that waits', 'ceiling': 'the position that the run goes up to',
        'mark_position': 'of a look: the mark of the ledger as a position',
        'lookback': 'how far below the mark it reads, in microseconds or numbers',
        'nulls': 'what becomes of rows without a value: error, exclude or include',
        'unbounded': 'whether its SELECT has no bounds, for its columns alone',
        'is_waiting': 'whether anything waits above the mark',
        'is_last': 'whether nothing more was due when it was planned',
        'is_held': 'whether it does not see all that the version of its upstream holds',
        'upstream': 'the name of the relation that the bounds are of',
        'upstream_version': 'its Delta version when the batch was planned',
        'upstream_at': 'when that version was committed', 'upstream_id': "the relation's Delta id",
        'files': 'the files it loads: [{path, size, modified_at}], once they are read with counts (_counted_files)',
        'file_schema': 'the schema in which its files are read (_file_schema.sql)', 'record': 'its columns, a struct',
        'look': 'what its files hold, of a look at them (_formats.sql)', 'looked': 'their versions at a later look',
        'looks_clean': 'whether it may be read straight: its files have their rows then (_read_straight.sql)',
        'windows': 'tables over the files of a batch that is read straight', 'gives_rows': 'whether it has rows',
        'stages_as': 'what its staging table is named after instead of the run',
        'records_by': 'the run that wrote their records into a staging table',
        'reader': 'what stands for them in the SELECT',
        'again_sql': 'of a replay of corrupt records: SQL of them, as they are read now',
        'replaces_files': 'whether rows of their earlier loads go', 'rows_corrupt': 'how many of them are corrupt',
        'new_columns': 'of a look: columns that the next run adds',
        'file_count': 'of a look: how many files wait', 'file_bytes': 'their bytes', 'file_paths': 'a hundred of them',
        'rules': 'the rules that its rows are judged by, as its plan has them; empty where there are none',
        'constraint_results': 'what became of the constraints of the contract, as results of rules',
        'judged': 'what became of them: counts and results (_count_judged), and the columns that were judged',
        'held_by': 'of its rows for the quarantine: the run that judged them',
        'judged_by': 'the run that judged its rows', 'judges_straight': 'whether the loading statement judges them',
        'rows_waiting': 'rows that wait above the mark', 'rows_null': 'rows without a watermark value',
        'rows_future': 'rows beyond max_future', 'is_taken_over': 'whether an earlier run planned it',
        'rows_late': 'late rows below the lookback; for a stream, rows dropped behind its event-time watermark',
        'attempt': 'of cdc: when it was taken over, which makes its transaction id greater than those before',
        'txn_version': 'the number of its transaction in the ledger, where that is not its own',
        'due_range': 'of insert_overwrite: the partitions it was read for; none where they are those of its rows',
        'staged_by': 'the run whose staging table it reads; none where it has none',
        'resolved_by': 'of cdc: the run whose resolved events it reads',
        'state_is_written': 'of cdc: the commit beside the table, where that half is written',
        'counted': 'counts of its stage, which its commit names: {rows_read, rows_tied}; none without a stage',
        'applied': 'the commit that this run made of it, as the session knows it: {table, version, operation, ...}',
        'peak': "the table's peak behind it: {column, base, position}",
        'writes_utc': 'whether its moments are written under UTC',
        'is_committed': 'whether the ledger has it as committed', 'is_failed': 'whether the ledger has it as failed',
    }) }}
{% endmacro %}


{# What a batch of cdc or snapshot_diff reads, and what was found out about it on the way. #}
{% macro _source_shape() %}
    {{ return({
        'sql': 'a SELECT of its rows', 'stage': 'the staging table', 'columns': 'its columns',
        'counts': 'what was counted in the stage: rows, keys, ties, ranges',
        'table': "the table's columns", 'written': 'names of the columns that are written',
        'lacking': "of cdc: columns of the table that the SELECT lacks",
        'foreign': 'of snapshots: columns of the table that somebody else made',
        'has_state': 'of cdc: whether the state table has rows',
        'restates': 'of cdc: whether the batch restates keys',
        'resolved': 'of cdc: the table of resolved events; none where they are resolved within each statement',
        'resolved_columns': 'of cdc: its columns',
        'only_later': 'whether a row of the table is replaced by a later one alone, as in a replay',
        'is_newest': 'of a replay: whether each row is the newest change of its key (_replays_newest)',
        'is_ahead': "whether all of it lies above the table's peak",
        'adds_unknown': 'of cdc: whether only what is not remembered yet is added, since events are read again',
        'scd_type': 'of snapshots: 1 or 2', 'version_type': 'of snapshots: the type of start and end',
        'family': 'of snapshots: the family of the version column',
        'compared': 'of snapshots: columns whose change counts',
        'beside': 'of snapshots: columns whose change does not count',
        'scoped': 'of snapshots: columns that the scope names, or that of an earlier run',
        'added': 'of snapshots: columns that came after the first load',
        'rescued': 'of snapshots: the column of rescued data; none where there is none',
        'hashed': 'of snapshots: what the table says its hashes are of',
        'rehash': 'of snapshots: whether the hashes in the table have to be made anew',
        'changes': 'of snapshots: how many rows the difference has; of cdc: how many resolved events write what',
    }) }}
{% endmacro %}


{# What the ledger tells of a model; batches as rows of batch_log. #}
{% macro _state_shape() %}
    {{ return({
        'last_batch_id': 'the greatest number that was given',
        'finished_id': 'the greatest that was committed or failed',
        'planned': 'the last planned batch', 'committed': 'the last committed one',
        'landed': 'the last that wrote to the table',
        'has_read_since': 'whether a batch behind `landed` read rows, and had nothing to write into the table',
        'is_remembered': 'whether it is as old as the invocation',
    }) }}
{% endmacro %}
