{# Stop a run of nodes that would write one table. Where the ledger lies in a schema of models, its names are taken:
   `taken` has them in small letters. #}
{% macro _check_shared_tables(taken) %}
    {%- set managed, problems = floodmark._managed_nodes(), [] -%}
    {%- for table, ids in floodmark._owners_of_tables().items() if ids | select('in', selected_resources) | list -%}
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
