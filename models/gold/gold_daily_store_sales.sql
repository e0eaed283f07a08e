{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key=['store_id', 'sales_date'],
    watermark={'column': 'loaded_at'},
) }}

with invoices as (
    select * from {{ ref('silver_invoices') }}
),

changed as (
    select distinct
        store_id,
        sales_date
    from invoices
    where {{ floodmark.watermark_filter() }}
),

-- Every invoice of a changed day counts again, not only those that are new.
daily_store_sales as (
    select
        store_id,
        sales_date,
        count(*) as invoices,
        count(distinct customer_card_no) as customers,
        sum(number_of_items) as items,
        sum(total_amount) as total_amount,
        sum(cgst + sgst + cess) as tax_amount,
        max(loaded_at) as loaded_at
    from invoices
    where (store_id, sales_date) in (select changed.* from changed)
    group by store_id, sales_date
)

select * from daily_store_sales
