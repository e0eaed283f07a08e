{# The schema that holds the ledger: variable `floodmark_schema`, else <target schema>_floodmark. #}
{% macro ledger_schema() %}
    {{ return(var('floodmark_schema', target.schema ~ '_floodmark')) }}
{% endmacro %}
