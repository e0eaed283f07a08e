{#
  Micro-batches in the ledger: one batch of kind `stream` each, whose high bound is the micro-batch's number in the
  checkpoint.
#}

{# Write micro-batch `number`, whose rows are in the view of micro-batches, under the batch protocol. Spark sends a
   micro-batch again, with the same rows, until its checkpoint has it. Its counts are added to those of the run, unless
   the batch is in the table already. #}
{% macro _apply_micro_batch(run, number) %}
    {%- set state = run.state -%}
    {%- if floodmark._is_written(run, number) -%}
        {%- do adapter.floodmark_streams().drain() -%}
    {%- elif state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {%- set planned = state.planned -%}
        {%- if planned.generation != run.generation or planned.high | int != number -%}
            {%- do floodmark._stop('batch ' ~ planned.batch_id ~ ' was left open and is not micro-batch ' ~ number
                ~ ' of the checkpoint ' ~ run.request.location
                ~ '. Another run may be loading it now: let that run end. Otherwise run the model once with '
                '--full-refresh to load everything again') -%}
        {%- endif -%}
        {%- set batch = floodmark._stored_batch(run, planned) -%}
        {%- if batch.staged_by or batch.judged_by or floodmark._landed(this, batch) is not none -%}
            {%- do adapter.floodmark_streams().drain() -%}
        {%- endif -%}
        {%- do floodmark._add_counts(run.total, floodmark._recover(run, planned)) -%}
        {%- do floodmark._drop_left_stages(floodmark._stages(this), state.finished_id)
            if not floodmark._is_written(run, number) -%}
    {%- endif -%}
    {#- also what was just given up: Spark takes the micro-batch for written behind this macro -#}
    {%- if not floodmark._is_written(run, number) -%}
        {%- set batch = floodmark._micro_batch(run, number, floodmark._stream_mark(run),
            floodmark._next_batch_id(floodmark._model_id(), this, run.state)) -%}
        {%- do floodmark._record_plan(run, batch) -%}
        {%- do floodmark._add_counts(run.total, floodmark._load_batch(run, batch)) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the ledger has a micro-batch as committed. #}
{% macro _is_written(run, number) %}
    {%- set mark = floodmark._stream_mark(run) -%}
    {{ return(mark is not none and number <= mark) }}
{% endmacro %}


{# A micro-batch as the batch macros take it. #}
{% macro _micro_batch(run, number, mark, batch_id) %}
    {%- set batch = floodmark._plan_whole() -%}
    {%- do batch.update({'settings': run.settings, 'batch_id': batch_id, 'kind': 'stream',
        'replaces': false, 'generation': run.generation, 'family': 'sequence',
        'low': mark | string if mark is not none else none, 'low_position': mark, 'high': number | string,
        'high_position': number}) -%}
    {{ return(batch) }}
{% endmacro %}


{# The last micro-batch that is in the table, as the checkpoint tells. One that it has begun and not ended Spark sends
   again. Delta's own sink knows it where it has written it; where that sink wrote it and the macros write now, the
   table's history tells. #}
{% macro _last_written(run, checkpoint) %}
    {%- set begun = checkpoint.last_offset -%}
    {%- if not run.request.native and begun is not none and begun != checkpoint.last_commit -%}
        {%- for commit in floodmark._history(this, 20) if commit.micro_batch
            and commit.micro_batch.query_id == checkpoint.query_id and commit.micro_batch.number == begun -%}
            {{ return(begun) }}
        {%- endfor -%}
    {%- endif -%}
    {{ return(checkpoint.last_commit) }}
{% endmacro %}


{# Record in the ledger the micro-batches that Delta's own sink wrote, including those of a run that died, up to the
   last that is written (_last_written). `told` is the query's progress, {number: {started_at, rows_late}}. While the
   query runs, `last` is the last micro-batch that it has reported. Their counts are added to those of the run. #}
{% macro _record_micro_batches(run, told, last=none) %}
    {%- set checkpoint = adapter.floodmark_streams().checkpoint(run.request.location) -%}
    {%- set mark = floodmark._stream_mark(run) -%}
    {%- set first = 0 if mark is none else mark + 1 -%}
    {%- set ended = floodmark._last_written(run, checkpoint) -%}
    {%- set last = ended if last is none or ended is none else [ended, last] | min -%}
    {%- if last is none or last < first -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set commits = {} -%}
    {%- for commit in floodmark._history(this, last - first + 20)
        if commit.micro_batch and commit.micro_batch.query_id == checkpoint.query_id -%}
        {%- do commits.update({commit.micro_batch.number: commit}) -%}
    {%- endfor -%}
    {%- set events = [] -%}
    {%- set next = floodmark._next_batch_id(floodmark._model_id(), this, run.state) -%}
    {%- for number in range(first, last + 1) -%}
        {%- set batch = floodmark._micro_batch(run, number, number - 1 if number else none, next + loop.index0) -%}
        {%- set commit = commits.get(number) -%}
        {%- set rows = commit.counts.get('numOutputRows', 0) if commit else 0 -%}
        {%- set seen = told.get(number) or {} -%}
        {%- set ended_at = floodmark._utc_literal(commit.at) if commit else 'current_timestamp()' -%}
        {%- set counts = {'rows_read': rows, 'rows_kept': rows, 'rows_dropped': 0, 'rows_quarantined': 0,
            'rows_inserted': rows, 'rows_updated': 0, 'rows_deleted': 0, 'rows_late': seen.get('rows_late', 0)} -%}
        {%- do events.append(floodmark._event_columns('planned', batch,
            {'at': floodmark._utc_literal(seen.started_at) if seen else ended_at,
            'high': floodmark._string_literal(batch.high)})) -%}
        {%- do events.append(floodmark._event_columns('committed', batch,
            dict(counts, at=ended_at, high=floodmark._string_literal(batch.high),
            mark=floodmark._string_literal(batch.high),
            target_id=floodmark._string_literal(run.target.id or floodmark._detail(this).id),
            target_version=commit.version if commit else 'null'))) -%}
        {%- do floodmark._add_counts(run.total, counts) -%}
    {%- endfor -%}
    {%- do floodmark._insert_events(events, "userMetadata = "
        ~ floodmark._string_literal('floodmark/' ~ floodmark._model_id() ~ '/' ~ run.generation ~ '/' ~ first ~ '-'
        ~ last)) -%}
    {%- set newest = next + last - first -%}
    {%- do run.state.update({'last_batch_id': newest, 'finished_id': newest,
        'committed': {'batch_id': newest, 'mark': last | string, 'generation': run.generation, 'family': 'sequence',
        'target_id': run.target.id, 'is_last': false, 'lookback': 0, 'watermark_column': none, 'upstream': none,
        'upstream_version': none, 'upstream_at': none, 'upstream_id': none}}) -%}
    {%- do floodmark._tell_warnings(run, is_passing=true) -%}
{% endmacro %}
