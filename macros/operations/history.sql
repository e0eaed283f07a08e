{# Print a model's batches, newest first. #}
{% macro history(model, limit=20) %}
    {%- do run_query(floodmark._history_sql(model, limit)).print_table(max_rows=none, max_columns=none,
        max_column_width=none) -%}
{% endmacro %}


{# A SELECT of a model's batches, newest first. #}
{% macro _history_sql(model, limit=20) %}
    {%- do floodmark._check_arguments('history', {'model': [model, 'name'], 'limit': [limit, 'some']}) -%}
    {%- set id = floodmark._node_id(floodmark._managed_node(model)) -%}
    select batch_id, kind, state, low, high, rows_read, rows_inserted, rows_updated, rows_deleted, rows_null,
        rows_future, rows_late, rows_tied, rows_quarantined, rows_dropped,
        {{ floodmark._utc_text_sql('started_at') }} as started_at,
        {{ floodmark._utc_text_sql('finished_at') }} as finished_at,
        target_version, invocation_id, error, reason, recorded_by
    from {{ floodmark.ledger_schema() }}.batches where model = {{ floodmark._string_literal(id) }}
        order by batch_id desc limit {{ limit }}
{% endmacro %}
