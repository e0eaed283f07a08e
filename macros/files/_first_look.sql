{# What `floodmark init --files` asks of a folder, of which no model says anything yet. #}

{# A SELECT of one JSON text: what a folder holds, after a look at its newest files: {format, options, files, bytes,
   columns, partitions}. For `floodmark init --files`, which has no model yet. #}
{% macro _folder_look_sql(files) %}
    {%- set settings = floodmark._completed_files(floodmark._with_defaults(dict(files, infer_column_types=true),
        floodmark._files_schema())) -%}
    {%- set listed = floodmark._listed(settings.path, 'select to_json(struct(*)) from ('
        ~ floodmark._folder_files_sql(settings) ~ ' order by modified_at desc, path limit 1000)') -%}
    {%- set run = {'settings': {'files': settings}, 'known_record': none} -%}
    {%- do floodmark._settle_format(run, none, listed) -%}
    {%- set look = floodmark._first_look(run, listed) if listed else none -%}
    {%- set settings = run.settings.files -%}
    {%- set found = {'format': settings.format, 'options': settings.options, 'files': listed | length,
        'bytes': listed | sum(attribute='size'), 'columns': [], 'partitions': []} -%}
    {%- if listed -%}
        {%- set format = floodmark._file_format(settings) -%}
        {%- set record = floodmark._without_case_twins(floodmark._kept_type(look.seen, true)
            if look.seen and not format.has_types else look.seen) if look.seen else format.columns -%}
        {%- set columns = floodmark._loadable_columns(run, record or 'struct<>') -%}
        {%- do found.update({'columns': floodmark._with_moments(settings, floodmark._files_to_read(listed, look),
            columns) if settings.format == 'json' else columns,
            'partitions': floodmark._partitions(run, none, listed, format.columns)}) -%}
        {%- do floodmark._tell_warnings(run) -%}
    {%- endif -%}
    {{ return('select ' ~ floodmark._string_literal(tojson(found)) ~ ' as look') }}
{% endmacro %}


{# The columns of a record. Their own names may be any, since a SELECT gives them others; within them Delta takes few.
   #}
{% macro _loadable_columns(run, record) %}
    {%- set columns = [] -%}
    {%- for column in floodmark._struct_fields(record) -%}
        {%- set type = floodmark._nameable(run, column.type) -%}
        {%- do columns.append(dict(column, type=type))
            if type and not floodmark._is_own_column(run.settings.files, column.name) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# Columns of JSON, which has no type for times: a text of which each value is an ISO date, or an ISO timestamp, is a
   column of these. Spark itself takes a postal code for a year. #}
{% macro _with_moments(settings, files, columns) %}
    {%- set values, counts = [], [] -%}
    {%- for column in columns if column.type == 'string' -%}
        {%- set value = 'v' ~ loop.index0 -%}
        {%- do values.append('cast(' ~ floodmark._raw_field_sql('record', column.name) ~ ' as string) as ' ~ value) -%}
        {%- do counts.append(floodmark._string_literal(column.name) ~ ', case count(' ~ value ~ ') when 0 then null'
            ~ ' when count_if(' ~ value ~ " rlike '^\\\\d{4}-\\\\d\\\\d-\\\\d\\\\d$' and try_cast(" ~ value
            ~ " as date) is not null) then 'date' when count_if(" ~ value
            ~ " rlike '^\\\\d{4}-\\\\d\\\\d-\\\\d\\\\d[T ]\\\\d\\\\d:\\\\d\\\\d' and try_cast(" ~ value
            ~ " as timestamp) is not null) then 'timestamp' end") -%}
    {%- endfor -%}
    {%- if not values -%}
        {{ return(columns) }}
    {%- endif -%}
    {%- set seen = floodmark._query_json('select to_json(named_struct(' ~ counts | join(', ') ~ ')) from (select '
        ~ values | join(', ') ~ ' from (' ~ floodmark._json_records_sql(settings, files) ~ '))')[0] -%}
    {%- set found = [] -%}
    {%- for column in columns -%}
        {%- do found.append(dict(column, type=seen.get(column.name) or column.type)) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A look at files of which nothing is known. An option that they need goes into the settings. Files that cannot be
   unpacked tell nothing. #}
{% macro _first_look(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- if settings.format in ['csv', 'json', 'xml'] -%}
        {%- set texts_of = floodmark._first_texts if settings.format == 'xml' else floodmark._first_lines -%}
        {%- set first = floodmark._files_without(files, floodmark._packed_files(files))[:100] -%}
        {%- set told = floodmark._tried(texts_of, settings, first) if first else {'error': none, 'value': []} -%}
        {%- set readable = first if told.error is none
            else floodmark._files_without(first, floodmark._unreadable_files(settings, first)) -%}
        {%- set texts = told.value if told.error is none else (texts_of(settings, readable) if readable else []) -%}
        {%- do settings.update({'options': {'csv': floodmark._csv_options_of, 'json': floodmark._json_options_of,
            'xml': floodmark._xml_options_of}[settings.format](texts)}) -%}
    {%- endif -%}
    {#- what is a record of XML nobody can say where no file has an element -#}
    {{ return(floodmark._look_at_files(run, files) if settings.format != 'xml' or settings.options
        else {'files': {}, 'seen': none}) }}
{% endmacro %}


{# The first line of each of these files that is not blank, a long one cut: a list of {line, is_utf8}; the latter says
   it of all lines. #}
{% macro _first_lines(settings, files) %}
    {{ return(floodmark._query_json("select to_json(named_struct('line', min_by(ltrim('\ufeff', left(value, "
        ~ floodmark._first_line_length() ~ ")), place), 'is_utf8', min(is_valid_utf8(value)))) from (select value, "
        "struct(_metadata.file_block_start, monotonically_increasing_id()) as place, _metadata.file_path as path from "
        ~ floodmark._raw_files_sql(settings, files) ~ ') where ' ~ floodmark._has_letters_sql() ~ ' group by path')) }}
{% endmacro %}


{# The texts of the first ten of these XML files, long ones cut. #}
{% macro _first_texts(settings, files) %}
    {%- set conf = floodmark._files_conf(settings) -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- set read = floodmark._tried(floodmark._query_json, "select to_json(named_struct('text', left(text, "
        ~ floodmark._first_line_length() ~ '))) from (' ~ floodmark._xml_texts_sql(settings, files[:10]) ~ ')') -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- if read.error is not none -%}
        {%- do adapter.floodmark_raise(read.raised) -%}
    {%- endif -%}
    {{ return(read.value | map(attribute='text', default='') | list) }}
{% endmacro %}


{% macro _first_line_length() %}
    {{ return(100000) }}
{% endmacro %}


{# The separator by which the headers have the most fields, and Latin-1 where a line is not UTF-8. #}
{% macro _csv_options_of(lines) %}
    {%- set best = namespace(separator=',', fields=0) -%}
    {%- for separator in [',', ';', '\t', '|'] -%}
        {%- set fields = [] -%}
        {%- for line in lines -%}
            {%- do fields.extend(floodmark._csv_fields(line.line, separator, '"', '"')) -%}
        {%- endfor -%}
        {%- if fields | length > best.fields -%}
            {%- set best.separator, best.fields = separator, fields | length -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set encoding = {} if lines | rejectattr('is_utf8') | list == [] else {'encoding': 'ISO-8859-1'} -%}
    {{ return(dict({} if best.separator == ',' else {'sep': best.separator}, **encoding)) }}
{% endmacro %}


{# Whether each file is one value over several lines, or an array: none has an object in its first line. #}
{% macro _json_options_of(lines) %}
    {%- for line in lines | map(attribute='line') -%}
        {%- set is_cut = line | length == floodmark._first_line_length() and line.lstrip().startswith('{') -%}
        {%- if is_cut or fromjson(line, none) is mapping -%}
            {{ return({}) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'multiLine': true} if lines else {}) }}
{% endmacro %}


{# Which element is a record: of those within the root that hold elements, or have attributes, the one that is there
   most often; else the root. #}
{% macro _xml_options_of(texts) %}
    {%- set found, best = {}, namespace(root=none, tag=none, counts=[0, 0]) -%}
    {%- for text in texts -%}
        {%- set ns = namespace(depth=0, child=none) -%}
        {%- set markup = modules.re.sub('(?s)<!--.*?-->|<!\\[CDATA\\[.*?\\]\\]>|<[?!][^>]*>', '', text) -%}
        {%- for end, name, attributes, is_empty in modules.re.findall(
            '<(/?)([^\\s/<>"\']+)(?=[\\s/>])((?:[^<>"\'/]|/(?!>)|"[^"]*"|\'[^\']*\')*)(/?)>', markup) -%}
            {%- set best.root = best.root or name -%}
            {%- set ns.child = name if ns.depth == 1 and not end else ns.child -%}
            {%- if ns.depth > 0 and not end -%}
                {%- set seen = found.get(ns.child, [0, 0]) -%}
                {%- do found.update({ns.child: [seen[0] + (ns.depth == 1) | int,
                    seen[1] + (ns.depth > 1 or attributes.strip() != '') | int]}) -%}
            {%- endif -%}
            {%- set ns.depth = ns.depth + (-1 if end else (0 if is_empty else 1)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for tag, counts in found.items() if counts[1] and counts > best.counts -%}
        {%- set best.tag, best.counts = tag, counts -%}
    {%- endfor -%}
    {%- set tag = best.tag or best.root -%}
    {{ return({'rowTag': tag} if tag else {}) }}
{% endmacro %}
