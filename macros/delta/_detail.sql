{# Identity, place and size of a Delta table: {id, location, files, bytes, properties}. #}
{% macro _detail(relation) %}
    {%- set row = run_query('describe detail ' ~ floodmark._delta_name(relation)).rows[0] -%}
    {{ return({'id': row['id'], 'location': row['location'], 'files': row['numFiles'] | int,
        'bytes': row['sizeInBytes'] | int, 'properties': row['properties'] | string}) }}
{% endmacro %}


{# A relation for Delta's own statements, which take a table called history, detail or version for their word. #}
{% macro _delta_name(relation) %}
    {{ return(modules.re.sub('\\.([^.`]+)$', '.`\\1`', relation | string)) }}
{% endmacro %}


{# Whether a relation has no rows, or what else stands in a FROM. #}
{% macro _has_no_rows(relation) %}
    {{ return(run_query('select 1 as one from ' ~ relation ~ ' limit 1').rows | length == 0) }}
{% endmacro %}


{# Whether Spark has a table or view of this name now. #}
{% macro _is_there(relation) %}
    {{ return(run_query("show tables in " ~ relation.schema ~ " like '" ~ relation.identifier | lower ~ "'").rows
        | length > 0) }}
{% endmacro %}


{# Kind `version` reads Delta's change feed: refused where there is none, with the statement that helps. #}
{% macro _require_delta(watermark, relation, is_delta) %}
    {%- if not is_delta -%}
        {%- do floodmark._refuse([{'setting': 'watermark.kind', 'got': 'version',
            'expected': 'a Delta table, and ' ~ relation ~ ' is not one',
            'todo': 'Use a timestamp or a sequence, or read a Delta table'}]) -%}
    {%- endif -%}
{% endmacro %}
