{# The records of the files that this batch loads: their columns, those of folders `name=value`, rescued data, and the
   struct `_metadata` (file path, name, size, modification time). Stands in a FROM; the materialization puts in the
   batch's records. Settings: files={...}. #}
{% macro new_files() %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- elif model.resource_type == 'unit_test' -%}
        {%- do floodmark._refuse([{'setting': 'overrides', 'expected': 'rows for floodmark.new_files(), since a unit '
            'test reads no files', 'todo': 'Write them as overrides: {macros: {floodmark.new_files: '
            '"(select 1 as id)"}}'}], "unit test '" ~ model.name ~ "'") -%}
    {%- endif -%}
    {%- set files = floodmark._files_settings() -%}
    {%- do floodmark._refuse(floodmark._secret_problems('files.path', files.get('path')) if files is mapping
        else []) -%}
    {%- if floodmark._is_stream() and files is mapping -%}
        {%- do floodmark._validate_stream_settings() -%}
        {{ return(floodmark._stream_files_sql(files)) }}
    {%- endif -%}
    {%- if model.config.materialized != 'incremental' or files is not mapping -%}
        {%- do floodmark._refuse([{'setting': 'files', 'got': files,
            'expected': "files={'path': '...'} on an incremental model",
            'todo': 'floodmark.new_files() needs the folder to read'}]) -%}
    {%- endif -%}
    {%- do floodmark._require_opt_in() -%}
    {%- do floodmark._validate_settings() -%}
    {{ return('/*floodmark:files*/ ' ~ floodmark._next_files_sql(files) ~ ' /*floodmark:end*/') }}
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
        ~ floodmark._reading_options_sql(files.path | string) ~ options | join ~ ")") }}
{% endmacro %}


{# Options by which Spark reads files whole, whatever the session passes over, and local ones of any name
   (dbt_floodmark/paths.py). They count for this read alone. #}
{% macro _reading_options(path) %}
    {{ return(dict({'ignoreMissingFiles': 'false', 'ignoreCorruptFiles': 'false'},
        **(adapter.floodmark_local_files(path) if adapter is defined and adapter.floodmark_local_files is defined
        else {}))) }}
{% endmacro %}


{# These behind others, as SQL. #}
{% macro _reading_options_sql(path) %}
    {%- set options = [] -%}
    {%- for key, value in floodmark._reading_options(path).items() -%}
        {%- do options.append(", '" ~ key ~ "' = '" ~ value ~ "'") -%}
    {%- endfor -%}
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


{# These files as they lie there, for a FROM: texts, or what another of Spark's readers gives without a schema. #}
{% macro _raw_files_sql(settings, files, options={}, provider='text') %}
    {{ return(provider ~ '.`' ~ floodmark._files_path(settings) ~ '` ' ~ floodmark._files_options(settings, options)
        ~ ' where ' ~ floodmark._files_predicate(files)) }}
{% endmacro %}
