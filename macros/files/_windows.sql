{#
  A window is a table over files that are read alike: `create table … using <format>` with the columns that their
  records have. Unlike a query of the files themselves it takes a schema, and a format's options; unlike a view it has
  `_metadata`. It goes once its files are read.
#}

{# Make a window over the files of a group, behind others. Returns SQL of its rows. #}
{% macro _read_through_window(run, batch, windows, group) %}
    {%- do windows.append(floodmark._make_window(run, batch, windows | length, group)) -%}
    {{ return((group.rows_sql or floodmark._window_rows_sql)(run.settings.files, windows[-1], group)) }}
{% endmacro %}


{# Make a window over the files of a group: {record, files, options}. #}
{% macro _make_window(run, batch, number, group) %}
    {%- set settings = run.settings.files -%}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set relation = floodmark._stage_relation(dict(batch, staged_by=none)) ~ '__window' ~ number -%}
    {%- set columns = floodmark._struct_fields(group.get('lies_as') or group.record) -%}
    {%- if format.has_bad and not group.get('lies_as') -%}
        {%- do columns.append({'name': '_floodmark_bad', 'type': 'string'}) -%}
    {%- elif not columns -%}
        {#- Spark makes no table without columns: no file has this one -#}
        {%- do columns.append({'name': '_floodmark_none', 'type': 'string'}) -%}
    {%- endif -%}
    {%- set given = [] -%}
    {%- set whole = {'pathGlobFilter': '*', '__globPaths__': 'false', 'multiLine': 'false'} -%}
    {%- for name, value in floodmark._merged_options(floodmark._window_options(settings, group.get('is_plain')),
        whole if group.location else group.options).items() -%}
        {%- do given.append(floodmark._quoted(name) ~ ' ' ~ floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {%- do floodmark._execute(['create table ' ~ relation ~ ' (' ~ floodmark._as_ddl(columns) ~ ') using '
        ~ group.get('provider', format.provider)
        ~ ' options (' ~ given | join(', ') ~ ') location '
        ~ floodmark._string_literal(group.location
        or floodmark._path_pattern(floodmark._absolute_path(settings.path | string)))]) -%}
    {{ return(relation) }}
{% endmacro %}


{# Spark's options of every window: the format's and what the user gives, without which it is plain, and how files are
   found. #}
{% macro _window_options(settings, is_plain=false) %}
    {%- set options = {} if is_plain else floodmark._format_options(settings) -%}
    {%- do options.update({'pathGlobFilter': settings.glob, '__globPaths__': 'true', 'recursiveFileLookup': 'true'}) -%}
    {{ return(dict(options, **floodmark._reading_options(settings.path | string))) }}
{% endmacro %}


{# The rows of a group's window: its columns and `_metadata`. #}
{% macro _window_rows_sql(settings, window, group) %}
    {{ return('select *, _metadata from ' ~ window ~ ' where ' ~ floodmark._files_predicate(group.files)) }}
{% endmacro %}
