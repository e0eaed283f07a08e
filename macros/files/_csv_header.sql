{# The headers of CSV files, and the columns that their fields go into. #}

{# The headers of the files: {files: {path: {header, reason}}, seen}. A file without any line has none, and nothing to
   load; `reason` says why one cannot be loaded. #}
{% macro _look_at_csv(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set dialect = floodmark._csv_dialect(settings) -%}
    {%- set value = floodmark._csv_first_sql(dialect) if dialect.is_whole
        else "ltrim('\ufeff', " ~ dialect.text ~ ')' -%}
    {%- set rows = floodmark._query_json(
        "select to_json(named_struct('path', path, 'line', min_by(value, place), 'is_open', min_by("
        ~ (floodmark._csv_is_open_sql(dialect) if dialect.hides else 'false') ~ ", place))) from (select path, "
        "struct(start, n) as place, " ~ value ~ " as value from (select _metadata.file_path as path, "
        "_metadata.file_block_start as start, monotonically_increasing_id() as n, value from "
        ~ floodmark._raw_files_sql(settings, files, {'wholetext': 'true'} if dialect.is_whole else {})
        ~ ')) where ' ~ floodmark._may_be_header_sql(dialect) ~ ' group by path') -%}
    {%- set found = {} -%}
    {%- for row in rows -%}
        {%- set names = [] if row.is_open and dialect.has_header else floodmark._csv_names(run, row, dialect) -%}
        {%- do found.update({row.path: {'header': names,
            'reason': floodmark._csv_header_reason(names, row.is_open) if dialect.has_header}}) -%}
    {%- endfor -%}
    {{ return({'files': found, 'seen': floodmark._csv_seen(run, files, found)}) }}
{% endmacro %}


{# Whether a line may be the header, or the first record where there is none: to Spark it is neither blank nor a
   comment. Of a file that is read as a whole this is the first record. #}
{% macro _may_be_header_sql(dialect) %}
    {%- if dialect.is_whole -%}
        {{ return("trim(value) <> ''") }}
    {%- endif -%}
    {%- set terms = [floodmark._has_letters_sql(), floodmark._has_blank_separator_sql(dialect)] -%}
    {{ return('(' ~ terms | select | join(' or ') ~ ')' ~ (' and not startswith(value, '
        ~ floodmark._string_literal(dialect.comment) ~ ')' if dialect.comment else '')) }}
{% endmacro %}


{# Whether a line has more than blanks and control characters. #}
{% macro _has_letters_sql() %}
    {{ return("value rlike '[^\\\\x00-\\\\x20]'") }}
{% endmacro %}


{# Whether a line has a separator, where that is a control character; none where it is another. #}
{% macro _has_blank_separator_sql(dialect) %}
    {{ return('contains(value, ' ~ floodmark._string_literal(dialect.sep) ~ ')'
        if modules.re.fullmatch('[\\x00-\\x1f]+', dialect.sep) else none) }}
{% endmacro %}


{# The columns in the headers of files, in the order in which they were seen; each file's own goes into `found`. Where
   types are asked for, and a header has a column that is not known, Spark infers those of all files with that header.
   #}
{% macro _csv_seen(run, files, found) %}
    {%- set settings = run.settings.files -%}
    {%- set groups = {} -%}
    {%- for file in floodmark._whole_files(files, found) -%}
        {%- do groups.setdefault(tojson(found[file.path].header), []).append(file) -%}
    {%- endfor -%}
    {%- set ns = namespace(seen=none) -%}
    {%- for those in groups.values() -%}
        {%- set names = found[those[0].path].header -%}
        {%- set known, fields = floodmark._known_types(settings, run.known_record, names), [] -%}
        {%- set grows = settings.schema_evolution == 'widen' and known.values() | reject('equalto', 'string') | list -%}
        {%- set types = floodmark._csv_types(settings, those, names, known if grows else {})
            if grows or settings.infer_column_types and names | reject('in', known) | list else [] -%}
        {%- for name in names -%}
            {%- do fields.append({'name': name, 'type': types[loop.index0] if loop.index0 < types | length
                else 'string'}) -%}
        {%- endfor -%}
        {%- set record = floodmark._struct_of(fields) -%}
        {%- for file in those -%}
            {%- do found[file.path].update({'seen': record}) -%}
        {%- endfor -%}
        {%- set ns.seen = floodmark._joined_records(ns.seen, record) -%}
    {%- endfor -%}
    {{ return(ns.seen) }}
{% endmacro %}


{# Names of the columns of a file, {path, line}: those of its header, else by their place. #}
{% macro _csv_names(run, file, dialect) %}
    {%- set fields = floodmark._csv_fields(file.line, dialect.sep, dialect.quote, dialect.escape) -%}
    {{ return(fields if dialect.has_header else floodmark._csv_placed(run, file.path, fields | length)) }}
{% endmacro %}


{# Names of the first `count` columns of a file without a header, or of those that are known: the columns of `schema` by
   their place, but for those that its folders give, else `_c0` and so on, as they are spelt where they are known. A
   record that was inferred has the columns of hints in places that are not theirs; one without `_c0` had a schema, and
   its columns keep their places. #}
{% macro _csv_placed(run, path, count=none) %}
    {%- set settings, names = run.settings.files, [] -%}
    {%- set fields = floodmark._struct_fields(floodmark._without_fields(run.known_record,
        floodmark._given_by_folders(settings, path))) if run.known_record else [] -%}
    {%- set places = fields | length if count is none else count -%}
    {%- set is_named = settings.schema or not floodmark._find_column(fields, '_c0') -%}
    {%- for place in range(places) -%}
        {%- set own = '_c' ~ place -%}
        {%- set named = fields[place].name if is_named and place < fields | length else '' -%}
        {%- set is_placed = named and (settings.schema or modules.re.fullmatch('(?i)_c\\d+', named) is none) -%}
        {%- set known = named if is_placed else (floodmark._find_column(fields, own) or {}).get('name') -%}
        {%- if known or count is not none -%}
            {%- do names.append(known or own) -%}
        {%- else -%}
            {{ return(names) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# Why a file with this header cannot be loaded; none where it can. Where line ends are hidden by a quote that is not
   closed (`is_open`), the records behind the header are in it. #}
{% macro _csv_header_reason(names, is_open=false) %}
    {%- if is_open -%}
        {{ return('its header has a quote that is not closed') }}
    {%- endif -%}
    {%- for name in names -%}
        {%- if not name -%}
            {{ return('its header has a column without a name') }}
        {%- elif '\x00' in name -%}
            {{ return("its header has zero bytes: if it is UTF-16, set files.options={'encoding': 'UTF-16'}") }}
        {%- elif names.count(name) > 1 -%}
            {{ return("its header has the column '" ~ name ~ "' more than once") }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# The character that probably separates the fields of CSV files whose headers are one column each; none where they are
   not. #}
{% macro _missed_separator(settings, seen) %}
    {%- if settings.format == 'csv' and seen and floodmark._csv_dialect(settings).has_header -%}
        {%- set names = floodmark._struct_fields(seen) | map(attribute='name') | list -%}
        {%- for separator in [';', '\t', '|'] -%}
            {%- set ns = namespace(in_all=names != []) -%}
            {%- for name in names if separator not in name -%}
                {%- set ns.in_all = false -%}
            {%- endfor -%}
            {%- if ns.in_all -%}
                {{ return(separator) }}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# Files with one header are a group. Its columns have the types of those that are known, where Spark reads such from
   CSV; a column that is not known is read as VARIANT, so that it prints as the text that it is. `header` has the fields
   of a line, by their places; one that has the name of Spark's own column is in no record. #}
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
                {%- set type = floodmark._csv_type(settings, known, name, settings.case_sensitive) -%}
                {%- do fields.append({'name': name, 'type': type or 'variant'}) -%}
            {%- endfor -%}
            {%- set header = floodmark._struct_of(fields) -%}
            {%- do groups.update({key: {'record': floodmark._readable_record(header), 'header': header, 'files': [],
                'dialect': dialect, 'lies_as': 'struct<value:string>', 'is_plain': true,
                'provider': 'text' if dialect.is_whole else 'csv',
                'options': floodmark._csv_window_options(settings, dialect), 'rows_sql': floodmark._csv_rows_sql,
                'reason_sql': '_floodmark_reason'}}) -%}
        {%- endif -%}
        {%- do groups[key].files.append(file) -%}
    {%- endfor -%}
    {{ return(groups.values() | list) }}
{% endmacro %}


{# The types that a known record has for names, in any case where case does not matter: {name: type}. #}
{% macro _known_types(settings, record, names) %}
    {%- set own, types = {}, {} -%}
    {%- for field in (floodmark._struct_fields(record) if record else []) -%}
        {%- do own.update({field.name if settings.case_sensitive else field.name | lower: field.type}) -%}
    {%- endfor -%}
    {%- for name in names if (name if settings.case_sensitive else name | lower) in own -%}
        {%- do types.update({name: own[name if settings.case_sensitive else name | lower]}) -%}
    {%- endfor -%}
    {{ return(types) }}
{% endmacro %}


{# The type in which a column is read from CSV: that of the known one, or string where Spark reads no such type. What it
   would round, or take something else for, is `text` (_rescued.sql), unless the user's options say how it is read.
   None where no column is known. #}
{% macro _csv_type(settings, known, name, is_sensitive) %}
    {%- for other, type in known.items() if other == name or not is_sensitive and other | lower == name | lower -%}
        {%- set inexact = ['float', 'double', 'timestamp', 'timestamp_ntz'] -%}
        {%- if type.startswith('decimal') or type in inexact -%}
            {{ return(floodmark._exact_type(type, false, inexact) if floodmark._says_how_to_read(settings, type)
                else 'text') }}
        {%- endif -%}
        {{ return('string' if floodmark._nesting(type) or type == 'variant' else type) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}
