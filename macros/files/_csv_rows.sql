{# CSV: the lines of files with one header as rows. #}

{# The options of a window that gives lines, or whole texts. What would part, quote or empty a line is what no text
   has. #}
{% macro _csv_window_options(settings, dialect) %}
    {%- if dialect.is_whole -%}
        {{ return({'wholetext': 'true'}) }}
    {%- endif -%}
    {%- set options = {'header': dialect.has_header | string | lower, 'encoding': dialect.encoding, 'sep': '\ufdd0',
        'quote': '\ufdd2', 'escape': '\ufdd2', 'nullValue': '\ufdd3', 'maxCharsPerColumn': '-1',
        'mode': 'PERMISSIVE'} -%}
    {%- for name in ['comment', 'lineSep'] if floodmark._reader_option(settings, name, none) is not none -%}
        {%- do options.update({name: floodmark._reader_option(settings, name, none)}) -%}
    {%- endfor -%}
    {{ return(options) }}
{% endmacro %}


{# The groups of _csv_groups for `single_variant_column`: each record is one VARIANT, made of the texts of its line. #}
{% macro _csv_variant_groups(run, batch, look) %}
    {%- set groups = [] -%}
    {%- for group in floodmark._csv_groups(run, batch, look) -%}
        {%- do groups.append(dict(group, record=batch.record)) -%}
    {%- endfor -%}
    {{ return(groups) }}
{% endmacro %}


{# The columns of a line: those of a group's record, or one VARIANT. #}
{% macro _csv_columns(settings, group) %}
    {%- set columns = [] -%}
    {%- if settings.single_variant_column is not none -%}
        {%- for field in floodmark._struct_fields(group.header) -%}
            {%- do columns.append(floodmark._string_literal(field.name) ~ ', cast(_floodmark_line.'
                ~ floodmark._quoted(field.name) ~ ' as string)') -%}
        {%- endfor -%}
        {{ return(['to_variant_object(named_struct(' ~ columns | join(', ') ~ ')) as '
            ~ floodmark._quoted(settings.single_variant_column)]) }}
    {%- endif -%}
    {%- for field in floodmark._struct_fields(group.record) -%}
        {%- set value = '_floodmark_line.' ~ floodmark._quoted(field.name) -%}
        {%- do columns.append(('cast(' ~ value ~ ' as variant)' if field.type == 'variant' else value) ~ ' as '
            ~ floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The rows of a group: its columns, `_floodmark_bad` (the line where it is corrupt or something in it does not fit),
   `_floodmark_reason` and `_metadata`. #}
{% macro _csv_rows_sql(settings, window, group) %}
    {%- set dialect = group.dialect -%}
    {%- set lines = group.texts_sql or floodmark._csv_lines_sql(settings, window, group) -%}
    {%- set typed, texts, columns = [], [], floodmark._csv_columns(settings, group) -%}
    {%- for field in floodmark._struct_fields(group.header) -%}
        {%- do typed.append(dict(field, type='string' if field.type in ['variant', 'text'] else field.type)) -%}
        {%- do texts.append(dict(field, type='string')) -%}
    {%- endfor -%}
    {#- a header may have this name, too -#}
    {%- set name = '_floodmark_bad' ~ ('_' * group.header | length if '_floodmark_bad' in group.header else '') -%}
    {%- set bad = [{'name': name, 'type': 'string'}] -%}
    select {{ columns | join(', ') }}{{ ',' if columns }}
        if(_floodmark_is_open, value, _floodmark_line.{{ name }}) as _floodmark_bad, _floodmark_texts, _metadata,
        {{ '_floodmark_id,' if group.texts_sql }}
        case when _floodmark_line.{{ name }} is null and not _floodmark_is_open then null
            when _floodmark_is_open then 'a quote is not closed'
            when _floodmark_texts.{{ name }} is not null then 'another number of fields than in the header' end
            as _floodmark_reason
    from (
        select *, if(_floodmark_line.{{ name }} is null, null,
            {{ floodmark._from_csv_sql(settings, texts + bad) }}) as _floodmark_texts
        from (
            select *, {{ floodmark._csv_is_open_sql(dialect) }} as _floodmark_is_open,
                {{ floodmark._from_csv_sql(settings, typed + bad) }} as _floodmark_line
            from ({{ lines }}) where trim(value) <> ''
        )
    )
{% endmacro %}


{# The lines of a window behind its headers: value, _metadata. Spark takes a line of tabs alone for blank, but it is a
   record where they are separators: such lines are read once more as text. #}
{% macro _csv_lines_sql(settings, window, group) %}
    {%- set dialect = group.dialect -%}
    {%- set lines = 'select value, _metadata from ' ~ window ~ ' where ' ~ floodmark._files_predicate(group.files) -%}
    {%- if dialect.is_whole -%}
        {%- set records = floodmark._csv_records_sql(dialect.text, dialect) -%}
        {{ return('select explode(' ~ ('slice(' ~ records ~ ', 2, greatest(size(' ~ records ~ ') - 1, 0))'
            if dialect.has_header else records) ~ ') as value, _metadata from (' ~ lines ~ ')') }}
    {%- elif floodmark._has_blank_separator_sql(dialect) -%}
        {%- set lines = lines ~ ' union all select value, _metadata from '
            ~ floodmark._raw_files_sql(settings, group.files)
            ~ ' and not ' ~ floodmark._has_letters_sql() ~ ' and ' ~ floodmark._has_blank_separator_sql(dialect) -%}
    {%- endif -%}
    {{ return('select * from (' ~ lines ~ ') where not startswith(value, '
        ~ floodmark._string_literal(dialect.comment) ~ ')' if dialect.comment else lines) }}
{% endmacro %}


{# The fields of a line as columns, of which the last is for a line that does not fit; `line` is SQL of its text. #}
{% macro _from_csv_sql(settings, fields, line='value') %}
    {%- set options = [] -%}
    {%- set ours = ['header', 'multiline', 'encoding', 'charset', 'linesep', 'compression', 'comment'] -%}
    {%- for name, value in floodmark._merged_options(floodmark._csv_files().options,
        floodmark._given_options(settings)).items()
        if name | lower not in ours -%}
        {%- do options.extend([floodmark._string_literal(name), floodmark._string_literal(value)]) -%}
    {%- endfor -%}
    {%- do options.extend(["'mode'", "'PERMISSIVE'", "'columnNameOfCorruptRecord'", "'" ~ fields[-1].name ~ "'"]) -%}
    {{ return('from_csv(' ~ line ~ ', ' ~ floodmark._string_literal(floodmark._as_ddl(fields)) ~ ', map('
        ~ options | join(', ')
        ~ '))') }}
{% endmacro %}


{# Whether a field of a line begins with a quote and has no end: what is left once all fields that have one are taken
   out. Blanks may stand behind the end. Without a letter that escapes it, a quote ends a field where, behind these, a
   separator or the line's end follows. #}
{% macro _csv_is_open_sql(dialect) %}
    {%- if not dialect.quote -%}
        {{ return('false') }}
    {%- endif -%}
    {%- set sep, quote = modules.re.escape(dialect.sep), modules.re.escape(dialect.quote) -%}
    {%- set ends = floodmark._csv_blanks(dialect.sep) ~ '(?:' ~ sep ~ '|$)' -%}
    {%- set begins = '(^|' ~ sep ~ ')' ~ floodmark._csv_opening(dialect) -%}
    {%- set closed = begins ~ floodmark._csv_within(dialect, quote ~ '(?!' ~ ends ~ ')') ~ quote
        ~ '(?=' ~ ends ~ ')' -%}
    {{ return('(contains(value, ' ~ floodmark._string_literal(dialect.quote) ~ ') and regexp_replace(value, '
        ~ floodmark._string_literal('(?s)' ~ closed) ~ ", '$1') rlike "
        ~ floodmark._string_literal(begins) ~ ')') }}
{% endmacro %}


{# A pattern of the quote that opens a field: the field's first letter, but for blanks that the reader leaves out. #}
{% macro _csv_opening(dialect) %}
    {{ return((floodmark._csv_blanks(dialect.sep) if dialect.skips_blanks else '')
        ~ modules.re.escape(dialect.quote)) }}
{% endmacro %}


{# A pattern of what stands between the quotes of a field. `stray` is one of a quote in it, where nothing escapes that.
   #}
{% macro _csv_within(dialect, stray='(?!)') %}
    {%- set quote, escape = modules.re.escape(dialect.quote), modules.re.escape(dialect.escape) -%}
    {%- set is_doubled = dialect.escape == dialect.quote -%}
    {{ return('(?:[^' ~ quote ~ ('' if is_doubled else escape) ~ ']++|'
        ~ (quote ~ quote if is_doubled else escape ~ '.?' if dialect.escape else stray) ~ ')*+') }}
{% endmacro %}


{# A line in which something does not fit, as VARIANT: its texts. #}
{% macro _csv_raw_sql(bad, group) %}
    {{ return('to_variant_object(_floodmark_texts)' if group.get('dialect') else 'cast(null as variant)') }}
{% endmacro %}


{# The first record of a file's whole text. #}
{% macro _csv_first_sql(dialect) %}
    {{ return('element_at(' ~ floodmark._csv_records_sql(dialect.text, dialect) ~ ', 1)') }}
{% endmacro %}


{# The records of a file's whole text as Spark's reader parts them, without blank ones and comments. A field that begins
   with a quote hides line ends up to the quote that ends it, or to the text's end; what stands behind that quote hides
   none, and a quote elsewhere opens nothing. #}
{% macro _csv_records_sql(text, dialect) %}
    {%- set ns = namespace(record='[^\\r\\n]++') -%}
    {%- if dialect.hides -%}
        {%- set quoted = '(?:' ~ floodmark._csv_opening(dialect) ~ floodmark._csv_within(dialect) ~ '(?:'
            ~ modules.re.escape(dialect.quote) ~ '|$))?+' -%}
        {%- set first = modules.re.escape(dialect.sep[0]) -%}
        {%- set ns.record = '(?=[^\\r\\n])' ~ quoted ~ '(?:[^\\r\\n' ~ first ~ ']++|' ~ modules.re.escape(dialect.sep)
            ~ quoted ~ '|' ~ first ~ ')*+' -%}
    {%- endif -%}
    {%- set comment = modules.re.escape(dialect.comment) ~ '[^\\r\\n]*+|' if dialect.comment else '' -%}
    {{ return("filter(regexp_extract_all(ltrim('\ufeff', " ~ text ~ '), '
        ~ floodmark._string_literal('(?s)' ~ comment ~ ns.record) ~ ", 0), r -> trim(r) <> ''"
        ~ (' and not startswith(r, ' ~ floodmark._string_literal(dialect.comment) ~ ')' if dialect.comment else '')
        ~ ')') }}
{% endmacro %}


{# Lines of the quarantine as groups (_records_again.sql): they are read by the headers of their files. #}
{% macro _csv_groups_again(run, batch, texts) %}
    {#- of the others the ledger does not know what they were -#}
    {%- set files = batch.files | selectattr('size', 'number') | list -%}
    {%- set headers = floodmark._csv_headers_again(run, files) -%}
    {%- set groups = [] -%}
    {%- for group in (floodmark._file_format(run.settings.files).groups(run, dict(batch, files=headers.versions),
        headers) if headers.versions else []) -%}
        {%- set own = dict(group, texts_sql='select * from (' ~ texts ~ ') where '
            ~ floodmark._versions_predicate(group.files)) -%}
        {%- do groups.append(dict(own, sql=group.rows_sql(run.settings.files, none, own))) -%}
    {%- endfor -%}
    {{ return(groups) }}
{% endmacro %}


{# Only lines of these files, each as it was when it was read: {path, size, modified_at}. #}
{% macro _versions_predicate(files) %}
    {%- set versions = [] -%}
    {%- for file in files -%}
        {%- do versions.append('(' ~ floodmark._string_literal(file.path) ~ ', ' ~ file.size ~ 'L, '
            ~ file.modified_at ~ 'L)') -%}
    {%- endfor -%}
    {{ return('(_metadata.file_path, _metadata.file_size, unix_micros(_metadata.file_modification_time)) in ('
        ~ versions | join(', ') ~ ')') }}
{% endmacro %}


{# The headers of files, in the form of a look, and those of the files that have one (`versions`): a file that is there
   as it was, or where it is archived. Of others nobody knows the header. Files without headers have the known
   columns. #}
{% macro _csv_headers_again(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- if not floodmark._csv_dialect(settings).has_header -%}
        {%- set found = {} -%}
        {%- for file in files -%}
            {%- do found.update({file.path: {'header': floodmark._csv_placed(run, file.path)}}) -%}
        {%- endfor -%}
        {{ return({'files': found, 'versions': files}) }}
    {%- endif -%}
    {%- set now = floodmark._versions_of(floodmark._present_files(settings, files)) -%}
    {%- set same, moved = [], [] -%}
    {%- for file in files -%}
        {%- do (same if now.get(file.path) == [file.size, file.modified_at] else moved).append(file) -%}
    {%- endfor -%}
    {%- set found = floodmark._csv_headers_of(run, same) -%}
    {%- set archived = moved | selectattr('archived_to') | rejectattr('path', 'in', found) | list -%}
    {%- set places = floodmark._in_archive(settings, archived) if archived and settings.archive_to else {} -%}
    {%- set there = floodmark._csv_headers_of(dict(run, settings=dict(run.settings, files=dict(settings,
        path=settings.archive_to))), places.values() | list) -%}
    {%- for file in archived if file.path in places and places[file.path].size == file.size
        and places[file.path].path in there and file.path not in found -%}
        {%- do found.update({file.path: there[places[file.path].path]}) -%}
        {%- do same.append(file) -%}
    {%- endfor -%}
    {{ return({'files': found, 'versions': same}) }}
{% endmacro %}


{# The headers of these files, {path: {header, reason}}; none where one cannot be read. #}
{% macro _csv_headers_of(run, files) %}
    {{ return((floodmark._tried(floodmark._look_at_csv, run, files).value or {'files': {}}).files if files else {}) }}
{% endmacro %}
