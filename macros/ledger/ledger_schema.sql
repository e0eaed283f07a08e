{# The schema that holds the ledger: variable `floodmark_schema`, else <target schema>_floodmark. It is the same for
   the project's models and the hook that makes the ledger, in whose package dbt's `var` looks. #}
{% macro ledger_schema() %}
    {%- set given = adapter.floodmark_variable('floodmark_schema') if adapter.floodmark_variable is defined
        else var('floodmark_schema', none) -%}
    {%- if given is none -%}
        {{ return(target.schema ~ '_floodmark') }}
    {%- elif given is not string or not modules.re.fullmatch('[0-9]*_[A-Za-z0-9_]*|[A-Za-z][A-Za-z0-9_]*', given) -%}
        {%- do floodmark._refuse([{'setting': 'floodmark_schema', 'got': given,
            'expected': 'the name of a schema, of letters, digits and _',
            'todo': 'Correct it in dbt_project.yml or in --vars'}], 'variables') -%}
    {%- endif -%}
    {{ return(given) }}
{% endmacro %}
