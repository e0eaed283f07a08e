{# Debezium's envelope as events: the columns of `after`, of a delete those of `before`; `_operation` (insert, update, delete, truncate),
   `_sequence` (the expression `sequence` over the envelope) and `_changed_at` (timestamp of ts_ms). Messages without an operation,
   Kafka's tombstones, are none. `keep` names columns beside the envelope that the events shall have too, such as a watermark's. Stands in a FROM. #}
{% macro debezium(relation, sequence='source.lsn', keep=[]) %}
(
    select _row.*, _operation, _sequence, _changed_at{{ ', ' ~ floodmark._quoted_csv(floodmark._as_list(keep)) if keep }} from (
        select
            if(op = 'd', before, after) as _row,
            case op when 'd' then 'delete' when 't' then 'truncate' when 'u' then 'update' else 'insert' end as _operation,
            {{ sequence }} as _sequence,
            timestamp_millis(ts_ms) as _changed_at{{ ', ' ~ floodmark._quoted_csv(floodmark._as_list(keep)) if keep }}
        from {{ relation }}
        where op in ('c', 'r', 'u', 'd', 't')
    )
)
{% endmacro %}
