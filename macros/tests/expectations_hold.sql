{# A generic test: the rules of a model against its whole table. A row for each rule that is violated. #}
{% test expectations_hold(model) %}
    {%- if not execute -%}
        {{ return('select 1') }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for node in floodmark._managed_nodes().values()
        if node.schema == model.schema and (node.alias or node.name) == model.identifier -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {%- if not found -%}
        {%- do floodmark._raise('floodmark.expectations_hold: ' ~ model ~ ' is no model that floodmark loads') -%}
    {%- endif -%}
    {%- set node = found[0] -%}
    {%- set rules = floodmark._planned_rules(floodmark._expectations(floodmark._node_setting(node, 'expectations')
        or []), node, is_test=true) -%}
    {%- set parts = [] -%}
    {%- for rule in floodmark._row_rules(rules) -%}
        {%- if floodmark._are_conditions([{'sql': rule.expect}] + ([{'sql': rule.where}] if rule.where else []),
            'select * from ' ~ model) -%}
            {%- do parts.append('select ' ~ floodmark._string_literal(rule.name) ~ ' as rule, count(*) as violations '
                'from ' ~ model ~ ' where ' ~ floodmark._violated_sql(rule, {'exempt': none, 'unsent': []})) -%}
        {%- endif -%}
    {%- endfor %}
    select rule, violations from (
        {{ parts | join('\n        union all ') or "select '' as rule, 0 as violations" }}
    )
    where violations > 0
{% endtest %}
