{#
  Parquet, ORC and Avro say themselves what columns a file has. Spark merges the schemas of many files in one DESCRIBE,
  where they can be merged; where not, the files are halved until they can, so that files of one type share a window.
#}
{% macro _parquet_files() %}
    {{ return(floodmark._columnar_files('parquet')) }}
{% endmacro %}


{% macro _orc_files() %}
    {{ return(floodmark._columnar_files('orc')) }}
{% endmacro %}


{# Spark's own class: its short name `avro` belongs to a package that PySpark does not have. #}
{% macro _avro_files() %}
    {{ return(dict(floodmark._columnar_files('org.apache.spark.sql.avro.AvroFileFormat'),
        look=floodmark._look_at_avro)) }}
{% endmacro %}


{% macro _columnar_files(provider) %}
    {{ return(dict(floodmark._file_format_defaults(), provider=provider, has_types=true,
        look=floodmark._look_at_columnar, rows=floodmark._columnar_rows, groups=floodmark._columnar_groups)) }}
{% endmacro %}


{% macro _columnar_rows(settings, files, look) %}
    {{ return(floodmark._rows_by_path(floodmark._spark_files_sql(settings, files))) }}
{% endmacro %}


{# What the files hold: {files: {path: {seen, reason}}, seen, groups}; a group is {record, files} of files that Spark
   reads alike. #}
{% macro _look_at_columnar(run, files) %}
    {%- set found, groups = {}, [] -%}
    {%- do floodmark._group_alike(run.settings.files, files, groups, found) -%}
    {{ return({'files': found, 'seen': floodmark._record_of_groups(groups), 'groups': groups}) }}
{% endmacro %}


{# One record for those of all groups: what has types that nothing joins is a string. #}
{% macro _record_of_groups(groups) %}
    {%- set ns = namespace(seen=none) -%}
    {%- for group in groups -%}
        {%- set ns.seen = floodmark._joined_records(ns.seen, group.seen, 'string') -%}
    {%- endfor -%}
    {{ return(ns.seen) }}
{% endmacro %}


{# What Avro files hold, in the form of _look_at_columnar. Spark takes the schema of Avro from one file alone, so of
   files with the same schema in their head only the first that can be read is looked at. #}
{% macro _look_at_avro(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set found, groups, alike = {}, [], {} -%}
    {%- for row in floodmark._query_json(floodmark._avro_heads_sql(settings, files)) -%}
        {%- if row.head is none -%}
            {%- do found.update({row.path: {'reason': 'not an Avro data file'}}) -%}
        {%- else -%}
            {%- do alike.setdefault(row.head, []).append(row.path) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for paths in alike.values() -%}
        {%- set those = [] -%}
        {%- for file in files if file.path in paths -%}
            {%- do those.append(file) -%}
        {%- endfor -%}
        {#- one that can be read stands for those behind it -#}
        {%- set ns = namespace(seen=none) -%}
        {%- for file in those -%}
            {%- if ns.seen is none -%}
                {%- do floodmark._group_alike(settings, [file], groups, found) -%}
                {%- set ns.seen = found[file.path].get('seen') -%}
            {%- else -%}
                {%- do found.update({file.path: {'seen': ns.seen}}) -%}
                {%- do (groups | selectattr('seen', 'equalto', ns.seen) | first).files.append(file) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return({'files': found, 'seen': floodmark._record_of_groups(groups), 'groups': groups}) }}
{% endmacro %}


{# A digest of the schema in the head of each file, NULL where there is none: the text behind the key `avro.schema`,
   whose length stands before it in one to three bytes (Avro's specification, object container files). #}
{% macro _avro_heads_sql(settings, files) %}
    select to_json(named_struct('path', path, 'head', md5(substr(head, at + width, length))), map('ignoreNullFields',
        'false'))
    from (
        select *, case width when 1 then a when 2 then a % 128 + b * 128 else a % 128 + b % 128 * 128 + c * 16384 end
            div 2 as length
        from (
            select *, if(a < 128, 1, if(b < 128, 2, 3)) as width
            from (
                select path, head, at, ascii(substr(head, at, 1)) as a, ascii(substr(head, at + 1, 1)) as b,
                    ascii(substr(head, at + 2, 1)) as c
                from (
                    select path, if(startswith(head, 'Obj\u0001') and locate('avro.schema', head) > 0, head,
                    null) as head,
                        locate('avro.schema', head) + 11 as at
                    from (
                        select _metadata.file_path as path,
                            decode(substring(content, 1, 1048576), 'ISO-8859-1') as head
                        from {{ floodmark._raw_files_sql(settings, files, provider='binaryFile') }}
                    )
                )
            )
        )
    )
{% endmacro %}


{# Put these files into groups. One that cannot be read alone is corrupt, with Spark's sentence as the reason;
   `has_bytes`, it is known that its bytes can be read. #}
{% macro _group_alike(settings, files, groups, found, has_bytes=false) %}
    {%- set told = floodmark._tried(floodmark._columns_of_files, settings, files, {'mergeSchema': 'true'}) -%}
    {%- if told.error is none -%}
        {%- set seen = floodmark._struct_of_columns(told.value) -%}
        {%- set alike = groups | selectattr('seen', 'equalto', seen) | first -%}
        {%- if alike -%}
            {%- do alike.files.extend(files) -%}
        {%- else -%}
            {%- do groups.append({'record': floodmark._readable_record(seen), 'seen': seen, 'files': files | list,
                'options': {}}) -%}
        {%- endif -%}
        {%- for file in files -%}
            {%- do found.update({file.path: {'seen': seen}}) -%}
        {%- endfor -%}
    {%- elif files | length == 1 and has_bytes -%}
        {%- do found.update({files[0].path: {'reason': floodmark._first_line(told.error)}}) -%}
    {%- elif files | length == 1 -%}
        {%- do floodmark._check_bytes(settings, files[0]) -%}
        {%- do floodmark._group_alike(settings, files, groups, found, true) -%}
    {%- else -%}
        {%- set half = files | length // 2 -%}
        {%- do floodmark._group_alike(settings, files[:half], groups, found) -%}
        {%- do floodmark._group_alike(settings, files[half:], groups, found) -%}
    {%- endif -%}
{% endmacro %}


{# Which files have new columns, {column: path}, of those in groups of which each file was seen with the columns of all.
   `shown` are the columns that are looked for. #}
{% macro _files_with_columns(run, record, shown, groups) %}
    {%- set settings, found = run.settings.files, {} -%}
    {%- for group in groups if group.files | length > 1 -%}
        {%- for file in group.files if found | length < shown | length -%}
            {%- set seen = floodmark._json_inferred(settings, [file]) if settings.format == 'json'
                else floodmark._struct_of_columns(floodmark._columns_of_files(settings, [file])) -%}
            {%- do floodmark._note_new_columns(run, record, seen, file.path, found) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The columns that Spark finds in files: a list of {name, type}. `others` are options of the reader. What lies beside
   texts may have a colon in its name, and then no pattern finds them. #}
{% macro _columns_of_files(settings, files, others={}) %}
    {%- set sql = 'select * from ' ~ floodmark._spark_files_sql(settings, files, others) -%}
    {%- if files | length == 1 or not floodmark._file_format(settings).is_text -%}
        {{ return(floodmark._columns_of(query=sql)) }}
    {%- endif -%}
    {%- set told = floodmark._tried(floodmark._columns_of, sql) -%}
    {{ return(told.value if told.error is none else floodmark._columns_of(query='select * from '
        ~ floodmark._spark_files_sql(settings, files, others, by_name=true))) }}
{% endmacro %}


{# Files as Spark's own reader has them: a relation. #}
{% macro _spark_files_sql(settings, files, others={}, by_name=false) %}
    {%- set given, place = [], floodmark._place_of_files(files, by_name) -%}
    {%- set filter = {'pathGlobFilter': place.glob, 'recursiveFileLookup': 'true'} if place.glob else {} -%}
    {%- for name, value in dict(floodmark._merged_options(floodmark._window_options(settings), others),
        **filter).items() if name not in ['pathGlobFilter', 'recursiveFileLookup'] or name in filter -%}
        {%- do given.append(floodmark._quoted(name) ~ ' = ' ~ floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {{ return('`' ~ floodmark._file_format(settings).provider ~ '`.`' ~ place.path | replace('`', '``') ~ '` with ('
        ~ given | join(', ') ~ ')') }}
{% endmacro %}


{# The groups of the look, with fields that are not known. Of a batch that is read later these are looked for again. #}
{% macro _columnar_groups(run, batch, look) %}
    {{ return(look.groups | selectattr('files') | list) }}
{% endmacro %}


{# A record without the fields that cannot be read beside Spark's own and floodmark's. #}
{% macro _readable_record(record) %}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(record) if floodmark._is_readable_field(field.name) -%}
        {%- do fields.append(field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{% macro _is_readable_field(name) %}
    {{ return(name not in ['_metadata', ''] and not (name | lower).startswith('_floodmark_')) }}
{% endmacro %}
