{#
  XML: an element a record, by the option rowTag. Of a record in which something does not fit Spark gives the text of
  the whole file, so a window has texts alone, also within structs and arrays. They come into the types of the columns,
  and what does not fit is rescued, as of formats that have types (_rescued.sql). A file that is not well formed is
  corrupt.
#}
{% macro _xml_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='xml', has_bad=true, is_text=true,
        look=floodmark._look_at_xml, groups=floodmark._xml_groups, needs_look=true,
        variant_groups=floodmark._xml_variant_groups)) }}
{% endmacro %}


{# What the files hold: {files: {path: {seen, reason}}, seen}. #}
{% macro _look_at_xml(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set found, others = {}, [] -%}
    {%- for row in floodmark._query_json(floodmark._xml_reasons_sql(settings, files)) -%}
        {%- do others.append(row.path) if row.has_others and not row.reason -%}
        {%- do found.update({row.path: {'reason': row.reason or ('its path has a colon, by which Spark finds no XML: '
            'rename it' if floodmark._has_colon(row.path) else none)}}) -%}
    {%- endfor -%}
    {%- set tag = floodmark._reader_option(settings, 'rowTag', '') -%}
    {%- do floodmark._warn_once(run, floodmark._counted(others | length, 'file')
        ~ (' has' if others | length == 1 else ' have') ~ ' elements, but no <' ~ tag ~ '>, such as ' ~ others[0]
        ~ ': no row is loaded from there. If the records are other elements, correct rowTag in files.options, and '
        'load such files again (floodmark files <model> --forget)') if others -%}
    {%- set whole = floodmark._whole_files(files, found) -%}
    {%- set asks = settings.infers or settings.rescued_data_column or not settings.case_sensitive -%}
    {%- if settings.schema_evolution == 'fail' -%}
        {%- for file in whole -%}
            {%- do found[file.path].update({'seen': floodmark._xml_seen(settings, [file])}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set seen = floodmark._xml_seen(settings, whole) if whole and asks else none -%}
    {{ return({'files': found, 'seen': floodmark._xml_needed(settings, whole, run.known_record, seen)
        if seen and settings.schema_evolution == 'widen' else seen}) }}
{% endmacro %}


{# What was seen, in which known numbers that may grow have the types that their texts need. #}
{% macro _xml_needed(settings, files, record, seen) %}
    {%- set types = floodmark._types_of(seen) -%}
    {%- set known, asked = floodmark._known_types(settings, record, types), [] -%}
    {%- for name, type in known.items()
        if (floodmark._digits(type) or type == 'float') and floodmark._nesting(types[name]) is none -%}
        {%- do asked.append(floodmark._string_literal(name) ~ ', '
            ~ floodmark._needed_digits_sql(floodmark._quoted(name))) -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(' ~ asked | join(', ') ~ ')) from '
        ~ floodmark._spark_files_sql(settings, files, {'inferSchema': 'false'}))[0] if asked else {} -%}
    {%- set fields = [] -%}
    {%- for name, type in types.items() -%}
        {%- do fields.append({'name': name, 'type': floodmark._needed_type(found[name], type,
            is_whole=not known[name].startswith('decimal')) if name in found else type}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# Why a file is corrupt: nobody knows its encoding, it has bytes that are no letters of it, it is not well formed, or a
   record has no end, which Spark passes over. `has_others`: it has elements within its root, and none is a record. #}
{% macro _xml_reasons_sql(settings, files) %}
    {%- set tag = modules.re.escape(floodmark._reader_option(settings, 'rowTag', '')) -%}
    {%- set begin = floodmark._string_literal('<' ~ tag ~ '(?=[\\s/>])') -%}
    {%- set end = floodmark._string_literal('</' ~ tag ~ '\\s*>') -%}
    {%- set any = floodmark._string_literal('<([^\\s<>/:]+:)?' ~ tag ~ '(?=[\\s/>])') -%}
    {#- A value of an attribute may contain `>`. -#}
    {%- set closed = floodmark._string_literal('<' ~ tag ~ '(?:/|\\s(?:[^>"\']|"[^"]*"|\'[^\']*\')*+(?<=/))>') -%}
    select to_json(named_struct('path', file,
        'has_others', not markup rlike {{ any }} and regexp_count(markup, '<[^/!?]') > 1, 'reason', case
        when not is_known then 'its encoding ' || encoding || ' is not known'
        when not is_whole then 'it has bytes that are no letters of ' || encoding
            || if(encoding = 'utf-8' and declared = '', ', and it declares no other encoding', '')
        when begun <> ended then 'it is cut off: ' || begun || ' records begin, ' || ended || ' end'
        when {{ floodmark._is_broken_xml_sql('text') }} then 'not well-formed XML' end))
    from (
        select *, regexp_count(markup, {{ begin }}) as begun,
            regexp_count(markup, {{ end }}) + regexp_count(markup, {{ closed }}) as ended
        from (
            select *, regexp_replace(text, '(?s)<!--.*?-->|<!\\[CDATA\\[.*?\\]\\]>', '') as markup
            from ({{ floodmark._xml_texts_sql(settings, files) }})
        )
    )
    where trim(text) <> ''
{% endmacro %}


{# Whether a text is not well-formed XML. #}
{% macro _is_broken_xml_sql(text) %}
    {{ return('from_xml(' ~ text ~ ", '_floodmark_bad string', map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', "
        "'_floodmark_bad'))._floodmark_bad is not null") }}
{% endmacro %}


{# The texts of files in the encoding that their first bytes or their declaration tell (XML 1.0, appendix F), as Spark
   reads them: file, declared, encoding, is_known, text, is_whole. #}
{% macro _xml_texts_sql(settings, files) %}
    {%- set declaration = floodmark._string_literal('^\ufeff?<\\?xml\\s[^>]*?encoding\\s*=\\s*["\']([^"\']+)')
        -%}
    {%- set known = floodmark._string_literal('^(utf-8|utf-16(le|be)?|utf-32|(us-)?ascii|'
        'iso[-_]?8859-([1-9]|11|13|15|16)|latin[12]|l1|(windows-|cp)125[0-8]|windows-(31j|874)|(cp|ibm)850|koi8-[ru]|'
        'tis-620|gbk|gb2312|gb18030|big5|shift_jis|iso-2022-jp|euc-(jp|kr))$') -%}
    select *, if(encoding = 'utf-8', is_valid_utf8(value), locate('\ufffd', text) = 0) as is_whole
    from (
        select *, if(encoding = 'utf-8' or not is_known, ltrim('\ufeff', value),
            ltrim('\ufeff', decode(cast(value as binary), if(is_known, encoding, 'utf-8')))) as text
        from (
            select *, encoding rlike {{ known }} as is_known
            from (
                select *, case
                    when startswith(cast(value as binary), X'FEFF') or startswith(cast(value as binary), X'003C')
                        then 'utf-16be'
                    when startswith(cast(value as binary), X'FFFE') or startswith(cast(value as binary), X'3C00')
                        then 'utf-16le'
                    when declared in ('', 'utf8') then 'utf-8' else declared end as encoding
                from (
                    select _metadata.file_path as file, value,
                        lower(regexp_extract(value, {{ declaration }})) as declared
                    from {{ floodmark._raw_files_sql(settings, files, {'wholetext': 'true'}) }}
                )
            )
        )
    )
{% endmacro %}


{# The record that Spark infers of files, a struct. Of one that an XSD does not let pass it would make a column. #}
{% macro _xml_seen(settings, files) %}
    {{ return(floodmark._struct_of_columns(floodmark._columns_of_files(settings, files,
        {'inferSchema': settings.infer_column_types | string | lower, 'mode': 'DROPMALFORMED'}))) }}
{% endmacro %}


{# All files in one window. #}
{% macro _xml_groups(run, batch, look) %}
    {%- set settings = run.settings.files -%}
    {%- set files = floodmark._whole_files(batch.files, look.files) -%}
    {%- set known = batch.file_schema.record -%}
    {%- set seen = floodmark._xml_unmixed(settings, files, known, floodmark._readable_record(look.seen))
        if look.seen else none -%}
    {{ return([dict(floodmark._xml_group(settings, known, seen), files=files, options={'inferSchema': 'false'})]
        if files else []) }}
{% endmacro %}


{# What was seen, where an element holds a text in one record and elements in another: Spark calls that a string. What
   is in it is looked for by its name, as if it were the record. #}
{% macro _xml_unmixed(settings, files, known, seen, name=none) %}
    {%- if known.startswith('array<') or seen.startswith('array<') -%}
        {%- set repeats = seen.startswith('array<') -%}
        {%- set element = floodmark._xml_unmixed(settings, files, known[6:-1] if known.startswith('array<') else known,
            seen[6:-1] if repeats else seen, name) -%}
        {{ return('array<' ~ element ~ '>' if repeats else element) }}
    {%- elif not known.startswith('struct<') or seen == 'void' -%}
        {{ return(seen) }}
    {%- elif not seen.startswith('struct<') -%}
        {%- set seen = floodmark._struct_of_columns(floodmark._columns_of_files(settings, files,
            {'rowTag': name, 'inferSchema': 'false'})) -%}
    {%- endif -%}
    {%- set types = floodmark._types_of(known) -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- do fields.append(dict(field, type=floodmark._xml_unmixed(settings, files, types[field.name], field.type,
            field.name)) if field.name in types else field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# Records as texts: a group without its files. `seen` is none where nobody looked at them. #}
{% macro _xml_group(settings, known, seen) %}
    {%- set record = floodmark._xml_record(settings, known, seen) -%}
    {%- set bad = [{'name': '_floodmark_bad', 'type': 'string'}] -%}
    {{ return({'record': record, 'lies_as': floodmark._struct_of(floodmark._struct_fields(floodmark._kept_type(record,
        false) or 'struct<>') + bad), 'rows_sql': floodmark._xml_rows_sql, 'reason_sql': '_floodmark_reason'}) }}
{% endmacro %}


{# The record that a window reads: the known fields and, behind them, those that were seen besides. A text that comes
   into another type is called `text`. #}
{% macro _xml_record(settings, known, seen) %}
    {%- set mine = floodmark._types_of(known) -%}
    {%- set other = floodmark._types_of(seen or 'struct<>') -%}
    {%- set prefix = floodmark._reader_option(settings, 'attributePrefix', '_') -%}
    {%- set fields = [] -%}
    {%- for name, type in mine.items() -%}
        {#- an attribute stands once in its element, and Spark reads no array of it -#}
        {%- do fields.append({'name': name, 'type': floodmark._xml_type(settings, type, other.get(name, 'void')
            if seen is not none or name.startswith(prefix) else none)}) -%}
    {%- endfor -%}
    {%- for name, type in other.items() if name not in mine -%}
        {%- set alike = none if settings.case_sensitive
            else floodmark._find_column(floodmark._struct_fields(known), name) -%}
        {%- do fields.append({'name': name, 'type': floodmark._xml_type(settings, alike.type, type) if alike
            else floodmark._kept_type(type, false) or 'string'}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The attributes of an element that has nothing but a text beside them, as fields; an empty list where it has more, or
   where `nullValue` is given: beside attributes, an empty text is NULL as well. #}
{% macro _xml_attributes(settings, seen) %}
    {%- set prefix = floodmark._reader_option(settings, 'attributePrefix', '_') -%}
    {%- set text, fields = floodmark._reader_option(settings, 'valueTag', '_VALUE'), [] -%}
    {%- set is_read = seen.startswith('struct<') and floodmark._reader_option(settings, 'nullValue', none) is none -%}
    {%- for field in (floodmark._struct_fields(seen) if is_read else []) if field.name != text -%}
        {%- if not prefix or not field.name.startswith(prefix) or floodmark._nesting(field.type) -%}
            {{ return([]) }}
        {%- endif -%}
        {%- do fields.append({'name': field.name, 'type': 'string'}) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# The type in which an element is read. One that is known once and may stand there many times is `repeated<…>`; one
   whose text is known, and that has attributes, `valued<…>`. Where nobody knows what is in a struct its text is read,
   too. #}
{% macro _xml_type(settings, known, seen) %}
    {%- set is_array = known.startswith('array<') -%}
    {%- set repeats = seen is none or seen.startswith('array<') -%}
    {%- if is_array or repeats -%}
        {{ return(('array<' if is_array else 'repeated<') ~ floodmark._xml_type(settings, known[6:-1] if is_array
            else known, seen[6:-1] if seen and repeats else seen or 'string') ~ '>') }}
    {%- endif -%}
    {%- set text = floodmark._reader_option(settings, 'valueTag', '_VALUE') -%}
    {%- if not known.startswith('struct<') -%}
        {%- set type = 'string' if known == 'string' else 'text' -%}
        {%- set attributes = floodmark._xml_attributes(settings, seen) if floodmark._nesting(known) is none else [] -%}
        {{ return('valued<' ~ floodmark._struct_of([{'name': text, 'type': type}] + attributes) ~ '>' if attributes
            else type) }}
    {%- elif seen.startswith('struct<') or seen == 'void' -%}
        {{ return(floodmark._xml_record(settings, known, 'struct<>' if seen == 'void' else seen)) }}
    {%- endif -%}
    {{ return(floodmark._struct_of(floodmark._struct_fields(floodmark._xml_record(settings, known, none))
        + ([{'name': text, 'type': 'string'}] if text not in floodmark._types_of(known) else []))) }}
{% endmacro %}


{# A value as it is to be printed: of `repeated<…>` with one element that element, of `valued<…>` without attributes
   the text. #}
{% macro _unrepeated_sql(value, type, depth=0) %}
    {%- if 'repeated<' not in type and 'valued<' not in type -%}
        {{ return(value) }}
    {%- elif type.startswith('valued<') -%}
        {%- set names = floodmark._struct_fields(type[7:-1]) | map(attribute='name') | list -%}
        {{ return('try_parse_json(if(coalesce(' ~ floodmark._quoted_csv(names[1:], value ~ '.') ~ ') is null, '
            ~ floodmark._json_text_sql(floodmark._valued_text_sql(value, names[0])) ~ ', '
            ~ floodmark._json_text_sql(value) ~ '))') }}
    {%- elif type.startswith('struct<') -%}
        {%- set fields = [] -%}
        {%- for field in floodmark._struct_fields(type) -%}
            {%- do fields.append(floodmark._string_literal(field.name) ~ ', ' ~ floodmark._unrepeated_sql(value ~ '.'
                ~ floodmark._quoted(field.name), field.type, depth)) -%}
        {%- endfor -%}
        {{ return('if(' ~ value ~ ' is null, null, named_struct(' ~ fields | join(', ') ~ '))') }}
    {%- endif -%}
    {%- set element = '_floodmark_r' ~ depth -%}
    {%- set elements = 'transform(' ~ value ~ ', ' ~ element ~ ' -> ' ~ floodmark._unrepeated_sql(element,
        type.partition('<')[2][:-1], depth + 1) ~ ')' -%}
    {{ return(elements if type.startswith('array<') else 'try_parse_json(if(size(' ~ value ~ ') = 1, '
        ~ floodmark._json_text_sql('get(' ~ elements ~ ', 0)') ~ ', ' ~ floodmark._json_text_sql(elements) ~ '))') }}
{% endmacro %}


{# The rows of a window: its columns, and why a file is corrupt that an XSD does not let pass. #}
{% macro _xml_rows_sql(settings, window, group) %}
    {%- set validates = floodmark._reader_option(settings, 'rowValidationXSDPath', none) -%}
    {%- set rows = 'select *, _metadata' ~ (', max(_floodmark_bad) over (partition by _metadata.file_path) as '
        '_floodmark_invalid' if validates else ', cast(null as string) as _floodmark_invalid') ~ ' from ' ~ window
        ~ ' where ' ~ floodmark._files_predicate(group.files) -%}
    select * except (_floodmark_bad, _floodmark_invalid), _floodmark_invalid as _floodmark_bad,
        if(_floodmark_invalid is null, null, 'not valid against the XSD') as _floodmark_reason
    from ({{ rows }}
    {{ 'qualify row_number() over (partition by _metadata.file_path order by 1) = 1 or _floodmark_invalid is null'
        if validates }})
{% endmacro %}


{# Each element in one VARIANT. #}
{% macro _xml_variant_groups(run, batch, look) %}
    {%- set name = run.settings.files.single_variant_column -%}
    {%- set files = floodmark._whole_files(batch.files, look.files) -%}
    {{ return([{'record': batch.record, 'lies_as': batch.record, 'files': files,
        'options': {'singleVariantColumn': name}, 'rows_sql': floodmark._xml_variant_rows_sql,
        'reason_sql': 'cast(null as string)'}] if files else []) }}
{% endmacro %}


{% macro _xml_variant_rows_sql(settings, window, group) %}
    {{ return('select *, cast(null as string) as _floodmark_bad, _metadata from ' ~ window ~ ' where '
        ~ floodmark._files_predicate(group.files)) }}
{% endmacro %}
