{# What the ledger knows of a model, in one read: {last_batch_id, finished_id, planned, committed, landed, waiting}. `committed` is
   the last committed batch, `landed` the last that wrote to the target, `waiting` the gap that was waited for last. #}
{% macro _model_state(model_id=none) %}
    {%- set event = 'struct(batch_id, kind, generation, invocation_id, family, watermark_column, low, high, cap, mark, is_last, lookback, upstream, upstream_version, upstream_at, upstream_id, target_id, target_version, reason, unix_micros(at) as at)' -%}
    {%- set rows = floodmark._query_json(
        "select to_json(named_struct("
        ~ "'last_batch_id', max(batch_id) filter (where event <> 'waiting'), "
        ~ "'finished_id', max(batch_id) filter (where event in ('committed', 'failed')), "
        ~ "'planned', max_by(" ~ event ~ ", batch_id) filter (where event = 'planned'), "
        ~ "'committed', max_by(" ~ event ~ ", batch_id) filter (where event = 'committed'), "
        ~ "'landed', max_by(" ~ event ~ ", batch_id) filter (where event = 'committed' and target_version is not null), "
        ~ "'waiting', max_by(" ~ event ~ ", at) filter (where event = 'waiting')), map('ignoreNullFields', 'false')) as state "
        ~ "from " ~ floodmark.ledger_schema() ~ ".batch_log where model = " ~ floodmark._string_literal(model_id or floodmark._model_id())
    ) -%}
    {{ return(rows[0]) }}
{% endmacro %}


{# Append an event of a batch under a transaction id of its own: a second run that records the same batch is skipped. #}
{% macro _record(event, batch, values) %}
    {%- set step = {'planned': 'plan', 'waiting': 'wait'}.get(event, 'finish') -%}
    {%- set id = floodmark._batch_model(batch) -%}
    {%- set columns = {
        'model': floodmark._string_literal(id), 'batch_id': batch.batch_id,
        'event': floodmark._string_literal(event), 'at': 'current_timestamp()',
        'kind': floodmark._string_literal(batch.kind), 'generation': floodmark._string_literal(batch.generation),
        'invocation_id': floodmark._string_literal(invocation_id), 'family': floodmark._string_literal(batch.family),
        'watermark_column': floodmark._string_literal(batch.get('watermark_column')), 'upstream': floodmark._string_literal(batch.get('upstream')),
        'low': floodmark._string_literal(batch.low), 'reason': floodmark._string_literal(batch.get('reason')),
    } -%}
    {%- do columns.update(values) -%}
    {%- call statement('floodmark_record', auto_begin=false) -%}
        insert into {{ floodmark.ledger_schema() }}.batch_log with (
            txnAppId = {{ floodmark._string_literal('floodmark/' ~ step ~ '/' ~ id) }},
            txnVersion = '{{ batch.get('txn_version', batch.batch_id) }}',
            userMetadata = {{ floodmark._string_literal(floodmark._event_tag(event, batch)) }}
        ) ({{ columns.keys() | join(', ') }})
        values ({{ columns.values() | join(', ') }})
    {%- endcall -%}
{% endmacro %}


{# The user metadata of the commit that records an event: the batch, and the run that recorded it. #}
{% macro _event_tag(event, batch) %}
    {{ return(floodmark._batch_tag(batch) ~ '/' ~ event ~ '/' ~ invocation_id) }}
{% endmacro %}


{# The user metadata of a table's newest commits. #}
{% macro _recent_tags(table) %}
    {{ return(floodmark._history(table, 10) | map(attribute='tag') | list) }}
{% endmacro %}
