{# Generic tests of an SCD 2 model. `unique_key` is a column or a list; each returns the rows that break the rule. #}

{# A row is never empty: it starts before it ends. #}
{% test scd2_starts_before_ends(model, unique_key, start_at='__start_at', end_at='__end_at') %}
    select * from {{ model }}
    where {{ start_at }} is null or {{ start_at }} >= {{ end_at }}
{% endtest %}


{# No two rows of a key are valid at one point. #}
{% test scd2_no_overlap(model, unique_key, start_at='__start_at', end_at='__end_at') %}
    select * from (
        select *, lead({{ start_at }}) over (partition by {{ floodmark._key_csv(unique_key) }} order by {{ start_at }})
            as _next_start
        from {{ model }}
    )
    where _next_start is not null and ({{ end_at }} is null or {{ end_at }} > _next_start)
{% endtest %}


{# A key has at most one row without an end. #}
{% test scd2_one_current_row(model, unique_key, end_at='__end_at') %}
    select {{ floodmark._key_csv(unique_key) }}, count(*) as current_rows
    from {{ model }}
    where {{ end_at }} is null
    group by {{ floodmark._key_csv(unique_key) }}
    having count(*) > 1
{% endtest %}


{# A row ends where the next one starts, unless a delete ended it. `deletes` is a SELECT of the deletes: the key, then
   the sequence. #}
{% test scd2_no_gap(model, unique_key, deletes=none, start_at='__start_at', end_at='__end_at') %}
    with lined as (
        select *, lead({{ start_at }}) over (partition by {{ floodmark._key_csv(unique_key) }} order by {{ start_at }})
            as _next_start
        from {{ model }}
    )
    select lined.* from lined
    {%- if deletes %}
    left anti join ({{ deletes }}) as deletes ({{ floodmark._key_csv(unique_key) }}, _deleted_at) on
        {%- for key in floodmark._name_list(unique_key) %} lined.{{ floodmark._quoted(key) }}
            <=> deletes.{{ floodmark._quoted(key) }} and {%- endfor %} lined.{{ end_at }} = deletes._deleted_at
    {%- endif %}
    where lined.{{ end_at }} is not null and not lined.{{ end_at }} <=> lined._next_start
{% endtest %}


{% macro _key_csv(unique_key) %}
    {{ return(floodmark._quoted_csv(floodmark._name_list(unique_key))) }}
{% endmacro %}
