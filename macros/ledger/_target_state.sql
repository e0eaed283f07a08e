{# What stands where the model loads: {exists, is_empty, is_delta, id, relation}. A table without files is empty; one
   with files may be too, which is looked up only where no mark tells (`has_mark`). #}
{% macro _target_state(has_mark=false) %}
    {%- set relation = load_relation(this) -%}
    {%- if relation is none or relation.is_view or not relation.is_delta -%}
        {{ return({'exists': relation is not none, 'is_delta': false, 'is_empty': true, 'id': none, 'relation': relation}) }}
    {%- endif -%}
    {%- set detail = floodmark._detail(this) -%}
    {{ return({'exists': true, 'is_delta': true, 'is_empty': detail.files == 0 or not has_mark and floodmark._has_no_rows(this), 'id': detail.id, 'relation': relation}) }}
{% endmacro %}


{# Identity and size of a Delta table: {id, files, properties}. #}
{% macro _detail(relation) %}
    {%- set row = run_query('describe detail ' ~ relation).rows[0] -%}
    {{ return({'id': row['id'], 'files': row['numFiles'] | int, 'properties': row['properties'] | string}) }}
{% endmacro %}


{% macro _has_no_rows(relation) %}
    {{ return(run_query('select 1 as one from ' ~ relation ~ ' limit 1').rows | length == 0) }}
{% endmacro %}


{# The current Delta version of a table. #}
{% macro _version_of(relation) %}
    {{ return(run_query('describe history ' ~ relation ~ ' limit 1').rows[0]['version'] | int) }}
{% endmacro %}
