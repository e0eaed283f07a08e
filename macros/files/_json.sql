{# JSON: one object a line, or with `multiLine` one object or an array of them a file. #}
{% macro _json_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='json', bad_column='_floodmark_bad', has_lines=true,
        is_text=true, options={'allowSingleQuotes': 'false'},
        reason_sql=floodmark._json_reason_sql, raw_sql=floodmark._json_raw_sql, look=floodmark._look_at_json,
        unmixed=floodmark._unmixed, rows=floodmark._json_rows,
        groups=floodmark._json_groups, variant_groups=floodmark._json_variant_groups,
        groups_again=floodmark._json_groups_again)) }}
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


{# Whether a line, from its first letter on, is no JSON object. Spark's reader takes many of them for what they are not,
   and tells nobody: an array for as many records as it has elements, `null` for a record without values, an object with
   something behind it for that object, NaN for a number, UTF-16 for itself. #}
{% macro _is_odd_line_sql(settings) %}
    {{ return("(value like '[%' or trim(' \\t\\r' from value) = 'null'"
        ~ (')' if floodmark._is_lenient(settings) else " or not is_valid_utf8(value) or contains(value, '\\u0000') or "
        "value <> '' and not " ~ floodmark._is_json_object_sql('value') ~ ')')) }}
{% endmacro %}


{# Whether a text begins with a brace, in UTF-8, and has nothing behind the brace that ends it. Mostly the first one
   that closes does, which is quickly seen. #}
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


{# Files with odd lines are read without these, the others as they are; files that are read straight have none. #}
{% macro _json_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set record = floodmark._wide_decimal(floodmark._read_record(batch.record,
        floodmark._unmixed(settings, batch.files, batch.record, look.seen), settings.case_sensitive, false,
        floodmark._parsed_types(settings))) -%}
    {%- set group = {'record': record, 'options': {}, 'is_whole': floodmark._is_whole_json(settings),
        'lenient': floodmark._lenient_options_sql(settings)} -%}
    {%- if batch.get('looks_clean') and record != 'struct<>' -%}
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
    {{ return([floodmark._json_variant_group(settings, batch.record, batch.files,
        floodmark._json_records_sql(settings, batch.files))]) }}
{% endmacro %}


{# A group of such records: `records` is a SELECT of value, record, _metadata. #}
{% macro _json_variant_group(settings, record, files, records) %}
    {%- set group = {'record': record, 'files': files, 'is_whole': floodmark._is_whole_json(settings),
        'lenient': floodmark._lenient_options_sql(settings)} -%}
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
    {%- set read = floodmark._wide_decimal(record) -%}
    {%- set group = {'record': read, 'lenient': floodmark._lenient_options_sql(settings), 'is_whole': false,
        'finds': settings.rescued_data_column} -%}
    {%- set options, columns = [], [] -%}
    {%- for name, value in floodmark._text_options(settings).items() -%}
        {%- do options.extend([floodmark._string_literal(name), floodmark._string_literal(value)]) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(read) -%}
        {%- do columns.append('line.' ~ floodmark._quoted(field.name)) -%}
    {%- endfor -%}
    {%- set is_object = floodmark._is_lenient_object_sql('value', group) if group.lenient
        else 'is_valid_utf8(value) and ' ~ floodmark._is_json_object_sql('value') -%}
    {{ return(dict(group, raw_sql=floodmark._json_raw_sql('_floodmark_value', group) if group.finds else none,
        sql='select ' ~ columns | join(', ') ~ (', ' if columns else '')
        ~ 'if(line is null, value, line._floodmark_bad) as _floodmark_bad, value as _floodmark_value, '
        '* except (value, line) from (select *, if(' ~ is_object
        ~ ', from_json(value, ' ~ floodmark._string_literal(floodmark._as_ddl(floodmark._struct_fields(read)
        + [{'name': '_floodmark_bad', 'type': 'string'}])) ~ ', map(' ~ options | join(', ')
        ~ ")), null) as line from (select ltrim('\ufeff \\t\\r\\n', value) as value, * except (value) from ("
        ~ texts ~ ")) where trim(value) <> '')")) }}
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
