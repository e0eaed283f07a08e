{{ config(
    materialized='incremental',
    incremental_strategy='cdc',
    unique_key='customer_card_no',
    watermark={'kind': 'version'},
    cdc={
        'sequence_by': 'sequence_num',
        'apply_as_deletes': "operation = 'DELETE'",
        'except_column_list': ['operation', 'sequence_num'],
        'stored_as_scd_type': 2,
    },
    expectations=[
        {
            'name': 'tier_is_known',
            'expect': floodmark.in_set('tier', ['BASIC', 'SILVER', 'GOLD']),
            'on_violation': 'quarantine',
        },
    ],
) }}

with changes as (
    select * from {{ floodmark.changes(ref('bronze_customer_changes')) }}
)

select
    CustomerCardNo as customer_card_no,
    FullName as full_name,
    HomeCity as city,
    HomeState as state,
    LoyaltyTier as tier,
    operation,
    sequence_num
from changes
