{# Use up the transaction id of a batch on the target with no rows, so that a run which still lives cannot apply it
   later. A MERGE that no row meets names no column: which ones an INSERT must name or must not (NOT NULL, identity)
   Spark does not say. Delta commits it on every table, also on one that takes appends alone. #}
{% macro _fence(batch, relation=none) %}
    {%- set table = relation or this -%}
    {%- set nothing = '(select 1 as one where false) as DBT_INTERNAL_SOURCE' -%}
    {%- do floodmark._apply_once(table, batch, 'merge into ' ~ table ~ ' as DBT_INTERNAL_DEST using ' ~ nothing
        ~ ' on false when matched then delete', fence=true) -%}
{% endmacro %}
