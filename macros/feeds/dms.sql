{# Rows of AWS DMS as events: the table's columns without `op`, `_operation` (insert, update, delete) and `_sequence`. Rows of a full load,
   whose `op` is NULL, and rows without a sequence get `full_load_sequence`, a value below all others. Stands in a FROM. #}
{% macro dms(relation, sequence, full_load_sequence, op='Op') %}
(
    select * except ({{ op }}),
        case {{ op }} when 'D' then 'delete' when 'U' then 'update' else 'insert' end as _operation,
        if({{ op }} is null, {{ full_load_sequence }}, coalesce({{ sequence }}, {{ full_load_sequence }})) as _sequence
    from {{ relation }}
)
{% endmacro %}
