{# Partition columns: folders `name=value` below the path, as Hive writes them. #}

{# The partition columns of a batch: a list of {name, type}. Those that are known stay; a new level is a new column
   where levels may come, of the type that a known column of the record has by this name, or one that was there before
   (`former`). One whose name Delta refuses is left out, unless the settings name it, and so is one with the name of a
   column that the format gives, of which nothing would be loaded, or that floodmark uses. `known` is none before the
   first batch. #}
{% macro _partitions(run, known, files, record=none, former=none) %}
    {%- set settings = run.settings.files -%}
    {%- if settings.partition_columns is not none and not settings.partition_columns -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set seen = {} -%}
    {%- for folder in floodmark._folders_of(files) -%}
        {%- for name, value in floodmark._partition_values(settings, folder ~ '/').items() -%}
            {%- do seen.setdefault(name, []).append(value) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set hints = floodmark._hints(settings.schema_hints) or [] -%}
    {%- set hinted = hints | map(attribute='path') | map('first') | list -%}
    {#- where the records' columns are fixed, hints are of folders, also of those that come later -#}
    {%- set of_folders = hinted if floodmark._has_fixed_columns(settings) else [] -%}
    {%- set wanted = floodmark._name_list(settings.partition_columns) if settings.partition_columns is not none
        else (seen.keys() | list) + (of_folders if known is none else []) -%}
    {%- set columns = (known or []) | list -%}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- set refused = [] -%}
    {%- set taken = floodmark._types_of(record or 'struct<>').keys() | map('lower') | list
        if floodmark._has_fixed_columns(settings) else [] -%}
    {%- set named = (hinted + floodmark._types_of(record or 'struct<>').keys() | list) | map('lower') | list -%}
    {%- for name in wanted if name | lower not in names -%}
        {%- do names.append(name | lower) -%}
        {%- do floodmark._warn_once(run, "files.schema_hints has '" ~ name ~ "', and no file lies in a folder '" ~ name
            ~ "=' yet: the column is NULL. " ~ ('Beside single_variant_column' if settings.single_variant_column
            else "With format '" ~ settings.format ~ "'") ~ ', hints type only folders')
            if name in of_folders and name not in seen and name | lower not in taken -%}
        {%- if name | lower in taken or floodmark._is_own_column(settings, name) -%}
            {%- do floodmark._warn_once(run, "the folders have a level '" ~ name ~ "=', which gives no column, since "
                'the name is taken. Rename the folder to load its value')
                if name | lower in seen.keys() | map('lower') -%}
        {%- elif settings.partition_columns is none and name | lower not in named
            and not floodmark._is_nameable(run, name) -%}
            {%- do refused.append(name ~ '=') -%}
        {%- elif known is none or settings.adds_folders
            or floodmark._find_column(floodmark._struct_fields(record or 'struct<>'), name) -%}
            {%- set inside = floodmark._find_column(floodmark._struct_fields(record or 'struct<>')
                + floodmark._struct_fields(former or 'struct<>'), name) -%}
            {%- do columns.append({'name': name,
                'type': inside.type if inside and floodmark._nesting(inside.type) is none
                else floodmark._partition_type(settings, name, seen.get(name))}) -%}
        {%- else -%}
            {%- do floodmark._warn_once(run, "the folders have a level '" ~ name ~ "=', and the table has no such "
                "column: with files.schema_evolution '" ~ settings.schema_evolution ~ "' it is left out") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if refused -%}
        {%- do floodmark._warn_once(run, floodmark._names_sentence('folder level', refused, 'left out')) -%}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{# The folders in which files lie, each once. #}
{% macro _folders_of(files) %}
    {%- set folders = {} -%}
    {%- for file in files -%}
        {%- do folders.update({file.path.rpartition('/')[0]: none}) -%}
    {%- endfor -%}
    {{ return(folders.keys() | list) }}
{% endmacro %}


{# The values in the folders of a file's path: {name: value}, a value none where Hive has none. Spark's path is decoded,
   and what Hive wrote as `%` and two hex digits. #}
{% macro _partition_values(settings, path) %}
    {%- set depth = floodmark._fixed_depth(settings, path) -%}
    {%- set values = {} -%}
    {%- for part in floodmark._decoded_path(path).split('/')[depth:-1] if '=' in part -%}
        {%- set name, _, value = part.partition('=') -%}
        {%- do values.update({floodmark._decoded_path(name): none if value == '__HIVE_DEFAULT_PARTITION__'
            else floodmark._decoded_path(value)}) -%}
    {%- endfor -%}
    {{ return(values) }}
{% endmacro %}


{# The names in lower case of the columns that the folders of a file's path give. #}
{% macro _given_by_folders(settings, path) %}
    {%- set names = floodmark._partition_values(settings, path).keys() | map('lower') | list -%}
    {{ return(names if settings.partition_columns is none
        else names | select('in', floodmark._name_list(settings.partition_columns) | map('lower') | list) | list) }}
{% endmacro %}


{# How many parts of a file's path lead to the folder of the settings, or to the folder of the file that they name. A
   pattern ends it: what it matches counts. Spark prints paths without `..`, `.` and doubled slashes, and may add a
   scheme and a server. #}
{% macro _fixed_depth(settings, path) %}
    {%- set fixed = floodmark._plain_path(floodmark._absolute_path(settings.path | string)) -%}
    {%- set depth = modules.re.sub('^[\\w+.-]+:(//[^/]*)?', '', fixed).split('/') | length -%}
    {{ return([depth + (2 if modules.re.match('[\\w+.-]+://', path) else 0), path.split('/') | length - 1] | min) }}
{% endmacro %}


{# The type of a partition column: that of a hint; else, where types are inferred, that of all its values. Texts, binary
   files and VARIANTs have nothing that rescues a value which does not fit later. #}
{% macro _partition_type(settings, name, values) %}
    {%- for hint in floodmark._hints(settings.schema_hints) or []
        if hint.path | length == 1 and hint.path[0] | lower == name | lower -%}
        {{ return(hint.type) }}
    {%- endfor -%}
    {%- set is_typed = not floodmark._has_fixed_columns(settings)
        and (settings.infer_column_types or settings.format and floodmark._file_format(settings).has_types) -%}
    {%- set values = values | reject('none') | list if values else [] -%}
    {%- for type, pattern in {'int': '[-+]?\\d{1,9}', 'bigint': '[-+]?\\d{1,18}',
        'date': '\\d{4}-\\d{2}-\\d{2}'}.items()
        if is_typed and values -%}
        {%- set ns = namespace(fits=true) -%}
        {%- for value in values -%}
            {%- set ns.fits = ns.fits and modules.re.fullmatch(pattern, value) is not none -%}
        {%- endfor -%}
        {%- if ns.fits -%}
            {{ return(type) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return('string') }}
{% endmacro %}


{# The partition columns of a batch as SQL over its records, by the path of each record's file: a list of {name, type,
   text, value, fits}. `text` is empty where the path has no such level; a value fits if the type keeps it. #}
{% macro _folder_columns(settings, partitions, files) %}
    {%- set depth = floodmark._fixed_depth(settings, files[0].path if files else '') -%}
    {%- set printed, columns = {}, [] -%}
    {%- for folder in floodmark._folders_of(files) -%}
        {%- for part in folder.split('/')[depth:] if '=' in part -%}
            {%- do printed.setdefault(floodmark._decoded_path(floodmark._decoded_path(part.partition('=')[0])) | lower,
                []).append(modules.re.escape(part.partition('=')[0])) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in partitions -%}
        {%- set text = "''" -%}
        {%- set folders = printed.get(column.name | lower, []) | unique(case_sensitive=true) | join('|') -%}
        {%- if folders -%}
            {%- set text = 'regexp_extract(_metadata.file_path, ' ~ floodmark._string_literal('^(?:[^/]*/){' ~ depth
                ~ '}(?:.*/)?(?:' ~ folders ~ ')=([^/]*)/') ~ ')' -%}
        {%- endif -%}
        {%- set folder = "url_decode(replace(" ~ text ~ ", '+', '%2B'))" -%}
        {%- set text = floodmark._decoded_path_sql(folder) -%}
        {%- set given = 'nullif(nullif(' ~ text ~ ", ''), '__HIVE_DEFAULT_PARTITION__')" -%}
        {%- set value = 'try_cast(' ~ given ~ ' as string)' if column.type == 'string'
            else floodmark._converted_sql(column.type, 'text', given) -%}
        {%- do columns.append(dict(column, text=text, value=value,
            fits=floodmark._fits_sql(column.type, 'text', given))) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# A batch as its files are read: where not every path has a level that is a column, files may have the column inside.
   #}
{% macro _with_folder_columns(run, batch) %}
    {%- set settings = run.settings.files -%}
    {%- set lacking = [] -%}
    {%- for folder in floodmark._folders_of(batch.files)
        if batch.file_schema.partitions and not floodmark._file_format(settings).columns -%}
        {%- set names = floodmark._partition_values(settings, folder ~ '/').keys() | map('lower') | list -%}
        {%- for column in batch.file_schema.partitions
            if column.name | lower not in names and column not in lacking -%}
            {%- do lacking.append(column) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not lacking -%}
        {{ return(batch) }}
    {%- endif -%}
    {%- set record = floodmark._struct_of(floodmark._struct_fields(batch.file_schema.record) + lacking) -%}
    {{ return(dict(batch, record=record, file_schema=dict(batch.file_schema, record=record))) }}
{% endmacro %}


{# The value of such a column in a record: the path's, or where the path has no such level what the record has by this
   name. `read` are the types of the record's fields; with `on_corrupt: null` a corrupt record has none. #}
{% macro _folder_value_sql(column, read, keeps, is_sensitive) %}
    {%- if column.name | lower not in read.keys() | map('lower') | list -%}
        {{ return(column.value) }}
    {%- endif -%}
    {%- set inside = floodmark._kept_field_sql(column, read, '', is_sensitive) -%}
    {{ return('if(' ~ column.text ~ " = '', " ~ ('if(_floodmark_why is null, ' ~ inside ~ ', null)' if keeps
        else inside) ~ ', ' ~ column.value ~ ')') }}
{% endmacro %}


{# What is rescued of such columns, {name: JSON}: a folder's value that does not fit, and where the path has no such
   level, what did not fit in the record. #}
{% macro _folder_entries(columns, record, raw, is_sensitive) %}
    {%- set entries = {} -%}
    {%- for column in columns -%}
        {%- set inside = [] -%}
        {%- for field in floodmark._struct_fields(record)
            if field.name == column.name or not is_sensitive and field.name | lower == column.name | lower -%}
            {%- do inside.append(floodmark._rescued_sql(column.type, field.type, floodmark._quoted(field.name),
                floodmark._raw_field_sql(raw, field.name), 0, is_sensitive, field.name)) -%}
        {%- endfor -%}
        {%- set cases = ['when ' ~ column.text ~ " = '' then coalesce(" ~ inside | join(', ') ~ ')'] if inside
            else [] -%}
        {%- if column.type != 'string' -%}
            {%- do cases.append('when not ' ~ column.fits ~ " then to_json(cast(" ~ column.text ~ ' as variant))') -%}
        {%- endif -%}
        {%- do entries.update({column.name: 'case ' ~ cases | join(' ') ~ ' end' if cases else none}) -%}
    {%- endfor -%}
    {{ return(entries) }}
{% endmacro %}
