{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/customer_changes',
        'format': 'json',
        'schema': '
            CustomerCardNo string,
            FullName string,
            HomeCity string,
            HomeState string,
            LoyaltyTier string,
            operation string,
            sequence_num bigint
        ',
    },
    expectations=[
        {
            'name': 'operation_is_known',
            'expect': floodmark.in_set('operation', ['INSERT', 'UPDATE', 'DELETE']),
            'on_violation': 'quarantine',
        },
    ],
) }}

-- depends_on: {{ source('pos', 'customer_changes') }}
select
    CustomerCardNo,
    FullName,
    HomeCity,
    HomeState,
    LoyaltyTier,
    operation,
    sequence_num,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
