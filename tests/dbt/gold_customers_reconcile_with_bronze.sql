{{ config(enabled=target.profile_name == 'floodmark') }}

-- Customers whose total in gold differs from that of their latest invoices in bronze.
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
        CustomerCardNo as customer_card_no,
        cast(TotalAmount as decimal(18, 2)) as total_amount
    from versions
    where version = 1
),

bronze as (
    select
        customer_card_no,
        count(*) as invoices,
        sum(total_amount) as total_amount
    from latest
    where customer_card_no is not null
    group by customer_card_no
),

gold as (
    select * from {{ ref('gold_customer_totals') }}
)

select
    customer_card_no,
    bronze.invoices as bronze_invoices,
    gold.invoices as gold_invoices,
    bronze.total_amount as bronze_amount,
    gold.total_amount as gold_amount
from bronze
full outer join gold using (customer_card_no)
where
    not bronze.invoices <=> gold.invoices
    or not bronze.total_amount <=> gold.total_amount
