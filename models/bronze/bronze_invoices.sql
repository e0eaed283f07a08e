{{ config(
    materialized='incremental',
    incremental_strategy='append',
    files={
        'path': var('landing', 'data/landing') ~ '/invoices',
        'format': 'json',
        'schema': '
            InvoiceNumber string,
            CreatedTime bigint,
            StoreID string,
            PosID string,
            CashierID string,
            CustomerType string,
            CustomerCardNo string,
            TotalAmount double,
            NumberOfItems bigint,
            PaymentMethod string,
            TaxableAmount double,
            CGST double,
            SGST double,
            CESS double,
            DeliveryType string,
            DeliveryAddress struct<
                AddressLine: string,
                City: string,
                ContactNumber: string,
                PinCode: string,
                State: string
            >,
            InvoiceLineItems array<struct<
                ItemCode: string,
                ItemDescription: string,
                ItemPrice: double,
                ItemQty: bigint,
                TotalValue: double
            >>
        ',
    },
) }}

-- depends_on: {{ source('pos', 'invoices') }}
select
    InvoiceNumber,
    CreatedTime,
    StoreID,
    PosID,
    CashierID,
    CustomerType,
    CustomerCardNo,
    TotalAmount,
    NumberOfItems,
    PaymentMethod,
    TaxableAmount,
    CGST,
    SGST,
    CESS,
    DeliveryType,
    DeliveryAddress,
    InvoiceLineItems,
    timestamp_millis(CreatedTime) as created_at,
    _metadata.file_path as source_file,
    current_timestamp() as loaded_at
from {{ floodmark.new_files() }}
