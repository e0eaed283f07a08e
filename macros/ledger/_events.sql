{# What the ledger knows of this model, in one read: {last_batch_id, finished_id, planned, committed}. #}
{% macro _model_state() %}
    {%- set event = 'struct(batch_id, kind, generation, invocation_id, family, low, high, cap, mark, upstream_version, target_id, unix_micros(at) as at)' -%}
    {%- set rows = floodmark._query_json(
        "select to_json(named_struct("
        ~ "'last_batch_id', max(batch_id), "
        ~ "'finished_id', max(batch_id) filter (where event <> 'planned'), "
        ~ "'planned', max_by(" ~ event ~ ", batch_id) filter (where event = 'planned'), "
        ~ "'committed', max_by(" ~ event ~ ", batch_id) filter (where event = 'committed')), map('ignoreNullFields', 'false')) as state "
        ~ "from " ~ floodmark.ledger_schema() ~ ".batch_log where model = " ~ floodmark._string_literal(floodmark._model_id())
    ) -%}
    {{ return(rows[0]) }}
{% endmacro %}


{# Append an event of a batch under a transaction id of its own: a second run that records the same batch is skipped. #}
{% macro _record(event, batch, values) %}
    {%- set step = 'plan' if event == 'planned' else 'finish' -%}
    {%- set columns = {
        'model': floodmark._string_literal(floodmark._model_id()), 'batch_id': batch.batch_id,
        'event': floodmark._string_literal(event), 'at': 'current_timestamp()',
        'kind': floodmark._string_literal(batch.kind), 'generation': floodmark._string_literal(batch.generation),
        'invocation_id': floodmark._string_literal(invocation_id), 'family': floodmark._string_literal(batch.family),
        'low': floodmark._string_literal(batch.low),
    } -%}
    {%- do columns.update(values) -%}
    {%- call statement('floodmark_record', auto_begin=false) -%}
        insert into {{ floodmark.ledger_schema() }}.batch_log with (
            txnAppId = {{ floodmark._string_literal('floodmark/' ~ step ~ '/' ~ floodmark._model_id()) }},
            txnVersion = '{{ batch.batch_id }}',
            userMetadata = {{ floodmark._string_literal(floodmark._event_tag(event, batch)) }}
        ) ({{ columns.keys() | join(', ') }})
        select {{ columns.values() | join(', ') }}
    {%- endcall -%}
{% endmacro %}


{# The user metadata of the commit that records an event: the batch, and the run that recorded it. #}
{% macro _event_tag(event, batch) %}
    {{ return(floodmark._batch_tag(batch) ~ '/' ~ event ~ '/' ~ invocation_id) }}
{% endmacro %}


{# The user metadata of a table's newest commits. #}
{% macro _recent_tags(table) %}
    {{ return(run_query('describe history ' ~ table ~ ' limit 10').columns['userMetadata'].values()) }}
{% endmacro %}
