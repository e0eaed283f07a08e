{{ config(
    materialized='streaming_table',
    unique_key=['device_id', 'event_type', 'event_at'],
    trigger={'processing_time': '10 seconds'},
) }}

with bronze as (
    select *
    from stream({{ ref('bronze_device_events') }}) watermark event_time delay of interval 1 hour
),

device_events as (
    select
        device_id,
        regexp_extract(device_id, '^(STR[0-9]+)', 1) as store_id,
        event_type,
        event_time as event_at,
        source_file,
        loaded_at
    from bronze
)

select * from device_events
