{# The commit of a batch in the model's table, which must be there. #}
{% macro _require_landed(batch) %}
    {%- set landed = floodmark._landed(this, batch) -%}
    {%- if landed is none -%}
        {%- do floodmark._stop_unlanded(batch) -%}
    {%- endif -%}
    {{ return(landed) }}
{% endmacro %}


{% macro _stop_unlanded(batch) %}
    {%- do floodmark._stop('batch ' ~ batch.batch_id ~ ' did not reach ' ~ this
        ~ ': the history of the table does not show it, so the mark stays. '
        ~ 'Another run may have written the table at the same time: run again', is_passing=true) -%}
{% endmacro %}


{# Whether the batch is, or may be, in the model's table, which may not be there. #}
{% macro _has_landed(batch) %}
    {%- if not floodmark._is_delta_there() -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set landed = floodmark._tried(floodmark._landed, this, batch) -%}
    {{ return(landed.error is not none or landed.value is not none) }}
{% endmacro %}


{# Whether the model's table is there, and is Delta's: a view, or a table of another format, has no commits. #}
{% macro _is_delta_there() %}
    {%- set relation = floodmark._relation_in_spark(this) -%}
    {{ return(relation is not none and relation.is_delta) }}
{% endmacro %}
