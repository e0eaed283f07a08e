{{ config(materialized='ephemeral') }}

-- A view of a stream: whatever selects from it is a stream.
select
    device_id,
    event_type,
    event_at
from stream({{ ref('silver_device_events') }})
where event_type in ('USED', 'FAILED')
