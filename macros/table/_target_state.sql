{# What stands where the model loads: {exists, is_empty, is_delta, id, relation, newest, looked_at, disturbed,
   is_known}. Where the table's newest commit is the one that the ledger knows (is_known), nobody has touched it
   since; a table that is not there and of which the ledger knows nothing is known too. Else it is looked at: a table
   without files is empty, one with files may be too, which is looked up only where no mark tells. A table that its own
   batches left empty is not new (_may_be_left_empty). `disturbed` says what was done to it, or is none. #}
{% macro _target_state(state) %}
    {%- set relation = load_relation(this) -%}
    {%- if relation is none or relation.is_view or not relation.is_delta -%}
        {{ return({'exists': relation is not none, 'is_delta': false, 'is_empty': true, 'id': none,
            'relation': relation, 'disturbed': none,
            'is_known': relation is none and state and state.last_batch_id is none}) }}
    {%- endif -%}
    {%- set landed = state.landed if state else none -%}
    {%- set remembers = floodmark._may_be_left_empty(config.get('incremental_strategy'), landed) -%}
    {%- set looked_at = floodmark._now() -%}
    {%- set newest = floodmark._history(this, 1)[0] if landed else none -%}
    {%- if newest and newest.version == landed.target_version and newest.tag == floodmark._batch_tag(landed) -%}
        {{ return({'exists': true, 'is_delta': true, 'newest': newest, 'looked_at': looked_at,
            'is_empty': not remembers and landed.kind in ['first_load', 'full_refresh']
            and newest.counts.get('numOutputRows') == 0, 'id': state.committed.target_id, 'relation': relation,
            'disturbed': none, 'is_known': true}) }}
    {%- endif -%}
    {%- set detail = floodmark._detail(this) -%}
    {%- set is_kept = remembers and detail.id == state.committed.target_id
        and floodmark._is_untouched_since(this, newest.version, landed.target_version) -%}
    {{ return({'exists': true, 'is_delta': true, 'id': detail.id, 'relation': relation, 'is_known': false,
        'newest': newest, 'looked_at': looked_at,
        'is_empty': not is_kept and (detail.files == 0
        or not (state and state.committed) and floodmark._has_no_rows(this)),
        'disturbed': floodmark._disturbed_since(this, newest.version, landed.target_version)
        if landed and detail.id == state.committed.target_id else none}) }}
{% endmacro %}
