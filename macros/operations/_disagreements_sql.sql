{# A SELECT of what is wrong between the ledger and the tables: model, problem, remedy. #}
{% macro _disagreements_sql() %}
    {%- set rows = [] -%}
    {%- if floodmark._ledger_exists() -%}
        {%- for node in floodmark._managed_nodes().values() -%}
            {%- set found = floodmark._disagreement(node) -%}
            {%- if found -%}
                {%- do rows.append([floodmark._node_id(node)] + found) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(floodmark._values_sql({'model': 'string', 'problem': 'string', 'remedy': 'string'}, rows)) }}
{% endmacro %}


{# What is wrong with one model, and what to do: [problem, remedy], or none. #}
{% macro _disagreement(node) %}
    {%- set state = floodmark._model_state(floodmark._node_id(node)) -%}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- set name = floodmark._node_name(node) -%}
    {%- set strategy = node.config.get('incremental_strategy') or 'append' -%}
    {%- set can_reset = floodmark._node_setting(node, 'watermark') is mapping
        and strategy != 'snapshot_diff' -%}
    {%- set refresh = '`dbt build -s ' ~ floodmark._selector_of(node) ~ ' --full-refresh`'
        ~ (' (take full_refresh=false out for that run)' if node.config.get('full_refresh') is sameas false else '') -%}
    {%- set ways_out = refresh ~ (', or `floodmark reset ' ~ name ~ ' --to <value>`' if can_reset else '') -%}
    {%- if state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {{ return(['batch ' ~ state.last_batch_id ~ ' is unfinished', 'run the model: it finishes the batch first']) }}
    {%- elif not state.committed -%}
        {{ return(['the table has rows, but the ledger has no mark for it', ways_out]
            if relation is not none and relation.is_delta and not floodmark._has_no_rows(relation) else none) }}
    {%- elif relation is none -%}
        {{ return(['the ledger has batch ' ~ state.committed.batch_id ~ ', but there is no table',
            'run the model: it is a first load']) }}
    {%- elif not relation.is_delta -%}
        {{ return(['it is not a Delta table', 'run it once with --full-refresh']) }}
    {%- elif state.committed.target_id is not none
        and floodmark._detail(relation).id != state.committed.target_id -%}
        {{ return(['it is not the table that batch ' ~ state.committed.batch_id ~ ' left',
            refresh if floodmark._misfits_state(relation, strategy, false, true) else ways_out]) }}
    {%- endif -%}
    {%- set known = state.landed.target_version if state.landed else none -%}
    {%- set commits = floodmark._commits_since(relation, floodmark._history(relation, 1)[0].version, known)
        if state.landed else [] -%}
    {%- set restored = floodmark._restored_below(commits, known) -%}
    {%- set unknown = floodmark._unknown_batch(floodmark._node_id(node), commits, known) -%}
    {%- set mends = floodmark._mends_table({'strategy': strategy,
        'watermark': floodmark._node_setting(node, 'watermark'), 'files': floodmark._node_setting(node, 'files')},
        state.committed) -%}
    {%- if unknown and not restored and not mends -%}
        {{ return(['it has batch ' ~ unknown.number ~ ', of which the ledger has no event', ways_out]) }}
    {%- endif -%}
    {{ return(['it ' ~ restored ~ ' after batch ' ~ state.landed.batch_id, 'run the model: it compares all rows again'
        if mends else (refresh if floodmark._misfits_state(relation, strategy, true, false) else ways_out)]
        if restored else none) }}
{% endmacro %}
