{# The relation that holds the watermark column: {relation, columns, column, family, is_delta, is_kept}; none where it
   does not exist and `required` is false. `is_kept` is false where dbt makes the table anew in every run. `commits` are
   its newest, where they were looked up. Checks that depend on types stop here, before anything is written. #}
{% macro _upstream(settings, required=true, commits=none) %}
    {%- set watermark = settings.watermark -%}
    {%- set node = floodmark._upstream_node(watermark.from, model) -%}
    {%- set relation = floodmark._node_relation(node) -%}
    {%- if floodmark._relation_name(relation) | lower == floodmark._model_id() | lower -%}
        {%- do floodmark._refuse([{'setting': 'watermark.from', 'got': floodmark._model_id(),
            'expected': 'a table other than the one the model loads',
            'todo': 'Give the model an alias or a schema of its own'}]) -%}
    {%- endif -%}
    {%- set cached = floodmark._present_relation(relation) -%}
    {%- if cached is none -%}
        {%- if not required -%}
            {{ return(none) }}
        {%- endif -%}
        {%- do floodmark._stop('its upstream ' ~ relation ~ ' does not exist: build it first'
            ~ floodmark._waits_for_file_text(node)) -%}
    {%- endif -%}
    {%- set known = floodmark._known_at(cached, commits[0] if commits) -%}
    {%- if not known.described -%}
        {%- do known.update({'described': floodmark._describe(cached)}) -%}
    {%- endif -%}
    {%- set described = known.described -%}
    {%- set found = {'relation': cached, 'columns': described.columns, 'is_delta': described.provider == 'delta',
        'column': none, 'family': 'version', 'is_kept': node.resource_type in ['source', 'snapshot']
        or node.config.materialized not in ['table', 'view', 'seed']} -%}
    {%- if watermark.kind == 'version' -%}
        {%- do floodmark._require_delta(watermark, cached, found.is_delta) -%}
    {%- else -%}
        {%- set column = floodmark._find_column(described.columns, watermark.column) -%}
        {%- set family = floodmark._position_family(column.type) if column else none -%}
        {%- do floodmark._validate_column(settings, cached, column, family) -%}
        {%- do found.update({'column': column.name, 'family': family}) -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}


{# Behind "build it first": that a model of files may have run, and still wait for its first file. #}
{% macro _waits_for_file_text(node) %}
    {%- set files = floodmark._node_setting(node, 'files') if node.config.materialized == 'incremental' else none -%}
    {{ return('. If its run has succeeded, it waits for the first file in ' ~ files.path
        if files is mapping and not files.get('schema') else '') }}
{% endmacro %}


{# The node that `name` (watermark.from) means, or the only upstream of `loaded`, a model's node; what only its rules
   look into does not count. Where that is no table, view or source, or not one alone, the model is refused, or with
   `required` false none is returned. #}
{% macro _upstream_node(name, loaded, required=true) %}
    {%- set name = name if name is not none else floodmark._changes_name(loaded.raw_code) -%}
    {%- set candidates = [] -%}
    {%- set names = [] -%}
    {%- for id in loaded.depends_on.nodes -%}
        {%- set node = graph.sources.get(id) or graph.nodes.get(id) -%}
        {%- do names.append(floodmark._versioned_name(node) if node else id.split('.')[-1]) -%}
        {%- do candidates.extend([node] if node and (name is none or name in floodmark._node_calls(node)) else []) -%}
    {%- endfor -%}
    {%- if name is none and candidates | length > 1 -%}
        {%- set candidates = floodmark._read_nodes(candidates, loaded) -%}
    {%- endif -%}
    {%- if not required and (candidates | length != 1 or candidates[0].config.materialized == 'ephemeral') -%}
        {{ return(none) }}
    {%- elif candidates | length != 1 -%}
        {%- do floodmark._refuse([{'setting': 'watermark.from', 'got': name,
            'expected': 'the ref or source that holds the column, one of: ' ~ (names | join(', ') or 'none'),
            'todo': 'Name it in `from`' if names else 'Read the rows from a ref or a source'}]) -%}
    {%- endif -%}
    {%- set node = candidates[0] -%}
    {%- if node.config.materialized == 'ephemeral' -%}
        {%- do floodmark._refuse([{'setting': 'watermark.from', 'got': node.name,
            'expected': 'a table, a view or a source',
            'todo': 'An ephemeral model has no relation in which to find the high mark: materialize it as a table '
            'or a view'}]) -%}
    {%- endif -%}
    {{ return(node) }}
{% endmacro %}


{# The nodes among a model's upstreams that its SELECT reads: dbt notes each ref() and source() of a model, and some are
   those of in_relation() in its rules. #}
{% macro _read_nodes(nodes, loaded) %}
    {%- set looked = [] -%}
    {%- for digits in modules.re.findall("floodmark_in_relation\\(\\\\*'([0-9a-f]+)",
        floodmark._node_setting(loaded, 'expectations') | string) -%}
        {%- do looked.append(fromjson(''.encode('utf-8').fromhex(digits).decode('utf-8')).relation) -%}
    {%- endfor -%}
    {%- set found = [] -%}
    {%- for node in nodes -%}
        {%- set names = [node.source_name, node.name] if node.resource_type == 'source' else [node.name] -%}
        {%- set calls = [] -%}
        {%- for call in loaded.get('sources') or [] if node.resource_type == 'source' and call | list == names -%}
            {%- do calls.append(call) -%}
        {%- endfor -%}
        {%- for call in loaded.get('refs') or [] if node.resource_type != 'source' and call.name == node.name
            and call.get('package') in [none, node.package_name]
            and (call.get('version') is none or call.version | string == node.get('version') | string) -%}
            {%- do calls.append(call) -%}
        {%- endfor -%}
        {%- do found.append(node) if not calls or calls | length > looked.count(names) -%}
    {%- endfor -%}
    {{ return(found or nodes) }}
{% endmacro %}


{# Where an upstream node lies: inside a model as `ref` gives it, with --defer in mind. #}
{% macro _node_relation(node) %}
    {%- if node.resource_type == 'source' or this is not defined or this is none -%}
        {{ return(api.Relation.create(schema=node.schema, identifier=node.identifier or node.alias)) }}
    {%- endif -%}
    {{ return(ref(node.package_name, node.name, v=node.get('version'))) }}
{% endmacro %}


{# Where a node lies that a test looks into and does not name itself, {schema, identifier}: with --defer in the other
   target, if it is not in this one, or if dbt was told to favor that one. #}
{% macro _tested_place(node) %}
    {%- set identifier = node.identifier or node.alias -%}
    {%- set deferred = node.get('defer_relation') -%}
    {%- if deferred and (adapter.get_relation(none, node.schema, identifier) is none
        or invocation_args_dict.get('favor_state') and node.unique_id not in selected_resources) -%}
        {{ return({'schema': deferred.schema, 'identifier': deferred.alias}) }}
    {%- endif -%}
    {{ return({'schema': node.schema, 'identifier': identifier}) }}
{% endmacro %}


{# What a column's type forbids: a list of problems, refused at once. #}
{% macro _validate_column(settings, relation, column, family) %}
    {%- set watermark = settings.watermark -%}
    {%- if column is none -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': watermark.column,
            'expected': 'a column of ' ~ relation,
            'todo': 'Correct the name, or name the upstream that has it in `from`'}]) -%}
    {%- elif family is none -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': column.name ~ ' ' ~ column.type,
            'expected': 'a timestamp, a date or a whole number',
            'todo': 'Cast it in a model upstream, such as cast(' ~ column.name ~ ' as '
            ~ ('timestamp' if floodmark._plain_type(column.type).startswith('string') else 'bigint') ~ ')'}]) -%}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set kind = 'sequence' if family == 'sequence' else 'timestamp' -%}
    {%- if watermark.kind not in [none, kind] -%}
        {%- do problems.append({'setting': 'watermark.kind', 'got': watermark.kind,
            'expected': "'" ~ kind ~ "' for a column of type " ~ column.type,
            'todo': 'Leave it out: the type of the column decides'}) -%}
    {%- endif -%}
    {%- if kind == 'sequence' and settings.strategy == 'insert_overwrite' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': 'insert_overwrite',
            'expected': 'a timestamp or date watermark, and ' ~ column.name ~ ' is a ' ~ column.type,
            'todo': 'Use merge for sequences'}) -%}
    {%- endif -%}
    {%- if kind != 'sequence' and watermark.gaps in ['wait', 'fail'] -%}
        {%- do problems.append({'setting': 'watermark.gaps', 'got': watermark.gaps,
            'expected': 'a sequence, and ' ~ column.name ~ ' is a ' ~ column.type,
            'todo': 'Remove it: between two times nothing is missing'}) -%}
    {%- endif -%}
    {%- for key in ['lookback', 'step'] if watermark[key] is not none -%}
        {%- do problems.extend(floodmark._distance_problems('watermark.' ~ key, watermark[key], kind, key)) -%}
    {%- endfor -%}
    {%- set is_number = modules.re.fullmatch('-?\\d+', watermark.start | string) is not none -%}
    {%- if watermark.start is not none and is_number != (kind == 'sequence') -%}
        {%- do problems.append({'setting': 'watermark.start', 'got': watermark.start,
            'expected': 'a whole number' if kind == 'sequence' else "a UTC time such as '2026-01-31'",
            'todo': 'It must fit the column, ' ~ column.type}) -%}
    {%- endif -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}


{# The upstream that a model's code reads with changes(), as `watermark.from` would name it; none where it reads none
   or several. #}
{% macro _changes_name(code) %}
    {%- set names = [] -%}
    {%- for kind, arguments in modules.re.findall('floodmark\\.changes\\(\\s*(ref|source)\\(([^)]*)\\)',
        floodmark._without_jinja_comments(code)) -%}
        {%- set parts = modules.re.findall('(?:^|,)\\s*["\']([^"\']+)["\']', arguments) -%}
        {%- set version = modules.re.search('\\b(?:v|version)\\s*=\\s*["\']?([\\w.]+)["\']?\\s*(?:,|$)', arguments) -%}
        {%- do names.append(parts | join('.') if kind == 'source'
            else parts | last ~ ('.v' ~ version.group(1) if version else '')) -%}
    {%- endfor -%}
    {{ return(names[0] if names | unique(case_sensitive=true) | list | length == 1 else none) }}
{% endmacro %}
