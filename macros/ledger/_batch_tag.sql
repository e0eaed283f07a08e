{# The model that a batch is of: this one, or in an operation the one that the batch names. #}
{% macro _batch_model(batch) %}
    {{ return(batch.get('model') or floodmark._model_id()) }}
{% endmacro %}


{% macro _batch_tag(batch) %}
    {{ return('floodmark/' ~ floodmark._batch_model(batch) ~ '/' ~ batch.generation ~ '/' ~ batch.batch_id) }}
{% endmacro %}


{# The user metadata of the commit that records an event: the batch, and the run that recorded it. #}
{% macro _event_tag(event, batch) %}
    {{ return(floodmark._batch_tag(batch) ~ '/' ~ event ~ '/' ~ invocation_id) }}
{% endmacro %}
