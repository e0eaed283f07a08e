{# The project's models that floodmark loads, by name: {name: node}. `names` (model names) leaves the others out. #}
{% macro _managed_nodes(names=none) %}
    {%- set found = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized in ['incremental', 'streaming_table'] and (names is none or node.name in names) -%}
        {%- if node.config.materialized == 'streaming_table' -%}
            {%- do found.update({node.name: node}) -%}
        {%- endif -%}
        {%- for setting in floodmark._managing_settings() if floodmark._node_setting(node, setting) is not none -%}
            {%- do found.update({node.name: node}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# One of them; a name that is none stops the operation and names those that are. #}
{% macro _managed_node(name) %}
    {%- set nodes = floodmark._managed_nodes() -%}
    {%- if name not in nodes -%}
        {{ exceptions.raise_compiler_error("floodmark loads no model '" ~ name ~ "': it loads " ~ (nodes.keys() | sort | join(', ') or 'none')) }}
    {%- endif -%}
    {{ return(nodes[name]) }}
{% endmacro %}


{# A floodmark setting of a node, from config or from `meta: {floodmark: {...}}`; none where it is not set. #}
{% macro _node_setting(node, name) %}
    {{ return(floodmark._configured(node.config, name)) }}
{% endmacro %}


{% macro _node_id(node) %}
    {{ return(node.schema ~ '.' ~ (node.alias or node.name)) }}
{% endmacro %}


{# The watermark of a node and what it is of: {relation, column, family, is_delta}; none where it has none or the upstream is missing. #}
{% macro _node_upstream(node) %}
    {%- set watermark = floodmark._node_setting(node, 'watermark') -%}
    {%- if watermark is not mapping -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set upstream = floodmark._upstream_node(watermark.get('from'), node) -%}
    {%- set relation = adapter.get_relation(none, upstream.schema, upstream.identifier or upstream.alias) -%}
    {%- if relation is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set described = floodmark._describe(relation) -%}
    {%- set is_version = watermark.get('kind') == 'version' -%}
    {%- set column = none if is_version else floodmark._find_column(described.columns, watermark.get('column')) -%}
    {{ return({'relation': relation, 'is_delta': described.provider == 'delta', 'column': column.name if column else none,
        'family': 'version' if is_version else (floodmark._position_family(column.type) if column else none)}) }}
{% endmacro %}


{# A SELECT that gives these rows: `columns` is {name: type}, each row a list of texts or none. #}
{% macro _values_sql(columns, rows) %}
    {%- set selects = [] -%}
    {%- for row in rows + [none] -%}
        {%- set values = [] -%}
        {%- for name, type in columns.items() -%}
            {%- do values.append('cast(' ~ floodmark._string_literal(row[loop.index0] if row is not none else none) ~ ' as ' ~ type ~ ') as ' ~ name) -%}
        {%- endfor -%}
        {%- do selects.append('select ' ~ values | join(', ') ~ (' where false' if row is none else '')) -%}
    {%- endfor -%}
    {{ return(selects | join('\nunion all ')) }}
{% endmacro %}
