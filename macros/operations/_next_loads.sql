{# What `floodmark plan` asks: how many rows wait, and what kind of batch the next run is. #}

{# A SELECT of one JSON row: what the next run of a stream would read, {kind, low, high, files, bytes}; `due` is its
   compiled SELECT. #}
{% macro _pending_sql(due, name) %}
    {%- set stream = floodmark._stream_node(name) -%}
    {%- if stream.is_readable -%}
        {%- set is_refreshed = stream.relation is not none and stream.config.get('full_refresh') -%}
        {%- set goes_on = stream.location and not is_refreshed and not floodmark._is_emptied_stream(stream) -%}
        {%- set found = adapter.floodmark_streams().pending(dict(floodmark._stream_request(stream.id, stream.settings,
            due), location=stream.location if goes_on else '')) -%}
        {%- do found.update({'kind': 'full_refresh'}) if is_refreshed and found.kind == 'first_load' -%}
    {%- else -%}
        {%- set found = {'kind': 'needs method: session', 'low': none, 'high': none, 'files': none, 'bytes': none} -%}
    {%- endif -%}
    {{ return(floodmark._values_sql({'found': 'string'}, [[tojson(found)]])) }}
{% endmacro %}


{# Whether the next run of a stream that has a checkpoint begins with another one, since somebody emptied its table. #}
{% macro _is_emptied_stream(stream) %}
    {%- set generation = stream.location.split('/') | last -%}
    {{ return(floodmark._detail(stream.relation).files == 0 and floodmark._ledger_exists()
        and floodmark._is_bare(floodmark._model_state(stream.id), generation, true, stream.relation)) }}
{% endmacro %}


{# A SELECT of {unique_id, kind}: what the next run is of models that read all that their SELECT gives, of which
   nothing in their SQL tells. #}
{% macro _next_kinds_sql(names) %}
    {%- set has_ledger = floodmark._ledger_exists() -%}
    {%- set rows = [] -%}
    {%- for id, node in floodmark._managed_nodes(names).items() -%}
        {%- do rows.append([id, floodmark._next_kind(node, has_ledger)]) -%}
    {%- endfor -%}
    {{ return(floodmark._values_sql({'unique_id': 'string', 'kind': 'string'}, rows)) }}
{% endmacro %}


{# The kind of a model's next batch, as _next_batch plans it once the run has recorded what a dead one left in the
   table. #}
{% macro _next_kind(node, has_ledger) %}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- set state = floodmark._model_state(floodmark._node_id(node)) if has_ledger
        else {'committed': none, 'landed': none} -%}
    {%- set committed = state.committed -%}
    {%- if relation is not none and node.config.get('full_refresh') -%}
        {{ return('full_refresh') }}
    {%- elif relation is none or not relation.is_delta
        or not committed and not floodmark._landed_and_open(relation, state) -%}
        {{ return('first_load') }}
    {%- endif -%}
    {%- set detail = floodmark._detail(relation) -%}
    {%- set is_kept = not detail.files and floodmark._may_be_left_empty(node.config, state.landed)
        and floodmark._is_as_left(state, relation, detail.id, floodmark._history(relation, 1)[0]) -%}
    {{ return('incremental' if detail.files or is_kept else 'first_load') }}
{% endmacro %}


{# A stream by its model's name: {id, config, relation, settings of its request, location of its checkpoint or none,
   is_readable: whether this target runs streams}. #}
{% macro _stream_node(name) %}
    {%- set node = floodmark._managed_node(name) -%}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- set is_readable = adapter.floodmark_method() == 'session' -%}
    {%- set settings = {'strategy': floodmark._stream_strategy(node.config),
        'output_mode': floodmark._output_mode(node.config),
        'unique_key': floodmark._distinct_names(node.config.get('unique_key')),
        'expectations': floodmark._node_setting(node, 'expectations')} -%}
    {{ return({'id': floodmark._node_id(node), 'config': node.config, 'relation': relation, 'settings': settings,
        'is_readable': is_readable,
        'location': floodmark._checkpoint_of(node, relation) if is_readable else none}) }}
{% endmacro %}
