{#
  CSV. Spark takes a file's columns by their place, whatever its header says; here they are matched by name, file by
  file (_csv_header.sql). So Spark reads each file as lines without its first one (a window with one column), and
  `from_csv` takes a line apart, in groups of files with one header. RFC 4180 has a quote within quotes doubled:
  `escape` is `"` here, and `\` in Spark. With `multiLine` a file is one text, which is parted into records as Spark's
  reader does it: of a text with more than one record `from_csv` would give the first alone.
#}

{% macro _csv_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='csv', has_bad=true, has_lines=true,
        is_text=true, options={'header': 'true', 'escape': '"'},
        raw_sql=floodmark._csv_raw_sql, look=floodmark._look_at_csv, groups=floodmark._csv_groups, needs_look=true,
        variant_groups=floodmark._csv_variant_groups, groups_again=floodmark._csv_groups_again)) }}
{% endmacro %}


{# The fields of one line, as a header has them. #}
{% macro _csv_fields(line, sep, quote, escape) %}
    {%- if not quote -%}
        {{ return(line.split(sep) | map('trim') | list) }}
    {%- endif -%}
    {%- set q, s, e = modules.re.escape(quote), modules.re.escape(sep), modules.re.escape(escape) -%}
    {%- set within = '(?:' ~ (e ~ q ~ '|' if escape else '') ~ '[^' ~ q ~ '])*' -%}
    {%- set fields = [] -%}
    {%- set blanks = floodmark._csv_blanks(sep) -%}
    {#- what stands behind a closing quote belongs to the field too -#}
    {%- for found in modules.re.finditer('(?:^|' ~ s ~ ')(?:' ~ blanks ~ q ~ '(' ~ within ~ ')' ~ q ~ blanks ~ '(?=' ~ s
        ~ '|$)|((?:' ~ q ~ within ~ q ~ ')?(?:(?!' ~ s ~ ').)*))', line, flags=modules.re.S) -%}
        {%- do fields.append((found.group(1) | replace(escape ~ quote, quote) if escape else found.group(1))
            if found.group(1) is not none
            else found.group(2) | trim) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# A pattern of blanks beside a quote: those that separate no fields, and end no line. #}
{% macro _csv_blanks(sep) %}
    {{ return('(?:(?!' ~ modules.re.escape(sep) ~ ')[^\\S\\r\\n])*') }}
{% endmacro %}


{# How a file's text is made into lines: its options by name; `text` is SQL of a text that Spark reads as UTF-8. A file
   is read as a whole (`is_whole`) where quotes hide line ends (`hides`), and where each letter is several bytes: one of
   them would be taken for a line end. #}
{% macro _csv_dialect(settings) %}
    {%- set quote = floodmark._reader_option(settings, 'quote', '"') -%}
    {%- set encoding = floodmark._encoding(settings) -%}
    {%- set hides = floodmark._reader_option(settings, 'multiLine', 'false') | lower == 'true' and quote != '' -%}
    {{ return({
        'text': floodmark._decoded_sql('value', encoding),
        'sep': floodmark._csv_separator(floodmark._reader_option(settings, 'sep',
            floodmark._reader_option(settings, 'delimiter', ','))),
        'quote': quote,
        'escape': floodmark._reader_option(settings, 'escape', '"'),
        'skips_blanks': floodmark._reader_option(settings, 'ignoreLeadingWhiteSpace', 'false') | lower == 'true',
        'comment': floodmark._reader_option(settings, 'comment', none),
        'has_header': floodmark._reader_option(settings, 'header', 'true') | lower == 'true',
        'encoding': encoding,
        'hides': hides,
        'is_whole': hides or modules.re.match('(?i)UTF[-_]?(16|32)', encoding) is not none,
    }) }}
{% endmacro %}


{# A separator as Spark reads it: a backslash and t are a tab. #}
{% macro _csv_separator(given) %}
    {%- set meant = {'t': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', "'": "'", '\\': '\\'} -%}
    {%- set parts = [] -%}
    {%- for token in modules.re.findall('\\\\.|.', given | replace('\\u0000', '\u0000'), modules.re.S) -%}
        {%- do parts.append(meant.get(token[1:], token) if token | length == 2 else token) -%}
    {%- endfor -%}
    {{ return(parts | join) }}
{% endmacro %}


{# The types that Spark infers of files with one header, by the place of the columns. A column with a text that is no
   value of its type (_csv_odd_sql) is a string. A column of a known type that may grow is of the type
   that its numbers need. #}
{% macro _csv_types(settings, files, names, known) %}
    {%- set options = {'multiLine': 'true'} if floodmark._csv_dialect(settings).is_whole else {} -%}
    {%- set columns = floodmark._columns_of_files(settings, files, dict(options, inferSchema='true')) -%}
    {%- set asked = [] -%}
    {%- for column in columns -%}
        {%- set text, type = floodmark._quoted(column.name), known.get(names[loop.index0] or '') -%}
        {%- set is_number = floodmark._digits(column.type) or column.type == 'double' -%}
        {%- set odd = floodmark._csv_odd_sql(settings, text, column.type) if not type -%}
        {%- do asked.append("'odd_" ~ loop.index0 ~ "', coalesce(max(" ~ odd ~ '), false)') if odd -%}
        {%- do asked.append("'digits_" ~ loop.index0 ~ "', " ~ floodmark._needed_digits_sql(text))
            if (is_number or column.type == 'string') and type and (floodmark._digits(type) or type == 'float') -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(' ~ asked | join(', ') ~ ')) from '
        ~ floodmark._spark_files_sql(settings, files, options))[0] if asked else {} -%}
    {%- set types = [] -%}
    {%- for column in columns -%}
        {%- set digits = found['digits_' ~ loop.index0] -%}
        {%- do types.append('string' if found['odd_' ~ loop.index0]
            else (floodmark._needed_type(digits, column.type,
            is_whole=not (known.get(names[loop.index0]) or '').startswith('decimal')) if digits else column.type)) -%}
    {%- endfor -%}
    {{ return(types) }}
{% endmacro %}


{# Whether a text of a column is no value of the type that Spark infers of it: digits with a zero in front, or what
   Spark takes for something else. None where every text is one. #}
{% macro _csv_odd_sql(settings, text, type) %}
    {%- set terms = [] -%}
    {%- if floodmark._digits(type) or type == 'double' -%}
        {%- do terms.append(text ~ ' rlike ' ~ floodmark._string_literal('^\\s*[+-]?0\\d')) -%}
    {%- endif -%}
    {%- if type in ['double', 'timestamp', 'timestamp_ntz'] and not floodmark._says_how_to_read(settings, type) -%}
        {%- do terms.append('not ' ~ text ~ ' rlike ' ~ floodmark._string_literal('^\\s*'
            ~ floodmark._text_pattern(type))) -%}
    {%- endif -%}
    {{ return('(' ~ terms | join(' or ') ~ ')' if terms else none) }}
{% endmacro %}
