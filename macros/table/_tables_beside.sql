{#
  A table beside the model's, as <model>__quarantine or <model>__cdc_state, has columns of the same names. It may have
  some that the model's table leaves out, so its own columns say what properties it needs.
#}

{# Whether such a table has column mapping: the model's config asks for it, or a column or field has a name that Delta
   takes with it alone. #}
{% macro _needs_mapping(columns) %}
    {%- set names = [] -%}
    {%- for column in columns -%}
        {%- do names.extend([column.name] + modules.re.findall('`((?:[^`]|``)*)`', column.ddl or column.type)) -%}
    {%- endfor -%}
    {{ return(floodmark._asks_for_mapping() or floodmark._needs_mapping_for(names | join)) }}
{% endmacro %}


{# The properties with which such a table is made. #}
{% macro _beside_properties(columns) %}
    {{ return(dict(floodmark._name_properties(columns),
        **({'delta.columnMapping.mode': 'name'} if floodmark._needs_mapping(columns) else {}))) }}
{% endmacro %}


{# Add the columns and fields that such a table lacks. #}
{% macro _add_columns_beside(relation, changes) %}
    {%- do floodmark._add_mapped_columns(relation, changes, floodmark._needs_mapping(changes.new + changes.fields)) -%}
{% endmacro %}


{# Add columns and fields to a table. If `is_mapped` it gets column mapping first, of which a table that is there takes
   the mode `name` alone. #}
{% macro _add_mapped_columns(relation, changes, is_mapped) %}
    {%- if is_mapped and (changes.new or changes.fields)
        and floodmark._properties_of(relation).get('delta.columnMapping.mode', 'none') == 'none' -%}
        {%- do floodmark._set_properties({'delta.columnMapping.mode': 'name'}, relation) -%}
    {%- endif -%}
    {%- do floodmark._add_columns(relation, changes) -%}
{% endmacro %}
