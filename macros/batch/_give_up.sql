{# End a batch that an earlier run left open, without loading it: its transaction id is used up on the table where it
   has not landed, so that a run which still lives cannot apply it later. #}
{% macro _give_up(id, relation, planned) %}
    {%- set batch = dict(planned, model=id) -%}
    {%- set strategy = floodmark._strategy(batch.settings) -%}
    {%- if strategy.app_suffix -%}
        {%- do batch.update({'attempt': floodmark._next_attempt(batch, [relation] if relation.is_delta else [])}) -%}
    {%- endif -%}
    {%- set landed = floodmark._landed(relation, batch) if relation.is_delta else none -%}
    {%- if landed is none and relation.is_delta -%}
        {%- do floodmark._fence(batch, relation) -%}
        {%- set landed = floodmark._landed(relation, batch) -%}
    {%- endif -%}
    {%- if landed is not none and planned.kind == 'replay' -%}
        {%- do floodmark._stop('batch ' ~ planned.batch_id ~ ' has replayed rows and is unfinished: run the model '
            'first, which finishes the batch', id) -%}
    {%- elif landed is none -%}
        {%- do floodmark._take_back_quarantined(batch, relation) -%}
    {%- endif -%}
    {%- if strategy.give_up -%}
        {%- do strategy.give_up(id, relation, batch, landed) -%}
    {%- endif -%}
    {%- do floodmark._record('failed' if landed is none else 'committed', batch,
        {'error': "'given up by a reset'" if landed is none else 'null',
        'mark': floodmark._string_literal(planned.high), 'target_version': landed.version if landed else 'null'}) -%}
    {%- do floodmark._drop_left_stages(floodmark._stages(relation), planned.batch_id) -%}
{% endmacro %}
