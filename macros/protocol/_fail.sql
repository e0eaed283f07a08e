{# Record a batch as failed before the node stops; its stage goes, so that the next run plans and reads anew. The run
   that planned a batch taken over may still live: it must not apply it behind this (cdc has seen to that, _take_over;
   what it wrote beside the table goes). #}
{% macro _fail(batch, error) %}
    {%- if batch.get('is_taken_over') and batch.settings.strategy != 'cdc' -%}
        {%- do floodmark._fence(batch) -%}
        {%- if floodmark._landed(this, batch) is not none -%}
            {%- do floodmark._stop_for_now('another run has finished batch ' ~ batch.batch_id ~ ' meanwhile') -%}
        {%- endif -%}
    {%- elif batch.get('state_is_written') -%}
        {%- do floodmark._undo_state(floodmark._state_relation(), batch.state_is_written) -%}
    {%- endif -%}
    {%- do floodmark._record('failed', batch, {'error': floodmark._string_literal(error)}) -%}
    {%- do batch.update({'is_failed': true}) -%}
    {%- do floodmark._execute(['drop table if exists ' ~ floodmark._stage_relation(batch)]) -%}
{% endmacro %}
