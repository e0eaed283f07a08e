{# A generic test: what is tagged `pii` upstream does not reach a model, by the name of a column or by its values. A row
   for each column that does. Values shorter than `min_length` are not looked for: they are found everywhere. #}
{% test no_pii(model, tag='pii', min_length=4) %}
    {%- if not execute -%}
        {{ return('select 1') }}
    {%- endif -%}
    {%- set tested = floodmark._node_of(model, graph.nodes.values()
        | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot'])) -%}
    {%- if tested is none -%}
        {%- do floodmark._raise('floodmark: ' ~ model ~ ' is no model of the project') -%}
    {%- endif -%}
    {%- set own = floodmark._columns_of(relation=model) -%}
    {%- set parts = ["select '' as column_name, '' as leaked_from, '' as how where false"] -%}
    {%- for tagged in floodmark._tagged_columns(tested, tag) -%}
        {%- for column in own -%}
            {%- set found = 'select ' ~ floodmark._string_literal(column.name) ~ ' as column_name, '
                ~ floodmark._string_literal(floodmark._relation_name(tagged.relation) ~ '.' ~ tagged.column)
                ~ ' as leaked_from, ' -%}
            {%- if column.name | lower == tagged.column | lower -%}
                {%- do parts.append(found ~ "'name' as how") -%}
            {%- elif column.type in ['string', 'int', 'bigint'] -%}
                {%- set value = 'cast(' ~ floodmark._quoted(column.name) ~ ' as string)' -%}
                {%- set values = 'select distinct cast(' ~ floodmark._quoted(tagged.column)
                    ~ ' as string) as value from ' ~ tagged.relation -%}
                {%- do parts.append(found ~ "'value' as how from (select 1 from " ~ model ~ ' as m join (' ~ values
                    ~ ') as s on ' ~ value ~ ' = s.value where length(s.value) >= ' ~ min_length ~ ' limit 1)') -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor %}
    {{ parts | join('\n    union all\n    ') }}
{% endtest %}


{# The one of these nodes whose relation this is; none where it is of none. #}
{% macro _node_of(relation, nodes) %}
    {%- for node in nodes
        if node.schema == relation.schema and (node.alias or node.name) == relation.identifier -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Columns with a tag of all that a node comes from: a list of {relation, column}, of relations that are there. #}
{% macro _tagged_columns(tested, tag) %}
    {%- set found, seen, waiting = [], [], tested.depends_on.nodes | list -%}
    {%- for _ in range(10000) -%}
        {%- if not waiting -%}
            {%- break -%}
        {%- endif -%}
        {%- set id = waiting.pop() -%}
        {%- set node = graph.sources.get(id) or graph.nodes.get(id) if id not in seen else none -%}
        {%- do seen.append(id) -%}
        {%- if node -%}
            {%- do waiting.extend((node.get('depends_on') or {}).get('nodes') or []) -%}
            {%- set relation = adapter.get_relation(none, node.schema, node.identifier or node.alias) -%}
            {%- for name, column in node.columns.items() if relation and tag in
                (column.tags or []) + ((column.config or {}).get('tags') or []) -%}
                {%- do found.append({'relation': relation, 'column': name}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
