{# JSON: one object a line, or with `multiLine` one object or an array of them a file. #}
{% macro _json_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='json', bad_column='_floodmark_bad', has_lines=true,
        is_text=true, options={'allowSingleQuotes': 'false'},
        reason_sql=floodmark._json_reason_sql, raw_sql=floodmark._json_raw_sql, look=floodmark._look_at_json,
        unmixed=floodmark._unmixed, rows=floodmark._json_rows,
        groups=floodmark._json_groups, variant_groups=floodmark._json_variant_groups)) }}
{% endmacro %}


{# Whether a text is one JSON object, if it is JSON: with another element behind it an array has two, whatever stands at
   its end. #}
{% macro _is_json_object_sql(text) %}
    {{ return("(ltrim('\\ufeff \\t\\r\\n', " ~ text ~ ") like '{%' and coalesce(json_array_length('[' || " ~ text
        ~ " || ',0]'), 0) = 2)") }}
{% endmacro %}


{# Spark hands out the records that it cannot read, and those in which something does not fit. #}
{% macro _json_reason_sql(bad, group) %}
    {%- set is_fit = floodmark._is_lenient_object_sql(bad, group) if group.lenient
        else (bad ~ " like '[%'" if group.is_whole else 'false') -%}
    {{ return('case when ' ~ bad ~ ' is null then null when not is_valid_utf8(' ~ bad ~ ") then 'not UTF-8' when not ("
        ~ floodmark._is_json_object_sql(bad) ~ ' and try_parse_json(' ~ bad ~ ') is not null or ' ~ is_fit
        ~ ") then 'not a JSON object' end") }}
{% endmacro %}


{# Whether a lenient reader takes a text for a record: {lenient, is_whole}. #}
{% macro _is_lenient_object_sql(text, group) %}
    {{ return("(from_json(" ~ text ~ ", '_floodmark_bad string', " ~ group.lenient[:-1]
        ~ ", 'columnNameOfCorruptRecord', '_floodmark_bad'))._floodmark_bad is null"
        ~ ('' if group.is_whole else ' and ' ~ text ~ " not like '[%'") ~ " and trim(' \\t\\r\\n' from " ~ text
        ~ ") <> 'null')") }}
{% endmacro %}


{% macro _json_raw_sql(bad, group) %}
    {{ return('from_json(' ~ bad ~ ", 'variant', " ~ group.lenient ~ ')' if group.lenient
        else 'try_parse_json(' ~ bad ~ ')') }}
{% endmacro %}


{# The options of a lenient reader as a map; none where it takes JSON alone. #}
{% macro _lenient_options_sql(settings) %}
    {%- set pairs = [] -%}
    {%- for name, value in (settings.options or {}).items() -%}
        {%- do pairs.extend([floodmark._string_literal(name), floodmark._string_literal(value)]) -%}
    {%- endfor -%}
    {{ return('map(' ~ pairs | join(', ') ~ ')' if floodmark._is_lenient(settings) else none) }}
{% endmacro %}


{# Whether a file is one record. #}
{% macro _is_whole_json(settings) %}
    {{ return(floodmark._reader_option(settings, 'multiLine', 'false') | lower == 'true') }}
{% endmacro %}


{# The records that a look counted. #}
{% macro _json_rows(settings, files, look) %}
    {%- set rows = {} -%}
    {%- for path, file in look.files.items() -%}
        {%- do rows.update({path: file.rows}) -%}
    {%- endfor -%}
    {{ return(none if floodmark._is_whole_json(settings) or floodmark._is_lenient(settings)
        or floodmark._reader_option(settings, 'lineSep', none) or look.files.values() | map(attribute='odd') | select
        | list else rows) }}
{% endmacro %}


{# What the files hold: {files: {path: {rows, seen, odd}}, seen}; `seen` is a struct of all fields, none where there was
   no record, or where nobody asks for them; `odd` says how many lines Spark takes for records
   that are none. #}
{% macro _look_at_json(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {%- set asks = settings.infers or settings.rescued_data_column -%}
    {%- if is_whole and not asks -%}
        {{ return({'files': {}, 'seen': none}) }}
    {%- endif -%}
    {%- set is_lenient = floodmark._is_lenient(settings) -%}
    {%- set is_quick = not is_whole and not is_lenient -%}
    {%- set rows = floodmark._json_look_rows(settings, files, asks, is_quick) -%}
    {%- if is_quick and asks and rows | selectattr('odd') | list -%}
        {%- set rows = floodmark._json_look_rows(settings, files, asks) -%}
    {%- endif -%}
    {%- set found, records = {}, {} -%}
    {%- for row in rows -%}
        {%- if row.seen not in records -%}
            {%- do records.update({row.seen: floodmark._seen_record(row.seen)}) -%}
        {%- endif -%}
        {%- do found.update({row.path: {'seen': records[row.seen], 'odd': 0 if is_whole else row.odd,
            'rows': row.rows}}) -%}
    {%- endfor -%}
    {%- set ns = namespace(seen=none) -%}
    {%- for record in records.values() if record -%}
        {%- set ns.seen = floodmark._merged_types(ns.seen, record) if ns.seen else record -%}
    {%- endfor -%}
    {%- if asks and is_lenient -%}
        {{ return({'files': found, 'seen': floodmark._json_inferred(settings, files)}) }}
    {%- endif -%}
    {%- set is_vague = ns.seen and settings.infer_column_types
        and modules.re.search('decimal\\((19|[23]\\d),0\\)', ns.seen) -%}
    {{ return({'files': found, 'seen': ns.seen, 'is_quick': is_quick and not asks,
        'kept': floodmark._settled_decimals(ns.seen, floodmark._json_inferred(settings, files)) if is_vague
        else ns.seen}) }}
{% endmacro %}


{# What a look counts and sees in each file: a list of {path, rows, odd, seen}. A quick one sees fields of odd lines,
   too. Within a condition Spark takes twice the time to parse. #}
{% macro _json_look_rows(settings, files, asks, is_quick=false) %}
    {%- if is_quick -%}
        {%- set records = 'select value, _metadata, ' ~ (floodmark._json_raw_sql('value', {}) if asks
            else 'cast(null as variant)') ~ ' as record from (' ~ floodmark._json_lines_sql(settings, files)
            ~ ') where ' ~ floodmark._kept_apart_sql() -%}
        {%- set is_odd = floodmark._looks_odd_sql() ~ (" or value <> '' and record is null" if asks else '') -%}
    {%- else -%}
        {%- set records = floodmark._json_records_sql(settings, files) -%}
        {%- set is_odd = floodmark._is_odd_line_sql(settings) -%}
    {%- endif -%}
    {{ return(floodmark._query_json("select to_json(named_struct('path', _metadata.file_path, 'odd', count_if("
        ~ is_odd ~ "), 'rows', count_if(value <> ''), 'seen', " ~ ('schema_of_variant_agg(record)'
        if asks and not floodmark._is_lenient(settings) else 'cast(null as string)') ~ ')) from (' ~ records
        ~ ') group by _metadata.file_path')) }}
{% endmacro %}


{# The record that Spark itself infers of files. #}
{% macro _json_inferred(settings, files) %}
    {{ return(floodmark._readable_record(floodmark._struct_of_columns(floodmark._columns_of_files(settings, files,
        {'mode': 'DROPMALFORMED'})))) }}
{% endmacro %}


{# The records of JSON files as VARIANT: value, record (NULL where it is corrupt), _metadata. #}
{% macro _json_records_sql(settings, files) %}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {%- set group = {'lenient': floodmark._lenient_options_sql(settings), 'is_whole': is_whole} -%}
    {%- set is_fit = floodmark._is_lenient_object_sql('value', group) if group.lenient
        else ('true' if is_whole else floodmark._is_braced_sql('value')) -%}
    select value, _metadata, if(is_valid_utf8(value) and {{ is_fit }}, {{ floodmark._json_raw_sql('value', group) }},
        null) as record
    from (
        select ltrim('\ufeff \t\r\n', value) as value, _metadata
        from text.`{{ floodmark._files_path(settings) }}`
            {{ floodmark._files_options(settings, {'wholetext': 'true'} if is_whole else {}) }}
        where {{ floodmark._files_predicate(files) }}
    )
{% endmacro %}


{# What was seen, for reading it into a known type: where a value is an object in one record and none in another its
   type says nothing of the fields, so these are looked for. `steps` lead there, names, and none into an array. #}
{% macro _unmixed(settings, files, known, seen, steps=[]) %}
    {%- set nesting = floodmark._nesting(known) -%}
    {%- if seen == 'variant' and (nesting in ['struct', 'array'] or floodmark._digits(known)) -%}
        {%- set seen = floodmark._seen_at(settings, files, steps, {'struct': 'OBJECT', 'array': 'ARRAY'}.get(nesting,
            '(BIGINT|DECIMAL|DOUBLE)')) or seen -%}
    {%- endif -%}
    {%- if seen is none or floodmark._nesting(seen) != nesting -%}
        {{ return(seen) }}
    {%- elif nesting == 'array' -%}
        {{ return('array<' ~ floodmark._unmixed(settings, files, known[6:-1], seen[6:-1], steps + [none]) ~ '>') }}
    {%- elif nesting != 'struct' -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- set types = floodmark._types_of(known) -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- do fields.append(dict(field, type=floodmark._unmixed(settings, files, types[field.name], field.type,
            steps + [field.name])) if field.name in types else field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The type of the objects, arrays or numbers to which steps lead in the records of files; none where there are none. #}
{% macro _seen_at(settings, files, steps, kind) %}
    {%- set ns = namespace(value='record', from='(' ~ floodmark._json_records_sql(settings, files) ~ ')') -%}
    {%- for step in steps -%}
        {%- if step is none -%}
            {%- set ns.from = ns.from ~ ', lateral variant_explode(' ~ ns.value ~ ') as _floodmark_step'
                ~ loop.index -%}
            {%- set ns.value = '_floodmark_step' ~ loop.index ~ '.value' -%}
        {%- else -%}
            {%- set ns.value = floodmark._raw_field_sql(ns.value, step) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(\'seen\', schema_of_variant_agg(if('
        'schema_of_variant(' ~ ns.value ~ ") rlike '^" ~ kind ~ "', " ~ ns.value ~ ', null)))) from ' ~ ns.from)[0] -%}
    {{ return(floodmark._seen_type(found.seen) if found.seen not in [none, 'VOID'] else none) }}
{% endmacro %}


{# Whether a line, from its first letter on, is no JSON object. Spark's reader takes many of them for what they are not,
   and tells nobody: an array for as many records as it has elements, `null` for a record without values, an object with
   something behind it for that object, NaN for a number, UTF-16 for itself. #}
{% macro _is_odd_line_sql(settings) %}
    {{ return("(value like '[%' or trim(' \\t\\r' from value) = 'null'"
        ~ (')' if floodmark._is_lenient(settings) else " or not is_valid_utf8(value) or contains(value, '\\u0000') or "
        "value <> '' and not " ~ floodmark._is_json_object_sql('value') ~ ')')) }}
{% endmacro %}


{# The same for a quick look: NaN, and what is no JSON between the braces, it leaves to the reader. #}
{% macro _looks_odd_sql() %}
    {{ return("(value <> '' and not (is_valid_utf8(value) and " ~ floodmark._is_braced_sql('value') ~ '))') }}
{% endmacro %}


{# Whether a text begins with a brace, in UTF-8, and has nothing behind the brace that ends it. Mostly the first one that
   closes does, which is quickly seen. #}
{% macro _is_braced_sql(text) %}
    {{ return('(' ~ text ~ " like '{%' and " ~ text ~ " not like '{\\u0000%' and (" ~ text
        ~ " rlike '^[^}]*\\\\}$' or " ~ floodmark._is_json_object_sql(text) ~ '))') }}
{% endmacro %}


{# Whether the reader takes more than JSON. #}
{% macro _is_lenient(settings) %}
    {%- for name, value in (settings.options or {}).items()
        if name | lower | replace('allow', '', 1) != name | lower and value | string | lower == 'true' -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# A pattern of the types whose text, as a lenient reader finds it, may be no JSON. #}
{% macro _parsed_types(settings) %}
    {%- set numbers = floodmark._reader_option(settings, 'allowNumericLeadingZeros', 'false')
        ~ floodmark._reader_option(settings, 'allowNonNumericNumbers', 'false') -%}
    {{ return('$^' if not floodmark._is_lenient(settings)
        else ('.' if 'true' in numbers | lower else '(struct|array|map)<')) }}
{% endmacro %}


{# How many lines of each file are odd, where a quick look did not tell: {path: {odd}}. #}
{% macro _odd_lines(settings, files) %}
    {%- set found = {} -%}
    {%- for row in floodmark._query_json("select to_json(named_struct('path', _metadata.file_path, 'odd', count_if("
        ~ floodmark._is_odd_line_sql(settings) ~ '))) from (' ~ floodmark._json_lines_sql(settings, files)
        ~ ') group by _metadata.file_path') -%}
        {%- do found.update({row.path: row}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Files with odd lines are read without these, the others as they are; files that are read straight have none. #}
{% macro _json_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set record = floodmark._wide_decimal(floodmark._read_record(batch.record,
        floodmark._unmixed(settings, batch.files, batch.record, look.seen), settings.case_sensitive, false,
        floodmark._parsed_types(settings))) -%}
    {%- set group = {'record': record, 'options': {}, 'is_whole': floodmark._is_whole_json(settings),
        'lenient': floodmark._lenient_options_sql(settings)} -%}
    {%- if batch.clean_files and record != 'struct<>' -%}
        {{ return([dict(group, files=batch.files, options={'allowNonNumericNumbers': 'false'},
            reason_sql="if(_floodmark_bad rlike '(?i)nan|inf', 'a number that JSON has not', "
            ~ floodmark._json_reason_sql('_floodmark_bad', group) ~ ')')]) }}
    {%- endif -%}
    {%- set odd, usual, groups = [], [], [] -%}
    {%- set looked = floodmark._odd_lines(settings, batch.files) if look.is_quick else look.files -%}
    {%- for file in batch.files -%}
        {%- do (odd if (looked.get(file.path) or {}).odd else usual).append(file) -%}
    {%- endfor -%}
    {%- if record == 'struct<>' -%}
        {#- no record has a field, and Spark reads none without one -#}
        {{ return([dict(group, files=batch.files, reason_sql=floodmark._json_reason_sql('_floodmark_bad', group),
            sql='select if(record is null, value, null) as _floodmark_bad, _metadata from ('
            ~ floodmark._json_records_sql(settings, batch.files) ~ ") where value <> ''")]) }}
    {%- endif -%}
    {%- if usual or not odd -%}
        {%- do groups.append(dict(group, files=usual)) -%}
    {%- endif -%}
    {%- if odd -%}
        {%- set lines = floodmark._stage_relation(dict(batch, staged_by=none)) ~ '__window' ~ groups | length -%}
        {%- do groups.append(dict(group, files=odd, lines=lines, rows_sql=floodmark._json_lines_rows_sql)) -%}
        {%- do groups.append({'record': 'struct<>', 'files': odd,
            'sql': "select value as _floodmark_bad, _metadata from ("
            ~ floodmark._json_lines_sql(settings, odd) ~ ') where ' ~ floodmark._is_odd_line_sql(settings),
            'reason_sql': floodmark._json_reason_sql('_floodmark_bad', group)}) -%}
    {%- endif -%}
    {{ return(groups) }}
{% endmacro %}


{# The same with each record in one VARIANT. #}
{% macro _json_variant_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set group = {'record': batch.record, 'files': batch.files, 'is_whole': floodmark._is_whole_json(settings),
        'lenient': floodmark._lenient_options_sql(settings)} -%}
    {{ return([dict(group, sql='select record as ' ~ floodmark._quoted(settings.single_variant_column)
        ~ ', if(record is null, value, null) as _floodmark_bad, _metadata from ('
        ~ floodmark._json_records_sql(settings, batch.files) ~ ") where value <> ''",
        reason_sql=floodmark._json_reason_sql('_floodmark_bad', group))]) }}
{% endmacro %}


{# The lines of files: value, _metadata. #}
{% macro _json_lines_sql(settings, files) %}
    {{ return("select ltrim('\\ufeff \\t', value) as value, _metadata from text.`" ~ floodmark._files_path(settings)
        ~ '` ' ~ floodmark._files_options(settings) ~ ' where ' ~ floodmark._files_predicate(files)) }}
{% endmacro %}


{# Write the lines of a group's files that are not odd as files of their own, a folder for each file. A window lies over
   these. #}
{% macro _write_json_lines(settings, group) %}
    {%- do floodmark._execute(['create table ' ~ group.lines ~ ' using text partitioned by (file) as select value, '
        ~ floodmark._place_sql(group.files) ~ ' as file from (' ~ floodmark._json_lines_sql(settings, group.files)
        ~ ') where not ' ~ floodmark._is_odd_line_sql(settings)]) -%}
    {%- for row in run_query('describe table extended ' ~ group.lines).rows if row[0] == 'Location' -%}
        {{ return(row[1]) }}
    {%- endfor -%}
{% endmacro %}


{# The place of a record's file in a list, from 1 on. #}
{% macro _place_sql(files) %}
    {{ return('array_position(array(' ~ floodmark._path_literals(files) ~ '), _metadata.file_path)') }}
{% endmacro %}


{# The rows of a window over such lines, with the `_metadata` of the files that these are of. #}
{% macro _json_lines_rows_sql(settings, window, group) %}
    {%- set path = "cast(regexp_extract(_metadata.file_path, '/file=(\\\\d+)/', 1) as bigint)" -%}
    select written.*, files._metadata
    from (select *, {{ path }} as _floodmark_place from {{ window }}) as written
    join (
        select _metadata, {{ floodmark._place_sql(group.files) }} as place
        from binaryFile.`{{ floodmark._files_path(settings) }}` {{ floodmark._files_options(settings) }}
        where {{ floodmark._files_predicate(group.files) }}
    ) as files on files.place = _floodmark_place
{% endmacro %}
