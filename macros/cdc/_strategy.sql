{# cdc, as the protocol sees it (macros/protocol/_strategy.sql): its batches write two tables. #}
{% macro _cdc_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), counts=floodmark._cdc_counts, reads_mark_in_stage=true,
        app_suffix='/cdc', writer=floodmark._writer, take_back=floodmark._take_back_half)) }}
{% endmacro %}


{% macro _cdc_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._event_counts(run, stage,
        source.columns if source else floodmark._columns_of(relation=stage))) }}
{% endmacro %}


{# Take back what a batch wrote beside the table, where the other half will not be written. #}
{% macro _take_back_half(batch) %}
    {%- if batch.get('state_is_written') -%}
        {%- do floodmark._undo_state(floodmark._state_relation(), batch.state_is_written) -%}
    {%- endif -%}
{% endmacro %}
