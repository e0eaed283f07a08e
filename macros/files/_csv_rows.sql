{# CSV: the lines of files with one header as rows. #}

{# Files with one header are a group. Its columns have the types of those that are known, where Spark reads such from
   CSV; a column that is not known is read as VARIANT, so that it prints as the text that it is. #}
{% macro _csv_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set known = floodmark._types_of(batch.file_schema.record) -%}
    {%- set dialect = floodmark._csv_dialect(settings) -%}
    {%- set groups = {} -%}
    {%- for file in floodmark._whole_files(batch.files, look.files) -%}
        {%- set names = look.files[file.path].header -%}
        {%- set key = tojson(names) -%}
        {%- if key not in groups -%}
            {%- set fields = [] -%}
            {%- for name in names -%}
                {%- set type = floodmark._csv_type(known, name, settings.case_sensitive) -%}
                {%- do fields.append({'name': name, 'type': type or 'variant'}) -%}
            {%- endfor -%}
            {%- do groups.update({key: {'record': floodmark._struct_of(fields), 'files': [], 'dialect': dialect,
                'lies_as': 'struct<value:string>', 'provider': 'text' if dialect.is_whole else 'csv',
                'options': {'wholetext': 'true'} if dialect.is_whole
                else {'header': dialect.has_header | string | lower,
                'sep': '\u0001', 'quote': '', 'escape': '', 'maxCharsPerColumn': '-1', 'mode': 'PERMISSIVE'},
                'rows_sql': floodmark._csv_rows_sql, 'reason_sql': '_floodmark_reason'}}) -%}
        {%- endif -%}
        {%- do groups[key].files.append(file) -%}
    {%- endfor -%}
    {{ return(groups.values() | list) }}
{% endmacro %}


{# The same with each record in one VARIANT, of the texts in it. #}
{% macro _csv_variant_groups(run, batch, look) %}
    {%- set groups = [] -%}
    {%- for group in floodmark._csv_groups(run, batch, look) -%}
        {%- do groups.append(dict(group, header=group.record, record=batch.record,
            rows_sql=floodmark._csv_variant_rows_sql)) -%}
    {%- endfor -%}
    {{ return(groups) }}
{% endmacro %}


{% macro _csv_variant_rows_sql(settings, window, group) %}
    {%- set pairs = [] -%}
    {%- for field in floodmark._struct_fields(group.header) -%}
        {%- do pairs.append(floodmark._string_literal(field.name) ~ ', cast(' ~ floodmark._quoted(field.name)
            ~ ' as string)') -%}
    {%- endfor -%}
    {{ return('select to_variant_object(named_struct(' ~ pairs | join(', ') ~ ')) as '
        ~ floodmark._quoted(settings.single_variant_column) ~ ', _floodmark_bad, texts, _metadata, '
        ~ ('_floodmark_id, ' if group.texts_sql else '') ~ '_floodmark_reason from ('
        ~ floodmark._csv_rows_sql(settings, window, dict(group, record=group.header)) ~ ')') }}
{% endmacro %}


{# The type in which a column is read from CSV: that of the known one, or string where Spark reads no such type; none
   where no column is known. #}
{% macro _csv_type(known, name, is_sensitive) %}
    {%- for other, type in known.items() if other == name or not is_sensitive and other | lower == name | lower -%}
        {{ return('string' if floodmark._nesting(type) or type == 'variant' or type.startswith('decimal') else type) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The rows of a group: its columns, `_floodmark_bad` (the line where it is corrupt or something in it does not fit),
   `_floodmark_reason` and `_metadata`. #}
{% macro _csv_rows_sql(settings, window, group) %}
    {%- set dialect = group.dialect -%}
    {%- set lines = group.texts_sql or floodmark._csv_lines_sql(window, group) -%}
    {%- set typed, texts, columns = [], [], [] -%}
    {%- for field in floodmark._struct_fields(group.record) -%}
        {%- set quoted = floodmark._quoted(field.name) -%}
        {%- do typed.append(dict(field, type='string' if field.type == 'variant' else field.type)) -%}
        {%- do texts.append(dict(field, type='string')) -%}
        {%- do columns.append(('cast(line.' ~ quoted ~ ' as variant)' if field.type == 'variant' else 'line.' ~ quoted)
            ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {%- set bad = [{'name': '_floodmark_bad', 'type': 'string'}] -%}
    select {{ columns | join(', ') }}{{ ',' if columns }}
        if(is_open, value, line._floodmark_bad) as _floodmark_bad, texts, _metadata,
        {{ '_floodmark_id,' if group.texts_sql }}
        case when line._floodmark_bad is null and not is_open then null
            when is_open then 'a quote is not closed'
            when texts._floodmark_bad is not null then 'another number of fields than in the header' end
            as _floodmark_reason
    from (
        select *, if(line._floodmark_bad is null, null, {{ floodmark._from_csv_sql(settings, texts + bad) }}) as texts
        from (
            select *, {{ floodmark._csv_is_open_sql(dialect) }} as is_open,
                {{ floodmark._from_csv_sql(settings, typed + bad) }} as line
            from ({{ lines }}) where trim(value) <> ''
        )
    )
{% endmacro %}


{# The lines of a window behind its headers: value, _metadata. #}
{% macro _csv_lines_sql(window, group) %}
    {%- set dialect = group.dialect -%}
    {%- set lines = 'select value, _metadata from ' ~ window ~ ' where ' ~ floodmark._files_predicate(group.files) -%}
    {%- if dialect.is_whole -%}
        {%- set records = floodmark._csv_records_sql(dialect.text, dialect) -%}
        {%- set lines = 'select explode(' ~ ('slice(' ~ records ~ ', 2, greatest(size(' ~ records ~ ') - 1, 0))'
            if dialect.has_header else records) ~ ') as value, _metadata from (' ~ lines ~ ')' -%}
    {%- endif -%}
    {%- if dialect.comment -%}
        {%- set lines = 'select * from (' ~ lines ~ ') where not startswith(value, '
            ~ floodmark._string_literal(dialect.comment) ~ ')' -%}
    {%- endif -%}
    {{ return(lines) }}
{% endmacro %}


{# The fields of a line as columns. #}
{% macro _from_csv_sql(settings, fields) %}
    {%- set options = [] -%}
    {%- set ours = ['header', 'multiline', 'encoding', 'charset', 'linesep', 'compression', 'comment'] -%}
    {%- for name, value in dict(floodmark._csv_files().options, **floodmark._given_options(settings)).items()
        if name | lower not in ours -%}
        {%- do options.extend([floodmark._string_literal(name), floodmark._string_literal(value)]) -%}
    {%- endfor -%}
    {%- do options.extend(["'mode'", "'PERMISSIVE'", "'columnNameOfCorruptRecord'", "'_floodmark_bad'"]) -%}
    {{ return('from_csv(value, ' ~ floodmark._string_literal(floodmark._as_ddl(fields)) ~ ', map('
        ~ options | join(', ')
        ~ '))') }}
{% endmacro %}


{# Whether a field of a line begins with a quote and has no end: what is left once all fields that have one are taken
   out. #}
{% macro _csv_is_open_sql(dialect) %}
    {%- set sep, quote = modules.re.escape(dialect.sep), modules.re.escape(dialect.quote) -%}
    {%- if not dialect.quote -%}
        {{ return('false') }}
    {%- endif -%}
    {%- set within = '(?:[^' ~ quote ~ ']++|' ~ quote ~ quote ~ ')*+' if dialect.escape == dialect.quote
        else '(?:[^' ~ quote ~ modules.re.escape(dialect.escape) ~ ']++|' ~ modules.re.escape(dialect.escape)
        ~ '.)*+' -%}
    {%- set closed = '(^|' ~ sep ~ ')' ~ quote ~ within ~ quote ~ '(?=' ~ sep ~ '|$)' -%}
    {{ return('(contains(value, ' ~ floodmark._string_literal(dialect.quote) ~ ') and regexp_replace(value, '
        ~ floodmark._string_literal('(?s)' ~ closed) ~ ", '$1') rlike "
        ~ floodmark._string_literal('(^|' ~ sep ~ ')' ~ quote) ~ ')') }}
{% endmacro %}


{# A line in which something does not fit, as VARIANT: its texts. #}
{% macro _csv_raw_sql(bad, group) %}
    {{ return('to_variant_object(texts)' if group.get('dialect') else 'cast(null as variant)') }}
{% endmacro %}


{# The first record of a file's whole text. #}
{% macro _csv_first_sql(dialect) %}
    {{ return('element_at(' ~ floodmark._csv_records_sql(dialect.text, dialect) ~ ', 1)') }}
{% endmacro %}


{# The records of a file's whole text, blank ones left out: line ends between quotes hide behind a character that no
   text has while it is split. #}
{% macro _csv_records_sql(text, dialect) %}
    {%- set quote = floodmark._string_literal(dialect.quote) -%}
    {%- set text = "ltrim('\ufeff', " ~ text ~ ')' -%}
    {%- set hides = {'\ufdd4': dialect.escape ~ dialect.escape, '\ufdd1': dialect.escape ~ dialect.quote}
        if dialect.escape not in [dialect.quote, ''] else {} -%}
    {%- set ns = namespace(escaped=text, shown="translate(r, '\ufdd2\ufdd3', '\r\n')") -%}
    {%- for letter, hidden in hides.items() -%}
        {%- set escape = floodmark._string_literal(hidden) -%}
        {%- set ns.escaped = 'replace(' ~ ns.escaped ~ ', ' ~ escape ~ ", '" ~ letter ~ "')" -%}
        {%- set ns.shown = 'replace(' ~ ns.shown ~ ", '" ~ letter ~ "', " ~ escape ~ ')' -%}
    {%- endfor -%}
    {%- set parts = 'split(' ~ ns.escaped ~ ', ' ~ floodmark._string_literal(modules.re.escape(dialect.quote))
        ~ ')' -%}
    {%- set hidden = 'concat_ws(' ~ quote ~ ', transform(' ~ parts ~ ", (p, i) -> if(i % 2 = 1, translate(p, "
        "'\r\n', '\ufdd2\ufdd3'), p)))" -%}
    {{ return('transform(filter(split(' ~ hidden ~ ", '\r\n|\r|\n'), r -> trim(r) <> ''), r -> " ~ ns.shown ~ ')') }}
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
        {%- set known = floodmark._struct_fields(run.known_record) | map(attribute='name') | list -%}
        {%- set found = {} -%}
        {%- for file in files -%}
            {%- do found.update({file.path: {'header': known}}) -%}
        {%- endfor -%}
        {{ return({'files': found, 'versions': files}) }}
    {%- endif -%}
    {%- set now = {} -%}
    {%- for file in floodmark._present_files(settings, files) -%}
        {%- do now.update({file.path: [file.size, file.modified_at]}) -%}
    {%- endfor -%}
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
