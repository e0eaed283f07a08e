{# Create the ledger where it is missing: one append-only Delta log, and the views that people read.
   Runs once at the start of `dbt build` and `dbt run`, before any thread loads. A run of models whose settings nobody
   would heed, or whose tables are not theirs alone, stops here. #}
{% macro create_ledger() %}
    {%- set is_run = execute and floodmark._runs_models() -%}
    {%- if is_run -%}
        {%- do floodmark._check_unheeded_settings() -%}
        {%- do floodmark._check_shared_tables(floodmark._ledger_names()) -%}
    {%- endif -%}
    {%- if is_run and not floodmark._is_dry() -%}
        {%- set schema = floodmark.ledger_schema() -%}
        {%- do floodmark._execute(['/*floodmark:ledger*/ create schema if not exists ' ~ schema]) -%}
        {%- set formats = floodmark._ledger_formats(schema) -%}
        {%- if 'batch_log' not in formats -%}
            {%- do floodmark._execute(['/*floodmark:ledger*/ ' ~ floodmark._batch_log_sql(schema)]) -%}
        {%- elif formats.get('batches', 1) < floodmark._ledger_format() -%}
            {%- do floodmark._migrate_ledger(schema) -%}
        {%- endif -%}
        {%- for name, sql in floodmark._ledger_views(schema).items()
            if formats.get(name, 0) < floodmark._ledger_format() -%}
            {%- do floodmark._execute(['/*floodmark:ledger*/ create or replace view ' ~ schema ~ '.' ~ name
                ~ " tblproperties ('floodmark.ledger' = '" ~ floodmark._ledger_format() ~ "') as " ~ sql]) -%}
        {%- endfor -%}
        {%- do floodmark._remember_states(is_new='batch_log' not in formats) -%}
    {%- endif -%}
{% endmacro %}


{# The log and its views, in small letters. #}
{% macro _ledger_names() %}
    {%- set schema, names = floodmark.ledger_schema(), [] -%}
    {%- for name in ['batch_log'] + floodmark._ledger_views(schema).keys() | list -%}
        {%- do names.append((schema ~ '.' ~ name) | lower) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{% macro _ledger_exists() %}
    {%- set log = adapter.get_relation(none, floodmark.ledger_schema(), 'batch_log') -%}
    {{ return(log is not none) }}
{% endmacro %}


{# One row an event (_event_comment): a batch is planned, then committed or failed. Nothing is ever updated, so threads
   never conflict. #}
{% macro _batch_log_sql(schema) %}
    create table if not exists {{ schema }}.batch_log (
        model string comment 'schema.alias of the model',
        batch_id bigint comment 'number of the batch, per model, never falling',
        event string comment '{{ floodmark._event_comment() }}',
        at timestamp comment 'when the event was recorded',
        kind string comment 'incremental, first_load, full_refresh, backfill, replay, stream or reset',
        generation string comment 'the invocation that began the table: part of the transaction id',
        invocation_id string comment 'the dbt invocation that recorded the event',
        family string comment 'timestamp, timestamp_ntz, date, sequence or version; NULL without a watermark',
        watermark_column string comment 'the column that the bounds are of',
        low string comment 'the previous mark; NULL at first',
        high string comment 'the high bound',
        cap string comment 'rows above it wait: now and max_future, as of the plan',
        mark string comment 'the mark once the batch is committed',
        is_last boolean comment 'whether nothing more was due when the batch was planned',
        lookback bigint comment 'how far below the mark it read, in microseconds or numbers',
        upstream string comment 'schema.table that the bounds are of',
        upstream_version bigint comment 'Delta version of the upstream when the batch was planned',
        upstream_at string comment 'when that version was committed: with it, the identity of the upstream',
        upstream_id string comment 'Delta id of the upstream',
        target_id string comment 'Delta id of the table that the batch left',
        target_version bigint comment 'Delta version that the batch made',
        files array<{{ floodmark._file_struct() }}> comment 'the files of the batch; modified_at in microseconds',
        file_schema string comment '{{ floodmark._file_schema_comment() }}',
        rows_read bigint, rows_inserted bigint, rows_updated bigint, rows_deleted bigint,
        rows_kept bigint, rows_dropped bigint, rows_quarantined bigint,
        rows_null bigint comment 'rows without a watermark value, left out',
        rows_future bigint comment 'rows beyond max_future, waiting',
        rows_late bigint comment 'rows that came at or below the mark',
        rows_tied bigint comment 'rows with the key and the watermark value of another, decided by row hash',
        error string,
        reason string comment 'of a reset or a backfill: why, or which range, as people read it',
        recorded_by string comment 'the user who reset the mark, or asked for the batch',
        asked string comment '{{ floodmark._asked_comment() }}',
        expectations string comment '{{ floodmark._expectations_comment() }}'
    ) using delta
    tblproperties ('delta.autoOptimize.autoCompact' = 'true', 'delta.checkpointInterval' = '30',
        'delta.dataSkippingStatsColumns' = 'model,batch_id', 'floodmark.ledger' = '{{ floodmark._ledger_format() }}')
{% endmacro %}


{% macro _event_comment() %}
    {{ return('planned, committed or failed; waiting: a gap was seen at `low`; skipped, forgotten or archived: what '
        'became of `files`; schema: the schema of files was set back') }}
{% endmacro %}


{% macro _expectations_comment() %}
    {{ return('of a plan the rules of the batch; of its end what became of each: [{"name", "action", "rows_judged", '
        '"violations", "sample"}]') }}
{% endmacro %}


{# What the ledger keeps of a file: its size in bytes, its time in microseconds. #}
{% macro _file_struct() %}
    {{ return('struct<path: string, size: bigint, modified_at: bigint, rows: bigint, rows_rescued: bigint, '
        'rows_quarantined: bigint, reason: string>') }}
{% endmacro %}


{% macro _file_schema_comment() %}
    {{ return('the schema in which the files of the batch are read: {"version", "format", "record", "partitions", '
        '"added"}') }}
{% endmacro %}
