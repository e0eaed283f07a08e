{# Records that are corrupt: they go to the quarantine with file, line, text and reason, or fail the batch. #}

{# Fail a batch whose records are corrupt where the settings do not let them be. #}
{% macro _check_corrupt(run, batch, stage) %}
    {%- set settings = run.settings.files -%}
    {%- set corrupt = batch.files | sum(attribute='rows_quarantined') -%}
    {%- set all = corrupt + batch.files | sum(attribute='rows') -%}
    {%- do batch.update({'rows_corrupt': corrupt}) -%}
    {%- set most = settings.max_corrupt_fraction -%}
    {%- if corrupt and (settings.on_corrupt == 'fail' or most is not none and corrupt / all > most) -%}
        {%- set shown = [] -%}
        {%- for row in floodmark._query_json('select to_json(struct(_floodmark_metadata.file_path as path, '
            '_floodmark_reason as reason, left(_floodmark_raw, 200) as raw)) from ' ~ stage
            ~ ' where _floodmark_reason is not null order by 1 limit 5') -%}
            {%- do shown.append(row.path ~ ': ' ~ row.reason ~ (': ' ~ floodmark._shown_json(row.raw)
                if row.raw else '')) -%}
        {%- endfor -%}
        {%- set counted = '{:,} of {:,} records '.format(corrupt, all) ~ ('is' if corrupt == 1 else 'are')
            ~ ' corrupt' -%}
        {%- do floodmark._stop(counted ~ (", and files.on_corrupt is 'fail'" if settings.on_corrupt == 'fail'
            else ', more than files.max_corrupt_fraction (' ~ most ~ ')') ~ ', so nothing was loaded. The first: '
            ~ shown | join('; ') ~ '. Correct or remove the files', rejects=counted) -%}
    {%- endif -%}
{% endmacro %}


{# The corrupt records of a batch as rows of the quarantine: _floodmark_reason, _floodmark_raw, _floodmark_file,
   _floodmark_line. The staging table has no numbers of lines: of files that are not large they are counted in the
   files, each read as one text, and stand where the text is found as often as in the staging table. A packed file
   counts as 20 times its size. #}
{% macro _corrupt_rows_sql(run, batch) %}
    {%- set settings = run.settings.files -%}
    {%- set stage = floodmark._records_stage(batch) -%}
    {%- set rows = 'select _floodmark_reason, _floodmark_raw, _floodmark_metadata.file_path as _floodmark_file, '
        "row_number() over (partition by _floodmark_metadata.file_path, _floodmark_raw order by "
        "_floodmark_metadata.file_block_start) as _floodmark_nth from " ~ stage
        ~ ' where _floodmark_reason is not null' -%}
    {%- set files = [] -%}
    {%- for file in batch.files
        if file.rows_raw and file.size * (20 if floodmark._packed_ending(file.path) else 1) < 64 * 1024 * 1024
        and floodmark._file_format(settings).has_lines -%}
        {%- do files.append(file) -%}
    {%- endfor -%}
    {%- set numbered = floodmark._numbered_lines_sql(settings, files) if files
        else "select '' as file, '' as raw, 1 as nth, bigint(1) as line where false" -%}
    select _floodmark_reason, _floodmark_raw, _floodmark_file, line as _floodmark_line
    from ({{ rows }})
    left join ({{ numbered }}) on _floodmark_file = file and _floodmark_raw = raw and _floodmark_nth = nth
{% endmacro %}


{# The lines of these files with their numbers: file, line, raw, and the how manieth of its text in its file a line is.
   Bytes that are no UTF-8 survive as letters of Latin-1 while the text is split. The texts are as the staging table has
   them: of JSON without blanks ahead. #}
{% macro _numbered_lines_sql(settings, files) %}
    {%- set blanks = '\ufeff \t' if settings.format == 'json' else '\ufeff' -%}
    {%- set is_latin = settings.format == 'csv'
        and floodmark._csv_dialect(settings).encoding | upper in ['ISO-8859-1', 'LATIN1', 'ISO8859_1'] -%}
    select file, line, raw, row_number() over (partition by file, raw order by line) as nth
    from (
        select file, pos + 1 as line,
            ltrim('{{ blanks }}', {{ 'col' if is_latin
                else "make_valid_utf8(cast(encode(col, 'ISO-8859-1') as string))" }}) as raw
        from (
            select _metadata.file_path as file,
                posexplode(split(decode(cast(value as binary), 'ISO-8859-1'), '\r\n|\r|\n'))
            from {{ floodmark._raw_files_sql(settings, files, {'wholetext': 'true'}) }}
        )
    )
{% endmacro %}
