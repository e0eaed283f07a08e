{# `files={...}`: docs/guides/files.md. #}
{% macro _files_schema() %}
    {%- set inferred = 'a model without `schema`' -%}
    {{ return({
        'path': {'type': 'text', 'required': true, 'expected': 'the folder to load from', 'todo': 'Add it',
            'meaning': 'the folder, or a pattern of folders; relative to the project, or a URI'},
        'format': {'type': 'choice', 'choices': ['json', 'csv', 'parquet', 'avro', 'orc', 'xml', 'text', 'binary'],
            'without': 'by the names of the files, where all agree',
            'meaning': 'the format of the files'},
        'schema': {'type': 'text', 'without': 'inferred', 'meaning': 'the columns as Spark DDL'},
        'schema_hints': {'type': 'text', 'without': 'none', 'excludes': 'schema',
            'meaning': 'types of some columns, as DDL; also `a.b T`, `arr.element.x T`, `m.key T`, `m.value T`'},
        'infer_column_types': {'type': 'flag', 'default': false,
            'meaning': 'JSON, CSV and XML: types instead of strings'},
        'schema_evolution': {'type': 'choice', 'choices': ['add_new_columns', 'widen', 'rescue', 'fail', 'none'],
            'without': '`add_new_columns`, with `schema` `none`',
            'meaning': 'what becomes of new columns and of values that do not fit'},
        'rescued_data_column': {'type': 'column_or_false',
            'without': '`_rescued_data` if the schema is inferred, or with `schema_evolution` `rescue` or `fail`; '
            'else none',
            'meaning': 'the column that keeps what fits no other column; `false` for none'},
        'case_sensitive': {'type': 'flag', 'default': true,
            'meaning': '`false`: names that differ only in case are one column'},
        'partition_columns': {'type': 'names_or_none', 'without': 'inferred',
            'meaning': 'folders `k=v` that are columns; `[]` for none'},
        'glob': {'type': 'text', 'default': '*', 'expected': 'one pattern',
            'todo': "Write it as text, such as '*.csv'", 'meaning': 'a pattern for file names'},
        'recursive': {'type': 'flag', 'default': true, 'meaning': 'folders below too'},
        'modified_after': {'type': 'text', 'without': 'no bound', 'meaning': 'a UTC time: only files that are newer'},
        'modified_before': {'type': 'text', 'without': 'no bound', 'meaning': 'a UTC time: only files that are older'},
        'include_existing': {'type': 'flag', 'default': true,
            'meaning': '`false`: what is there at the first load is skipped, and recorded so'},
        'max_files_per_batch': {'type': 'count', 'default': 1000, 'todo': 'Leave it out for 1000',
            'meaning': 'the rest follows in further batches of the same run'},
        'max_bytes_per_batch': {'type': 'bytes', 'without': 'no bound',
            'meaning': "files until their sum reaches it: bytes, or `'512 mb'`"},
        'allow_overwrites': {'type': 'choice_or_false', 'choices': ['append', 'replace'], 'default': false,
            'expected': "false, 'append' or 'replace'",
            'meaning': 'a file that is overwritten: `append` loads it again, `replace` deletes its old rows too'},
        'on_corrupt': {'type': 'choice', 'choices': ['quarantine', 'fail', 'null'], 'default': 'quarantine',
            'meaning': '`quarantine`, `fail`, or `null`: the row with NULLs, its text rescued'},
        'max_corrupt_fraction': {'type': 'fraction', 'without': 'no bound',
            'meaning': 'above it the batch fails, and nothing is quarantined'},
        'on_loaded': {'type': 'choice', 'choices': ['keep', 'archive', 'delete'], 'default': 'keep',
            'meaning': 'what becomes of files that are loaded'},
        'archive_to': {'type': 'text', 'without': 'none', 'needs': ['on_loaded', 'archive', 'it is where these go'],
            'meaning': 'the folder of the archive, outside of `path`'},
        'after': {'type': 'duration', 'default': '30 days',
            'meaning': 'how long ago the batch of a file was committed before it is archived or deleted'},
        'single_variant_column': {'type': 'column', 'without': 'none', 'excludes': 'schema',
            'meaning': 'JSON, CSV and XML: the whole record in one VARIANT column of this name'},
        'options': {'type': 'mapping', 'default': {}, 'expected': "a mapping of Spark's reader options",
            'todo': "Write it as a mapping, such as {'multiLine': true}",
            'meaning': "Spark's reader options of the format"},
    }) }}
{% endmacro %}


{# The model's `files`, completed (_completed_files). None if the model has none; what is not a mapping is returned as
   it is. #}
{% macro _files_settings() %}
    {%- set given = floodmark._setting('files') -%}
    {{ return(floodmark._completed_files(floodmark._with_defaults(given, floodmark._files_schema()))
        if given is mapping else given) }}
{% endmacro %}


{# `files` with defaults, and with what follows from other settings: `infers`, whether the schema is inferred from the
   files; `schema_evolution`, that of records; `adds_folders`, whether a level of folders that comes later is a column;
   `rescued_data_column`, false if there is none. While `format` is not given, these are as for a format whose records
   have columns. #}
{% macro _completed_files(settings) %}
    {%- set is_fixed = floodmark._has_fixed_columns(settings) -%}
    {%- set infers = not settings.schema and not is_fixed -%}
    {%- set evolution = settings.schema_evolution or ('none' if settings.schema else 'add_new_columns') -%}
    {%- set adds = settings.get('adds_folders', evolution in ['add_new_columns', 'widen']) -%}
    {%- set rescued = settings.rescued_data_column -%}
    {%- if rescued is none and (infers or evolution in ['rescue', 'fail']) -%}
        {%- set rescued = '_rescued_data' -%}
    {%- endif -%}
    {{ return(dict(settings, infers=infers, schema_evolution='none' if is_fixed else evolution, adds_folders=adds,
        rescued_data_column=false if is_fixed else rescued or false)) }}
{% endmacro %}


{# Whether the columns of the records are those of the format, or one VARIANT: hints type folders alone. #}
{% macro _has_fixed_columns(files) %}
    {{ return(files.get('format') in ['text', 'binary'] or files.get('single_variant_column') is not none) }}
{% endmacro %}


{# Problems of what becomes of corrupt records. #}
{% macro _corrupt_problems(files) %}
    {%- set problems = [] -%}
    {%- set completed = floodmark._completed_files(floodmark._with_defaults(files, floodmark._files_schema())) -%}
    {%- set bare = 'single_variant_column' if files.get('single_variant_column')
        else ("format 'text'" if files.get('format') == 'text') -%}
    {%- if files.get('on_corrupt') == 'null' and bare -%}
        {%- do problems.append({'setting': 'files.on_corrupt', 'got': 'null',
            'expected': "'quarantine' or 'fail' with " ~ bare ~ ', beside which nothing is rescued',
            'todo': 'Use one of them'}) -%}
    {%- elif files.get('on_corrupt') == 'null' and files.get('format') != 'binary'
        and not completed.rescued_data_column -%}
        {%- do problems.append({'setting': 'files.on_corrupt', 'got': 'null',
            'expected': 'a rescued_data_column, where the text of such a record is kept',
            'todo': "Name one, or use 'quarantine'"}) -%}
    {%- endif -%}
    {%- if files.get('on_corrupt') in ['null', 'fail'] and files.get('max_corrupt_fraction') is not none -%}
        {%- do problems.append({'setting': 'files.max_corrupt_fraction', 'got': files.max_corrupt_fraction,
            'expected': "on_corrupt 'quarantine'", 'todo': "Remove it, or use 'quarantine'"}) -%}
    {%- endif -%}
    {{ return(problems) }}
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
    {%- for name in ['path', 'archive_to'] -%}
        {%- do problems.extend(floodmark._secret_problems('files.' ~ name, files.get(name))) -%}
    {%- endfor -%}
    {%- if floodmark._is_stream() -%}
        {%- do problems.extend(floodmark._stream_files_problems(files)) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._format_problems(files)) -%}
    {%- do problems.extend(floodmark._corrupt_problems(files)) -%}
    {%- if files.get('schema') and files.get('schema_evolution') in ['add_new_columns', 'widen'] -%}
        {%- do problems.append({'setting': 'files.schema', 'got': files.schema,
            'expected': "no schema with schema_evolution '" ~ files.schema_evolution ~ "'",
            'todo': 'Write it as schema_hints'}) -%}
    {%- endif -%}
    {%- if files.get('schema_hints') is string and floodmark._hints(files.schema_hints) is none -%}
        {%- do problems.append({'setting': 'files.schema_hints', 'got': files.schema_hints,
            'expected': "columns and their types, such as 'amount decimal(10, 2), address.zip string'",
            'todo': 'Correct it'}) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._own_column_problems(files)) -%}
    {%- do problems.extend(floodmark._reader_option_problems(files)) -%}
    {%- do problems.extend(floodmark._overwrite_file_problems(files)) -%}
    {%- do problems.extend(floodmark._on_loaded_problems(files)) -%}
    {%- for name in ['modified_after', 'modified_before'] if files.get(name)
        and not floodmark._is_position(files[name], 'timestamp') -%}
        {%- do problems.append({'setting': 'files.' ~ name, 'got': files[name],
            'expected': "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00'", 'todo': 'Correct it'}) -%}
    {%- endfor -%}
    {%- set mark = 'stream' if floodmark._is_stream() else 'files' -%}
    {%- if not floodmark._has_mark(mark, model.get('compiled_code') or '/*floodmark:' ~ mark ~ '*/') -%}
        {%- do problems.append({'setting': 'files', 'got': files, 'expected': 'floodmark.new_files() in the SELECT',
            'todo': 'Read "from {{ floodmark.new_files() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Whether floodmark gives a column of this name itself, beside those of the records. #}
{% macro _is_own_column(settings, name) %}
    {{ return(name | lower in ['_metadata', (settings.rescued_data_column or '_metadata') | lower]
        or (name | lower).startswith('_floodmark_')) }}
{% endmacro %}


{# Problems of columns that settings name, and that no record can give: a list for _refuse. #}
{% macro _own_column_problems(files) %}
    {%- set completed = floodmark._completed_files(floodmark._with_defaults(files, floodmark._files_schema())) -%}
    {%- set problems = [] -%}
    {%- for setting in ['schema', 'schema_hints'] if files.get(setting) is string -%}
        {%- for hint in floodmark._hints(files[setting]) or [] if floodmark._is_own_column(completed, hint.path[0]) -%}
            {%- do problems.append({'setting': 'files.' ~ setting, 'got': hint.path[0],
                'expected': "none of floodmark's own columns", 'todo': 'Remove it, or give '
                ~ ('rescued_data_column' if hint.path[0] | lower == completed.rescued_data_column | lower
                else 'the column') ~ ' another name'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of settings that a format does not have: a list for _refuse. Where the names of the files tell the format,
   `files` has it once it is known. #}
{% macro _format_problems(files) %}
    {%- set problems = [] -%}
    {%- set is_fixed = files.get('format') in ['text', 'binary'] -%}
    {%- for name in ['schema', 'schema_hints', 'rescued_data_column', 'single_variant_column']
        if is_fixed and files.get(name) and not (name == 'schema_hints' and floodmark._may_be_of_folders(files)) -%}
        {%- do problems.append({'setting': 'files.' ~ name, 'got': files[name],
            'expected': ('only types of folders name=value' if name == 'schema_hints' else 'nothing')
            ~ " with format '" ~ files.format ~ "', whose records have columns of their own",
            'todo': 'Remove the others' if name == 'schema_hints' else 'Remove it'}) -%}
    {%- endfor -%}
    {%- do problems.extend(floodmark._variant_problems(files))
        if files.get('single_variant_column') and not is_fixed -%}
    {#- a stream looks into no file before it reads it, so it is told the columns -#}
    {%- if floodmark._is_stream() and files.get('format') and not is_fixed and not files.get('schema') -%}
        {%- do problems.append({'setting': 'files.schema', 'got': none,
            'expected': "the columns as DDL, such as 'id bigint, name string', on a streaming_table",
            'todo': 'Add it: a stream infers no schema'}) -%}
    {%- endif -%}
    {%- if floodmark._is_stream() and files.get('rescued_data_column')
        and files.get('format') in ['parquet', 'orc', 'avro'] -%}
        {%- do problems.append({'setting': 'files.rescued_data_column', 'got': files.rescued_data_column,
            'expected': "format 'json', 'csv' or 'xml' with it on a streaming_table",
            'todo': 'Leave it out, or load the files with an incremental model'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of settings beside `single_variant_column`, which holds the whole record. #}
{% macro _variant_problems(files) %}
    {%- set problems = [] -%}
    {%- if files.get('format') in ['parquet', 'orc', 'avro'] -%}
        {%- do problems.append({'setting': 'files.single_variant_column', 'got': files.single_variant_column,
            'expected': "format 'json', 'csv' or 'xml'", 'todo': 'Remove it, and make a VARIANT in the SELECT, such as '
            'to_variant_object(struct(*))'}) -%}
    {%- endif -%}
    {%- if files.get('rescued_data_column') -%}
        {%- do problems.append({'setting': 'files.rescued_data_column', 'got': files.rescued_data_column,
            'expected': 'no such column beside single_variant_column, which has the whole record',
            'todo': 'Remove it'}) -%}
    {%- endif -%}
    {%- if not floodmark._may_be_of_folders(files) -%}
        {%- do problems.append({'setting': 'files.schema_hints', 'got': files.schema_hints,
            'expected': 'only types of folders name=value beside single_variant_column, which has the whole record',
            'todo': 'Remove the others, and cast what is in the VARIANT in the SELECT'}) -%}
    {%- endif -%}
    {%- for name in (files.get('options') if files.get('options') is mapping else {})
        if files.get('format') == 'xml' and name | lower == 'rowvalidationxsdpath' -%}
        {#- of a record that its XSD does not let pass Spark makes NULL, and says nothing -#}
        {%- do problems.append({'setting': 'files.options.' ~ name, 'got': files.options[name],
            'expected': 'no XSD beside single_variant_column, with which Spark does not tell which records break it',
            'todo': 'Remove one of the two'}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Whether all hints may type columns that folders give: a flat type of a name, one of `partition_columns` if these are
   listed, and not the name of a column of the records. #}
{% macro _may_be_of_folders(files) %}
    {%- set own = {'text': ['value'], 'binary': ['path', 'modificationtime', 'length', 'content']}.get(
        files.get('format')) or [floodmark._column_name(files.single_variant_column) | lower] -%}
    {%- set hints = floodmark._hints(files.schema_hints) if files.get('schema_hints') is string else [] -%}
    {%- set names = floodmark._name_list(files.partition_columns) | map('lower') | list
        if files.get('partition_columns') is not none else none -%}
    {%- for hint in hints or [] if hint.path | length > 1 or floodmark._nesting(hint.type)
        or hint.path[0] | lower in own
        or names is not none and hint.path[0] | lower not in names -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{# Problems of settings that streams do not have. #}
{% macro _stream_files_problems(files) %}
    {%- set problems = [] -%}
    {%- for name in files
        if name in floodmark._files_schema() and name not in ['path', 'format', 'schema', 'rescued_data_column', 'glob',
        'recursive', 'max_files_per_batch', 'max_bytes_per_batch', 'options'] -%}
        {%- do problems.append({'setting': 'files.' ~ name, 'got': files[name],
            'expected': 'no such setting on a streaming_table',
            'todo': 'Leave it out, or load the files with an incremental model'}) -%}
    {%- endfor -%}
    {#- Spark's own reader takes all behind a quote that is not closed for one value, and the record for a good one -#}
    {%- for name, value in (files.get('options') if files.get('options') is mapping else {}).items()
        if files.get('format') == 'csv' and name | lower == 'multiline' and value | string | lower == 'true' -%}
        {%- do problems.append({'setting': 'files.options.' ~ name, 'got': value,
            'expected': "a record a line with format 'csv' on a streaming_table",
            'todo': 'Leave it out, or load the files with an incremental model'}) -%}
    {%- endfor -%}
    {%- if files.get('max_bytes_per_batch') and files.get('max_files_per_batch') -%}
        {%- do problems.append({'setting': 'files.max_bytes_per_batch', 'got': files.max_bytes_per_batch,
            'expected': 'max_bytes_per_batch or max_files_per_batch, not both, on a streaming_table',
            'todo': 'Remove one: Spark takes one bound of a micro-batch'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# A file that is overwritten can replace its earlier rows where the table says which rows are of it. #}
{% macro _overwrite_file_problems(files) %}
    {%- set mode = files.get('allow_overwrites') -%}
    {%- if mode != 'replace' -%}
        {{ return([]) }}
    {%- elif (config.get('incremental_strategy') or 'append') != 'append' -%}
        {{ return([{'setting': 'files.allow_overwrites', 'got': mode,
            'expected': "incremental_strategy 'append' with it",
            'todo': "Use 'append': merge replaces rows by their key"}]) }}
    {%- elif floodmark._path_column(floodmark._model_text()) is none -%}
        {{ return([{'setting': 'files.allow_overwrites', 'got': mode,
            'expected': "the path of each row's file in the table",
            'todo': 'Add "_metadata.file_path as source_file" to the SELECT'}]) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{# Loaded files go to an archive that the model does not read; none is deleted before a week has passed. #}
{% macro _on_loaded_problems(files) %}
    {%- set problems = [] -%}
    {%- set after = floodmark._parse_duration(files.get('after') or '30 days') -%}
    {%- if files.get('on_loaded') == 'delete' and after is not none and after < floodmark._micros_in().week -%}
        {%- do problems.append({'setting': 'files.after', 'got': files.after,
            'expected': "'7 days' or more with on_loaded 'delete'",
            'todo': 'Keep files for as long as somebody may want to load them again'}) -%}
    {%- endif -%}
    {%- if files.get('on_loaded') == 'archive' and not files.get('archive_to') -%}
        {%- do problems.append({'setting': 'files.archive_to', 'got': none,
            'expected': "a folder with on_loaded 'archive'", 'todo': 'Add it'}) -%}
    {%- elif files.get('archive_to') is string and files.get('path') is string -%}
        {%- set source = floodmark._absolute_path(files.path) -%}
        {%- if floodmark._may_lie_below(floodmark._absolute_path(files.archive_to), source) -%}
            {%- do problems.append({'setting': 'files.archive_to', 'got': files.archive_to,
                'expected': 'a folder that is not below ' ~ floodmark._plain_path(source) ~ ', which the model reads',
                'todo': 'Put the archive beside it'}) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# The column of a SELECT that is the path of a row's file: `_metadata.file_path` with a name alone behind it, outside
   of comments; none where it has none. The text may have Jinja in it, where the model is still being rendered. #}
{% macro _path_column(sql) %}
    {%- set found = modules.re.search('_metadata\\.file_path\\s+(?:as\\s+)?(`(?:[^`]|``)+`'
        '|(?!(?:from|asc|desc|end)\\b)[A-Za-z_]\\w*)(?=\\s*(?:,|;|\\|>|from\\b|\\{[{%#]|$))',
        floodmark._without_comments(sql), flags=modules.re.I) -%}
    {{ return(floodmark._unquoted(found.group(1)) if found else none) }}
{% endmacro %}


{# A number of bytes, of one or of text such as '512 mb'; none where it cannot be read. #}
{% macro _bytes(value) %}
    {%- set found = modules.re.fullmatch('(\\d+) ?([kmgt]?)b?', value | string | lower | trim) -%}
    {{ return(found.group(1) | int * 1024 ** ' kmgt'.index(found.group(2) or ' ') if found else none) }}
{% endmacro %}


{# The options of Spark's readers that a user may give, by format. #}
{% macro _reader_options() %}
    {%- set texts = ['encoding', 'charset', 'lineSep', 'compression'] -%}
    {%- set times = ['dateFormat', 'timestampFormat', 'timestampNTZFormat', 'timeZone', 'locale'] -%}
    {%- set rebased = ['datetimeRebaseMode', 'int96RebaseMode'] -%}
    {{ return({
        'json': texts + times + ['multiLine', 'allowComments', 'allowUnquotedFieldNames', 'allowSingleQuotes',
            'allowNumericLeadingZeros', 'allowBackslashEscapingAnyCharacter', 'allowUnquotedControlChars',
            'allowNonNumericNumbers', 'dropFieldIfAllNull'],
        'csv': texts + times + ['header', 'sep', 'delimiter', 'quote', 'escape', 'charToEscapeQuoteEscaping', 'comment',
            'multiLine', 'nullValue', 'emptyValue', 'nanValue', 'positiveInf', 'negativeInf', 'ignoreLeadingWhiteSpace',
            'ignoreTrailingWhiteSpace', 'maxColumns', 'maxCharsPerColumn', 'unescapedQuoteHandling'],
        'xml': texts + ['rowTag', 'excludeAttribute', 'attributePrefix', 'valueTag', 'nullValue',
            'ignoreSurroundingSpaces', 'rowValidationXSDPath', 'ignoreNamespace', 'wildcardColName'],
        'text': texts + ['wholetext'],
        'binary': [],
        'parquet': rebased,
        'orc': [],
        'avro': ['avroSchema', 'datetimeRebaseMode', 'recursiveFieldMaxDepth', 'enableStableIdentifiersForUnionType'],
    }) }}
{% endmacro %}


{# Options of texts that are looked at before Spark's reader takes them: a list for _refuse. #}
{% macro _line_problems(format, options) %}
    {%- set problems = [] -%}
    {%- for name, value in options.items() -%}
        {%- if format in ['json', 'csv'] and name | lower == 'linesep' and value not in ['\n', '\r\n', '\r'] -%}
            {%- do problems.append({'setting': 'files.options.' ~ name, 'got': value,
                'expected': "a record a line with format '" ~ format ~ "'",
                'todo': 'Remove it, and end each record with a line feed where the files are written'}) -%}
        {%- elif format == 'json' and name | lower in ['encoding', 'charset']
            and not floodmark._is_utf8(value) -%}
            {%- do problems.append({'setting': 'files.options.' ~ name, 'got': value,
                'expected': "UTF-8, as JSON is (RFC 8259)", 'todo': 'Remove it, and write the files as UTF-8'}) -%}
        {%- elif format == 'xml' and name | lower in ['encoding', 'charset'] and not floodmark._is_utf8(value)
            and 'rowvalidationxsdpath' not in options | map('lower') | list -%}
            {#- Spark reads a file by it against an XSD alone -#}
            {%- do problems.append({'setting': 'files.options.' ~ name, 'got': value,
                'expected': "the encoding that each file declares, with format 'xml'",
                'todo': 'Remove it. A file that declares none is UTF-8: have its first line name its encoding'}) -%}
        {%- elif format == 'text' and name | lower in ['encoding', 'charset'] and not floodmark._is_utf8(value) -%}
            {%- do problems.append({'setting': 'files.options.' ~ name, 'got': value,
                'expected': "the bytes of each line as they stand, with format 'text'",
                'todo': "Remove it, and write decode(cast(value as binary), '" ~ value ~ "') in the SELECT"}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the options of a reader: a list for _refuse. #}
{% macro _reader_option_problems(files) %}
    {%- set options = {} if files.get('options') is none else files.options -%}
    {%- if options is not mapping -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set format = files.get('format') -%}
    {%- set allowed = floodmark._reader_options().get(format) -%}
    {%- for name, value in options.items()
        if floodmark._has_secret(name ~ '=' ~ value) or floodmark._has_secret(value) -%}
        {%- do problems.append({'setting': 'files.options.' ~ name, 'got': '***',
            'expected': 'no credentials, which would appear in logs and in target/',
            'todo': floodmark._where_secrets_belong()}) -%}
    {%- endfor -%}
    {%- set secret = problems | map(attribute='setting') | list -%}
    {%- for name in options if allowed is not none and name | lower not in allowed | map('lower') | list
        and 'files.options.' ~ name not in secret -%}
        {%- do problems.append({'setting': 'files.options.' ~ name, 'got': options[name],
            'expected': ('one of ' ~ allowed | join(', ') if allowed else 'no options') ~ " with format '" ~ format
            ~ "'",
            'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- do problems.extend(floodmark._line_problems(format, options)) -%}
    {%- if options and not format -%}
        {%- do problems.append({'setting': 'files.format', 'got': none, 'expected': 'a format beside options',
            'todo': 'Add it: each format has options of its own'}) -%}
    {%- elif format == 'xml' and 'rowtag' not in options | map('lower') | list -%}
        {%- do problems.append({'setting': 'files.options.rowTag', 'got': none,
            'expected': "the element that is a record, with format 'xml'",
            'todo': "Add it: options={'rowTag': 'row'}"}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
