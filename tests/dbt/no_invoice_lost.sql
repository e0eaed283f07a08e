{{ config(enabled=target.profile_name == 'floodmark') }}

-- Invoices of bronze that silver and its quarantine lack, and invoices of silver that bronze never had.
with bronze as (
    select distinct InvoiceNumber as invoice_number
    from {{ ref('bronze_invoices') }}
),

silver as (
    select invoice_number
    from {{ ref('silver_invoices') }}
    union
    select invoice_number
    from {{ floodmark.quarantined(ref('silver_invoices')) }}
)

select
    coalesce(bronze.invoice_number, silver.invoice_number) as invoice_number,
    bronze.invoice_number is null as is_invented,
    silver.invoice_number is null as is_lost
from bronze
full outer join silver
    on bronze.invoice_number = silver.invoice_number
where
    bronze.invoice_number is null
    or silver.invoice_number is null
