{{ config(
    materialized='streaming_table',
    files={
        'path': var('landing', 'data/landing') ~ '/device_events',
        'format': 'json',
        'schema': 'device_id string, event_type string, event_time timestamp',
    },
) }}

-- depends_on: {{ source('pos', 'device_events') }}
select
    device_id,
    event_type,
    event_time,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
