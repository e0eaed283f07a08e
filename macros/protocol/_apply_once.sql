{# Run a statement under the transaction id of a batch: Delta commits it once on each table, no matter who sends it or
   how often. The commit's user metadata names the batch, so that it can be found again. The settings leave the session
   with the statement. A strategy with several statements also numbers its attempts: once a run takes a batch over,
   earlier attempts can no longer write. Delta copies the source of a MERGE, because it reads it twice. With
   `reads_stage` this copy is switched off, because a staging table does not change. #}
{% macro _apply_once(table, batch, sql, fence=false, reads_stage=false) %}
    {%- set conf = floodmark._transaction_conf(table, batch, fence, reads_stage) -%}
    {%- set writer = floodmark._stage_writer(batch, fence) -%}
    {%- set is_merge = modules.re.match('\\s*merge into', sql) and not fence -%}
    {%- set is_beside = writer and table != this -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- if batch.get('writes_utc') -%}
        {%- do floodmark._set_conf({'spark.sql.session.timeZone': 'UTC'}) -%}
    {%- endif -%}
    {%- do batch.update({'applied': none}) -%}
    {%- if is_merge or is_beside -%}
        {%- do floodmark._forget_commit() -%}
    {%- endif -%}
    {%- set result = run_query(sql) if is_merge else floodmark._execute([sql]) -%}
    {%- set version = floodmark._committed_version() if is_merge or is_beside else none -%}
    {%- if is_merge and version is not none and result.rows -%}
        {%- do batch.update({'applied': {'table': table | string, 'version': version, 'operation': 'MERGE',
            'writer': writer, 'peak': batch.get('peak'),
            'metrics': {'numTargetRowsInserted': result.rows[0]['num_inserted_rows'] | int,
            'numTargetRowsUpdated': result.rows[0]['num_updated_rows'] | int,
            'numTargetRowsDeleted': result.rows[0]['num_deleted_rows'] | int}}}) -%}
    {%- elif is_beside and not is_merge and version is not none -%}
        {%- do batch.update({'applied': {'table': table | string, 'version': version, 'operation': 'WRITE',
            'writer': writer, 'metrics': {}}}) -%}
    {%- endif -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- if batch.get('writes_utc') -%}
        {%- do floodmark._set_conf({'spark.sql.session.timeZone': batch.writes_utc}) -%}
    {%- endif -%}
{% endmacro %}


{# The run whose staging table a statement of several reads, as its commit names it: of rows for the quarantine the one
   that judged them (_quarantine); none elsewhere. #}
{% macro _stage_writer(batch, fence) %}
    {#- a fence reads nothing, and who gives a batch up knows only its strategy -#}
    {%- if fence -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set strategy = floodmark._strategy_of(batch) -%}
    {{ return(strategy.writer(batch) if strategy.writer else batch.get('held_by')) }}
{% endmacro %}


{# The settings that a statement of a batch runs with: its transaction, what its commit says, and whether Delta
   copies the source of a MERGE. #}
{% macro _transaction_conf(table, batch, fence, reads_stage) %}
    {%- set strategy = floodmark._strategy_of(batch) -%}
    {%- set writer = floodmark._stage_writer(batch, fence) -%}
    {%- set attempt = batch.batch_id * floodmark._attempts_a_batch() + batch.get('attempt', 0) * 2
        + (0 if fence else 1) -%}
    {%- set app_id, version, metadata, materialize = floodmark._batch_conf() -%}
    {%- set conf = {
        app_id: 'floodmark/' ~ floodmark._batch_model(batch) ~ '/' ~ batch.generation ~ strategy.app_suffix,
        version: attempt if strategy.app_suffix else batch.batch_id,
        metadata: floodmark._fence_tag(batch) if fence
            else floodmark._batch_tag(batch) ~ ('/by/' ~ writer if writer else '')
            ~ floodmark._counted_tag(batch.get('counted'))
            ~ (floodmark._peak_tag(batch.get('peak')) if table == this else '')
    } -%}
    {%- if reads_stage -%}
        {%- do conf.update({materialize: 'none'}) -%}
    {%- endif -%}
    {{ return(conf) }}
{% endmacro %}


{# How many versions of its transaction id a batch has for its attempts: two each, by their number. #}
{% macro _attempts_a_batch() %}
    {{ return(10 ** 11) }}
{% endmacro %}
