{# Debezium's envelope as events: the columns of `after`, of a delete those of `before`; `_operation` (insert, update, delete, truncate),
   `_sequence` (the expression `sequence` over the envelope) and `_changed_at` (timestamp of ts_ms). Messages without an operation,
   Kafka's tombstones, are none. Stands in a FROM. #}
{% macro debezium(relation, sequence='source.lsn') %}
(
    select _row.*, _operation, _sequence, _changed_at from (
        select
            if(op = 'd', before, after) as _row,
            case op when 'd' then 'delete' when 't' then 'truncate' when 'u' then 'update' else 'insert' end as _operation,
            {{ sequence }} as _sequence,
            timestamp_millis(ts_ms) as _changed_at
        from {{ relation }}
        where op in ('c', 'r', 'u', 'd', 't')
    )
)
{% endmacro %}


{# Rows of AWS DMS as events: the table's columns without `op`, `_operation` (insert, update, delete) and `_sequence`. Rows of a full load,
   whose `op` or sequence is NULL, get `full_load_sequence`, a value below all others. Stands in a FROM. #}
{% macro dms(relation, sequence, full_load_sequence, op='Op') %}
(
    select * except ({{ op }}),
        case {{ op }} when 'D' then 'delete' when 'U' then 'update' else 'insert' end as _operation,
        coalesce({{ sequence }}, {{ full_load_sequence }}) as _sequence
    from {{ relation }}
)
{% endmacro %}
