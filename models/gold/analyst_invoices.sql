{{ config(materialized='view') }}

with invoices as (
    select * from {{ ref('silver_invoices') }}
),

stores as (
    select * from {{ ref('stores') }}
),

analyst_invoices as (
    select
        invoices.invoice_number,
        invoices.created_at,
        invoices.sales_date,
        invoices.store_id,
        stores.name as store_name,
        stores.city as store_city,
        invoices.customer_type,
        sha2(
            concat('{{ dbt.escape_single_quotes(var("card_salt", "floodmark")) }}', invoices.customer_card_no), 256
        ) as customer_hash,
        invoices.total_amount,
        invoices.number_of_items,
        invoices.payment_method,
        invoices.taxable_amount,
        invoices.cgst,
        invoices.sgst,
        invoices.cess,
        invoices.delivery_type
    from invoices
    left join stores
        on invoices.store_id = stores.store_id
)

select * from analyst_invoices
