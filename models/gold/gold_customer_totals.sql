{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='customer_card_no',
    watermark={'column': 'loaded_at'},
) }}

with invoices as (
    select * from {{ ref('silver_invoices') }}
),

changed as (
    select distinct customer_card_no
    from invoices
    where
        customer_card_no is not null
        and {{ floodmark.watermark_filter() }}
),

customer_totals as (
    select
        customer_card_no,
        max_by(customer_type, created_at) as customer_type,
        count(*) as invoices,
        sum(number_of_items) as items,
        sum(total_amount) as total_amount,
        min(created_at) as first_invoice_at,
        max(created_at) as last_invoice_at,
        max(loaded_at) as loaded_at
    from invoices
    where customer_card_no in (select changed.* from changed)
    group by customer_card_no
)

select * from customer_totals
