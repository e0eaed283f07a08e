{# The records of the files that this batch loads: their columns, those of folders `name=value`, rescued data, and the
   struct `_metadata` (file path, name, size, modification time). Stands in a FROM; the materialization puts in the
   batch's records. Settings: files={...}. #}
{% macro new_files() %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set files = floodmark._files_settings() -%}
    {%- set secret = floodmark._secret_problems('files.path', files.get('path')) if files is mapping else [] -%}
    {%- if secret -%}
        {%- do floodmark._refuse(secret) -%}
    {%- elif floodmark._is_stream() and files is mapping -%}
        {%- do floodmark._validate_stream_settings() -%}
        {{ return(floodmark._stream_files_sql(files)) }}
    {%- endif -%}
    {%- if model.config.materialized != 'incremental' or files is not mapping -%}
        {%- do floodmark._refuse([{'setting': 'files', 'got': files,
            'expected': "files={'path': '...'} on an incremental model",
            'todo': 'floodmark.new_files() needs the folder to read'}]) -%}
    {%- endif -%}
    {%- do floodmark._validate_settings() -%}
    {{ return('/*floodmark:files*/ ' ~ floodmark._next_files_sql(files) ~ ' /*floodmark:end*/') }}
{% endmacro %}


{# What `dbt compile` and its like print in place of the records: their columns, as the next run has them. Only these
   look at files; a run puts in its own. #}
{% macro _next_files_sql(files) %}
    {%- if not floodmark._only_looks() and not floodmark._is_dry() -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set run = floodmark._look(floodmark._settings()) -%}
    {%- set plans = var('floodmark_plan', false) -%}
    {%- set known = none if plans else floodmark._known_schema(run) -%}
    {%- if known is not none -%}
        {{ return(floodmark._known_records_sql(run, known)) }}
    {%- endif -%}
    {%- do run.settings.files.update({'max_files_per_batch': [20000, run.settings.files.max_files_per_batch] | max,
        'max_bytes_per_batch': none} if plans else {}) -%}
    {%- set plan = floodmark._plan_files(run, run.replaces) -%}
    {%- set due = floodmark._count_unseen_files(run, run.replaces) if plans and run.unseen_is_cut
        else {'files': plan.files | length, 'bytes': plan.files | sum(attribute='size')} -%}
    {%- set comment = floodmark._plan_comment({'kind': run.kind if plan.files or run.replaces and not run.target.exists
        and plan.record is not none else 'nothing new', 'low': none, 'high': none, 'lookback': 0, 'rows_null': 0,
        'rows_future': 0, 'file_count': due.files, 'file_bytes': due.bytes,
        'file_paths': (plan.files | map(attribute='path') | list)[:100],
        'new_columns': plan.file_schema.added if plan.get('file_schema') else []}) if plans else '' -%}
    {%- if plan.record is none -%}
        {%- do plan.update({'file_schema': floodmark._known_schema(run)
            or {'record': 'struct<>', 'partitions': []}}) -%}
    {%- endif -%}
    {{ return(comment ~ floodmark._no_records_sql(run, plan)) }}
{% endmacro %}


{# What stands for the files in a SELECT that reads none of them, by the schema of the last batch and the settings of
   today. #}
{% macro _known_records_sql(run, known) %}
    {%- set schema = run.settings.files.schema -%}
    {%- set record = floodmark._record_of(schema) if schema
        else floodmark._with_told(known.record, floodmark._told_columns(run.settings.files, known), []) -%}
    {{ return(floodmark._no_records_sql(run, {'file_schema': dict(known, record=record)})) }}
{% endmacro %}


{# The folder, or pattern of folders, as it stands in SQL. #}
{% macro _files_path(files) %}
    {{ return(floodmark._path_pattern(floodmark._absolute_path(files.path | string)) | replace('`', '``')) }}
{% endmacro %}


{# Options by which Spark finds the files, and `others`. #}
{% macro _files_options(files, others={}) %}
    {%- set options = [] -%}
    {%- for name, value in others.items() -%}
        {%- do options.append(', ' ~ name ~ ' = ' ~ floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {{ return("with (pathGlobFilter = " ~ floodmark._string_literal(files.glob) ~ ", recursiveFileLookup = 'true'"
        ~ floodmark._local_files_options(files.path | string) ~ options | join ~ ")") }}
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


{# Only these files: Spark prunes by it before it reads. Without a list, all. #}
{% macro _files_predicate(batch_files) %}
    {{ return('true' if batch_files is none else '_metadata.file_path in (' ~ floodmark._path_literals(batch_files)
        ~ ')' if batch_files else 'false') }}
{% endmacro %}


{# The paths of files as literals, separated by commas. They are written as one text, since a call for each takes longer
   than Spark takes to read them all. #}
{% macro _path_literals(files) %}
    {{ return(floodmark._string_literal(files | map(attribute='path') | join('\u0001')) | replace('\u0001', "', '")) }}
{% endmacro %}
