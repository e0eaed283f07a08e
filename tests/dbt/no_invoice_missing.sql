{{ config(enabled=target.profile_name == 'floodmark') }}

-- Invoices of lines and events that silver and its quarantine lack.
with named as (
    select invoice_number
    from {{ ref('silver_invoice_lines') }}
    union
    select invoice_number
    from {{ ref('silver_pos_events') }}
    where invoice_number is not null
),

known as (
    select invoice_number
    from {{ ref('silver_invoices') }}
    union
    select invoice_number
    from {{ floodmark.quarantined(ref('silver_invoices')) }}
)

select named.invoice_number
from named
left anti join known
    on named.invoice_number = known.invoice_number
