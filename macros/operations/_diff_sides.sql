{#
  What A and B of a diff may be, in the order in which it is tried:
  - ``format.`/path` `` or format:path, of delta, parquet, csv, json;
  - a path, which has a / in it: told by its ending, else a Delta folder;
  - a model (also with its version, orders.v1), seed or snapshot by its name, a source as source_name.table;
  - schema.table, or a table of the target's schema;
  - package.model, or the unique id of a node.
  @v12 after a Delta table is its version 12.
#}

{# One side: {given, label, sql, columns}; `sql` is what stands in a FROM. #}
{% macro _diff_side(given, label, folder=none) %}
    {%- if floodmark._has_secret(given) -%}
        {%- do floodmark._diff_stop(label ~ " got '" ~ given
            ~ "': expected a path without credentials, which would appear in logs and in target/. "
            ~ floodmark._where_secrets_belong()) -%}
    {%- endif -%}
    {%- set versioned = modules.re.fullmatch('(.+)@v(\\d+)', given | trim) -%}
    {%- set name = versioned.group(1) if versioned else given | trim -%}
    {%- set path = floodmark._diff_path(name) -%}
    {%- set relation = none if path else floodmark._diff_relation(name, label) -%}
    {%- if versioned and (path.format != 'delta' if path else not relation.is_delta) -%}
        {%- do floodmark._diff_stop(label ~ ', ' ~ name ~ ', is not a Delta table and has no version '
            ~ versioned.group(2)) -%}
    {%- endif -%}
    {%- set sql = floodmark._diff_path_sql(path, folder) if path
        else floodmark._quoted(relation.schema) ~ '.' ~ floodmark._quoted(relation.identifier) -%}
    {%- set sql = sql ~ (' version as of ' ~ versioned.group(2) if versioned else '') -%}
    {{ return({'given': given | trim, 'label': label, 'sql': sql,
        'columns': floodmark._columns_of(query='select * from ' ~ sql)}) }}
{% endmacro %}


{# The format and path that a text names, or none: {format, path}. #}
{% macro _diff_path(name) %}
    {%- set named = modules.re.fullmatch('(?i)(delta|parquet|csv|json)(?::(.+)|\\.`(.*/.*)`)', name) -%}
    {%- if named -%}
        {{ return({'format': named.group(1) | lower, 'path': named.group(2) or named.group(3)}) }}
    {%- elif '/' not in name -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set ending = modules.re.search(
        '(?i)\\.(parquet|csv|json|jsonl|ndjson)(?:\\.(?:gz|bz2|zst|snappy|lz4|deflate))?/*$', name) -%}
    {%- set format = ending.group(1) | lower if ending else 'delta' -%}
    {{ return({'format': 'json' if format in ['jsonl', 'ndjson'] else format, 'path': name}) }}
{% endmacro %}


{# A path as Spark reads it in a FROM. #}
{% macro _diff_path_sql(path, folder=none) %}
    {%- set is_whole = path.path.startswith('/') or modules.re.match('\\w+:', path.path) -%}
    {%- set place = floodmark._absolute_path(path.path if is_whole or folder is none else folder ~ '/' ~ path.path) -%}
    {%- if path.format == 'delta' -%}
        {#- Delta takes no path for a pattern -#}
        {{ return('delta.`' ~ place | replace('`', '``') ~ '`') }}
    {%- endif -%}
    {%- set options = ", header = 'true', inferSchema = 'true'" if path.format == 'csv' else '' -%}
    {%- set options = options ~ floodmark._reading_options_sql(place) -%}
    {{ return(path.format ~ '.`' ~ floodmark._path_pattern(place) | replace('`', '``') ~ '`'
        ~ ' with (' ~ options[2:] ~ ')') }}
{% endmacro %}


{# The relation of a node or of a name; one that is not there stops. What a table is called goes before what a model
   is called behind its package: both are a word, a dot and a word. #}
{% macro _diff_relation(name, label) %}
    {%- set plain = name.replace('`', '') -%}
    {%- set is_table = modules.re.fullmatch('\\w+(\\.\\w+)?', plain) -%}
    {%- set parts = ([] if '.' in plain else [target.schema]) + plain.split('.') -%}
    {%- set node = floodmark._diff_node(name, label) -%}
    {%- set relation = adapter.get_relation(none, parts[0], parts[1]) if is_table and not node else none -%}
    {%- set node = node or (none if relation else floodmark._diff_node(name, label, by_package=true)) -%}
    {%- if node -%}
        {%- set parts = [node.schema, node.identifier or node.alias] -%}
        {%- set relation = adapter.get_relation(none, parts[0], parts[1]) -%}
        {%- do floodmark._diff_stop(label ~ ', the ' ~ node.resource_type ~ ' ' ~ name ~ ', has no table '
            ~ parts | join('.') ~ ': build it first') if relation is none -%}
        {{ return(relation) }}
    {%- elif not is_table -%}
        {%- do floodmark._diff_stop(label ~ " got '" ~ name
            ~ "': expected a dbt node, schema.table, or a path, which has a / in it") -%}
    {%- elif relation is none -%}
        {%- do floodmark._diff_stop(label ~ ': there is no table ' ~ parts | join('.') ~ ', and no dbt node ' ~ name
            ~ '; a path has a / in it') -%}
    {%- endif -%}
    {{ return(relation) }}
{% endmacro %}


{# The node of a name: a model (its latest version, or the one that is named), seed or snapshot, or source_name.table;
   with `by_package` by its name behind its package, or its unique id. None where there is none; several stop. #}
{% macro _diff_node(name, label, by_package=false) %}
    {%- set nodes, sources = [], [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- set versioned = floodmark._versioned_name(node) -%}
        {%- if name in (floodmark._node_calls(node) if by_package else [node.name, versioned])
            and (node.get('version') == node.get('latest_version') or name.endswith(versioned)) -%}
            {%- do nodes.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for node in graph.sources.values()
        if name == (node.unique_id if by_package else node.source_name ~ '.' ~ node.name) -%}
        {%- do sources.append(node) -%}
    {%- endfor -%}
    {%- set found = nodes or sources -%}
    {%- if found | length > 1 -%}
        {%- do floodmark._diff_stop(label ~ ": several dbt nodes are called '" ~ name ~ "': name one of "
            ~ found | map(attribute='unique_id') | sort | join(', ')) -%}
    {%- endif -%}
    {{ return(found[0] if found else none) }}
{% endmacro %}


{# What is compared with what: {a, b, key, compared, only_a, only_b, types}. `key` and `compared` are lists of {name,
   a, b}, a column of each side; names are those of A. #}
{% macro _diff_plan(a, b, keys, only, excepted) %}
    {%- set plan = {'a': a, 'b': b, 'key': [], 'compared': [], 'only_a': [], 'only_b': [], 'types': []} -%}
    {%- for name in keys -%}
        {%- do plan.key.append(floodmark._diff_pair(a, b, name)) -%}
    {%- endfor -%}
    {%- do floodmark._diff_check_key(plan) -%}
    {%- for name in only -%}
        {%- do floodmark._diff_pair(a, b, name) -%}
    {%- endfor -%}
    {%- for name in excepted if not floodmark._find_column(a.columns + b.columns, name) -%}
        {%- do floodmark._diff_pair(a, b, name) -%}
    {%- endfor -%}
    {%- set apart = (plan.key | map(attribute='name') | list + excepted) | map('lower') | list -%}
    {%- set chosen = only | map('lower') | list -%}
    {%- for column in a.columns if column.name | lower not in apart
        and (not chosen or column.name | lower in chosen) -%}
        {%- if floodmark._find_column(b.columns, column.name) -%}
            {%- do plan.compared.append(floodmark._diff_pair(a, b, column.name)) -%}
        {%- else -%}
            {%- do plan.only_a.append(column.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in b.columns if not chosen and column.name | lower not in apart
        and not floodmark._find_column(a.columns, column.name) -%}
        {%- do plan.only_b.append(column.name) -%}
    {%- endfor -%}
    {%- for pair in plan.key + plan.compared
        if floodmark._diff_by_name(pair.a.type) != floodmark._diff_by_name(pair.b.type) -%}
        {%- do plan.types.append({'column': pair.name, 'a': pair.a.ddl, 'b': pair.b.ddl}) -%}
    {%- endfor -%}
    {{ return(plan) }}
{% endmacro %}


{# A column of both sides; where one lacks it, its columns are named. #}
{% macro _diff_pair(a, b, name) %}
    {%- for side in [a, b] if not floodmark._find_column(side.columns, name) -%}
        {%- do floodmark._diff_stop('there is no column ' ~ name ~ ' in ' ~ side.label ~ ', ' ~ side.given ~ ': it has '
            ~ side.columns | map(attribute='name') | join(', ')) -%}
    {%- endfor -%}
    {%- set column = floodmark._find_column(a.columns, name) -%}
    {{ return({'name': column.name, 'a': column, 'b': floodmark._find_column(b.columns, name)}) }}
{% endmacro %}


{# Rows meet by key, and cannot by a map or a variant. #}
{% macro _diff_check_key(plan) %}
    {%- for pair in plan.key -%}
        {%- for column in [pair.a, pair.b] if floodmark._has_no_order(column.type) -%}
            {%- do floodmark._diff_stop('the key column ' ~ pair.name ~ ' is a ' ~ column.ddl
                ~ ', which cannot be compared: name another key') -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}
