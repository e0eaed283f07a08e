{# Partition columns: folders `name=value` below the path, as Hive writes them. #}

{# The partition columns of a batch: a list of {name, type}. Those that are known stay; a new level is a new column
   where columns may come. `known` is none before the first batch. #}
{% macro _partitions(settings, known, files) %}
    {%- if settings.partition_columns is not none and not settings.partition_columns -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set seen = {} -%}
    {%- for folder in floodmark._folders_of(files) -%}
        {%- for name, value in floodmark._partition_values(settings, folder ~ '/').items() -%}
            {%- do seen.setdefault(name, []).append(value) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set wanted = floodmark._name_list(settings.partition_columns) if settings.partition_columns is not none
        else seen.keys() | list -%}
    {%- set columns = (known or []) | list -%}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- for name in wanted if name | lower not in names -%}
        {%- do names.append(name | lower) -%}
        {%- if known is none or settings.schema_evolution in ['add_new_columns', 'widen'] -%}
            {%- do columns.append({'name': name, 'type': floodmark._partition_type(settings, name, seen.get(name))}) -%}
        {%- else -%}
            {%- do floodmark._warn("the folders have a level '" ~ name ~ "=' that is no column: with "
                "files.schema_evolution '" ~ settings.schema_evolution ~ "' it is left out") -%}
        {%- endif -%}
    {%- endfor -%}
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


{# How many parts of a file's path lead to the folder of the settings. A pattern ends it: what it matches counts. Spark
   prints paths without `..`, `.` and doubled slashes. #}
{% macro _fixed_depth(settings, path) %}
    {%- set fixed = floodmark._plain_path(floodmark._absolute_path(settings.path | string)) -%}
    {{ return(fixed.split('/') | length + (2 if path.startswith('file:///') else 0)) }}
{% endmacro %}


{# The type of a partition column: that of a hint; else, where types are inferred, that of all its values. #}
{% macro _partition_type(settings, name, values) %}
    {%- for hint in floodmark._hints(settings.schema_hints) or []
        if hint.path | length == 1 and hint.path[0] | lower == name | lower -%}
        {{ return(hint.type) }}
    {%- endfor -%}
    {%- set is_typed = settings.infer_column_types or floodmark._file_format(settings).has_types -%}
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


{# The partition columns of a batch as SQL over its records, by the path of each record's file: a list. #}
{% macro _partition_columns_sql(settings, partitions, files) %}
    {%- set depth = floodmark._fixed_depth(settings, files[0].path if files else '') -%}
    {%- set printed = {} -%}
    {%- for folder in floodmark._folders_of(files) -%}
        {%- for part in folder.split('/')[depth:] if '=' in part -%}
            {%- do printed.setdefault(floodmark._decoded_path(floodmark._decoded_path(part.partition('=')[0])) | lower,
                []).append(modules.re.escape(part.partition('=')[0])) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set selected = [] -%}
    {%- for column in partitions -%}
        {%- set text = "''" -%}
        {%- set folders = printed.get(column.name | lower, []) | unique(case_sensitive=true) | join('|') -%}
        {%- if folders -%}
            {%- set text = 'regexp_extract(_metadata.file_path, ' ~ floodmark._string_literal('^(?:[^/]*/){' ~ depth
                ~ '}(?:.*/)?(?:' ~ folders ~ ')=([^/]*)/') ~ ')' -%}
        {%- endif -%}
        {%- set folder = "url_decode(replace(" ~ text ~ ", '+', '%2B'))" -%}
        {%- set value = 'nullif(coalesce(try_url_decode(replace(' ~ folder ~ ", '+', '%2B')), " ~ folder
            ~ "), '')" -%}
        {%- do selected.append('try_cast(nullif(' ~ value ~ ", '__HIVE_DEFAULT_PARTITION__') as " ~ column.type
            ~ ') as ' ~ floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {{ return(selected) }}
{% endmacro %}
