{#
  The files of a folder as a stream (`files` of a `streaming_table`). A stream sees a record at a time: it is told the
  columns, and looks into no file before. A record that does not fit is rescued as in batches. One that is corrupt is a
  row without values whose text is rescued; where nothing is rescued it stops the stream.
#}

{# The records as a relation: columns, rescued data, `_metadata`. #}
{% macro _stream_files_sql(files) %}
    {%- set files = floodmark._completed_files(dict(files, format=files.format or floodmark._stream_format(files))) -%}
    {%- set settings = dict(files, single_variant_column=none,
        on_corrupt='null' if files.rescued_data_column else 'fail') -%}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set record = format.columns or floodmark._told_record(settings.schema) -%}
    {%- do floodmark._check_json_keys(settings, record) -%}
    {%- set group = {'json': floodmark._json_stream, 'csv': floodmark._csv_stream,
        'xml': floodmark._xml_stream}.get(settings.format, floodmark._typed_stream)(settings, record) -%}
    {%- set batch = {'file_schema': {'record': record, 'partitions': []}} -%}
    {%- set run = {'settings': {'files': settings}} -%}
    (
        select {{ floodmark._reader_columns_sql(run, batch) }}
        from (
            {{ floodmark._records_sql(run, batch, group, group.sql) }}
        )
        where if(_floodmark_reason is null, true, raise_error('a record is corrupt (' || _floodmark_reason || ') in '
            || _floodmark_metadata.file_path || ': ' || left(_floodmark_raw, 200)
            || '. Correct the file, or name a files.rescued_data_column, which keeps such records'))
    )
{% endmacro %}


{# The format of a stream whose settings leave it to the names of the files: those that are there when it begins. #}
{% macro _stream_format(files) %}
    {%- set run = {'settings': {'files': files}} -%}
    {%- do floodmark._settle_format(run, none, floodmark._listed(files.path, 'select to_json(struct(*)) from ('
        ~ floodmark._folder_files_sql(files) ~ ') limit 1000')) -%}
    {%- if not run.settings.files.format -%}
        {%- do floodmark._refuse([{'setting': 'files.format', 'got': none,
            'expected': 'one of ' ~ floodmark._files_schema().format.choices | join(', ')
            ~ ', because the folder ' ~ files.path ~ ' is not there, or has no file whose name tells it',
            'todo': 'Put the folder back if it was moved or emptied, or add the format'}]) -%}
    {%- endif -%}
    {%- do floodmark._check_format(run.settings.files) -%}
    {{ return(run.settings.files.format) }}
{% endmacro %}


{# The stream of a provider of Spark's; `columns` is the record that it reads, none for its own. #}
{% macro _files_stream(settings, provider, columns=none, options={}) %}
    {%- set given = {'pathGlobFilter': settings.glob, 'recursiveFileLookup': 'true'} -%}
    {%- if settings.max_bytes_per_batch is not none -%}
        {%- do given.update({'maxBytesPerTrigger': floodmark._bytes(settings.max_bytes_per_batch) | string}) -%}
    {%- else -%}
        {%- do given.update({'maxFilesPerTrigger': settings.max_files_per_batch | string}) -%}
    {%- endif -%}
    {%- if columns -%}
        {%- do given.update({'schema': floodmark._as_ddl(floodmark._struct_fields(columns))}) -%}
    {%- endif -%}
    {%- set stream = floodmark._stream_source(provider, dict(options, **given), floodmark._absolute_path(settings.path
        | string)) -%}
    {%- set terms = floodmark._place_terms(settings) -%}
    {{ return('(select *, _metadata from ' ~ stream ~ ' where ' ~ terms | join(' and ') ~ ')' if terms else stream) }}
{% endmacro %}


{# Formats that say what types their values have, texts and binary files. #}
{% macro _typed_stream(settings, record) %}
    {%- set format = floodmark._file_format(settings) -%}
    {{ return({'record': record, 'sql': 'select * from ' ~ floodmark._files_stream(settings, format.provider,
        none if settings.format == 'binary' else record, floodmark._text_options(settings))}) }}
{% endmacro %}


{# Lines, or whole files, each an object or an array of them. #}
{% macro _json_stream(settings, record) %}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {%- set texts = 'select value, _metadata from ' ~ floodmark._files_stream(settings, 'text', none,
        {'wholetext': 'true'} if is_whole else {}) -%}
    {{ return(floodmark._json_texts_group(settings, record, floodmark._json_elements_sql(settings, texts) if is_whole
        else texts)) }}
{% endmacro %}


{# Columns go by their places in a stream; a file whose header names others stops it. #}
{% macro _csv_stream(settings, record) %}
    {%- set fields, typed, texts, columns = [], [], [], [] -%}
    {%- set bad = {'name': '_floodmark_bad', 'type': 'string'} -%}
    {%- for field in floodmark._struct_fields(record) -%}
        {%- do fields.append(dict(field, type=floodmark._csv_type(settings, {field.name: field.type},
            field.name, true))) -%}
        {%- do typed.append(dict(field, type='string' if fields[-1].type == 'text' else fields[-1].type)) -%}
        {%- do texts.append(dict(field, type='string')) -%}
        {%- do columns.append(floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {%- set sql -%}
        select {{ columns | join(', ') }}, _floodmark_bad, _floodmark_texts, _metadata,
            if(_floodmark_texts._floodmark_bad is null, null, 'another number of fields than in the header')
                as _floodmark_reason
        from (
            select *, if(_floodmark_bad is null, null,
                {{ floodmark._from_csv_sql(settings, texts + [bad], '_floodmark_bad') }}) as _floodmark_texts
            from (
                select {{ columns | join(', ') }}, _floodmark_bad, _metadata
                from {{ floodmark._files_stream(settings, 'csv', floodmark._struct_of(typed + [bad]),
                    dict(floodmark._text_options(settings), enforceSchema='false')) }}
            )
        )
    {%- endset -%}
    {{ return({'record': floodmark._struct_of(fields), 'dialect': floodmark._csv_dialect(settings),
        'reason_sql': '_floodmark_reason', 'sql': sql}) }}
{% endmacro %}


{# Texts, which come into the columns' types then, as in batches. Where a file is not well formed, the records before
   that place are read, and the file's whole text is the corrupt record. Of one that its XSD does not let pass Spark
   writes the text anew, without attributes of its element. #}
{% macro _xml_stream(settings, record) %}
    {%- set group = floodmark._xml_group(settings, record, none) -%}
    {%- set tag = '<' ~ floodmark._reader_option(settings, 'rowTag', '') ~ '>' -%}
    {%- set columns = [] -%}
    {%- for field in floodmark._struct_fields(group.lies_as) -%}
        {%- do columns.append(floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {#- Spark reads the text of corrupt records with another column alone -#}
    {%- set sql -%}
        select {{ columns | join(', ') }}, _metadata, case
            when _floodmark_bad is null then null
            {%- if floodmark._reader_option(settings, 'rowValidationXSDPath', none) %}
            when startswith(_floodmark_bad, {{ floodmark._string_literal(tag) }}) then 'not valid against the XSD'
            {%- endif %}
            when not is_valid_utf8(_floodmark_bad)
                or {{ floodmark._is_broken_xml_sql("ltrim('\ufeff', _floodmark_bad)") }}
                then 'not well-formed XML'
            end || left(to_json(struct({{ columns[0] }})), 0) as _floodmark_reason
        from {{ floodmark._files_stream(settings, 'xml', group.lies_as, floodmark._text_options(settings)) }}
    {%- endset -%}
    {{ return(dict(group, sql=sql)) }}
{% endmacro %}
