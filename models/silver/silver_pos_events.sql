{{ config(
    materialized='incremental',
    incremental_strategy='append',
    watermark={'column': 'EventSeq', 'kind': 'sequence', 'gaps': 'warn'},
) }}

with bronze as (
    select * from {{ ref('bronze_pos_events') }}
    where {{ floodmark.watermark_filter() }}
),

pos_events as (
    select
        EventSeq as event_seq,
        StoreID as store_id,
        PosID as pos_id,
        EventType as event_type,
        timestamp_millis(EventTime) as event_at,
        InvoiceNumber as invoice_number,
        source_file,
        loaded_at
    from bronze
)

select * from pos_events
