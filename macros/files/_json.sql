{# JSON: one object a line, or with `multiLine` one object or an array of them a file. #}
{% macro _json_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='json', has_bad=true, has_lines=true,
        is_text=true, options={'allowSingleQuotes': 'false'},
        reason_sql=floodmark._json_reason_sql, raw_sql=floodmark._json_raw_sql, look=floodmark._look_at_json,
        unmixed=floodmark._unmixed, rows=floodmark._json_rows,
        groups=floodmark._json_groups, variant_groups=floodmark._json_variant_groups,
        groups_again=floodmark._json_groups_again)) }}
{% endmacro %}


{# Whether a text is one value of JSON with nothing behind it: an array of it and of 0 has two elements. A line end ends
   a comment. #}
{% macro _is_one_value_sql(text, lenient=none) %}
    {%- set array = "'[' || " ~ text ~ " || '\\n,0]'" -%}
    {{ return('(coalesce(' ~ ('size(from_json(' ~ array ~ ", 'array<string>', " ~ lenient ~ '))' if lenient
        else 'json_array_length(' ~ array ~ ')') ~ ', 0) = 2)') }}
{% endmacro %}


{# Whether a text is one JSON object, if it is JSON: with another element behind it an array has two, whatever stands at
   its end. #}
{% macro _is_json_object_sql(text) %}
    {{ return("(ltrim('\\ufeff \\t\\r\\n', " ~ text ~ ") like '{%' and coalesce(json_array_length('[' || " ~ text
        ~ " || ',0]'), 0) = 2)") }}
{% endmacro %}


{# SQL of why a record is corrupt, 'not UTF-8' or 'not a JSON object'; NULL if the record is valid JSON and only a value
   does not fit. #}
{% macro _json_reason_sql(bad, group) %}
    {%- set is_fit = floodmark._is_lenient_object_sql(bad, group) if group.lenient
        else 'false' -%}
    {{ return('case when ' ~ bad ~ ' is null then null when not is_valid_utf8(' ~ bad ~ ") then 'not UTF-8' when not ("
        ~ floodmark._is_json_object_sql(bad) ~ ' and try_parse_json(' ~ bad ~ ') is not null or ' ~ is_fit
        ~ ") then 'not a JSON object' end") }}
{% endmacro %}


{# Whether a lenient reader takes a text for a record, and for no more than one: {lenient}. #}
{% macro _is_lenient_object_sql(text, group) %}
    {{ return("(from_json(" ~ text ~ ", '_floodmark_bad string', " ~ group.lenient[:-1]
        ~ ", 'columnNameOfCorruptRecord', '_floodmark_bad'))._floodmark_bad is null and " ~ text
        ~ " not like '[%' and trim(' \\t\\r\\n' from " ~ text ~ ") <> 'null' and "
        ~ floodmark._is_one_value_sql(text, group.lenient) ~ ')') }}
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


{# Whether a line, from its first letter on, is no JSON object. Spark's reader takes many of them for what they are not,
   and tells nobody: an array for as many records as it has elements, `null` for a record without values, an object with
   something behind it for that object, NaN for a number, UTF-16 for itself. #}
{% macro _is_odd_line_sql(settings) %}
    {{ return("(value like '[%' or trim(' \\t\\r' from value) = 'null'"
        ~ (')' if floodmark._is_lenient(settings) else " or not is_valid_utf8(value) or contains(value, '\\u0000') or "
        "value <> '' and not " ~ floodmark._is_json_object_sql('value') ~ ')')) }}
{% endmacro %}


{# Whether a text that stands for a record of a file of several lines is no object. #}
{% macro _is_odd_text_sql(settings) %}
    {%- set lenient = floodmark._lenient_options_sql(settings) -%}
    {{ return("(value <> '' and not (is_valid_utf8(value) and "
        ~ (floodmark._is_lenient_object_sql('value', {'lenient': lenient}) if lenient
        else floodmark._is_json_object_sql('value')) ~ '))') }}
{% endmacro %}


{# Whether the text `value` begins with a brace, in UTF-8, and has nothing behind the brace that ends it. Mostly the
   first one that closes does, which is quickly seen. #}
{% macro _is_braced_sql() %}
    {{ return("(value like '{%' and value not like '{\\u0000%' and (value rlike '^[^}]*\\\\}$' or "
        ~ floodmark._is_json_object_sql('value') ~ '))') }}
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


{# Files with odd lines are read without these, the others as they are; files that are read straight have none. Files of
   several lines are made into lines. #}
{% macro _json_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set seen = floodmark._readable_record(look.seen) if look.seen else none -%}
    {%- set record = floodmark._json_type(settings, floodmark._read_record(batch.record,
        floodmark._unmixed(settings, batch.files, batch.record, seen, of_maps=true), settings.case_sensitive,
        none, floodmark._parsed_types(settings)), is_huge=look.is_huge) -%}
    {%- set group = {'record': record, 'options': {}, 'lenient': floodmark._lenient_options_sql(settings)} -%}
    {%- if batch.get('looks_clean') and record != 'struct<>' -%}
        {{ return([dict(group, files=batch.files, options={'allowNonNumericNumbers': 'false'},
            reason_sql="if(_floodmark_bad rlike '(?i)nan|inf', 'a number that JSON has not', "
            ~ floodmark._json_reason_sql('_floodmark_bad', group) ~ ')')]) }}
    {%- endif -%}
    {%- set odd, usual, groups = [], [], [] -%}
    {%- set looked = floodmark._odd_lines(settings, batch.files) if look.is_quick else look.files -%}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {%- for file in batch.files -%}
        {%- do (odd if is_whole or (looked.get(file.path) or {}).odd else usual).append(file) -%}
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
            ~ (floodmark._json_whole_sql if is_whole else floodmark._json_lines_sql)(settings, odd) ~ ') where '
            ~ (floodmark._is_odd_text_sql if is_whole else floodmark._is_odd_line_sql)(settings),
            'reason_sql': floodmark._json_reason_sql('_floodmark_bad', group)}) -%}
    {%- endif -%}
    {{ return(groups) }}
{% endmacro %}


{# The files of a batch as one group, for `single_variant_column`: each record is one VARIANT. #}
{% macro _json_variant_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {{ return([floodmark._json_variant_group(settings, batch.record, batch.files,
        floodmark._json_records_sql(settings, batch.files))]) }}
{% endmacro %}


{# A group whose records are one VARIANT each: `records` is a SELECT of value, record, _metadata. #}
{% macro _json_variant_group(settings, record, files, records) %}
    {%- set group = {'record': record, 'files': files, 'lenient': floodmark._lenient_options_sql(settings)} -%}
    {{ return(dict(group, sql='select record as ' ~ floodmark._quoted(settings.single_variant_column)
        ~ ', if(record is null, value, null) as _floodmark_bad, * except (record, value) from (' ~ records
        ~ ") where value <> ''", reason_sql=floodmark._json_reason_sql('_floodmark_bad', group))) }}
{% endmacro %}


{# Texts of the quarantine as a group (_records_again.sql). #}
{% macro _json_groups_again(run, batch, texts) %}
    {%- set settings = run.settings.files -%}
    {%- set record = batch.file_schema.record -%}
    {%- set group = floodmark._json_variant_group(settings, record, batch.files,
        floodmark._json_parsed_sql(settings, texts)) if settings.single_variant_column is not none
        else floodmark._json_texts_group(settings, record, texts) -%}
    {{ return([dict(group, files=batch.files, texts_sql=texts)]) }}
{% endmacro %}


{# Texts, each an object, as a group: `texts` is a SELECT of value, _metadata. What is not known in one is found by its
   names. #}
{% macro _json_texts_group(settings, record, texts) %}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(record) -%}
        {#- in a text a number beside other types is no string with all of its digits -#}
        {%- set texts = floodmark._json_type(settings, field.type) -%}
        {%- do fields.append(dict(field, type=texts if floodmark._holds_strings(texts)
            else floodmark._json_type(settings, field.type, false))) -%}
    {%- endfor -%}
    {%- set read = floodmark._struct_of(fields) -%}
    {%- set group = {'record': read, 'lenient': floodmark._lenient_options_sql(settings),
        'finds': settings.rescued_data_column} -%}
    {%- set columns, strings = [], [] -%}
    {%- for field in floodmark._struct_fields(read) -%}
        {%- if floodmark._holds_strings(field.type) -%}
            {%- do strings.append(field) -%}
        {%- endif -%}
        {%- do columns.append((floodmark._string_of_text_sql('strings.' ~ floodmark._quoted(field.name), field.type)
            if field in strings else 'line.' ~ floodmark._quoted(field.name)) ~ ' as '
            ~ floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {%- set is_object = floodmark._is_lenient_object_sql('value', group) if group.lenient
        else 'is_valid_utf8(value) and ' ~ floodmark._is_json_object_sql('value') -%}
    {%- set parsed = [floodmark._from_json_sql(settings, 'value', floodmark._struct_fields(read)
        + [{'name': '_floodmark_bad', 'type': 'string'}]) ~ ' as line'] -%}
    {%- if strings -%}
        {%- do parsed.append(floodmark._from_json_sql(settings, floodmark._hidden_numbers_sql('value',
            floodmark._lenient_pattern(group.lenient, floodmark._comments_pattern(settings))), strings)
            ~ ' as strings') -%}
    {%- endif -%}
    {{ return(dict(group, raw_sql=floodmark._json_raw_sql('_floodmark_value', group) if group.finds else none,
        sql='select ' ~ columns | join(', ') ~ (', ' if columns else '')
        ~ 'if(line is null, value, line._floodmark_bad) as _floodmark_bad, value as _floodmark_value, '
        '* except (value, line, is_object' ~ (', strings' if strings else '') ~ ') from (select *, '
        ~ parsed | join(', ') ~ ' from (select *, ' ~ is_object
        ~ " as is_object from (select ltrim('\ufeff \\t\\r\\n', value) as value, * except (value) from ("
        ~ texts ~ ")) where trim(value) <> ''))")) }}
{% endmacro %}


{# The type in which values of another are read (_exact_type). Where the user's options say how decimals or moments are
   written, Spark reads these. `is_huge`: there may be numbers that no float holds. #}
{% macro _json_type(settings, type, as_texts=true, is_huge=false) %}
    {{ return(floodmark._exact_type(type, as_texts and not floodmark._says_how_to_read(settings, 'decimal'),
        (['timestamp', 'timestamp_ntz'] if floodmark._says_how_to_read(settings, 'timestamp') else [])
        + ([] if is_huge else ['float', 'double']))) }}
{% endmacro %}


{# Whether a type holds strings alone, at any depth. #}
{% macro _holds_strings(type) %}
    {{ return(modules.re.fullmatch('((struct|array|string)[<>,]*|map<string,)+', floodmark._without_names(type))
        is not none) }}
{% endmacro %}


{# A text that is an object, by Spark's reader: these fields of it. #}
{% macro _from_json_sql(settings, text, fields) %}
    {%- set options = [] -%}
    {%- for name, value in floodmark._text_options(settings).items() -%}
        {%- do options.extend([floodmark._string_literal(name), floodmark._string_literal(value)]) -%}
    {%- endfor -%}
    {{ return('if(is_object, from_json(' ~ text ~ ', ' ~ floodmark._string_literal(floodmark._as_ddl(fields))
        ~ ', map(' ~ options | join(', ') ~ ')), null)') }}
{% endmacro %}


{# A value of strings that was read from a text with hidden numbers: with these as they were. What is nested is written
   as JSON in between, where a string that holds JSON has its quotes behind backslashes. #}
{% macro _string_of_text_sql(value, type) %}
    {%- if type == 'string' -%}
        {{ return(floodmark._shown_numbers_sql(value)) }}
    {%- endif -%}
    {{ return('from_json(replace(regexp_replace(to_json(' ~ value ~ '), '
        ~ floodmark._string_literal('\\\\"\ufdd5([^"\\\\]*)\\\\"') ~ ", '$1'), '\ufdd5', ''), "
        ~ floodmark._string_literal(type) ~ ')') }}
{% endmacro %}


{# The records of files that hold one object, or an array of them: value, _metadata. #}
{% macro _json_whole_sql(settings, files) %}
    {{ return(floodmark._json_elements_sql(settings, 'select value, _metadata from '
        ~ floodmark._raw_files_sql(settings, files, {'wholetext': 'true'}))) }}
{% endmacro %}


{# The records of whole texts, each of which is one object or an array of them: a SELECT of value and what else `texts`,
   a SELECT, has. An array is taken apart here, since Spark's own reader of several lines gives the same for a record
   that does not fit and for a file that is cut off: the text of the file. A text that is not JSON, or has an element
   that is not an object, stays whole and is corrupt. What a lenient reader takes beyond JSON is written as JSON. #}
{% macro _json_elements_sql(settings, texts) %}
    {%- set lenient = floodmark._lenient_options_sql(settings) -%}
    {%- set options = ', ' ~ lenient if lenient else '' -%}
    {%- set comments = floodmark._comments_pattern(settings) -%}
    {%- set array = "if(value like '[%', value, '[' || value || '\\n]')" if lenient else 'value' -%}
    {%- set objects = 'from_json(' ~ array ~ ", 'array<struct<_floodmark_any: string>>'" ~ options ~ ')' -%}
    {%- set stripped = "ltrim('\ufeff \t\r\n', value)" if not comments else 'if(is_valid_utf8(value), '
        ~ 'regexp_replace(value, ' ~ floodmark._string_literal('^(?:[\\s\ufeff]' ~ comments ~ ')++')
        ~ ", ''), value)" -%}
    select explode(case
        when is_valid_utf8(value) and value rlike '{{ '^[\\\\[{]' if lenient else '^\\\\[' }}'
            and {{ floodmark._is_one_value_sql('value', lenient) }}
            and not exists(coalesce({{ objects }}, array(null)), e -> e is null)
        then {{ floodmark._json_array_sql(array, options, comments) }}
        else array(value) end) as value, * except (value)
    from (
        select {{ stripped }} as value, * except (value)
        from ({{ texts }})
    )
{% endmacro %}


{# The elements of an array as texts, which Spark writes anew. #}
{% macro _json_array_sql(text, options, comments) %}
    {%- set hidden = floodmark._hidden_numbers_sql(text, floodmark._lenient_pattern(options, comments)) -%}
    {{ return('transform(from_json(' ~ hidden ~ ", 'array<string>'" ~ options ~ '), e -> '
        ~ floodmark._shown_numbers_sql('e') ~ ')') }}
{% endmacro %}


{# A pattern of what else a lenient reader takes for a text, or for nothing. #}
{% macro _lenient_pattern(is_lenient, comments) %}
    {{ return(("|'(?:[^'\\\\]++|\\\\.)*+'" if is_lenient else '') ~ comments) }}
{% endmacro %}


{# A pattern of comments, where the reader takes them. #}
{% macro _comments_pattern(settings) %}
    {{ return('|//[^\\n]*+|/\\*(?s:.*?)\\*/' if floodmark._takes_comments(settings) else '') }}
{% endmacro %}


{# Whether the reader takes comments. #}
{% macro _takes_comments(settings) %}
    {{ return(floodmark._reader_option(settings, 'allowComments', 'false') | lower == 'true') }}
{% endmacro %}


{# The lines of files: value, _metadata. #}
{% macro _json_lines_sql(settings, files) %}
    {{ return("select ltrim('\\ufeff \\t', value) as value, _metadata from "
        ~ floodmark._raw_files_sql(settings, files)) }}
{% endmacro %}


{# Write the lines of a group's files that are not odd as files of their own, a folder for each file. A window lies over
   these. Within a string of JSON there is no line end. #}
{% macro _write_json_lines(settings, group) %}
    {%- if floodmark._is_whole_json(settings) -%}
        {%- set lines = "select translate(value, '\r\n', '  ') as value, _metadata from ("
            ~ floodmark._json_whole_sql(settings, group.files) ~ ") where trim(value) <> '' and not "
            ~ floodmark._is_odd_text_sql(settings) -%}
    {%- else -%}
        {%- set lines = 'select * from (' ~ floodmark._json_lines_sql(settings, group.files) ~ ') where not '
            ~ floodmark._is_odd_line_sql(settings) -%}
    {%- endif -%}
    {%- do floodmark._execute(['create table ' ~ group.lines ~ ' using text partitioned by (file) as select value, '
        ~ floodmark._place_sql(group.files) ~ ' as file from (' ~ lines ~ ')']) -%}
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
        from {{ floodmark._raw_files_sql(settings, group.files, provider='binaryFile') }}
    ) as files on files.place = _floodmark_place
{% endmacro %}
