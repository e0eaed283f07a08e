{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key=['invoice_number', 'line_number'],
    watermark={'column': 'created_at', 'lookback': '2 hours'},
) }}

with bronze as (
    select * from {{ ref('bronze_invoices') }}
    {% if is_incremental() %}
        where {{ floodmark.watermark_filter() }}
    {% endif %}
),

exploded as (
    select
        InvoiceNumber,
        StoreID,
        created_at,
        loaded_at,
        posexplode(InvoiceLineItems) as (line_index, line)
    from bronze
),

invoice_lines as (
    select
        InvoiceNumber as invoice_number,
        line_index + 1 as line_number,
        created_at,
        to_date(created_at) as sales_date,
        StoreID as store_id,
        line.ItemCode as item_code,
        line.ItemDescription as item_description,
        cast(line.ItemPrice as decimal(18, 2)) as item_price,
        line.ItemQty as quantity,
        cast(line.TotalValue as decimal(18, 2)) as total_value,
        -- A row of the future waits above the mark until it is a day ahead (max_future): for gold it is new then.
        greatest(loaded_at, created_at - interval 1 day) as loaded_at
    from exploded
)

select * from invoice_lines
