{# What operators do with the quarantine: look, replay, discard. `floodmark quarantine` is the same as a command. #}

{# Print each model that has a quarantine: its open rows, by rule, and the oldest. #}
{% macro quarantine_list(models=none) %}
    {%- do run_query(floodmark._quarantine_list_sql(models)).print_table(max_rows=none, max_columns=none,
        max_column_width=none) -%}
{% endmacro %}


{# Print open rows of a model's quarantine, oldest first. #}
{% macro quarantine_show(model, rule=none, limit=20) %}
    {%- do floodmark._check_arguments('quarantine_show',
        {'model': [model, 'name'], 'rule': [rule, 'text'], 'limit': [limit, 'some']}) -%}
    {%- do run_query(floodmark._quarantine_show_sql(model, rule, limit)).print_table(max_rows=none,
        max_columns=none, max_column_width=120) -%}
{% endmacro %}


{# Load open rows through the model's own strategy, as a batch of kind replay. `set` is {column: SQL expression}. The
   run follows behind the operation, since only a run of the model knows its settings. #}
{% macro quarantine_replay(model, rule=none, where=none, set=none, dry_run=false) %}
    {%- set asked = {'rule': rule, 'where': where, 'set': set} -%}
    {%- set node = floodmark._asked_quarantine('quarantine_replay', model, asked, dry_run) -%}
    {%- set problems = floodmark._never_replayed_problems(
        floodmark._node_setting(node, 'incremental_strategy') or 'append', floodmark._node_setting(node, 'output_mode'),
        asked) -%}
    {%- do floodmark._refuse(problems, "operation 'quarantine_replay' on " ~ floodmark._node_id(node)) -%}
    {%- set files = floodmark._node_files(node) if floodmark._node_setting(node, 'files') is mapping else none -%}
    {%- set open = floodmark._count_open(floodmark._quarantine_of(node), asked,
        floodmark._replayed_parts(asked, files)) -%}
    {%- if dry_run or not open -%}
        {%- do print('Would replay ' ~ floodmark._counted(open, 'row') ~ ' of ' ~ floodmark._node_id(node) ~ '.'
            if dry_run else 'No open row of ' ~ floodmark._node_id(node) ~ ' matches: nothing is replayed.') -%}
    {%- elif adapter.floodmark_follow is not defined -%}
        {%- do print('To replay ' ~ floodmark._counted(open, 'row') ~ ', run: dbt run --select '
            ~ floodmark._selector_of(node) ~ " --vars '"
            ~ floodmark._shown_json({'floodmark_replay': asked}) ~ "'") -%}
    {%- else -%}
        {%- do adapter.floodmark_follow(['run', '--select', floodmark._selector_of(node)],
            {'floodmark_replay': asked}) -%}
    {%- endif -%}
{% endmacro %}


{# What dbt's --select finds a model alone by: a dotted name would find what lies in a folder of that name, too. #}
{% macro _selector_of(node) %}
    {{ return('package:' ~ node.package_name ~ ',file:' ~ node.original_file_path.split('/')[-1]) }}
{% endmacro %}


{# Give open rows up: they stay in the quarantine, with why and who. #}
{% macro quarantine_discard(model, reason, rule=none, where=none, dry_run=false) %}
    {%- set asked = {'rule': rule, 'where': where} -%}
    {%- set node = floodmark._asked_quarantine('quarantine_discard', model, asked, dry_run, reason) -%}
    {%- set open = floodmark._count_open(floodmark._quarantine_of(node), asked, ['all']) -%}
    {%- if not dry_run and open -%}
        {%- set state = floodmark._model_state(floodmark._node_id(node)) -%}
        {%- if state.last_batch_id != state.finished_id -%}
            {%- do floodmark._require_replay_ended(floodmark._node_id(node), api.Relation.create(schema=node.schema,
                identifier=node.alias or node.name), state.planned) -%}
        {%- endif -%}
        {%- set quarantine = floodmark._quarantine_of(node) -%}
        {#- an UPDATE takes no subquery, which a condition may have -#}
        {%- do floodmark._execute(['merge into ' ~ quarantine ~ " as q using (select _floodmark_id, "
            "concat(_floodmark_reason, '; discarded by ', current_user(), ': ', "
            ~ floodmark._string_literal(reason) ~ ') as reason from '
            ~ quarantine ~ ' where ' ~ floodmark._open_predicate(asked, 'all')
            ~ ") as d on q._floodmark_id = d._floodmark_id and q._floodmark_state = 'open' "
            "when matched then update set _floodmark_state = 'discarded', _floodmark_reason = d.reason"]) -%}
    {%- endif -%}
    {%- do print(('Would discard ' if dry_run else 'Discarded ') ~ floodmark._counted(open, 'row') ~ ' of '
        ~ floodmark._node_id(node) ~ '.') -%}
{% endmacro %}


{# Open rows of a model's quarantine, as a relation for a FROM: none where no row was ever quarantined. #}
{% macro quarantined(relation) %}
    {%- set quarantine = floodmark._quarantine_relation(relation) -%}
    {%- if execute and floodmark._quarantine_exists(quarantine) -%}
        {{ return('(select * from ' ~ quarantine ~ " where _floodmark_state = 'open')") }}
    {%- endif -%}
    {{ return('(select * from ' ~ relation ~ ' where false)') }}
{% endmacro %}


{# The model whose quarantine an operation is on, once its arguments have passed. #}
{% macro _asked_quarantine(operation, model, asked, dry_run, reason='') %}
    {%- do floodmark._check_arguments(operation, {'model': [model, 'name'], 'rule': [asked.rule, 'text'],
        'where': [asked.where, 'text'], 'dry_run': [dry_run, 'flag'],
        'reason': [reason, 'name' if reason is not sameas '' else 'text']}) -%}
    {%- set problems = floodmark._clause_problems('where', asked.where) if asked.where is not none else [] -%}
    {%- if asked.set is mapping -%}
        {%- do problems.extend(floodmark._set_problems('set', asked.set)
            or floodmark._expression_problems('set', floodmark._set_expressions(asked.set))) -%}
    {%- elif asked.set is defined and asked.set is not none -%}
        {%- do problems.append({'setting': 'set', 'got': asked.set, 'expected': 'a mapping of columns to expressions',
            'todo': "Write it as {column: 'expression'}"}) -%}
    {%- endif -%}
    {%- do floodmark._refuse(problems, "operation '" ~ operation ~ "'") -%}
    {%- do asked.update({'set': floodmark._set_expressions(asked.set)}) if asked.get('set') -%}
    {%- set node = floodmark._managed_node(model) -%}
    {%- set quarantine = floodmark._quarantine_of(node) -%}
    {%- do floodmark._stop_without_quarantine(floodmark._node_id(node))
        if not floodmark._quarantine_exists(quarantine) -%}
    {#- the run that follows knows which columns of the table are its own -#}
    {%- set table = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- do floodmark._check_replayed_columns(asked, floodmark._columns_of(relation=quarantine)
        + (floodmark._without_own_names(floodmark._columns_of(relation=table)) if table else [])
        + floodmark._perhaps_selected(node, asked.get('set') or {}), floodmark._node_setting(node, 'files')) -%}
    {%- do floodmark._check_replayed_rule(asked, quarantine,
        floodmark._expectations(floodmark._node_setting(node, 'expectations') or [])) -%}
    {{ return(node) }}
{% endmacro %}


{# Those of some names that the model's SELECT may give as columns, a list of {name}: its code has the word, or what it
   reads has the column. The run that follows knows. #}
{% macro _perhaps_selected(node, names) %}
    {%- set found, read = [], [] -%}
    {%- for id in node.depends_on.nodes if names -%}
        {%- set upstream = graph.sources.get(id) or graph.nodes.get(id) -%}
        {%- set relation = adapter.get_relation(none, upstream.schema, upstream.identifier or upstream.alias)
            if upstream else none -%}
        {%- do read.extend(floodmark._columns_of(relation=relation) if relation else []) -%}
    {%- endfor -%}
    {%- for name in names if floodmark._find_column(read, name)
        or modules.re.search('(?i)(?<!\\w)' ~ modules.re.escape(name) ~ '(?!\\w)', node.raw_code) -%}
        {%- do found.append({'name': name}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{% macro _quarantine_of(node) %}
    {{ return(floodmark._quarantine_relation(api.Relation.create(schema=node.schema,
        identifier=node.alias or node.name))) }}
{% endmacro %}


{# Whether a model has a quarantine, where its schema may not be there yet. #}
{% macro _quarantine_exists(quarantine) %}
    {{ return(quarantine.schema | lower in floodmark._known_schemas() and floodmark._has_quarantine(quarantine)) }}
{% endmacro %}


{# The schemas of the metastore, in lower case, as it keeps them. #}
{% macro _known_schemas() %}
    {{ return(run_query('show schemas').columns[0].values() | map('lower') | list) }}
{% endmacro %}


{# The nodes of models that have a quarantine: a list. `models`, if given, leaves the others out. #}
{% macro _nodes_with_quarantine(models) %}
    {%- set nodes = floodmark._managed_nodes(models).values() | list -%}
    {%- set schemas, known, found = floodmark._known_schemas(), [], [] -%}
    {%- for schema in nodes | map(attribute='schema') | map('lower') | unique if schema in schemas -%}
        {%- for row in run_query('show tables in ' ~ schema ~ " like '*__quarantine'").rows -%}
            {%- do known.append((schema ~ '.' ~ row['tableName']) | lower) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for node in nodes if (floodmark._node_id(node) ~ '__quarantine') | lower in known
        and floodmark._is_quarantine(floodmark._quarantine_of(node)) -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A SELECT of {model, rows_open} of these nodes of models that have a quarantine. #}
{% macro _open_counts_sql(nodes) %}
    {%- set parts = ["select '' as model, bigint(0) as rows_open where false"] -%}
    {%- for node in nodes -%}
        {%- do parts.append('select ' ~ floodmark._string_literal(floodmark._node_id(node)) ~ ', count(*) from '
            ~ floodmark._quarantine_of(node) ~ " where _floodmark_state = 'open'") -%}
    {%- endfor -%}
    {{ return(parts | join('\nunion all ')) }}
{% endmacro %}


{# A SELECT of {model, rule, rows, oldest}: a row for each rule that open rows break, and one without a rule for corrupt
   records. #}
{% macro _quarantine_list_sql(models=none) %}
    {%- do floodmark._check_arguments('quarantine_list', {'models': [models, 'names']}) -%}
    {%- do floodmark._check_names(models) -%}
    {%- set parts = [] -%}
    {%- for node in floodmark._nodes_with_quarantine(models) -%}
        {%- do parts.append('select ' ~ floodmark._string_literal(floodmark._node_id(node)) ~ ' as model, '
            '_floodmark_rule as rule, _floodmark_id as id, _floodmark_quarantined_at as at from '
            ~ floodmark._quarantine_of(node)
            ~ " lateral view outer explode(_floodmark_rules) as _floodmark_rule where _floodmark_state = 'open'") -%}
    {%- endfor -%}
    {%- set none_yet = "select '' as model, '' as rule, '' as id, current_timestamp() as at where false" -%}
    select model, rule, count(*) as rows, {{ floodmark._utc_text_sql('min(at)') }} as oldest
    from ({{ parts | join('\nunion all ') or none_yet }})
    group by model, rule order by model, rule
{% endmacro %}


{# A SELECT of a model's open rows, oldest first: {id, batch_id, rules, reason, row}, the row as JSON. #}
{% macro _quarantine_show_sql(model, rule=none, limit=20) %}
    {%- set node = floodmark._asked_quarantine('quarantine_show', model, {'rule': rule, 'where': none}, false) -%}
    {%- set quarantine = floodmark._quarantine_of(node) -%}
    {%- set names = [] -%}
    {%- for column in floodmark._columns_of(relation=quarantine) if not column.name.startswith('_floodmark_') -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    select _floodmark_batch_id as batch_id, concat_ws(', ', _floodmark_rules) as rules, _floodmark_reason as reason,
        coalesce(_floodmark_file || coalesce(':' || _floodmark_line, ''), '') as file,
        coalesce(_floodmark_raw,
            to_json(struct({{ floodmark._quoted_csv(names) }}), map('ignoreNullFields', 'false'))) as row
    from {{ quarantine }}
    where {{ floodmark._open_predicate({'rule': rule, 'where': none}, 'all') }}
    order by _floodmark_batch_id, _floodmark_quarantined_at, row
    limit {{ limit }}
{% endmacro %}
