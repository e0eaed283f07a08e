{# The model that a batch is of: this one, or in an operation the one that the batch names. #}
{% macro _batch_model(batch) %}
    {{ return(batch.get('model') or floodmark._model_id()) }}
{% endmacro %}


{# Whether a batch begins its table anew, and reads all there is: a stream does with its checkpoint's first
   micro-batch. #}
{% macro _begins_anew(batch) %}
    {{ return(batch.kind in ['first_load', 'full_refresh'] or batch.begins
        or batch.kind == 'stream' and batch.low_position is none) }}
{% endmacro %}


{% macro _batch_tag(batch) %}
    {{ return('floodmark/' ~ floodmark._batch_model(batch) ~ '/' ~ batch.generation ~ '/' ~ batch.batch_id) }}
{% endmacro %}


{# The user metadata of the commit that records an event: the batch, and the run that recorded it. #}
{% macro _event_tag(event, batch) %}
    {{ return(floodmark._batch_tag(batch) ~ '/' ~ event ~ '/' ~ invocation_id) }}
{% endmacro %}


{# The commit of a batch in a table: {version, metrics, writer, operation, peak, counted}; none where the table does
   not have it. Where this run's own statement has just made it, Delta said so; else the table's history tells. #}
{% macro _landed(table, batch) %}
    {%- if batch.get('applied') and batch.applied.table == table | string -%}
        {{ return(batch.applied) }}
    {%- endif -%}
    {%- set tag = floodmark._batch_tag(batch) -%}
    {%- for limit in [3, 20, none] -%}
        {%- set commits = floodmark._history(table, limit) -%}
        {%- for commit in commits if commit.tag == tag and not floodmark._leaves_rows(commit) -%}
            {{ return({'version': commit.version, 'metrics': commit.counts, 'writer': commit.writer,
                'operation': commit.operation, 'peak': commit.peak, 'counted': commit.counted}) }}
        {%- endfor -%}
        {%- if limit is not none and commits | length < limit -%}
            {{ return(none) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The batch that a run left open and whose rows are in the table; none where there is none. The next run only records
   it. `state` as in _model_state. #}
{% macro _landed_and_open(table, state) %}
    {%- set is_open = state.get('last_batch_id') is not none and state.last_batch_id != state.finished_id -%}
    {{ return(state.planned if is_open and floodmark._landed(table, state.planned) is not none else none) }}
{% endmacro %}
