{# Conditions that many rules need: each returns plain SQL text for `expect`. A column may be in double quotes. #}

{% macro not_null(column) %}
    {{ return(floodmark._bare_expression(column) ~ ' is not null') }}
{% endmacro %}


{% macro in_set(column, values) %}
    {%- set literals = [] -%}
    {%- for value in floodmark._as_list(values) -%}
        {%- do literals.append(floodmark._rule_literal(value)) -%}
    {%- endfor -%}
    {{ return(floodmark._bare_expression(column) ~ ' in (' ~ literals | join(', ') ~ ')') }}
{% endmacro %}


{% macro in_range(column, min=none, max=none) %}
    {%- set terms = [] -%}
    {%- for value, sign in [(min, '>='), (max, '<=')] if value is not none -%}
        {%- do terms.append(floodmark._bare_expression(column) ~ ' ' ~ sign ~ ' ' ~ floodmark._rule_literal(value)) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{% macro matches(column, pattern) %}
    {{ return(floodmark._bare_expression(column) ~ ' rlike ' ~ floodmark._string_literal(pattern)) }}
{% endmacro %}


{# dbt evaluates a config while it parses, where `ref` gives the model itself: the dependency is registered here, and
   the relation is found when a batch is planned (_planned_rules). #}
{% macro in_relation(column, relation, its=none) %}
    {%- set names = floodmark._as_list(relation) -%}
    {%- if model.resource_type == 'unit_test' -%}
        {#- it asks no rule, and dbt knows the test's inputs alone there -#}
    {%- elif names | length == 2 -%}
        {%- do source(names[0], names[1]) -%}
    {%- else -%}
        {%- do ref(names[0]) -%}
    {%- endif -%}
    {{ return("floodmark_in_relation('" ~ tojson({'column': floodmark._bare_expression(column), 'relation': names,
        'its': floodmark._bare_expression(its or column)}).encode('utf-8').hex() ~ "')") }}
{% endmacro %}


{# A value of a rule as SQL. #}
{% macro _rule_literal(value) %}
    {{ return(floodmark._string_literal(value) if value is string else value | string) }}
{% endmacro %}
