{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='value',
    merge_exclude_columns=['token'],
    full_refresh=false,
) }}

select
    value,
    token
from ({{ floodmark.tokens_of(ref('silver_invoices'), 'customer_card_no') }})
