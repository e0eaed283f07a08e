{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/products',
        'format': 'text',
        'glob': '*.csv',
    },
) }}

-- depends_on: {{ source('pos', 'products') }}
with products as (
    select
        -- A quote inside quotes is doubled. A line that does not fit stops the batch.
        from_csv(
            value,
            'sku string, product_name string, category string, list_price decimal(10, 2), is_seasonal boolean',
            map('escape', '"', 'mode', 'FAILFAST')
        ) as product,
        _metadata
    from {{ floodmark.new_files() }}
    -- The header. One with other columns does not fit and stops the batch.
    where value <> 'sku,product_name,category,list_price,is_seasonal'
)

select
    product.sku,
    product.product_name,
    product.category,
    product.list_price,
    product.is_seasonal,
    to_date(regexp_extract(_metadata.file_name, 'products-([0-9-]+)', 1)) as catalogue_date,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from products
