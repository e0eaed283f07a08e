{# `files={...}`: docs/guides/files.md. #}
{% macro _files_schema() %}
    {{ return({
        'path': {'type': 'any', 'required': true, 'expected': 'the folder to load from', 'todo': 'Add it',
            'meaning': 'the folder; relative to the project, or a URI'},
        'format': {'type': 'choice', 'choices': ['json', 'text'], 'default': 'json',
            'expected': "'json' (JSON lines) or 'text'",
            'todo': "Land the files as JSON lines, or read their lines with 'text' and parse them in the SELECT",
            'meaning': '`json`: one object a line; `text`: each line a row with one column, `value`'},
        'schema': {'type': 'any', 'without': 'required for `json`, not allowed for `text`',
            'meaning': 'the columns as Spark DDL'},
        'glob': {'type': 'any', 'default': '*', 'meaning': 'a pattern for file names'},
        'recursive': {'type': 'any', 'default': true, 'meaning': 'folders below too'},
        'max_files_per_batch': {'type': 'count', 'default': 1000, 'todo': 'Leave it out for 1000',
            'meaning': 'the rest follows in further batches of the same run'},
    }) }}
{% endmacro %}


{# The settings with their defaults; what is no mapping as it is, and none where the model has none. #}
{% macro _files_settings() %}
    {%- set given = floodmark._setting('files') -%}
    {{ return(floodmark._with_defaults(given, floodmark._files_schema()) if given is mapping else given) }}
{% endmacro %}


{# Problems of `files={...}`: a list for _refuse. #}
{% macro _files_problems() %}
    {%- set files = floodmark._setting('files') -%}
    {%- if files is none -%}
        {{ return([]) }}
    {%- elif files is not mapping -%}
        {{ return([{'setting': 'files', 'got': files,
            'expected': "a mapping such as {'path': 'data/in', 'format': 'json'}", 'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = floodmark._schema_problems('files', files, floodmark._files_schema()) -%}
    {%- do problems.extend(floodmark._secret_problems('files.path', files.get('path'))) -%}
    {%- if files.get('format') == 'text' and files.get('schema') is not none -%}
        {%- do problems.append({'setting': 'files.schema', 'got': files.schema,
            'expected': "no schema with format 'text'",
            'todo': 'Remove it: each line is a row with one column, value'}) -%}
    {%- elif files.get('format') != 'text' and not files.get('schema') -%}
        {%- do problems.append({'setting': 'files.schema', 'got': files.get('schema'),
            'expected': "the columns as DDL, such as 'id bigint, name string'", 'todo': 'Add it'}) -%}
    {%- endif -%}
    {%- set marker = 'floodmark:stream' if floodmark._is_stream() else 'floodmark:files' -%}
    {%- if marker not in (model.get('compiled_code') or marker) -%}
        {%- do problems.append({'setting': 'files', 'got': files, 'expected': 'floodmark.new_files() in the SELECT',
            'todo': 'Read "from {{ floodmark.new_files() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
