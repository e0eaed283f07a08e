{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/invoices',
        'format': 'json',
        'schema_hints': '
            CreatedTime bigint,
            TotalAmount decimal(18, 2),
            NumberOfItems bigint,
            DeliveryAddress.City string,
            InvoiceLineItems.element.ItemQty bigint
        ',
        'allow_overwrites': 'replace',
    },
    expectations=[
        {'name': 'has_a_number', 'expect': floodmark.not_null('InvoiceNumber'), 'on_violation': 'quarantine'},
        {'name': 'store_is_known', 'expect': floodmark.in_relation('StoreID', 'stores', 'store_id')},
    ],
) }}

-- depends_on: {{ source('pos', 'invoices') }}
-- The columns are those of the files, strings but for the hints; new ones are added by themselves.
select
    * except (_metadata),
    timestamp_millis(CreatedTime) as created_at,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
