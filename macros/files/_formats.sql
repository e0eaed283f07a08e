{#
  A format of files is one mapping, `_<format>_files()`. What it says:

  provider    Spark's name of it
  options     options with which its files are read, unless the user gives others
  has_types   whether its files say what types their values have
  has_lines   whether its records are lines
  is_text     whether its files are texts, which may be packed
  columns     the columns of a format whose records have no other, a struct; none where records have columns
  has_bad     whether Spark puts a record that it cannot read, or that does not fit, into a column `_floodmark_bad`
  reason_sql  macro(bad, group): SQL of why a record is corrupt, NULL where it is none; or none
  unmixed     macro(settings, files, known, seen): what was seen, where values of one kind hide those of another; or
              none
  raw_sql     macro(bad, group): SQL of a record that does not fit, as VARIANT; or none
  look        macro(run, files): what the files hold, before they are read: {files: {path: {seen, reason, ...}}, seen}.
              `seen` is a struct, `reason` why a whole file is corrupt; `kept`, where there is one, has the types in
              which `seen` is kept. None where nothing has to be known
  rows        macro(settings, files, look): {path: rows} of files that look clean, those without rows left out; none
              where they do not. None where nobody knows before they are read
  groups      macro(run, batch, look): files that are read alike, a list of {record, files, options}. More of a group:
              `provider`, `lies_as` (a record) and `rows_sql` (macro(settings, window, group)) where its window is
              another than the format's; `reason_sql` where its records are corrupt for other reasons; `sql` where it
              is read by that, and not through a window
  groups_again    macro(run, batch, texts): groups of corrupt records that are read again, each with its `sql` and
                  its `texts_sql` (_records_again.sql); none where a corrupt record is a file
  needs_look      whether nothing can be read without a look
  variant_groups  groups, with `single_variant_column`
#}
{% macro _file_format(settings) %}
    {%- set format = floodmark['_' ~ settings.format ~ '_files']() -%}
    {%- if settings.single_variant_column is none -%}
        {{ return(format) }}
    {%- endif -%}
    {{ return(dict(format, columns=floodmark._struct_of([{'name': settings.single_variant_column, 'type': 'variant'}]),
        has_types=true, look=format.look if format.needs_look else none, rows=none,
        groups=format.variant_groups)) }}
{% endmacro %}


{% macro _file_format_defaults() %}
    {{ return({'options': {}, 'has_types': false, 'has_lines': false, 'is_text': false, 'columns': none,
        'needs_look': false, 'variant_groups': none, 'groups_again': none, 'has_bad': false,
        'reason_sql': none, 'raw_sql': none, 'unmixed': none, 'look': none, 'rows': none,
        'groups': floodmark._one_group}) }}
{% endmacro %}


{# All files of a batch in one window, with the format's own columns. #}
{% macro _one_group(run, batch, look) %}
    {{ return([{'record': floodmark._file_format(run.settings.files).columns, 'files': batch.files, 'options': {}}]) }}
{% endmacro %}


{# The files of a list in which a look, {path: {reason, ...}}, found something and no `reason` why they are corrupt. #}
{% macro _whole_files(files, found) %}
    {{ return(floodmark._files_to_read(files, {'files': found}) | selectattr('path', 'in', found) | list) }}
{% endmacro %}


{# A reader's option as the user gives it, or the format does: names in any case. #}
{% macro _reader_option(settings, name, default) %}
    {%- for key, value in floodmark._merged_options(floodmark._file_format(settings).options,
        settings.options).items() if key | lower == name | lower -%}
        {{ return(value | string) }}
    {%- endfor -%}
    {{ return(default) }}
{% endmacro %}


{# The encoding of files of texts. #}
{% macro _encoding(settings) %}
    {{ return(floodmark._reader_option(settings, 'encoding', floodmark._reader_option(settings, 'charset', 'UTF-8'))) }}
{% endmacro %}


{# Whether the user's options of a reader say how texts become values of a type. A locale of the US is Spark's own. #}
{% macro _says_how_to_read(settings, type) %}
    {%- set floats, moments = ['nanValue', 'positiveInf', 'negativeInf'],
        ['timestampFormat', 'timestampNTZFormat', 'timeZone'] -%}
    {%- set names = {'decimal': ['locale'], 'float': floats, 'double': floats, 'timestamp': moments,
        'timestamp_ntz': moments}[type.split('(')[0]] -%}
    {%- for name in names if floodmark._reader_option(settings, name, none) is not none
        and not (name == 'locale' and floodmark._reader_option(settings, name, '') in ['en-US', 'en_US']) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Options with those that stand before them: Spark takes a name in any case. #}
{% macro _merged_options(options, given) %}
    {%- set names = (given or {}).keys() | map('lower') | list -%}
    {%- set merged = {} -%}
    {%- for name, value in options.items() if name | lower not in names -%}
        {%- do merged.update({name: value}) -%}
    {%- endfor -%}
    {{ return(dict(merged, **(given or {}))) }}
{% endmacro %}


{# The options that the user gives, and a format of dates, without which Spark takes a time for its day. #}
{% macro _given_options(settings) %}
    {{ return(dict({'dateFormat': 'yyyy-M-d'} if settings.format in ['json',
        'csv'] and floodmark._reader_option(settings,
        'dateFormat', none) is none else {}, **(settings.options or {}))) }}
{% endmacro %}


{# The options of a format's reader, with which it hands out records that it cannot read, or that do not fit. #}
{% macro _format_options(settings) %}
    {%- set format = floodmark._file_format(settings) -%}
    {{ return(dict(floodmark._merged_options(format.options, floodmark._given_options(settings)),
        **({'mode': 'PERMISSIVE', 'columnNameOfCorruptRecord': '_floodmark_bad'} if format.has_bad else {}))) }}
{% endmacro %}


{# The options of a format's reader, each as a text: {name: text}. #}
{% macro _text_options(settings) %}
    {%- set texts = {} -%}
    {%- for name, value in floodmark._format_options(settings).items() -%}
        {%- do texts.update({name: value | lower if value is boolean else value | string}) -%}
    {%- endfor -%}
    {{ return(texts) }}
{% endmacro %}


{# Text: a line a record, also a blank one, with one column. Spark leaves out the byte-order mark of a file. #}
{% macro _text_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='text', has_types=true, is_text=true,
        columns='struct<value:string>', rows=floodmark._text_rows)) }}
{% endmacro %}


{% macro _text_rows(settings, files, look) %}
    {{ return(floodmark._rows_by_path('(select _metadata from '
        ~ floodmark._raw_files_sql(settings, files, floodmark._text_options(settings)) ~ ')')) }}
{% endmacro %}


{# The rows that a relation has of each file: {path: rows}. #}
{% macro _rows_by_path(relation) %}
    {%- set found = {} -%}
    {%- for row in floodmark._query_json("select to_json(named_struct('path', _metadata.file_path, 'rows', count(*))) "
        'from ' ~ relation ~ ' group by _metadata.file_path') -%}
        {%- do found.update({row.path: row.rows}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Binary: a file a record, with Spark's columns. #}
{% macro _binary_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='binaryFile', has_types=true,
        columns='struct<path:string,modificationTime:timestamp,length:bigint,content:binary>',
        rows=floodmark._binary_rows)) }}
{% endmacro %}


{% macro _binary_rows(settings, files, look) %}
    {%- set rows = {} -%}
    {%- for file in files -%}
        {%- do rows.update({file.path: 1}) -%}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}
