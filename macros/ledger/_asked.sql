{# What a batch of this model, or of `id`, was asked for, as its plan has it in the ledger: {'backfill': {from, to,
   step}}, {'restate': {from}} or {'replay', part}; none where nobody asked. #}
{% macro _stored_asked(batch_id, id=none) %}
    {%- set found = floodmark._query_json(
        "select coalesce(max(asked), 'null') from " ~ floodmark._log_of(id) ~ ' and batch_id = ' ~ batch_id
        ~ " and event = 'planned'") -%}
    {{ return(found[0]) }}
{% endmacro %}


{# SQL of whether a batch of the ledger is part of this backfill: `range` is {from, to, step}, each a text, step none
   where there is none. #}
{% macro _is_asked_sql(range) %}
    {%- set asked = [] -%}
    {%- for key in ['from', 'to', 'step'] -%}
        {%- do asked.append("get_json_object(asked, '$.backfill." ~ key ~ "') <=> "
            ~ floodmark._string_literal(range.get(key))) -%}
    {%- endfor -%}
    {{ return('(' ~ asked | join(' and ') ~ ')') }}
{% endmacro %}
