{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key=['store_id', 'sales_date'],
    watermark={'kind': 'version'},
) }}

with invoices as (
    select * from {{ ref('silver_invoices') }}
),

-- Days and stores of every invoice that came, changed or went; the preimages bring the day that an invoice left.
touched as (
    select distinct
        store_id,
        sales_date
    from {{ floodmark.changes(ref('silver_invoices'), preimages=true) }}
),

daily_store_sales as (
    select
        touched.store_id,
        touched.sales_date,
        count(invoices.invoice_number) as invoices,
        count(distinct invoices.customer_card_no) as customers,
        sum(invoices.number_of_items) as items,
        sum(invoices.total_amount) as total_amount,
        sum(invoices.cgst + invoices.sgst + invoices.cess) as tax_amount,
        max(invoices.loaded_at) as loaded_at,
        if(count(invoices.invoice_number) = 0, 'delete', 'insert') as _change_type
    from touched
    left join invoices
        on
            touched.store_id = invoices.store_id
            and touched.sales_date = invoices.sales_date
    group by touched.store_id, touched.sales_date
)

select * from daily_store_sales
