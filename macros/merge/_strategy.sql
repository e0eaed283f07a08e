{# append, merge and insert_overwrite, as the protocol sees them (macros/protocol/_strategy.sql). #}
{% macro _append_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), needs_stage=false)) }}
{% endmacro %}


{% macro _merge_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), counts=floodmark._merge_counts)) }}
{% endmacro %}


{% macro _insert_overwrite_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), counts=floodmark._overwrite_counts)) }}
{% endmacro %}
