{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key=['item_code', 'sales_date'],
    watermark={'column': 'loaded_at', 'from': 'silver_invoice_lines'},
) }}

with invoice_lines as (
    select * from {{ ref('silver_invoice_lines') }}
),

items as (
    select * from {{ ref('items') }}
),

changed as (
    select distinct
        item_code,
        sales_date
    from invoice_lines
    where {{ floodmark.watermark_filter() }}
),

sold as (
    select
        item_code,
        sales_date,
        count(distinct invoice_number) as invoices,
        sum(quantity) as quantity,
        sum(total_value) as total_value,
        max(loaded_at) as loaded_at
    from invoice_lines
    where (item_code, sales_date) in (select changed.* from changed)
    group by item_code, sales_date
),

item_sales as (
    select
        sold.item_code,
        sold.sales_date,
        items.category,
        sold.invoices,
        sold.quantity,
        sold.total_value,
        sold.loaded_at
    from sold
    left join items
        on sold.item_code = items.item_code
)

select * from item_sales
