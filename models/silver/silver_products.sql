{{ config(
    materialized='incremental',
    incremental_strategy='snapshot_diff',
    unique_key='sku',
    watermark={'column': 'catalogue_date', 'step': '1 day'},
    snapshot_diff={
        'version': 'catalogue_date',
        'on_missing': 'delete',
        'max_delete_fraction': 0.2,
    },
    expectations=[
        {'name': 'price_is_positive', 'expect': 'list_price > 0', 'on_violation': 'quarantine'},
        {'name': 'is_of_usual_size', 'rows': {'change_from_median': 0.5}, 'on_violation': 'fail'},
    ],
) }}

with catalogue as (
    select * from {{ ref('bronze_product_catalogue') }}
    where {{ floodmark.watermark_filter() }}
)

select
    sku,
    product_name,
    category,
    list_price,
    is_seasonal,
    catalogue_date
from catalogue
