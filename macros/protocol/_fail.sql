{# Record a batch as failed and drop its staging tables, so that the next run plans a new batch. If another run may
   still apply this batch, fence it first. A strategy with `take_back` (cdc) has fenced its tables already, and undoes
   what it wrote to the state table. `may_pass`: another run could apply the batch, because its cause may pass; if rows
   or rules are the cause, no other run can. #}
{% macro _fail(batch, error, may_pass=false) %}
    {%- set take_back = floodmark._strategy(batch.settings).take_back -%}
    {%- if take_back -%}
        {%- do take_back(batch) -%}
    {%- elif (batch.get('is_taken_over') or may_pass and floodmark._others_may_load(batch))
        and floodmark._is_delta_there() -%}
        {%- do floodmark._fence_failed(batch) -%}
    {%- endif -%}
    {%- if batch.files or batch.get('rules') -%}
        {%- do floodmark._take_back_quarantined(batch) -%}
    {%- endif -%}
    {%- do floodmark._record('failed', batch, {'error': floodmark._string_literal(error),
        'expectations': floodmark._results_literal(batch)}) -%}
    {%- do batch.update({'is_failed': true}) -%}
    {%- set tables = [floodmark._stage_relation(batch)] -%}
    {%- for stage in (floodmark._stages(this) if batch.files or floodmark._is_judged(batch) else [])
        if stage.batch_id == batch.batch_id and stage.part is not none
        and stage.staged_by in [invocation_id[:8], batch.stages_as] -%}
        {%- do tables.append(stage.relation) -%}
    {%- endfor -%}
    {%- do floodmark._drop_staging_tables(tables) -%}
{% endmacro %}


{# Whether another run that finds this batch open would load it, rather than give it up (_recover). #}
{% macro _others_may_load(batch) %}
    {{ return(not floodmark._strategy(batch.settings).reads_anew
        and batch.kind not in ['full_refresh', 'backfill', 'replay']) }}
{% endmacro %}


{# Fence a batch, and tell whether that went. Delta may refuse the fence as it refuses any MERGE into the table (CHAR
   columns): where it is needed, its error is raised. #}
{% macro _try_fence(batch, is_needed) %}
    {%- set fenced = floodmark._tried(floodmark._fence, batch) -%}
    {%- if fenced.error is not none -%}
        {%- do floodmark._reset_conf(floodmark._batch_conf()) -%}
        {%- do adapter.floodmark_raise(fenced.raised) if is_needed -%}
    {%- endif -%}
    {{ return(fenced.error is none) }}
{% endmacro %}


{# Fence a batch that fails. Where Delta refuses the fence, the error at hand says more, and a batch of this run's own
   is failed without. #}
{% macro _fence_failed(batch) %}
    {%- if floodmark._try_fence(batch, is_needed=batch.get('is_taken_over'))
        and floodmark._landed(this, batch) is not none -%}
        {%- do floodmark._stop_for_now('another run has finished batch ' ~ batch.batch_id ~ ' meanwhile') -%}
    {%- endif -%}
{% endmacro %}
