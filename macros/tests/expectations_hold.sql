{# A generic test: the rules of a model against its whole table. A row for each rule that is violated. A list of changes
   has NULL beside the key of what was deleted, and no rule is asked of that; nor of what no event of cdc has sent. #}
{% test expectations_hold(model) %}
    {%- if not execute -%}
        {{ return('select 1') }}
    {%- endif -%}
    {%- set node = floodmark._node_of(model, floodmark._managed_nodes().values()) -%}
    {%- if node is none -%}
        {%- do floodmark._raise('floodmark.expectations_hold: ' ~ model ~ ' is not a model that floodmark loads') -%}
    {%- endif -%}
    {%- set lists_changes = (floodmark._node_setting(node, 'snapshot_diff') or {}).get('output') == 'changes' -%}
    {%- set rows = 'select * from ' ~ model ~ (" where _change_type <> 'delete'" if lists_changes else '') -%}
    {%- set cdc = floodmark._with_defaults(floodmark._node_setting(node, 'cdc') or {}, floodmark._cdc_schema()) -%}
    {%- set asked = floodmark._asked_of_sent(cdc, floodmark._name_list(node.config.get('unique_key')),
        floodmark._columns_of(query=rows) if floodmark._ignores_nulls(cdc) else []) -%}
    {%- set parts = [] -%}
    {%- for rule in floodmark._row_rules_of(node) -%}
        {%- if floodmark._are_conditions([{'sql': rule.expect}] + ([{'sql': rule.where}] if rule.where else []),
            rows) -%}
            {%- do parts.append('select ' ~ floodmark._string_literal(rule.name) ~ ' as rule, count(*) as violations '
                'from (select ' ~ floodmark._violated_sql(rule, floodmark._asked_terms(rule, asked))
                ~ ' as is_violated from (' ~ rows ~ ')) where is_violated') -%}
        {%- endif -%}
    {%- endfor %}
    select rule, violations from (
        {{ parts | join('\n        union all ') or "select '' as rule, 0 as violations" }}
    )
    where violations > 0
{% endtest %}
