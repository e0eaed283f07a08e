{# Record a batch as failed before the node stops; its stage goes, so that the next run plans and reads anew. The run
   that planned a batch taken over may still live: it must not apply it behind this (cdc has seen to that, _take_over;
   what it wrote beside the table goes). #}
{% macro _fail(batch, error) %}
    {%- set take_back = floodmark._strategy(batch.settings).take_back -%}
    {%- if take_back -%}
        {%- do take_back(batch) -%}
    {%- elif batch.get('is_taken_over') -%}
        {%- do floodmark._fence(batch) -%}
        {%- if floodmark._landed(this, batch) is not none -%}
            {%- do floodmark._stop_for_now('another run has finished batch ' ~ batch.batch_id ~ ' meanwhile') -%}
        {%- endif -%}
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
