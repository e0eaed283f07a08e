{#
  A strategy is one mapping, `_<strategy>_strategy()` in its own room. The protocol asks it and names none, so a new
  strategy is a new folder. What it says:

  A batch is loaded:
  load            macro(run, batch, select_sql): loads it from the SELECT to the commit, and returns its counts; none
                  where the steps below do
  conforms        whether the SELECT is brought into the table's types before anything else looks at it
  contracted      macro(run, select_sql): the columns of a SELECT that an enforced contract lists; none where the
                  strategy itself holds them against it
  shape           macro(run, select_sql): a SELECT with the columns of the table that a SELECT would make
  reads           macro(run, batch, select_sql): the SELECT that the batch reads in its place, before rules are asked of
                  its rows; or none
  replays         whether rows of the quarantine can be loaded by themselves
  replayed        macro(run, batch): a SELECT of the rows that a replay loads, of those that break no rule any more;
                  none where it loads all of them
  reading         macro(run, columns): names of columns: rows that are alike in them are readings of one row, of which
                  the last counts; none where each row counts
  own_columns     macro(run, columns): those of the SELECT's columns that the table has
  named           macro(run): SQL that names the columns which its settings need in each batch, a list; none where they
                  need none but the key
  replaced        macro(run, batch): a condition on rows that the batch has read anew with their partitions, or none;
                  none where the strategy reads no row twice
  whole           whether each batch reads the whole source
  unlike          macro(run, columns): names of the columns that may differ though a row is the same, such as the one
                  that says which reading it is of; or none
  restated        macro(run, batch): a condition on open rows of the quarantine whose events a restatement has
                  loaded, or none; none where the strategy restates nothing
  asked           macro(run, columns): which rows rules are asked of, {exempt, unsent, columns} (_asked_terms), and
                  how its feed replaces rows, {commits} (_kept_rows_sql)
  needs_stage     whether it is staged, or read in the one statement that applies it
  staged          macro(run, batch, select_sql): what is staged, {columns, sql}
  check_columns   macro(run, batch, columns): refuses columns of the staged rows
  counts          macro(run, stage, batch, source=none): counts of a staging table, `rows_read` among them
  check_staged    macro(run, batch, source): refuses staged rows; or none
  apply           macro(run, batch, source): applies what is staged, and returns its counts; none where one statement
                  does
  changes         macro(run, batch, source): whether that statement has anything to write
  before_replace  macro(run, batch, source): what is noted before the batch makes the table; or none
  statement       macro(run, batch, source, columns): SQL of that statement

  It is committed:
  mark                 macro(run, batch): the mark of a model without a watermark; none where it has none
  reads_mark_in_stage  whether the greatest value is read in the staging table, since deletes leave no row in the table
  app_suffix           what its transaction ids end in. With one, each attempt at a batch has a number of its own:
                       a batch of several statements, of which the first may be there already
  writer               macro(batch): the runs whose staging tables its statements read, which its commits name; or none

  It was left unfinished, or refused:
  reads_anew    whether it is planned anew rather than finished, since its source can be read again as it is now
  adds_blindly  whether a first load that finds rows in the table would add all of its own to them
  selected      macro(run, batch, select_sql): the columns that its staging table must have
  take_over     macro(run, batch, abandons): takes it over from the run before; its commit, or none where there is none.
                None where a transaction id that is used up is enough
  made          macro(run, batch, landed): what a table that it made was made from; or none
  take_back     macro(batch): takes back the part of it that is written, where the rest will not be; none where one
                statement is all of it
  note_refused  macro(run, batch): the same for a batch whose statement was refused; or none
  give_up       macro(id, relation, batch, landed): the same for a batch that a reset gives up; or none
  leave         macro(batch, landed): what it takes back of a batch that made the table, where a full refresh replaces
                the table instead of finishing the batch; or none

  And of the model:
  finds_by_key       whether it finds rows of the table by the key: its MERGE gets a filter of the batch's keys, and a
                     backfill merges, where others delete and insert the range
  backfills          whether a range can be read again
  rounds             macro(run, low, high): the range of a backfill, or of a step of it, as the strategy has to read
                     it, {low, high}; none where it can read any
  orders_by_mark     whether the watermark column tells which row of a key is the later: a backfill warns where SELECT
                     or table lack it
  compares_all       whether it compares all that the SELECT gives with the table, where there is no mark: then it puts
                     right a table that was restored
  lost_mark_problem  macro(run): why a table with rows and no mark cannot be loaded further, in a sentence; or none
#}
{% macro _strategy(settings) %}
    {{ return(floodmark['_' ~ settings.strategy ~ '_strategy']()) }}
{% endmacro %}


{# What most strategies say. #}
{% macro _strategy_defaults() %}
    {{ return({
        'load': none, 'conforms': true, 'contracted': floodmark._without_change_columns,
        'shape': floodmark._without_change_columns, 'reads': none,
        'replays': true, 'replayed': none, 'reading': none, 'replaced': none, 'whole': false,
        'unlike': none, 'restated': none, 'own_columns': floodmark._target_columns, 'named': none,
        'asked': floodmark._asked_of_all,
        'needs_stage': true, 'staged': floodmark._staged_select,
        'check_columns': floodmark._check_own_names, 'counts': floodmark._row_counts, 'check_staged': none,
        'apply': none, 'changes': floodmark._has_changes, 'before_replace': none,
        'statement': none,
        'mark': none, 'reads_mark_in_stage': false, 'app_suffix': '', 'writer': none,
        'reads_anew': false, 'adds_blindly': false, 'selected': floodmark._select_columns_of, 'take_over': none,
        'made': none, 'take_back': none, 'note_refused': none, 'give_up': none, 'leave': none,
        'finds_by_key': false, 'backfills': true, 'rounds': none, 'orders_by_mark': false, 'compares_all': false,
        'lost_mark_problem': none,
    }) }}
{% endmacro %}


{# Whether the next run puts right a table that lost rows: no mark and no list of files says what is loaded. #}
{% macro _mends_table(settings, committed) %}
    {{ return(floodmark._strategy(settings).compares_all and not settings.watermark and not settings.files
        and committed.mark is none and committed.kind != 'stream') }}
{% endmacro %}


{# The strategy of a batch; the defaults for one that belongs to no model's run, as of a reset. #}
{% macro _strategy_of(batch) %}
    {{ return(floodmark._strategy(batch.settings) if batch.settings is defined else floodmark._strategy_defaults()) }}
{% endmacro %}


{# Whether a batch is staged. Constraints are checked in a staging table, before anything is written. #}
{% macro _needs_stage(run) %}
    {{ return(floodmark._strategy(run.settings).needs_stage or floodmark._has_constraints()) }}
{% endmacro %}


{# Rules are asked of all rows but those that a change feed takes away: held back, they would live on in the table. #}
{% macro _asked_of_all(run, columns) %}
    {%- set takes = floodmark._deletes_predicate(run, columns) -%}
    {%- set tells_commits = takes and run.settings.unique_key and floodmark._find_column(columns, '_commit_version') -%}
    {{ return({'exempt': takes, 'unsent': [], 'columns': [], 'commits': {'takes': takes, 'commit': '_commit_version',
        'key': run.settings.unique_key} if tells_commits else none}) }}
{% endmacro %}


{% macro _row_counts(run, stage, batch, source=none) %}
    {%- if batch.get('judged') -%}
        {{ return({'rows_read': batch.judged.rows_kept}) }}
    {%- endif -%}
    {{ return(floodmark._query_json("select to_json(named_struct('rows_read', count(*))) from " ~ stage)[0]) }}
{% endmacro %}


{# The SELECT as it is. #}
{% macro _staged_select(run, batch, select_sql) %}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._strategy(run.settings).check_columns(run, batch, columns) -%}
    {{ return({'columns': columns, 'sql': select_sql}) }}
{% endmacro %}


{% macro _select_columns_of(run, batch, select_sql) %}
    {{ return(floodmark._select_columns(run, select_sql)) }}
{% endmacro %}


{# Names with floodmark's prefix are its own. #}
{% macro _check_own_names(run, batch, columns) %}
    {%- do floodmark._reject_columns(floodmark._own_name_problems(columns)) -%}
{% endmacro %}


{# Fail a batch and stop the node, where its columns have problems. #}
{% macro _reject_columns(problems, error=none) %}
    {%- if problems -%}
        {%- do floodmark._refuse(problems, rejects=error or problems[0].setting ~ ': ' ~ problems[0].got) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a batch has rows; a backfill deletes a range, and files that are overwritten their rows, also where nothing
   is there any more. #}
{% macro _has_changes(run, batch, source) %}
    {{ return(batch.kind == 'backfill' or batch.get('replaces_files') or floodmark._has_rows(run, batch, source)) }}
{% endmacro %}


{# Whether a batch has rows, staged or not. #}
{% macro _has_rows(run, batch, source) %}
    {%- if source.stage is none -%}
        {{ return(batch.get('gives_rows') or not floodmark._has_no_rows('(\n' ~ source.sql ~ '\n)')) }}
    {%- endif -%}
    {{ return(source.counts.rows_read | int > 0) }}
{% endmacro %}


{# Whether a batch gives all rows that the table is to have: a micro-batch with output mode `complete`. #}
{% macro _gives_whole_table(run, batch) %}
    {{ return(batch.kind == 'stream' and run.settings.get('output_mode') == 'complete') }}
{% endmacro %}
