{#
  A batch whose files look clean is read straight: the statement that loads it reads its files, and no staging table
  stands between. A record that is corrupt or has to be rescued, and a file that is not as it was planned, stop that
  statement, of which nothing is committed then, and the batch is read through a staging table after all
  (_load_straight).
#}

{# Find out whether a batch may be read straight (batch.looks_clean). Its files have their rows then. #}
{% macro _judge_files(run, batch) %}
    {%- set settings = run.settings.files -%}
    {%- set format = floodmark._file_format(settings) if batch.files -%}
    {%- if not batch.files or not format.rows or adapter.floodmark_plugin is not defined
        or batch.look.files.values() | map(attribute='reason') | select | list -%}
        {{ return(none) }}
    {%- endif -%}
    {#- a file that cannot be read is a matter for the staging table -#}
    {%- set counted = floodmark._tried(format.rows, settings, batch.files, batch.look) -%}
    {%- if counted.value is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set files = [] -%}
    {%- for file in batch.files -%}
        {%- do files.append(dict(file, rows=counted.value.get(file.path, 0), rows_rescued=0, rows_quarantined=0)) -%}
    {%- endfor -%}
    {%- do batch.update({'files': files, 'looks_clean': true}) -%}
{% endmacro %}


{# Have the statement that loads a batch read its files. Whether it does: where they do not look clean it does not. #}
{% macro _reads_straight(run, batch) %}
    {%- set settings = run.settings.files -%}
    {%- if batch.look is none -%}
        {%- do batch.update({'look': floodmark._look_at_files(run, batch.files)}) -%}
        {%- do floodmark._judge_files(run, batch) -%}
    {%- endif -%}
    {%- set groups = floodmark._file_format(settings).groups(run, floodmark._with_folder_columns(run, batch),
        batch.look) if batch.get('looks_clean') and batch.file_schema.record != 'struct<>' else [] -%}
    {%- set unfit = [] -%}
    {%- for group in groups if group.sql or group.lines or floodmark._has_case_twins(group.record)
        or settings.rescued_data_column and floodmark._has_unknown(batch.file_schema.record, group.record) -%}
        {%- do unfit.append(group) -%}
    {%- endfor -%}
    {%- do batch.update({'looks_clean': groups and not unfit}) -%}
    {%- if not batch.looks_clean -%}
        {{ return(false) }}
    {%- endif -%}
    {%- do batch.update({'rows_corrupt': 0, 'windows': [], 'gives_rows': batch.files | sum(attribute='rows') > 0
        and floodmark._takes_each_row(run.sql)}) -%}
    {%- set selects = [] -%}
    {%- do floodmark._set_conf(floodmark._straight_conf(batch.files)) -%}
    {%- for group in groups -%}
        {%- do selects.append(floodmark._records_sql(run, batch, group,
            floodmark._read_through_window(run, batch, batch.windows, group))) -%}
    {%- endfor -%}
    {%- do batch.update({'reader': floodmark._straight_reader(run, batch, selects)}) -%}
    {%- do run.update({'reader': {'sql': batch.reader, 'described': floodmark._no_records_sql(run, batch)}}) -%}
    {{ return(true) }}
{% endmacro %}


{# Whether a SELECT gives a row for each that its files have, as far as its text shows: it ends with FROM its files, and
   has no word that could leave rows out. #}
{% macro _takes_each_row(sql) %}
    {%- set ends = '\\bfrom\\s*/\\*floodmark:files\\*/.*?/\\*floodmark:end\\*/\\s*((as\\s+)?\\w+)?\\s*$' -%}
    {%- set words = 'where|having|qualify|limit|offset|join|lateral|with|union|intersect|minus|tablesample|stack|'
        'inline\\w*|\\w*explode\\w*|except(?!\\s*\\((?!\\s*select\\b))' -%}
    {%- set is_bare = modules.re.search('(?is)' ~ ends, sql) is not none -%}
    {{ return(is_bare and modules.re.search('(?i)\\b(' ~ words ~ ')\\b', sql) is none) }}
{% endmacro %}


{# Settings of Spark for a statement that reads files straight: where they are small, many a task. #}
{% macro _straight_conf(files) %}
    {{ return(floodmark._small_files_conf() if files | sum(attribute='size') < files | length * 1024 * 1024
        else {}) }}
{% endmacro %}


{# The records of the files as a relation that fails where they are not clean. Its condition is kept apart, since the
   model's own, asked first, could leave such a record out. #}
{% macro _straight_reader(run, batch, selects) %}
    {%- set settings = run.settings.files -%}
    {%- set rescued = settings.rescued_data_column -%}
    (
        select {{ floodmark._reader_columns_sql(run, batch) }}
        from (
            {{ selects | join('\nunion all\n') }}
        )
        where case
            when not {{ floodmark._kept_apart_sql() }} then
                {{ floodmark._quoted(floodmark._file_columns(run, batch)[0].name) }} is null
            when _floodmark_reason is null {{ 'and ' ~ floodmark._quoted(rescued) ~ ' is null' if rescued }}
                and {{ floodmark._are_as_planned_sql(settings, batch.files) }} then true
            else raise_error({{ floodmark._string_literal(floodmark._unclean_files()) }})
        end
    )
{% endmacro %}


{# What the statement says of files that are not clean. #}
{% macro _unclean_files() %}
    {{ return('floodmark: the files of the batch are not clean') }}
{% endmacro %}


{# Whether the folder has the planned files, each with its size and its time. The sums stand for a comparison of every
   file; that of times is of remainders, so that it stays a bigint. The paths are one literal, since Spark takes long to
   read ten thousand. #}
{% macro _are_as_planned_sql(settings, files) %}
    {%- set prime = 1000000007 -%}
    {%- set ns = namespace(bytes=0, times=0) -%}
    {%- for file in files -%}
        {%- set ns.bytes = ns.bytes + file.size -%}
        {%- set ns.times = ns.times + file.modified_at % prime -%}
    {%- endfor -%}
    (select count(*) = {{ files | length }} and sum(size) = {{ ns.bytes }}
        and sum(modified_at % {{ prime }}) = {{ ns.times }}
    from ({{ floodmark._folder_files_sql(settings) }})
    where path in (select explode(split({{ floodmark._string_literal(files | map(attribute='path') | join('\n')) }},
        '\\n'))))
{% endmacro %}


{# Whether a statement failed because files are not clean. #}
{% macro _is_of_unclean_files(told) %}
    {{ return((told.condition or '').startswith('FAILED_READ_FILE')
        or told.condition == 'USER_RAISED_EXCEPTION' and floodmark._unclean_files() in told.error) }}
{% endmacro %}


{# Look again at the files of a batch that are still there, where one is not as it was when they were looked at: a field
   that nobody has seen in it would be lost. #}
{% macro _look_at_changed(run, batch) %}
    {%- set seen, changed = floodmark._versions_of(batch.files), [] -%}
    {%- set present = floodmark._present_files(run.settings.files, batch.files) -%}
    {%- for file in present if [file.size, file.modified_at] != seen[file.path] -%}
        {%- do changed.append(file) -%}
    {%- endfor -%}
    {%- do batch.update({'look': floodmark._look_at_files(run, present), 'looked': floodmark._versions_of(present)})
        if changed -%}
{% endmacro %}


{# Take back what was made for reading a batch straight. #}
{% macro _end_straight(batch) %}
    {%- do floodmark._reset_conf(floodmark._straight_conf(batch.files)) -%}
    {%- do floodmark._drop_staging_tables(batch.windows) -%}
    {%- do batch.update({'windows': []}) -%}
{% endmacro %}


{# The planned files of a batch that are in the folder with the size that they had. Where a commit wrote no row, a file
   that is missing may not have been read: it is left out, and new if it comes back. #}
{% macro _files_still_there(run, batch) %}
    {%- set there, files = floodmark._versions_of(floodmark._present_files(run.settings.files, batch.files)), [] -%}
    {%- for file in batch.files if file.path in there and there[file.path][0] == file.size -%}
        {%- do files.append(file) -%}
    {%- endfor -%}
    {%- do floodmark._warn_of_left_out(run, batch.files, files) -%}
    {{ return(files) }}
{% endmacro %}


{# Whether a record that is read has a field that is not known, at any depth. #}
{% macro _has_unknown(known, read) %}
    {%- if known.startswith('array<') and read.startswith('array<') -%}
        {{ return(floodmark._has_unknown(known[6:-1], read[6:-1])) }}
    {%- elif known.startswith('map<') and read.startswith('map<') -%}
        {{ return(floodmark._has_unknown(floodmark._map_value_type(known), floodmark._map_value_type(read))) }}
    {%- elif not (known.startswith('struct<') and read.startswith('struct<')) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set types = floodmark._types_of(known) -%}
    {%- for field in floodmark._struct_fields(read) -%}
        {%- if field.name not in types or floodmark._has_unknown(types[field.name], field.type) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Whether a type has fields whose names differ in case alone, at any depth. #}
{% macro _has_case_twins(type) %}
    {%- if type.startswith('array<') -%}
        {{ return(floodmark._has_case_twins(type[6:-1])) }}
    {%- elif type.startswith('map<') -%}
        {{ return(floodmark._has_case_twins(floodmark._map_value_type(type))) }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- if field.name | lower in names or floodmark._has_case_twins(field.type) -%}
            {{ return(true) }}
        {%- endif -%}
        {%- do names.append(field.name | lower) -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}
