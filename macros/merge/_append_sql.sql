{# Insert the batch's rows, columns by name. #}
{% macro _append_sql(source, columns) %}
    insert into {{ this }} ({{ floodmark._quoted_csv(columns) }})
    select {{ floodmark._quoted_csv(columns) }} from (
    {{ source.sql }}
    )
{% endmacro %}
