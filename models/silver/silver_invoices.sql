{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='invoice_number',
    watermark={'column': 'created_at', 'lookback': '2 hours'},
    expectations=[
        {'name': 'amount_is_positive', 'expect': 'total_amount > 0', 'on_violation': 'quarantine'},
        {'name': 'items_are_counted', 'expect': 'number_of_items > 0', 'on_violation': 'quarantine'},
        {'name': 'tax_is_below_the_amount', 'expect': 'cgst + sgst + cess < total_amount'},
    ],
) }}

with bronze as (
    select * from {{ ref('bronze_invoices') }}
    {% if is_incremental() %}
        where {{ floodmark.watermark_filter() }}
    {% endif %}
),

invoices as (
    select
        InvoiceNumber as invoice_number,
        created_at,
        to_date(created_at) as sales_date,
        StoreID as store_id,
        PosID as pos_id,
        CashierID as cashier_id,
        CustomerType as customer_type,
        CustomerCardNo as customer_card_no,
        cast(TotalAmount as decimal(18, 2)) as total_amount,
        -- Where a till sent a text, NumberOfItems is NULL and the text is in _rescued_data: the lines say it too.
        coalesce(
            NumberOfItems,
            aggregate(InvoiceLineItems, cast(0 as bigint), (items, line) -> items + line.ItemQty)
        ) as number_of_items,
        PaymentMethod as payment_method,
        cast(TaxableAmount as decimal(18, 2)) as taxable_amount,
        cast(CGST as decimal(18, 2)) as cgst,
        cast(SGST as decimal(18, 2)) as sgst,
        cast(CESS as decimal(18, 2)) as cess,
        DeliveryType as delivery_type,
        DeliveryAddress as delivery_address,
        -- A row of the future waits above the mark until it is a day ahead (max_future): for gold it is new then.
        greatest(loaded_at, created_at - interval 1 day) as loaded_at
    from bronze
)

select * from invoices
