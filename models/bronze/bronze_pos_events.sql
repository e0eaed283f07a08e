{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/pos_events',
        'format': 'json',
        'schema': '
            EventSeq bigint,
            StoreID string,
            PosID string,
            EventType string,
            EventTime bigint,
            InvoiceNumber string
        ',
    },
) }}

-- depends_on: {{ source('pos', 'pos_events') }}
select
    EventSeq,
    StoreID,
    PosID,
    EventType,
    EventTime,
    InvoiceNumber,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
