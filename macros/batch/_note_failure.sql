{# Record a batch as failed after Spark rejected its statement and nothing was committed. The next run plans a new
   batch. What the strategy has written already is undone. If the next run would fail in the same way, returns what to
   do; otherwise none. #}
{% macro _note_refused(error, run, batch) %}
    {%- do floodmark._reset_batch_conf(run, batch) -%}
    {#- one that changes nothing in the target leaves no commit there: the ledger has it all the same -#}
    {%- if batch.get('is_failed') or batch.get('is_committed') or floodmark._has_landed(batch) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set note_refused = floodmark._strategy(run.settings).note_refused -%}
    {%- if note_refused -%}
        {%- do note_refused(run, batch) -%}
    {%- endif -%}
    {%- do floodmark._fail(batch, error, floodmark._may_pass(error)) -%}
    {%- do run.state.update({'last_batch_id': batch.batch_id, 'finished_id': batch.batch_id}) -%}
    {{ return(floodmark._unreadable_changes(batch, error) or floodmark._lies_elsewhere(error)
        or floodmark._obsolete_constraints(error)
        or (floodmark._ways_out_of_rows('the constraint') if batch.kind == 'stream' and '_CONSTRAINT' in error
        else none)) }}
{% endmacro %}


{# Whether what refused a statement may be over when another run sends it: a lost task or file, a full disk. Of rows and
   statements that are wrong Spark names the condition. #}
{% macro _may_pass(error) %}
    {%- set condition = modules.re.search('\\[([A-Z][A-Z0-9_]*)[.\\]]', error) -%}
    {{ return(condition is none or condition.group(1) in ['TASK_WRITE_FAILED', 'FAILED_READ_FILE', 'PATH_NOT_FOUND',
        'FILE_NOT_EXIST', 'INTERNAL_ERROR']) }}
{% endmacro %}


{# Record a batch that a check rejected before anything of it was applied. `may_pass` as in _fail. #}
{% macro _note_rejected(reason, may_pass, run, batch) %}
    {%- do floodmark._reset_batch_conf(run, batch) -%}
    {%- do floodmark._fail(batch, reason, may_pass) -%}
{% endmacro %}


{# Take the settings of a statement, or of a look at files, that failed off the session. #}
{% macro _reset_batch_conf(run, batch) %}
    {%- set of_files = floodmark._files_conf(run.settings.files, false) if run.settings.files else {} -%}
    {%- do floodmark._reset_conf(floodmark._batch_conf() + of_files.keys() | list
        + ['spark.sql.constraintPropagation.enabled']) -%}
    {%- if batch.get('writes_utc') -%}
        {%- do floodmark._set_conf({'spark.sql.session.timeZone': batch.writes_utc}) -%}
    {%- endif -%}
{% endmacro %}
