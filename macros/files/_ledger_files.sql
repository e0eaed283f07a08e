{# The files of batches in the ledger: an array in each plan, and with their counts in each committed batch. #}

{# The planned files of a batch and its schema, as the ledger has them, and the run that read them into a staging table:
   {files, file_schema, record, look, records_by}. #}
{% macro _stored_files(run, batch_id) %}
    {%- set found = floodmark._query_json('select to_json(struct(files, file_schema)) from '
        ~ floodmark._log_of() ~ ' and batch_id = ' ~ batch_id ~ " and event = 'planned'")[0] -%}
    {%- set schema = fromjson(found.file_schema) if found.get('file_schema') -%}
    {%- set stage = run.stages | selectattr('batch_id', 'equalto', batch_id | int)
        | selectattr('part', 'equalto', 'files') | first -%}
    {%- if schema and not run.settings.files.format -%}
        {%- do run.settings.update({'files': floodmark._completed_files(dict(run.settings.files,
            format=schema.format, is_named=true))}) -%}
    {%- endif -%}
    {%- if not schema -%}
        {#- an older floodmark planned it -#}
        {{ return(dict(floodmark._plan_schema(run, true, found.get('files') or []), files=found.get('files') or [],
            records_by=none)) }}
    {%- endif -%}
    {%- do run.update({'known_record': schema.get('told') or schema.record}) -%}
    {{ return({'files': found.get('files') or [], 'file_schema': schema, 'record': schema.record,
        'look': none, 'records_by': stage.staged_by if stage else none}) }}
{% endmacro %}


{# The ledger's array of files as one literal. #}
{% macro _files_literal(files) %}
    {{ return('from_json(' ~ floodmark._string_literal(files | tojson) ~ ", 'array<" ~ floodmark._file_struct()
        ~ ">')") }}
{% endmacro %}


{# Whether the ledger's log has a column. A run has made or migrated it; what only looks may come before. #}
{% macro _ledger_has(column) %}
    {%- if not (floodmark._only_looks() or floodmark._is_dry()) -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(floodmark._ledger_exists() and floodmark._find_column(
        floodmark._columns_of(relation=floodmark.ledger_schema() ~ '.batch_log'), column) is not none) }}
{% endmacro %}
