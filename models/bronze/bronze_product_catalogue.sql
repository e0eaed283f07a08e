{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/products',
        'format': 'csv',
        'schema_hints': 'list_price decimal(10, 2), is_seasonal boolean',
        'schema_evolution': 'fail',
        'on_corrupt': 'fail',
    },
    expectations=[
        {'name': 'has_products', 'rows': {'min': 1}, 'on_violation': 'fail'},
        {'name': 'a_product_once_a_day', 'unique': ['sku', 'catalogue_date'], 'on_violation': 'fail'},
    ],
) }}

-- depends_on: {{ source('pos', 'products') }}
-- A catalogue loads whole or not at all: silver takes a product that is not in it for one that is gone.
select
    sku,
    product_name,
    category,
    list_price,
    is_seasonal,
    to_date(regexp_extract(_metadata.file_name, 'products-([0-9-]{10})', 1)) as catalogue_date,
    _rescued_data,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
