{# The batch as the ledger stored it, in the form that _next_batch gives. Its lookback is that of its plan, since the
   setting may have changed. A strategy that adds blindly has none: it would add what another one reads again. Whether
   there is more upstream by now, nobody has asked. #}
{% macro _stored_batch(run, planned) %}
    {%- set watermark = run.settings.watermark -%}
    {%- set family = planned.family -%}
    {%- set reach = floodmark._reach(watermark or {}, family) -%}
    {%- set begins = planned.kind in ['first_load', 'full_refresh'] and run.target.is_empty -%}
    {%- set stages = run.stages | selectattr('batch_id', 'equalto', planned.batch_id | int) | list -%}
    {{ return({'staged_by': stages | selectattr('part', 'equalto', none) | map(attribute='staged_by') | first
        | default(none), 'judged_by': floodmark._stored_judge(planned, stages | selectattr('part', 'equalto', 'judged')
        | map(attribute='staged_by') | list), 'settings': run.settings, 'batch_id': planned.batch_id | int,
        'kind': planned.kind,
        'generation': planned.generation, 'begins': begins,
        'replaces': begins and floodmark._replaces_target(run, planned.kind), 'family': family, 'low': planned.low,
        'high': planned.high, 'cap': planned.cap, 'low_position': floodmark._position_parse(planned.low, family),
        'high_position': floodmark._position_parse(planned.high, family),
        'cap_position': floodmark._position_parse(planned.cap, family), 'start_position': reach.start,
        'lookback': planned.lookback or 0 if not floodmark._strategy(run.settings).adds_blindly else 0,
        'nulls': watermark.nulls if watermark else none, 'upstream_version': planned.upstream_version,
        'upstream_at': planned.upstream_at, 'upstream_id': planned.upstream_id,
        'watermark_column': planned.watermark_column, 'upstream': planned.upstream, 'reason': planned.reason,
        'asked': floodmark._stored_asked(planned.batch_id) if planned.kind in ['backfill', 'replay'] else none,
        'records_by': stages | selectattr('part', 'equalto', 'files') | map(attribute='staged_by') | first
        | default(none), 'rows_null': 0, 'rows_future': 0, 'rows_late': 0, 'is_last': planned.is_last or false,
        'is_held': true, 'is_taken_over': true, 'files': none}) }}
{% endmacro %}


{# The run whose judgement of a batch counts, of those whose tables are there: its rows are in the quarantine. None
   where that one's is gone; any where there are none. #}
{% macro _stored_judge(planned, judges) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set held = floodmark._landed(quarantine, planned) if judges and floodmark._has_quarantine(quarantine)
        else none -%}
    {%- if held and held.writer -%}
        {{ return(held.writer if held.writer in judges else none) }}
    {%- endif -%}
    {{ return(judges | first | default(none)) }}
{% endmacro %}
