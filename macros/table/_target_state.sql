{# The state of the model's table: {exists, is_empty, is_delta, id, relation, newest, looked_at, disturbed, unknown,
   is_known}.
   If its newest commit is the one that the ledger knows (is_known), nobody has changed it since; a table that neither
   exists nor is in the ledger is known too. Otherwise it is inspected: without files it is empty. If it has files but
   the ledger has no mark, its rows are looked up. A table that its own batches left empty is not new
   (_may_be_left_empty). `disturbed` says how somebody took rows back, `unknown` which batch the ledger does not have
   (_unknown_batch); both are none elsewhere. #}
{% macro _target_state(state) %}
    {%- set relation = floodmark._present_relation() -%}
    {%- if relation is none or relation.is_view or not relation.is_delta -%}
        {{ return({'exists': relation is not none, 'is_delta': false, 'is_empty': true, 'id': none,
            'relation': relation, 'disturbed': none,
            'is_known': relation is none and state and state.last_batch_id is none}) }}
    {%- endif -%}
    {%- set landed = state.landed if state else none -%}
    {%- set looked_at = floodmark._now() -%}
    {%- set newest = floodmark._history(this, 1)[0] if landed else none -%}
    {%- if newest and newest.version == landed.target_version and newest.tag == floodmark._batch_tag(landed) -%}
        {{ return({'exists': true, 'is_delta': true, 'newest': newest, 'looked_at': looked_at,
            'is_empty': landed.kind in ['first_load', 'full_refresh'] and newest.counts.get('numOutputRows') == 0
            and not floodmark._may_be_left_empty(config, landed), 'id': state.committed.target_id,
            'relation': relation, 'disturbed': none, 'is_known': true}) }}
    {%- endif -%}
    {%- set detail = floodmark._detail(this) -%}
    {%- set is_empty = detail.files == 0 or not (state and state.committed) and floodmark._has_no_rows(this) -%}
    {%- set is_kept = is_empty and floodmark._may_be_left_empty(config, landed)
        and floodmark._is_as_left(state, this, detail.id, newest) -%}
    {%- set known = landed.target_version if landed else none -%}
    {%- set commits = floodmark._commits_since(this, newest.version, known)
        if landed and detail.id == state.committed.target_id else [] -%}
    {{ return({'exists': true, 'is_delta': true, 'id': detail.id, 'relation': relation, 'is_known': false,
        'newest': newest, 'looked_at': looked_at,
        'is_empty': is_empty and not is_kept,
        'disturbed': floodmark._restored_below(commits, known),
        'unknown': floodmark._unknown_batch(floodmark._model_id(), commits, known)}) }}
{% endmacro %}


{# Whether somebody has taken the rows of a table that batches of this generation have filled: it is loaded from the
   start. A table that its own batches leave empty goes on. Of this model, or of `relation`. #}
{% macro _was_emptied(state, generation, relation=none) %}
    {%- if not state.landed or state.landed.generation != generation -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set table = relation or this -%}
    {%- set version = state.landed.target_version | int -%}
    {%- set newest = floodmark._history(table, 1)[0].version -%}
    {%- for commit in (floodmark._history(table, newest - version) if newest > version else [])
        if not floodmark._is_ours(commit) and (commit.operation in ['DELETE', 'TRUNCATE', 'WRITE', 'MERGE']
        or floodmark._makes_anew(commit)) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Whether a table is as the last batch of its model left it: nobody has made it anew, or changed a row of it. `newest`
   is its newest commit. #}
{% macro _is_as_left(state, relation, id, newest) %}
    {{ return(state.landed and state.committed.target_id == id
        and floodmark._is_untouched_since(relation, newest.version, state.landed.target_version)) }}
{% endmacro %}


{# Whether a model's batches may leave its table empty, which is then not new: cdc remembers deletes, all rows of a
   snapshot may rightly be gone, and files, and rows below a mark, are read once, whatever becomes of them. #}
{% macro _may_be_left_empty(settings, landed) %}
    {%- set strategy = settings.get('incremental_strategy') -%}
    {{ return(landed and (strategy == 'snapshot_diff' or strategy == 'cdc' and landed.kind == 'reset'
        or landed.rows_read and (strategy == 'cdc'
            or landed.kind != 'stream' and floodmark._configured(settings, 'watermark') is not none)
        or floodmark._configured(settings, 'files') and floodmark._has_read_records(landed))) }}
{% endmacro %}


{# Whether a batch, or another of its generation, read records of its files. Where all were corrupt nothing has said
   anything about the table yet. #}
{% macro _has_read_records(batch) %}
    {{ return(not floodmark._has_no_rows(floodmark._log_of(batch.model) ~ ' and generation = '
        ~ floodmark._string_literal(batch.generation)
        ~ " and event = 'committed' and exists(files, f -> f.rows > 0)")) }}
{% endmacro %}
