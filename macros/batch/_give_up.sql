{# End a batch that an earlier run left open, without loading it: its transaction id is used up on the table where it
   has not landed, so that a run which still lives cannot apply it later. #}
{% macro _give_up(id, relation, planned) %}
    {%- set batch = dict(planned, model=id) -%}
    {%- set is_cdc = batch.settings.strategy == 'cdc' -%}
    {%- if is_cdc -%}
        {%- do batch.update({'attempt': floodmark._now() // 1000000}) -%}
    {%- endif -%}
    {%- set landed = floodmark._landed(relation, batch) if relation.is_delta else none -%}
    {%- if landed is none and relation.is_delta -%}
        {%- do floodmark._fence(batch, relation) -%}
        {%- set landed = floodmark._landed(relation, batch) -%}
    {%- endif -%}
    {%- set beside = adapter.get_relation(none, relation.schema, relation.identifier ~ '__cdc_state') if is_cdc
        else none -%}
    {%- if is_cdc and landed is not none and 'AS SELECT' in landed.operation -%}
        {%- do floodmark._stop('batch ' ~ planned.batch_id
            ~ ' has made the table, and what cdc remembers beside it may be missing: run the model '
            'once, which finishes it, then reset', id) -%}
    {%- elif beside is not none and landed is none -%}
        {%- do floodmark._fence(batch, beside) -%}
        {%- set written = floodmark._landed(beside, batch) -%}
        {%- if written is not none and not floodmark._is_undone(beside, written) -%}
            {%- do floodmark._undo_state(beside, written) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do floodmark._record('failed' if landed is none else 'committed', batch,
        {'error': "'given up by a reset'" if landed is none else 'null',
        'mark': floodmark._string_literal(planned.high), 'target_version': landed.version if landed else 'null'}) -%}
    {%- do floodmark._drop_stages(floodmark._stages(relation), planned.batch_id) -%}
{% endmacro %}
