{#
  What a batch of files holds is read once, into a staging table of its own: the known columns, what was rescued, and of
  records that are corrupt the text and the reason. The model's SELECT reads those that are not, the quarantine the
  others, and the ledger's counts come from there. So all of them are of one reading, whatever becomes of the files.
#}

{# Read the files of a batch into its staging table, unless a run before has; what stands for them in the SELECT is
   known afterwards (batch.reader), and what each file gave (batch.files). #}
{% macro _read_files(run, batch) %}
    {%- if not batch.files -%}
        {%- do batch.update({'reader': floodmark._no_records_sql(run, batch)}) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set has_records = floodmark._has_records(batch) -%}
    {%- if not has_records and floodmark._reads_straight(run, batch) -%}
        {%- do batch.update({'replaces_files': floodmark._replaces_files(run, batch)}) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set stage = floodmark._records_stage(batch) -%}
    {%- if not has_records -%}
        {%- do batch.update({'records_by': invocation_id[:8]}) -%}
        {%- do floodmark._stage_records(run, batch, floodmark._records_stage(batch)) -%}
        {%- set stage = floodmark._records_stage(batch) -%}
    {%- endif -%}
    {%- do batch.update({'files': floodmark._counted_files(run, batch, stage),
        'reader': floodmark._records_reader(run, batch, stage),
        'replaces_files': floodmark._replaces_files(run, batch)}) -%}
    {%- do floodmark._check_corrupt(run, batch, stage) -%}
{% endmacro %}


{# Whether a run has read the files of a batch into a staging table that is whole. #}
{% macro _has_records(batch) %}
    {{ return(batch.get('records_by') is not none and floodmark._is_stage_whole(floodmark._records_stage(batch))) }}
{% endmacro %}


{# Whether rows of earlier loads of a batch's files go with it. #}
{% macro _replaces_files(run, batch) %}
    {{ return(not batch.begins and run.settings.files.allow_overwrites == 'replace' and floodmark._are_loaded(batch)) }}
{% endmacro %}


{# Whether an earlier batch of the table loaded a file of this one, as it was then. #}
{% macro _are_loaded(batch) %}
    {{ return(not floodmark._has_no_rows('(select explode(files) as file from ' ~ floodmark._log_of()
        ~ " and event = 'committed' and generation = " ~ floodmark._string_literal(batch.generation) ~ ') where '
        ~ floodmark._files_predicate(batch.files) | replace('_metadata.file_path', 'file.path'))) }}
{% endmacro %}


{# What each file of a batch gave. For one whose commit an earlier run made: of a staging table that is gone only the
   plan tells. #}
{% macro _settle_files(run, batch, rows_kept) %}
    {%- set stage = floodmark._records_stage(batch) -%}
    {%- if not rows_kept and not batch.records_by and batch.files | selectattr('rows') | list -%}
        {%- do batch.update({'files': floodmark._files_still_there(run, batch)}) -%}
    {%- elif not batch.get('reader') and floodmark._has_records(batch) -%}
        {%- do batch.update({'files': floodmark._counted_files(run, batch, stage, is_landed=true)}) -%}
        {%- do batch.update({'rows_corrupt': batch.files | sum(attribute='rows_quarantined')}) -%}
    {%- endif -%}
{% endmacro %}


{# The staging table of a batch's records. #}
{% macro _records_stage(batch) %}
    {{ return(floodmark._stage_relation(dict(batch, staged_by=batch.records_by)) ~ '__files') }}
{% endmacro %}


{# A relation of the records that are none but corrupt, as the SELECT reads them. #}
{% macro _records_reader(run, batch, stage) %}
    {{ return('(select ' ~ floodmark._reader_columns_sql(run, batch) ~ ' from ' ~ stage
        ~ ' where _floodmark_reason is null)') }}
{% endmacro %}


{# What the SELECT reads of the records in _records_sql. #}
{% macro _reader_columns_sql(run, batch) %}
    {%- set columns = [] -%}
    {%- for column in floodmark._file_columns(run, batch) -%}
        {%- do columns.append(floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {{ return((columns + ['_floodmark_metadata as _metadata']) | join(', ')) }}
{% endmacro %}


{# The columns that files give a SELECT, beside `_metadata`: a list of {name, type}. #}
{% macro _file_columns(run, batch) %}
    {%- set rescued = run.settings.files.rescued_data_column -%}
    {{ return(floodmark._struct_fields(batch.file_schema.record) + batch.file_schema.partitions
        + ([{'name': rescued, 'type': 'string'}] if rescued else [])) }}
{% endmacro %}


{# The name of the column of rescued data; none where a model loads no files, or rescues nothing. #}
{% macro _rescued_column(settings) %}
    {{ return((settings.files or {}).get('rescued_data_column') or none) }}
{% endmacro %}


{# The columns that tell where a row was read, and not what it is. #}
{% macro _origin_columns(settings) %}
    {{ return(['_metadata'] if settings.files else []) }}
{% endmacro %}


{# What `_metadata` has, in each format: {field: type}. #}
{% macro _metadata_fields() %}
    {{ return({'file_path': 'string', 'file_name': 'string', 'file_size': 'bigint', 'file_block_start': 'bigint',
        'file_block_length': 'bigint', 'file_modification_time': 'timestamp'}) }}
{% endmacro %}


{# What stands for the files in a SELECT that reads none of them. #}
{% macro _no_records_sql(run, batch) %}
    {%- set columns = [] -%}
    {%- for column in floodmark._file_columns(run, batch) -%}
        {%- do columns.append('cast(null as ' ~ column.type ~ ') as ' ~ floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {%- set fields = [] -%}
    {%- for name, type in floodmark._metadata_fields().items() -%}
        {%- do fields.append(name ~ ': ' ~ type) -%}
    {%- endfor -%}
    {%- do columns.append('cast(null as struct<' ~ fields | join(', ') ~ '>) as _metadata') -%}
    {{ return('(select ' ~ columns | join(', ') ~ ' where false)') }}
{% endmacro %}


{# The setting of Spark by which a task reads many small files. #}
{% macro _small_files_conf() %}
    {{ return({'spark.sql.files.openCostInBytes': '65536'}) }}
{% endmacro %}


{# The settings of Spark with which files are read: small ones many a task, and duplicate keys as they come. Columns
   whose names differ in case alone are columns of their own. Spark's quick reader of Parquet knows fewer encodings than
   the other one. A text may have any encoding that Java knows, and a byte that is none of its letters stops nothing. #}
{% macro _files_conf(settings, is_quick=true) %}
    {%- set conf = dict(floodmark._small_files_conf(), **{'spark.sql.variant.allowDuplicateKeys': 'true',
        'spark.sql.caseSensitive': 'true'}) -%}
    {%- if not is_quick -%}
        {%- do conf.update({'spark.sql.parquet.enableVectorizedReader': 'false'}) -%}
    {%- endif -%}
    {%- if settings.format == 'xml' or settings.format and not floodmark._is_utf8(floodmark._encoding(settings)) -%}
        {%- do conf.update({'spark.sql.legacy.javaCharsets': 'true', 'spark.sql.legacy.codingErrorAction': 'true'}) -%}
    {%- endif -%}
    {{ return(conf) }}
{% endmacro %}


{# Write the records of a batch into its staging table. Where a file cannot be read to its end it is corrupt, and the
   rest is read without it. #}
{% macro _stage_records(run, batch, stage, retries=true) %}
    {%- set settings = run.settings.files -%}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set conf = floodmark._files_conf(settings, retries) -%}
    {%- set selects, windows = [], [] -%}
    {%- if batch.look is none -%}
        {%- do batch.update({'look': floodmark._look_at_files(run, batch.files)}) -%}
    {%- endif -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- for group in format.groups(run, dict(floodmark._with_folder_columns(run, batch),
        files=floodmark._files_to_read(batch.files, batch.look)), batch.look) -%}
        {%- if group.sql -%}
            {%- set rows_sql = group.sql -%}
        {%- else -%}
            {%- if group.lines -%}
                {%- do windows.append(group.lines) -%}
                {%- do group.update({'location': floodmark._write_json_lines(settings, group)}) -%}
            {%- endif -%}
            {%- set rows_sql = floodmark._read_through_window(run, batch, windows, group) -%}
        {%- endif -%}
        {%- do selects.append(floodmark._records_sql(run, batch, group, rows_sql)) -%}
    {%- endfor -%}
    {%- set corrupt = [] -%}
    {%- for file in batch.files if (batch.look.files.get(file.path) or {}).reason -%}
        {%- do corrupt.append(file) -%}
    {%- endfor -%}
    {%- if corrupt or not selects -%}
        {%- do selects.append(floodmark._records_sql(run, batch, {'record': batch.file_schema.record,
            'files': corrupt, 'reason_sql': floodmark._file_reason_sql(batch.look, corrupt)},
            floodmark._corrupt_files_sql(run, batch, corrupt))) -%}
    {%- endif -%}
    {%- set sql = floodmark._create_stage_sql(stage) ~ '\n' ~ selects | join('\nunion all\n') -%}
    {%- set made = floodmark._tried(floodmark._execute, [sql]) if retries else {'error': none} -%}
    {#- of a failed task a server elsewhere tells no more than that it failed -#}
    {%- set is_unread = (made.condition or '').startswith('FAILED_READ_FILE')
        or made.condition == 'TASK_WRITE_FAILED' -%}
    {%- if made.error is not none and not is_unread or not retries -%}
        {%- do floodmark._execute([sql]) -%}
    {%- endif -%}
    {%- do floodmark._drop_staging_tables(windows) -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- if is_unread -%}
        {%- do floodmark._stage_readable(run, batch) -%}
    {%- endif -%}
{% endmacro %}


{# Stage the records of a batch again, after Spark could not read a file: the files that it cannot read are then corrupt
   as a whole. Where it can read all of them, another cause may be at fault, and stops the batch now. The staging table
   gets another name, since a task of the first attempt may still write into the folder of the first table. #}
{% macro _stage_readable(run, batch) %}
    {%- set conf = floodmark._files_conf(run.settings.files, false) -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- set unreadable = floodmark._unreadable_files(run.settings.files,
        floodmark._files_to_read(batch.files, batch.look)) -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- do batch.update({'look': floodmark._look_without(batch.look, unreadable),
        'records_by': invocation_id[-8:]}) -%}
    {%- do floodmark._stage_records(run, batch, floodmark._records_stage(batch), false) -%}
{% endmacro %}


{# Files that are corrupt as a whole: a row each, as a window has them. #}
{% macro _corrupt_files_sql(run, batch, files) %}
    {%- set settings = run.settings.files -%}
    {%- set columns = ['cast(null as string) as _floodmark_bad'] if floodmark._file_format(settings).has_bad else [] -%}
    {%- for field in floodmark._struct_fields(batch.file_schema.record) -%}
        {%- do columns.append('cast(null as ' ~ field.type ~ ') as ' ~ floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {{ return('select ' ~ (columns + ['_metadata']) | join(', ') ~ ' from '
        ~ floodmark._raw_files_sql(settings, files, provider='binaryFile')) }}
{% endmacro %}


{# SQL of why a file is corrupt as a whole, by its path. #}
{% macro _file_reason_sql(look, files) %}
    {%- set cases = [] -%}
    {%- for file in files -%}
        {%- do cases.append('when _metadata.file_path = ' ~ floodmark._string_literal(file.path) ~ ' then '
            ~ floodmark._string_literal(look.files[file.path].reason)) -%}
    {%- endfor -%}
    {{ return('case ' ~ cases | join(' ') ~ ' end' if cases else 'cast(null as string)') }}
{% endmacro %}


{# The records in the rows of a group: the known columns, those of the folders, rescued data, `_floodmark_metadata`,
   and of records that are corrupt `_floodmark_reason` and `_floodmark_raw`; of those that are read again
   `_floodmark_id`. #}
{% macro _records_sql(run, batch, group, rows_sql) %}
    {%- set settings = run.settings.files -%}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set read = floodmark._types_of(group.record) -%}
    {%- set record = batch.file_schema.record -%}
    {%- set columns = [] -%}
    {%- set keeps = settings.on_corrupt == 'null' -%}
    {%- for field in floodmark._struct_fields(record) -%}
        {%- set value = floodmark._kept_field_sql(field, read, '', settings.case_sensitive) -%}
        {%- do columns.append(('if(_floodmark_why is null, ' ~ value ~ ', null)' if keeps else value) ~ ' as '
            ~ floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {%- set folders = floodmark._folder_columns(settings, batch.file_schema.partitions, group.files or []) -%}
    {%- for column in folders -%}
        {%- do columns.append(floodmark._folder_value_sql(column, read, keeps, settings.case_sensitive) ~ ' as '
            ~ floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {%- set metadata = [] -%}
    {%- for name in floodmark._metadata_fields() -%}
        {%- do metadata.append("'" ~ name ~ "', _metadata." ~ name) -%}
    {%- endfor -%}
    {%- set bad = '_floodmark_bad' -%}
    {%- if settings.rescued_data_column -%}
        {%- set path = "'\"_file_path\":' || to_json(cast(_metadata.file_path as variant))" -%}
        {%- set raw = '_floodmark_record' if format.raw_sql else none -%}
        {%- set rescued = floodmark._rescued_fields_sql(record, group.record, '', raw, 0, [path],
            settings.case_sensitive, group.get('finds'), floodmark._folder_entries(folders, group.record, raw,
            settings.case_sensitive)) -%}
        {%- set text = "'{\"_corrupt_record\":' || to_json(cast(coalesce(" ~ bad ~ ", _floodmark_why) as variant)) "
            "|| ',' || " ~ path ~ " || '}'" -%}
        {%- do columns.append(('if(_floodmark_why is not null, ' ~ text ~ ', ' ~ rescued ~ ')' if keeps else rescued)
            ~ ' as ' ~ floodmark._quoted(settings.rescued_data_column)) -%}
    {%- endif -%}
    {%- set reason = group.reason_sql or (format.reason_sql(bad, group) if format.reason_sql
        else 'cast(null as string)') -%}
    select {{ columns | join(',\n        ') }}{{ ',' if columns }}
        {{ 'cast(null as string)' if keeps else '_floodmark_why' }} as _floodmark_reason,
        {{ 'cast(null as string)' if keeps else 'if(_floodmark_why is null, null, make_valid_utf8(' ~ bad ~ '))' }}
            as _floodmark_raw,
        named_struct({{ metadata | join(', ') }}) as _floodmark_metadata{{ ', _floodmark_id' if group.texts_sql }}
    from (
        select *, if(_floodmark_why is null, {{ group.raw_sql or (format.raw_sql(bad, group) if format.raw_sql
            else 'cast(null as variant)') }}, null) as _floodmark_record
        from (
            select *{{ ', cast(null as string) as _floodmark_bad' if not format.has_bad }},
                {{ reason }} as _floodmark_why
            from (
                {{ rows_sql }}
            )
        )
    )
{% endmacro %}


{# The planned files with what each gave: rows, rows_rescued, rows_quarantined, reason. One that vanished since the plan
   is left out: should it come back, it is new. One of another size than planned stops the batch; where files are read
   by what a look found in them, such as headers, one of another time does, too. Of a batch that landed the settings may
   have changed since, and its files were checked before. #}
{% macro _counted_files(run, batch, stage, is_landed=false) %}
    {%- set rescued = run.settings.files.rescued_data_column -%}
    {%- if is_landed and rescued -%}
        {%- set rescued = (floodmark._find_column(floodmark._described_columns(run_query('describe table '
            ~ stage).rows), rescued) or {}).name -%}
    {%- endif -%}
    {%- set format = floodmark._file_format(run.settings.files) -%}
    {%- set path = '_floodmark_metadata.file_path' -%}
    {%- set rows = floodmark._query_json("select to_json(named_struct('path', " ~ path ~ ", 'rows', "
        "count_if(_floodmark_reason is null), 'rows_rescued', " ~ ('count_if(' ~ floodmark._quoted(rescued)
        ~ ' is not null and _floodmark_reason is null)' if rescued else 'bigint(0)') ~ ", 'rows_quarantined', "
        "count_if(_floodmark_reason is not null), 'rows_raw', count_if(_floodmark_raw is not null), "
        "'reason', max(_floodmark_reason), 'size', max(_floodmark_metadata.file_size), 'modified_at', "
        'unix_micros(max(_floodmark_metadata.file_modification_time)))) from ' ~ stage ~ ' group by ' ~ path) -%}
    {%- set found = {} -%}
    {%- for row in rows -%}
        {%- do found.update({row.path: row}) -%}
    {%- endfor -%}
    {%- set counted, looked = [], batch.get('looked') or floodmark._versions_of(batch.files) -%}
    {%- if found | length < batch.files | length -%}
        {%- for file in floodmark._present_files(run.settings.files, batch.files) if file.path not in found
            and (not is_landed or looked[file.path] == [file.size, file.modified_at]) -%}
            {%- do found.update({file.path: {'rows': 0, 'rows_rescued': 0, 'rows_quarantined': 0, 'rows_raw': 0,
                'size': file.size, 'modified_at': file.modified_at}}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for file in batch.files if file.path in found -%}
        {%- set now = found[file.path] -%}
        {%- set is_read = now.rows + now.rows_quarantined > 0 -%}
        {#- what a look found decides how a file is read: it must be the file that was looked at -#}
        {%- if not is_landed and (now.size != file.size or format.look and is_read
            and now.modified_at != (looked.get(file.path) or [none, none])[1]) -%}
            {%- do floodmark._stop('the file ' ~ file.path ~ ' has changed since the batch was planned ('
                ~ ('{:,} bytes then, {:,} now'.format(file.size, now.size) if now.size != file.size
                else 'its time is another') ~ '), so nothing of it was '
                'loaded: run again', is_passing=true, rejects='the file ' ~ file.path ~ ' has changed') -%}
        {%- endif -%}
        {#- its time is that of the reading: by a later one it would be loaded once more as overwritten -#}
        {%- do counted.append(dict(now, path=file.path)) -%}
    {%- endfor -%}
    {%- do floodmark._warn_of_left_out(run, batch.files, counted) -%}
    {{ return(counted) }}
{% endmacro %}


{# The planned files that are still in the folder, as _listed gives them. #}
{% macro _present_files(settings, files) %}
    {{ return(floodmark._listed(settings.path, 'select to_json(struct(*)) from ('
        ~ floodmark._folder_files_sql(settings) ~ ') where '
        ~ floodmark._files_predicate(files) | replace('_metadata.file_path', 'path'))) }}
{% endmacro %}


{# Files by their paths: {path: [size, modified_at]}. #}
{% macro _versions_of(files) %}
    {%- set versions = {} -%}
    {%- for file in files -%}
        {%- do versions.update({file.path: [file.size, file.modified_at]}) -%}
    {%- endfor -%}
    {{ return(versions) }}
{% endmacro %}


{# Say which planned files of a batch are left out, since they were not there to be read. #}
{% macro _warn_of_left_out(run, planned, files) %}
    {%- set left = planned | map(attribute='path') | reject('in', files | map(attribute='path') | list) | list
        if files | length < planned | length else [] -%}
    {%- if left -%}
        {%- do floodmark._warn_once(run, floodmark._counted(left | length, 'file') ~ ' of the batch '
            ~ ('was' if left | length == 1 else 'were') ~ ' left out, gone or changed before the reading, such as '
            ~ left[0] ~ '. A later run loads what is there then') -%}
    {%- endif -%}
{% endmacro %}
