{#
  Whether a stream can go on: its SELECT, its output mode, and whether table, ledger and checkpoint belong together.
#}

{# What the columns of a SELECT forbid, refused before Spark is asked to drop keys that come again. #}
{% macro _check_stream_columns(request, columns) %}
    {%- do floodmark._check_doubled(columns) -%}
    {%- do floodmark._refuse(floodmark._key_problems({'untyped': []}, request.distinct_by, columns)) -%}
{% endmacro %}


{# A watermark of a query that keeps no state says which row of a key wins, by the column that it is on: warn where the
   SELECT gives that one only within an expression. #}
{% macro _warn_of_lost_time(run, described) %}
    {%- if run.settings.strategy == 'merge' and described.has_watermark and described.event_time is none
        and not described.remembers -%}
        {%- do floodmark._warn_once(run, 'the SELECT does not give the column of its event-time watermark as it is, so '
            'of two rows with one key the one of the later micro-batch wins, even if it is older: add the column to '
            'the SELECT, neither cast nor within an expression, or leave the watermark out') -%}
    {%- endif -%}
{% endmacro %}


{# A query that remembers goes on in the output mode in which it filled its table; a table of before that was kept
   says none. #}
{% macro _check_output_mode(output_mode, filled_in) %}
    {%- if filled_in and filled_in != output_mode -%}
        {%- do floodmark._stop("output_mode is '" ~ output_mode ~ "', and " ~ this ~ " was filled with '" ~ filled_in
            ~ "', to which the state in its checkpoint belongs: rows would come twice, or not at all. Set output_mode "
            ~ "back to '" ~ filled_in ~ "', or run it once with --full-refresh to load everything again") -%}
    {%- endif -%}
{% endmacro %}


{# Where table, ledger and checkpoint do not belong together the run stops, and names the way out. #}
{% macro _check_stream(run, checkpoint) %}
    {%- set again = 'run it once with --full-refresh to load everything again' -%}
    {%- set committed = run.state.committed -%}
    {%- set mark = floodmark._stream_mark(run) -%}
    {%- if not run.target.is_delta -%}
        {%- do floodmark._stop(this ~ ' exists and is not a Delta table: ' ~ again) -%}
    {%- elif run.generation is none -%}
        {%- do floodmark._stop(this
            ~ ' has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: '
            ~ again) -%}
    {%- elif floodmark._is_other_table(run) -%}
        {%- do floodmark._stop(this ~ ' is not the table that batch ' ~ committed.batch_id
            ~ ' left (it was dropped, recreated or replaced by something else): ' ~ again) -%}
    {%- elif run.target.disturbed -%}
        {%- do floodmark._stop(this ~ ' ' ~ run.target.disturbed ~ ' after batch ' ~ run.state.landed.batch_id
            ~ ', so rows that the checkpoint has passed are missing: ' ~ again) -%}
    {%- elif run.target.unknown -%}
        {%- do floodmark._stop(floodmark._unknown_sentence(run.target.unknown) ~ again) -%}
    {%- elif not run.request.native and run.state.last_batch_id is none and checkpoint.last_commit is not none
        and not floodmark._has_micro_batches(checkpoint) -%}
        {%- do floodmark._stop(floodmark.ledger_schema() ~ '.batch_log has no batch of it, and its checkpoint has '
            'passed micro-batch ' ~ checkpoint.last_commit ~ '. Somebody dropped that table, or deleted rows there, so '
            'nobody can tell which rows are in ' ~ this ~ ': ' ~ again) -%}
    {%- elif run.request.native and run.state.last_batch_id != run.state.finished_id
        and not floodmark._left_replay(run.state) -%}
        {%- do floodmark._stop('batch ' ~ run.state.last_batch_id
            ~ ' was left open by another incremental_strategy: run the model once with that one, or ' ~ again) -%}
    {%- elif checkpoint.last_offset is none and (mark is not none or not run.target.is_empty)
        or mark is not none and checkpoint.last_offset < mark -%}
        {%- do floodmark._stop('its checkpoint ' ~ run.request.location
            ~ (' is gone' if checkpoint.last_offset is none else ' is older than its table')
            ~ ', so nobody can tell which rows of its sources are in ' ~ this ~ ': put the checkpoint back, or '
            ~ again) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the table is not the one that the ledger's last commit left. One that the ledger had not heard of by then
   was made by a full refresh that died. #}
{% macro _is_other_table(run) %}
    {%- set committed = run.state.committed -%}
    {%- if not committed or committed.target_id is none -%}
        {{ return(false) }}
    {%- elif committed.generation == run.generation -%}
        {{ return(committed.target_id != run.target.id) }}
    {%- endif -%}
    {{ return(floodmark._newest_events([floodmark._model_id()],
        ' and batch_id < ' ~ committed.batch_id ~ ' and generation = ' ~ floodmark._string_literal(run.generation))
        | length > 0) }}
{% endmacro %}


{# Whether Delta's own sink has written micro-batches of a checkpoint into the table, which the ledger may not know yet.
   #}
{% macro _has_micro_batches(checkpoint) %}
    {{ return(floodmark._history(this) | map(attribute='micro_batch') | select | map(attribute='query_id')
        | select('equalto', checkpoint.query_id) | list != []) }}
{% endmacro %}


{# The last micro-batch of this checkpoint that the ledger knows; none where it knows none. #}
{% macro _stream_mark(run) %}
    {%- set committed = run.state.committed -%}
    {{ return(committed.mark | int if committed and committed.generation == run.generation
        and committed.mark is not none else none) }}
{% endmacro %}


{# Whether a run left a replay open, which no micro-batch finishes. #}
{% macro _left_replay(state) %}
    {{ return(state.last_batch_id != state.finished_id and state.planned.kind == 'replay') }}
{% endmacro %}
