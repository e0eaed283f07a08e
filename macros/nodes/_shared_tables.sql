{# Stop a run of nodes that would write one table. dbt tells capitals from small letters in names, and Spark does not.
   Where the ledger lies in a schema of models, its names are taken: `taken` has them in small letters. #}
{% macro _check_shared_tables(taken) %}
    {%- set managed, owners, problems = floodmark._managed_nodes(), {}, [] -%}
    {%- for id, node in graph.nodes.items() if node.resource_type in ['model', 'seed', 'snapshot']
        and node.config.materialized != 'ephemeral' -%}
        {%- set table = floodmark._node_id(node) | lower -%}
        {%- do owners.update({table: owners.get(table, []) + [id]}) -%}
    {%- endfor -%}
    {%- for table, ids in owners.items() if ids | select('in', selected_resources) | list -%}
        {%- set whose = 'alias of ' ~ ids | sort | join(' and ') -%}
        {%- if table in taken -%}
            {%- do problems.append({'setting': whose, 'got': table,
                'expected': 'a name that the ledger does not have: ' ~ taken | join(', '),
                'todo': 'Give the node another alias or schema, or give the ledger a schema of its own (variable '
                'floodmark_schema)'}) -%}
        {%- elif ids | length > 1 and ids | select('in', managed) | list -%}
            {%- do problems.append({'setting': whose, 'got': table,
                'expected': 'a table for each of them, and to Spark capitals and small letters are the same',
                'todo': 'Give one of them another alias or schema'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems, what='the run') -%}
{% endmacro %}
