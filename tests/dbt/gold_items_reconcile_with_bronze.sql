{{ config(enabled=target.profile_name == 'floodmark') }}

-- Items and days whose sales in gold differ from the lines of the latest invoices in bronze.
with versions as (
    select
        *,
        row_number() over (partition by InvoiceNumber order by created_at desc) as version
    from {{ ref('bronze_invoices') }}
),

latest as (
    select
        to_date(created_at) as sales_date,
        InvoiceLineItems
    from versions
    where version = 1
),

invoice_lines as (
    select
        sales_date,
        inline(InvoiceLineItems)
    from latest
),

bronze as (
    select
        ItemCode as item_code,
        sales_date,
        sum(ItemQty) as quantity,
        sum(cast(TotalValue as decimal(18, 2))) as total_value
    from invoice_lines
    group by ItemCode, sales_date
),

gold as (
    select * from {{ ref('gold_item_sales') }}
)

select
    item_code,
    sales_date,
    bronze.quantity as bronze_quantity,
    gold.quantity as gold_quantity,
    bronze.total_value as bronze_value,
    gold.total_value as gold_value
from bronze
full outer join gold using (item_code, sales_date)
where
    not bronze.quantity <=> gold.quantity
    or not bronze.total_value <=> gold.total_value
