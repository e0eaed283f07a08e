{# What a table of cdc keeps of its settings, as a table property: its rows have no other meaning. #}
{% macro _cdc_made_by(cdc, unique_key) %}
    {{ return('SCD ' ~ cdc.scd_type ~ ' by ' ~ unique_key | map('lower') | join(' and ')) }}
{% endmacro %}


{# What orders the events, as a table property keeps it: blanks, quotes and capitals tell nothing. #}
{% macro _sequence_text(cdc) %}
    {%- set text = cdc.sequence_by | join(', ') | lower | replace('`', '') | replace('"', '') -%}
    {{ return(modules.re.sub('\\s*(\\W)\\s*', '\\1', modules.re.sub('\\s+', ' ', text | trim))) }}
{% endmacro %}


{# The table property that keeps what orders the events: {name: value}. #}
{% macro _sequence_property(cdc) %}
    {{ return({'floodmark.sequence': floodmark._to_property(floodmark._sequence_text(cdc))}) }}
{% endmacro %}
