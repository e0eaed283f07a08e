{{ config(enabled=target.profile_name == 'floodmark') }}

-- Days and stores whose sum in gold differs from that of the latest invoices in bronze.
with versions as (
    select
        *,
        row_number() over (partition by InvoiceNumber order by created_at desc) as version
    from {{ ref('bronze_invoices') }}
    left anti join {{ floodmark.quarantined(ref('silver_invoices')) }} as refused
        on InvoiceNumber = refused.invoice_number and bronze_invoices.created_at = refused.created_at
),

latest as (
    select
        StoreID as store_id,
        to_date(created_at) as sales_date,
        cast(TotalAmount as decimal(18, 2)) as total_amount
    from versions
    where version = 1
),

bronze as (
    select
        store_id,
        sales_date,
        count(*) as invoices,
        sum(total_amount) as total_amount
    from latest
    group by store_id, sales_date
),

gold as (
    select * from {{ ref('gold_daily_store_sales') }}
)

select
    store_id,
    sales_date,
    bronze.invoices as bronze_invoices,
    gold.invoices as gold_invoices,
    bronze.total_amount as bronze_amount,
    gold.total_amount as gold_amount
from bronze
full outer join gold using (store_id, sales_date)
where
    not bronze.invoices <=> gold.invoices
    or not bronze.total_amount <=> gold.total_amount
