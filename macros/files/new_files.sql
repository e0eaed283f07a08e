{# The rows of the files that this batch loads, each with `_metadata` (file path, name, size, modification time): one a
   line, its columns those of `schema`, or with format `text` one column `value`. Stands in a FROM; the materialization puts in the batch's files. Settings: files={...}. #}
{% macro new_files() %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set files = floodmark._setting('files') -%}
    {%- if model.config.materialized != 'incremental' or files is not mapping -%}
        {%- do floodmark._refuse([{'setting': 'files', 'got': files, 'expected': "files={'path': ..., 'schema': ...} on an incremental model",
            'todo': 'floodmark.new_files() needs the folder to read'}]) -%}
    {%- endif -%}
    {%- do floodmark._validate_settings() -%}
    {%- set comment = '' -%}
    {%- if var('floodmark_plan', false) -%}
        {%- set run = floodmark._look(floodmark._settings()) -%}
        {%- set unseen = floodmark._query_json("select to_json(named_struct('n', count(*), 'bytes', coalesce(sum(size), 0))) from ("
            ~ floodmark._unseen_files_sql(run, run.replaces) ~ ')')[0] -%}
        {%- set comment = floodmark._plan_comment({'kind': run.kind if unseen.n or run.replaces and not run.target.exists else 'nothing new', 'low': none, 'high': none, 'lookback': 0,
            'rows_null': 0, 'rows_future': 0, 'file_count': unseen.n, 'file_bytes': unseen.bytes}) -%}
    {%- endif -%}
    {{ return('/*floodmark:files*/ ' ~ comment ~ floodmark._files_sql(files, []) ~ ' /*floodmark:end*/') }}
{% endmacro %}


{# The folder as Spark sees it: a relative path lies in the project. #}
{% macro _files_path(files) %}
    {%- set path = files.path | string -%}
    {%- if not path.startswith('/') and '://' not in path and not path.startswith('file:') -%}
        {%- set project = invocation_args_dict.project_dir -%}
        {%- set path = (project if project.startswith('/') else env_var('PWD', '.') ~ '/' ~ project) ~ '/' ~ path -%}
    {%- endif -%}
    {{ return(path | replace('`', '``')) }}
{% endmacro %}


{% macro _files_options(files) %}
    {{ return("with (pathGlobFilter = " ~ floodmark._string_literal(files.get('glob', '*')) ~ ", recursiveFileLookup = '"
        ~ ('true' if files.get('recursive', true) else 'false') ~ "')") }}
{% endmacro %}


{# A relation over the given files; without files it is empty. A line that is not of the schema stops the batch. #}
{% macro _files_sql(files, batch_files) %}
    {%- set lines = "(select ltrim('\ufeff', value) as value, _metadata from text.`" ~ floodmark._files_path(files) ~ '` '
        ~ floodmark._files_options(files) ~ ' where ' ~ floodmark._files_predicate(batch_files) ~ ") where trim(value) <> ''" -%}
    {%- if files.get('format') == 'text' -%}
        {{ return('(select value, _metadata from ' ~ lines ~ ')') }}
    {%- endif -%}
    {{ return('(select _floodmark_line.*, _metadata from (select from_json(value, ' ~ floodmark._string_literal(files.get('schema'))
        ~ ", map('mode', 'FAILFAST')) as _floodmark_line, _metadata from " ~ lines ~ '))') }}
{% endmacro %}


{# Only these files: Spark prunes by it before it reads. #}
{% macro _files_predicate(batch_files) %}
    {%- set paths = [] -%}
    {%- for file in batch_files -%}
        {%- do paths.append(floodmark._string_literal(file.path)) -%}
    {%- endfor -%}
    {{ return('_metadata.file_path in (' ~ paths | join(', ') ~ ')' if paths else 'false') }}
{% endmacro %}
