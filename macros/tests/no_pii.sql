{# A generic test: what is tagged `pii` upstream does not reach a model, by the name of a column or by its values. A row
   for each column that does. Values shorter than `min_length` are not looked for: they are found everywhere. Nor are
   the columns of the model in `except_columns`, whose values are harmless. #}
{% test no_pii(model, tag='pii', min_length=4, except_columns=[]) %}
    {%- if not execute -%}
        {{ return('select 1') }}
    {%- endif -%}
    {%- set tested = floodmark._node_of(model, graph.nodes.values()
        | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot'])) -%}
    {%- if tested is none -%}
        {%- do floodmark._raise('floodmark: ' ~ model ~ ' is not in this project: test a model, a seed or a '
            'snapshot') -%}
    {%- endif -%}
    {%- set own, published, secrets, names, described = [], [], [], [], {} -%}
    {%- set columns = floodmark._columns_of(query='select * from ' ~ model) -%}
    {%- set except_columns = floodmark._name_list(except_columns) -%}
    {%- for name in except_columns if not floodmark._find_column(columns, name) -%}
        {%- do floodmark._raise('floodmark: except_columns of no_pii names ' ~ name ~ ', and ' ~ model
            ~ ' has no such column: correct the name, or remove it') -%}
    {%- endfor -%}
    {%- for column in columns if column.name | lower not in except_columns | map('lower') | list -%}
        {%- do own.extend(floodmark._leaf_texts([{'name': column.name, 'path': column.name}],
            floodmark._quoted(column.name), column.ddl)) -%}
    {%- endfor -%}
    {#- a text may have a collation, or a length -#}
    {%- for leaf in own if leaf.type.startswith(('string', 'varchar', 'char'))
        or floodmark._position_family(leaf.type) == 'sequence' -%}
        {%- set within = [] -%}
        {%- for place in leaf.places -%}
            {%- do within.append(floodmark._string_literal(place.name | lower)) -%}
        {%- endfor -%}
        {%- do published.append(floodmark._string_literal(leaf.places[-1].path) ~ ', array(' ~ within | join(', ')
            ~ '), ' ~ leaf.sql) -%}
    {%- endfor -%}
    {%- for tagged in floodmark._tagged_columns(tested, tag) -%}
        {%- set origin = floodmark._string_literal(tagged.node ~ '.' ~ tagged.column) -%}
        {%- if tagged.relation -%}
            {%- do described.update({tagged.node: floodmark._columns_of(relation=tagged.relation)})
                if tagged.node not in described -%}
            {%- set column = floodmark._find_column(described[tagged.node], tagged.column) -%}
            {%- for leaf in floodmark._leaf_texts([], floodmark._quoted(tagged.column),
                column.ddl if column else 'string') -%}
                {%- do secrets.append('select distinct ' ~ origin ~ ' as leaked_from, '
                    ~ floodmark._string_literal(tagged.column | lower) ~ ' as own_name, explode(' ~ leaf.sql
                    ~ ') as value from ' ~ tagged.relation) -%}
            {%- endfor -%}
        {%- elif tagged.is_ephemeral -%}
            {%- do exceptions.warn("floodmark, model '" ~ floodmark._node_id(tested) ~ "': no_pii looks only for the "
                'name of ' ~ tagged.node ~ '.' ~ tagged.column ~ ', and not for its values, since ' ~ tagged.node
                ~ ' is ephemeral: tag the columns that it comes from as well') -%}
        {%- endif -%}
        {%- for path in floodmark._paths_named(own, tagged.column) -%}
            {%- do names.append('select ' ~ floodmark._string_literal(path) ~ ' as column_name, ' ~ origin
                ~ " as leaked_from, 'name' as how") -%}
        {%- endfor -%}
    {%- endfor %}
    select '' as column_name, '' as leaked_from, '' as how where false
    {%- for name in names %}
    union all
    {{ name }}
    {%- endfor %}
    {{- floodmark._leaked_values_sql(model, published, secrets, min_length) if published and secrets }}
{% endtest %}


{# Where values of tagged columns are published: `published` are a path, the names within it, and an array of texts;
   `secrets` are SELECTs. What is published under the name of the tagged column is found by that. #}
{% macro _leaked_values_sql(relation, published, secrets, min_length) %}
    union all
    select distinct column_name, leaked_from, 'value' as how
    from (
        select distinct column_name, names, explode(texts) as value
        from (
            select stack({{ published | length }}, {{ published | join(', ') }}) as (column_name, names, texts)
            from {{ relation }}
        )
    ) as published
    join ({{ secrets | join(' union all ') }}) as secrets
        on published.value = secrets.value
    where length(secrets.value) >= {{ min_length }}
        and not array_contains(names, own_name)
{% endmacro %}


{# The leaves of a value: a list of {places, type, sql}. `places` are the column and the fields that a leaf is in, each
   {name, path}; `sql` is an array of its texts, since an array or a map has several. #}
{% macro _leaf_texts(places, sql, type, depth=0) %}
    {%- set nesting = floodmark._nesting(type) -%}
    {%- set parts, found, item = [], [], '_floodmark_item_' ~ depth -%}
    {%- if nesting is none -%}
        {{ return([{'places': places, 'type': type | lower, 'sql': 'array(cast(' ~ sql ~ ' as string))'}]) }}
    {%- elif nesting == 'struct' -%}
        {%- for field in floodmark._struct_fields(type) -%}
            {%- set path = (places | map(attribute='name') | list + [field.name]) | join('.') -%}
            {%- do found.extend(floodmark._leaf_texts(places + [{'name': field.name, 'path': path}],
                sql ~ '.' ~ floodmark._quoted(field.name), field.type, depth)) -%}
        {%- endfor -%}
    {%- elif nesting == 'array' -%}
        {%- do parts.append({'sql': sql, 'type': type[6:-1]}) -%}
    {%- else -%}
        {%- set key, value = floodmark._map_types(type) -%}
        {%- do parts.extend([{'sql': 'map_keys(' ~ sql ~ ')', 'type': key},
            {'sql': 'map_values(' ~ sql ~ ')', 'type': value}]) -%}
    {%- endif -%}
    {%- for part in parts -%}
        {%- for leaf in floodmark._leaf_texts(places, item, part.type, depth + 1) -%}
            {%- do found.append(dict(leaf, sql='coalesce(flatten(transform(' ~ part.sql ~ ', ' ~ item ~ ' -> '
                ~ leaf.sql ~ ')), array())')) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The paths of the columns and fields of this name that leaves are in. #}
{% macro _paths_named(leaves, name) %}
    {%- set paths = [] -%}
    {%- for leaf in leaves -%}
        {%- for place in leaf.places if place.name | lower == name | lower -%}
            {%- do paths.append(place.path) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(paths | unique(case_sensitive=true) | list) }}
{% endmacro %}


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
