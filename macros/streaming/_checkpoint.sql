{# The folder of a model's checkpoints: below the given `checkpoint_location`, or beside the ledger, whose place Spark
   prints with %20 for a space. Earlier versions took that as it was: what they left there stays in use. #}
{% macro _checkpoint_base(given, id) %}
    {%- if given -%}
        {%- set base = floodmark._absolute_path(given) -%}
    {%- else -%}
        {%- set described = {} -%}
        {%- for row in run_query('describe schema ' ~ floodmark.ledger_schema()).rows -%}
            {%- do described.update({row[0]: row[1]}) -%}
        {%- endfor -%}
        {%- set printed = described['Location'] ~ '/_checkpoints' -%}
        {%- set base = floodmark._decoded_path(printed) -%}
        {%- if base != printed and adapter.floodmark_streams().has_folder(printed ~ '/' ~ id)
            and not adapter.floodmark_streams().has_folder(base ~ '/' ~ id) -%}
            {%- set base = printed -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(base ~ '/' ~ id) }}
{% endmacro %}


{# The checkpoint that a table's properties name, by the invocation that made it; none where no stream of this model
   made the table. #}
{% macro _generation_in(properties, id) %}
    {%- set made_by = floodmark._from_property(properties.get('floodmark.stream')) or '/' -%}
    {%- set model_id, generation = made_by.split('/') -%}
    {{ return(generation if model_id == id else none) }}
{% endmacro %}


{# Where this model's checkpoint of a generation is. #}
{% macro _own_checkpoint(generation) %}
    {{ return(floodmark._checkpoint_base(floodmark._setting('checkpoint_location'), floodmark._model_id()) ~ '/'
        ~ generation) }}
{% endmacro %}


{# Where the checkpoint of another node is; none where it has no table, or one that no stream of it made. #}
{% macro _checkpoint_of(node, relation) %}
    {%- set id = floodmark._node_id(node) -%}
    {%- set generation = floodmark._generation_in(floodmark._properties_of(relation) if relation and relation.is_delta
        else {}, id) -%}
    {{ return(floodmark._checkpoint_base(floodmark._node_setting(node, 'checkpoint_location'), id) ~ '/' ~ generation
        if generation else none) }}
{% endmacro %}
