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
        {{ floodmark.tokenise('invoices.customer_card_no', ref('card_tokens')) }} as customer,
        {{ floodmark.generalise('invoices.delivery_address.PinCode', 3) }} as delivery_area,
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
