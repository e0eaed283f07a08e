{# The rows of the files that this batch loads, each with `_metadata` (file path, name, size, modification time): one
   a line, its columns those of `schema`, or with format `text` one column `value`. Stands in a FROM; the
   materialization puts in the batch's files. Settings: files={...}. #}
{% macro new_files() %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set files = floodmark._files_settings() -%}
    {%- set secret = floodmark._secret_problems('files.path', files.get('path')) if files is mapping else [] -%}
    {%- if secret -%}
        {%- do floodmark._refuse(secret) -%}
    {%- elif floodmark._is_stream() and files is mapping -%}
        {{ return(floodmark._files_rows_sql(files, floodmark._stream_files_source(files))) }}
    {%- endif -%}
    {%- if model.config.materialized != 'incremental' or files is not mapping -%}
        {%- do floodmark._refuse([{'setting': 'files', 'got': files,
            'expected': "files={'path': ..., 'schema': ...} on an incremental model",
            'todo': 'floodmark.new_files() needs the folder to read'}]) -%}
    {%- endif -%}
    {%- do floodmark._validate_settings() -%}
    {%- set comment = '' -%}
    {%- if var('floodmark_plan', false) -%}
        {%- set run = floodmark._look(floodmark._settings()) -%}
        {%- set unseen = floodmark._query_json(
            "select to_json(named_struct('n', count(*), 'bytes', coalesce(sum(size), 0))) from ("
            ~ floodmark._unseen_files_sql(run, run.replaces) ~ ')')[0] -%}
        {%- set comment = floodmark._plan_comment({'kind': run.kind
            if unseen.n or run.replaces and not run.target.exists else 'nothing new', 'low': none, 'high': none,
            'lookback': 0, 'rows_null': 0, 'rows_future': 0, 'file_count': unseen.n, 'file_bytes': unseen.bytes}) -%}
    {%- endif -%}
    {{ return('/*floodmark:files*/ ' ~ comment ~ floodmark._files_sql(files, []) ~ ' /*floodmark:end*/') }}
{% endmacro %}


{# The folder, or pattern of folders, as it stands in SQL. #}
{% macro _files_path(files) %}
    {{ return(floodmark._path_pattern(floodmark._absolute_path(files.path | string)) | replace('`', '``')) }}
{% endmacro %}


{# A whole path as Spark takes it for a pattern: what exists under that very name means itself, [ and { in it too. #}
{% macro _path_pattern(path) %}
    {%- set is_known = adapter is defined and adapter.floodmark_path_pattern is defined -%}
    {{ return(adapter.floodmark_path_pattern(path) if is_known else path) }}
{% endmacro %}


{# A path that Spark takes from anywhere; relative ones lie in the project, whose folder has one name, whichever way
   led to it: the plugin knows it. #}
{% macro _absolute_path(path) %}
    {%- if path.startswith('/') or modules.re.match('[\\w+.-]+:/|file:', path) -%}
        {{ return(path) }}
    {%- endif -%}
    {%- if adapter.floodmark_project_root is defined -%}
        {%- set root = adapter.floodmark_project_root() -%}
    {%- else -%}
        {%- set project = invocation_args_dict.project_dir -%}
        {%- set root = project if project.startswith('/') else env_var('PWD', '.') ~ '/' ~ project -%}
    {%- endif -%}
    {{ return(root ~ ('/' ~ path if path else '')) }}
{% endmacro %}


{% macro _files_options(files) %}
    {{ return("with (pathGlobFilter = " ~ floodmark._string_literal(files.glob)
        ~ ", recursiveFileLookup = '" ~ ('true' if files.recursive else 'false') ~ "'"
        ~ floodmark._local_files_options(files.path | string) ~ ")") }}
{% endmacro %}


{# Options, behind others, by which Spark reads local files of any name (dbt_floodmark/paths.py). They count for this
   read alone. #}
{% macro _local_files_options(path) %}
    {%- set options = [] -%}
    {%- if adapter is defined and adapter.floodmark_local_files is defined -%}
        {%- for key, value in adapter.floodmark_local_files(path).items() -%}
            {%- do options.append(", '" ~ key ~ "' = '" ~ value ~ "'") -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(options | join) }}
{% endmacro %}


{# A relation over the given files; without files it is empty. A line that is not of the schema stops the batch. #}
{% macro _files_sql(files, batch_files) %}
    {{ return(floodmark._files_rows_sql(files,
        'text.`' ~ floodmark._files_path(files) ~ '` ' ~ floodmark._files_options(files) ~ ' where '
        ~ floodmark._files_predicate(batch_files))) }}
{% endmacro %}


{# The rows in lines: `lines_sql` is a relation with `value` and `_metadata`, and what it is filtered by. #}
{% macro _files_rows_sql(files, lines_sql) %}
    {%- set lines = "(select ltrim('\ufeff', value) as value, _metadata from " ~ lines_sql
        ~ ") where trim(value) <> ''" -%}
    {%- if files.format == 'text' -%}
        {{ return('(select value, _metadata from ' ~ lines ~ ')') }}
    {%- endif -%}
    {{ return('(select _floodmark_line.*, _metadata from (select from_json(value, '
        ~ floodmark._string_literal(files.schema)
        ~ ", map('mode', 'FAILFAST')) as _floodmark_line, _metadata from " ~ lines ~ '))') }}
{% endmacro %}


{# The folder as a stream of lines, each with `_metadata`. #}
{% macro _stream_files_source(files) %}
    {{ return(floodmark._stream_source('text',
        {'pathGlobFilter': files.glob,
        'recursiveFileLookup': 'true' if files.recursive else 'false',
        'maxFilesPerTrigger': files.max_files_per_batch | string},
        floodmark._absolute_path(files.path | string))) }}
{% endmacro %}


{# Only these files: Spark prunes by it before it reads. #}
{% macro _files_predicate(batch_files) %}
    {%- set paths = [] -%}
    {%- for file in batch_files -%}
        {%- do paths.append(floodmark._string_literal(file.path)) -%}
    {%- endfor -%}
    {{ return('_metadata.file_path in (' ~ paths | join(', ') ~ ')' if paths else 'false') }}
{% endmacro %}
