{# The models that floodmark loads: {unique_id: node}. `names` (as _node_calls has them) leaves the others out. #}
{% macro _managed_nodes(names=none) %}
    {%- set found = {} -%}
    {%- set names = [names] if names is string else names -%}
    {%- for id, node in graph.nodes.items() if node.resource_type == 'model'
        and node.config.materialized in ['incremental', 'streaming_table'] -%}
        {%- if (names is none or floodmark._node_calls(node) | select('in', names) | list)
            and (node.config.materialized == 'streaming_table' or floodmark._is_managed(node.config)) -%}
            {%- do found.update({id: node}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Stop a run of models whose rules, or whose way to read events or extracts, nobody would heed: their materialization
   does not load by floodmark, or the project lacks the opt-in. Settings that a folder may have for models of all kinds,
   such as `watermark`, are let pass, and so are materializations that floodmark does not know. #}
{% macro _check_unheeded_settings() %}
    {%- set loaded = [] -%}
    {%- for id, node in floodmark._managed_nodes().items() if id in selected_resources
        and node.config.materialized == 'incremental' -%}
        {%- do loaded.append(floodmark._versioned_name(node)) -%}
    {%- endfor -%}
    {%- set problems = floodmark._opt_in_problems(loaded) -%}
    {%- for id, node in graph.nodes.items() if id in selected_resources and node.resource_type == 'model'
        and node.config.materialized in ['table', 'view', 'ephemeral', 'materialized_view'] -%}
        {%- for name in ['expectations', 'cdc', 'snapshot_diff'] if floodmark._node_setting(node, name) -%}
            {%- set without = name ~ '=none' if node.config.get(name) else "meta={'floodmark': {}}" -%}
            {%- do problems.append({
                'setting': name ~ ' of ' ~ floodmark._versioned_name(node) ~ ' (' ~ node.original_file_path ~ ')',
                'got': 'materialized: ' ~ node.config.materialized,
                'expected': 'materialized: incremental' ~ (' or streaming_table' if name != 'snapshot_diff'),
                'todo': 'No other model is loaded by this setting. Change the materialization, or remove the setting; '
                'if a folder of the project sets it, write config(' ~ without ~ ') in this model'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems, what='the run') -%}
{% endmacro %}


{# One of them; a name that is none, or that of several, stops the operation and names those that there are. #}
{% macro _managed_node(name) %}
    {%- set found = floodmark._managed_nodes([name]) -%}
    {%- if found | length != 1 -%}
        {%- set names = [] -%}
        {%- for id, called in floodmark._node_names(floodmark._managed_nodes()).items() if not found or id in found -%}
            {%- do names.append(called) -%}
        {%- endfor -%}
        {%- set named = names | sort | join(', ') or 'none' -%}
        {%- do floodmark._raise("floodmark loads several models '" ~ name ~ "': name one of " ~ named if found
            else "floodmark loads no model '" ~ name ~ "': it loads " ~ named) -%}
    {%- endif -%}
    {{ return(found.values() | first) }}
{% endmacro %}


{# Stop where a name of a list is that of no model that floodmark loads. #}
{% macro _check_names(names) %}
    {%- for name in floodmark._as_list(names) if not floodmark._managed_nodes([name]) -%}
        {%- do floodmark._managed_node(name) -%}
    {%- endfor -%}
{% endmacro %}


{# What a node answers to: its unique id, and its name, with or without its version, alone or behind its package or
   source. #}
{% macro _node_calls(node) %}
    {%- set calls = [node.unique_id] -%}
    {%- for name in [node.name, floodmark._versioned_name(node)] -%}
        {%- do calls.extend([name, (node.get('source_name') or node.package_name) ~ '.' ~ name]) -%}
    {%- endfor -%}
    {{ return(calls) }}
{% endmacro %}


{# A node's name as dbt prints it: with the version, where it has one. #}
{% macro _versioned_name(node) %}
    {{ return(node.name ~ ('' if node.get('version') is none else '.v' ~ node.version)) }}
{% endmacro %}


{# What models are called, {unique_id: name}: behind their package where another package has the same. #}
{% macro _node_names(nodes) %}
    {%- set names = {} -%}
    {%- for id, node in nodes.items() -%}
        {%- do names.update({id: floodmark._versioned_name(node)}) -%}
    {%- endfor -%}
    {%- set all = names.values() | list -%}
    {%- for id, node in nodes.items() if all.count(names[id]) > 1 -%}
        {%- do names.update({id: node.package_name ~ '.' ~ names[id]}) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# What one of them is called. #}
{% macro _node_name(node) %}
    {{ return(floodmark._node_names(floodmark._managed_nodes())[node.unique_id] or floodmark._versioned_name(node)) }}
{% endmacro %}


{# A floodmark setting of a node, from config or from `meta: {floodmark: {...}}`; none where it is not set. #}
{% macro _node_setting(node, name) %}
    {{ return(floodmark._configured(node.config, name)) }}
{% endmacro %}


{% macro _node_id(node) %}
    {{ return(node.schema ~ '.' ~ (node.alias or node.name)) }}
{% endmacro %}


{# The watermark of a node and what it is of: {relation, column, family, is_delta}; none where it has none, or the
   upstream is missing or is one that its run refuses: an operation on many models goes on. #}
{% macro _node_upstream(node) %}
    {%- set watermark = floodmark._node_setting(node, 'watermark') -%}
    {%- if watermark is not mapping -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set upstream = floodmark._upstream_node(watermark.get('from'), node, required=false) -%}
    {%- set relation = adapter.get_relation(none, upstream.schema, upstream.identifier or upstream.alias) if upstream
        else none -%}
    {%- if relation is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set described = floodmark._describe(relation) -%}
    {%- set is_version = watermark.get('kind') == 'version' -%}
    {%- set column = none if is_version else floodmark._find_column(described.columns, watermark.get('column')) -%}
    {{ return({'relation': relation, 'is_delta': described.provider == 'delta',
        'column': column.name if column else none,
        'family': 'version' if is_version else (floodmark._position_family(column.type) if column else none)}) }}
{% endmacro %}
