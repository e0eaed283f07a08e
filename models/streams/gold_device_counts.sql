{{ config(
    materialized='streaming_table',
    output_mode='complete',
    trigger={'processing_time': '10 seconds'},
) }}

select
    device_id,
    count_if(event_type = 'USED') as used,
    count_if(event_type = 'FAILED') as failed,
    max(event_at) as last_event_at
from {{ ref('device_usage') }}
group by device_id
