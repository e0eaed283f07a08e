{# Rows of AWS DMS as events: the table's columns without `op`, `_operation` (insert, update, delete) and `_sequence`.
   Rows of a full load, whose `op` is NULL, and rows without a sequence get `full_load_sequence`, a value below all
   others. A relation without a column `op` is a full load throughout. Stands in a FROM. #}
{% macro dms(relation, sequence, full_load_sequence, op='Op') %}
(
    {%- set columns = floodmark._columns_if_known('select * from ' ~ relation) %}
    {%- set quoted = floodmark._quoted(floodmark._column_name(op)) %}
    {%- if columns and not floodmark._find_column(columns, floodmark._column_name(op)) %}
    select *, 'insert' as _operation, {{ full_load_sequence }} as _sequence
    {%- else %}
    select * except ({{ quoted }}),
        case {{ quoted }} when 'D' then 'delete' when 'U' then 'update' else 'insert' end as _operation,
        if({{ quoted }} is null, {{ full_load_sequence }}, coalesce({{ sequence }}, {{ full_load_sequence }}))
            as _sequence
    {%- endif %}
    from {{ relation }}
)
{% endmacro %}
