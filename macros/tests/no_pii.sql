{# A generic test: what is tagged `pii` upstream does not reach a model, by the name of a column or by its values. A row
   for each column that does. Values shorter than `min_length` are not looked for: they are found everywhere. #}
{% test no_pii(model, tag='pii', min_length=4) %}
    {%- if not execute -%}
        {{ return('select 1') }}
    {%- endif -%}
    {%- set tested = floodmark._node_of(model, graph.nodes.values()
        | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot'])) -%}
    {%- if tested is none -%}
        {%- do floodmark._raise('floodmark: ' ~ model ~ ' is not in this project: test a model, a seed or a '
            'snapshot') -%}
    {%- endif -%}
    {%- set own = floodmark._columns_of(query='select * from ' ~ model) -%}
    {%- set published, secrets, names = [], [], [] -%}
    {%- for column in own if column.type == 'string' or floodmark._position_family(column.type) == 'sequence' -%}
        {%- do published.append(floodmark._string_literal(column.name) ~ ', cast(' ~ floodmark._quoted(column.name)
            ~ ' as string)') -%}
    {%- endfor -%}
    {%- for tagged in floodmark._tagged_columns(tested, tag) -%}
        {%- set origin = floodmark._string_literal(tagged.node ~ '.' ~ tagged.column) -%}
        {%- if tagged.relation -%}
            {%- do secrets.append('select distinct ' ~ origin ~ ' as leaked_from, '
                ~ floodmark._string_literal(tagged.column | lower) ~ ' as own_name, cast('
                ~ floodmark._quoted(tagged.column) ~ ' as string) as value from ' ~ tagged.relation) -%}
        {%- elif tagged.is_ephemeral -%}
            {%- do exceptions.warn("floodmark, model '" ~ floodmark._node_id(tested) ~ "': no_pii looks only for the "
                'name of ' ~ tagged.node ~ '.' ~ tagged.column ~ ', and not for its values, since ' ~ tagged.node
                ~ ' is ephemeral: tag the columns that it comes from as well') -%}
        {%- endif -%}
        {%- set named = floodmark._find_column(own, tagged.column) -%}
        {%- if named -%}
            {%- do names.append('select ' ~ floodmark._string_literal(named.name) ~ ' as column_name, ' ~ origin
                ~ " as leaked_from, 'name' as how") -%}
        {%- endif -%}
    {%- endfor %}
    select '' as column_name, '' as leaked_from, '' as how where false
    {%- for name in names %}
    union all
    {{ name }}
    {%- endfor %}
    {%- if published and secrets %}
    union all
    select distinct column_name, leaked_from, 'value' as how
    from (
        select distinct stack({{ published | length }}, {{ published | join(', ') }}) as (column_name, value)
        from {{ model }}
    ) as published
    join ({{ secrets | join(' union all ') }}) as secrets
        on published.value = secrets.value
    where length(secrets.value) >= {{ min_length }}
        and lower(column_name) <> own_name
    {%- endif %}
{% endtest %}


{# The one of these nodes that a test is of; none where it is of none. The test's own node tells: with --defer the
   relation may be of another target, and behind dbt's `where` it is the text of a subquery. #}
{% macro _node_of(relation, nodes) %}
    {%- for node in nodes -%}
        {%- set is_it = node.unique_id == model.attached_node if model.attached_node or relation is string
            else node.schema == relation.schema and (node.alias or node.name) == relation.identifier -%}
        {%- if is_it -%}
            {{ return(node) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Columns with a tag of all that a node comes from: a list of {node, column, relation, is_ephemeral}. `relation` is
   none of what is ephemeral, or not built. #}
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
            {%- set place = floodmark._tested_place(node) -%}
            {%- for name, column in node.columns.items()
                if tag in (column.tags or []) + ((column.config or {}).get('tags') or []) -%}
                {%- do found.append({'node': place.schema ~ '.' ~ place.identifier, 'column': name,
                    'relation': adapter.get_relation(none, place.schema, place.identifier),
                    'is_ephemeral': (node.get('config') or {}).get('materialized') == 'ephemeral'}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
