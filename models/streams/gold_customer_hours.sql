{{ config(materialized='streaming_table') }}

-- depends_on: {{ source('pos', 'kiosk_invoices') }}
with invoices as (
    select *
    from
        stream(csv.`{{ var('landing', 'data/landing') }}/kiosk_invoices`) with (
            header = true,
            mode = 'FAILFAST',
            schema = 'invoice_number string, customer_card_no string, amount decimal(12, 2), invoice_date timestamp'
        )
        watermark invoice_date delay of interval 1 hour
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
