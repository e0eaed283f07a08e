{{ config(
    materialized='streaming_table',
    files={
        'path': var('landing', 'data/landing') ~ '/kiosk_invoices',
        'format': 'csv',
        'schema': 'invoice_number string, customer_card_no string, amount decimal(12, 2), invoice_date timestamp',
    },
) }}

-- depends_on: {{ source('pos', 'kiosk_invoices') }}
with invoices as (
    select * from {{ floodmark.new_files() }} watermark invoice_date delay of interval 1 hour
),

customer_hours as (
    select
        window.start as hour_start,
        customer_card_no,
        count(*) as invoices,
        sum(amount) as amount
    from invoices
    group by window(invoice_date, '1 hour'), customer_card_no
)

select * from customer_hours
