{# Column mapping, without which Delta takes no blank and none of `,;{}()=` in the name of a column or field. #}

{# Whether Delta takes a name with column mapping alone. #}
{% macro _needs_mapping_for(name) %}
    {{ return(modules.re.search('[ ,;{}()\n\t=]', name) is not none) }}
{% endmacro %}


{# Whether the model's config asks for column mapping. #}
{% macro _asks_for_mapping() %}
    {{ return((config.get('tblproperties') or {}).get('delta.columnMapping.mode') not in [none, 'none']) }}
{% endmacro %}


{# Whether the model's table has column mapping: the config counts for a table that the run makes, the table's own
   property for one that is there. #}
{% macro _is_mapped(run) %}
    {%- if run.get('is_mapped') is none -%}
        {%- set is_there = (run.get('target') or {}).get('is_delta') and not run.full_refresh -%}
        {%- do run.update({'is_mapped': floodmark._properties_of(this).get('delta.columnMapping.mode', 'none') != 'none'
            if is_there else floodmark._asks_for_mapping()}) -%}
    {%- endif -%}
    {{ return(run.is_mapped) }}
{% endmacro %}
