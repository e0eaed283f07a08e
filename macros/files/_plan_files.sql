{# The files of the next batch: those in the folder that no batch of this table has, oldest first. #}
{% macro _plan_files(run, replaces) %}
    {%- set most = run.settings.files.max_files_per_batch -%}
    {%- set files = floodmark._query_json('select to_json(struct(*)) from ('
        ~ floodmark._unseen_files_sql(run, replaces) ~ ' order by modified_at, path limit ' ~ (most + 1) ~ ')') -%}
    {{ return(floodmark._plan_whole(files[:most], files | length <= most)) }}
{% endmacro %}


{# Files of the folder that no committed batch of this table has: path, size in bytes, modified_at in microseconds. #}
{% macro _unseen_files_sql(run, replaces) %}
    {%- set generation = none if replaces or not run.state.committed else run.state.committed.generation -%}
    {%- set files = run.settings.files -%}
    select found.path, found.size, found.modified_at from (
        select _metadata.file_path as path, _metadata.file_size as size,
            unix_micros(_metadata.file_modification_time) as modified_at
        from binaryFile.`{{ floodmark._files_path(files) }}` {{ floodmark._files_options(files) }}
    ) as found
    {%- if generation is not none %}
    left anti join (
        select file.path from (
            select explode(files) as file from {{ floodmark.ledger_schema() }}.batch_log
            where model = {{ floodmark._string_literal(floodmark._model_id()) }}
                and generation = {{ floodmark._string_literal(generation) }} and event = 'committed'
        )
    ) as loaded on found.path = loaded.path
    {%- endif %}
{% endmacro %}


{# The planned files of a batch, as the ledger has them. #}
{% macro _stored_files(batch_id) %}
    {{ return(floodmark._query_json('select to_json(file) from (select explode(files) as file from '
        ~ floodmark.ledger_schema() ~ '.batch_log where model = ' ~ floodmark._string_literal(floodmark._model_id())
        ~ ' and batch_id = ' ~ batch_id ~ " and event = 'planned')")) }}
{% endmacro %}


{# The ledger's array of files as one literal. #}
{% macro _files_literal(files) %}
    {{ return('from_json(' ~ floodmark._string_literal(files | tojson)
        ~ ", 'array<struct<path: string, size: bigint, modified_at: bigint, rows: bigint>>')") }}
{% endmacro %}


{# The same with the lines that each file holds, 0 where it has none. A file that vanished since the plan is left out:
   should it come back, it is new. #}
{% macro _counted_files_sql(run, batch) %}
    {%- set files = run.settings.files -%}
    {%- set rows = floodmark._query_json(
        "select to_json(named_struct('path', _metadata.file_path, 'rows', count_if(trim(value) " "<> ''))) from text.`"
        ~ floodmark._files_path(files) ~ '` ' ~ floodmark._files_options(files) ~ ' where '
        ~ floodmark._files_predicate(batch.files) ~ ' group by _metadata.file_path') -%}
    {%- set lines = {} -%}
    {%- for row in rows -%}
        {%- do lines.update({row.path: row.rows}) -%}
    {%- endfor -%}
    {%- if lines | length < batch.files | length -%}
        {%- set present = floodmark._query_json(
            "select to_json(named_struct('path', _metadata.file_path)) from binaryFile.`" ~ floodmark._files_path(files)
            ~ '` ' ~ floodmark._files_options(files) ~ ' where ' ~ floodmark._files_predicate(batch.files)) -%}
        {%- for file in present if file.path not in lines -%}
            {%- do lines.update({file.path: 0}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set counted = [] -%}
    {%- for file in batch.files if file.path in lines -%}
        {%- do counted.append({'path': file.path, 'size': file.size, 'modified_at': file.modified_at,
            'rows': lines[file.path]}) -%}
    {%- endfor -%}
    {{ return(floodmark._files_literal(counted)) }}
{% endmacro %}
