{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='invoice_number',
    watermark={'column': 'loaded_at', 'from': 'silver_invoices'},
) }}

with invoices as (
    select * from {{ ref('silver_invoices') }}
    where customer_card_no is not null and {{ floodmark.watermark_filter() }}
),

history as (
    select * from {{ ref('silver_customers_history') }}
),

-- The customer as of the invoice's time: sequence_num is a time in microseconds.
invoice_customers as (
    select
        invoices.invoice_number,
        invoices.created_at,
        invoices.sales_date,
        invoices.store_id,
        invoices.customer_card_no,
        history.city,
        history.state,
        history.tier,
        invoices.total_amount,
        invoices.loaded_at
    from invoices
    left join history
        on
            invoices.customer_card_no = history.customer_card_no
            and unix_micros(invoices.created_at) >= history.__start_at
            and (unix_micros(invoices.created_at) < history.__end_at or history.__end_at is null)
)

select * from invoice_customers
