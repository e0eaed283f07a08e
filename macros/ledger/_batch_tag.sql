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


{# Whether a batch replays corrupt records, or rows: these are in the quarantine as the SELECT gave them. #}
{% macro _replays_records(batch) %}
    {{ return(batch.kind == 'replay' and batch.asked.part == 'records') }}
{% endmacro %}


{% macro _replays_rows(batch) %}
    {{ return(batch.kind == 'replay' and batch.asked.part != 'records') }}
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


{# A batch that a table has above its version `known` and the ledger does not, {number, version, tag}, the one of the
   greatest number; none where there is none. A plan is in the ledger before its batch is in the table: this ledger is
   older than the table, or the table was loaded with another one, or under another name. #}
{% macro _unknown_batch(id, commits, known) %}
    {%- set found, planned = [], [] -%}
    {%- for commit in commits if commit.version > known and floodmark._is_ours(commit)
        and not floodmark._leaves_rows(commit) -%}
        {%- do found.append({'number': commit.tag.split('/') | last | int, 'version': commit.version,
            'tag': commit.tag}) -%}
    {%- endfor -%}
    {%- if not found -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for event in floodmark._query_json('select to_json(struct(model, generation, batch_id)) from '
        ~ floodmark._log_of(id) ~ ' and batch_id in (' ~ found | map(attribute='number') | join(', ') ~ ')') -%}
        {%- do planned.append(floodmark._batch_tag(event)) -%}
    {%- endfor -%}
    {{ return(found | rejectattr('tag', 'in', planned) | sort(attribute='number') | last | default(none)) }}
{% endmacro %}


{# What a run says of such a batch; the ways out follow. #}
{% macro _unknown_sentence(unknown) %}
    {{ return(this ~ ' has batch ' ~ unknown.number ~ ' in its version ' ~ unknown.version ~ ' (' ~ unknown.tag
        ~ '), and ' ~ floodmark.ledger_schema() ~ '.batch_log has no event of it. The ledger is older than the table, '
        'or the table was loaded with another one (variable floodmark_schema), so nobody can tell which rows are '
        'loaded: ') }}
{% endmacro %}


{# Have the next batch's number lie behind that of an unknown one: Delta skips what is sent under a used one. #}
{% macro _number_behind(state, unknown) %}
    {%- set number = [state.last_batch_id or 0, unknown.number] | max -%}
    {%- do state.update({'last_batch_id': number, 'finished_id': number}) -%}
{% endmacro %}


{# The batch that a run left open and whose rows are in the table; none where there is none. The next run only records
   it. `state` as in _model_state. #}
{% macro _landed_and_open(table, state) %}
    {%- set is_open = state.get('last_batch_id') is not none and state.last_batch_id != state.finished_id -%}
    {{ return(state.planned if is_open and floodmark._landed(table, state.planned) is not none else none) }}
{% endmacro %}
