{# The look at JSON: what is counted and seen in its lines before they are read. #}

{# What the files hold: {files: {path: {rows, seen, odd}}, seen, is_huge}; `seen` is a struct of all fields, none where
   there was no record, or where nobody asks for them; `odd` says how many lines Spark takes for records that are none.
   A lenient reader sees the fields of all files in each, which are a group then. #}
{% macro _look_at_json(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {#- Spark's reader finds a field by its very name: those in another case have to be seen -#}
    {%- set asks = settings.infers or settings.rescued_data_column or settings.schema_evolution == 'fail'
        or not settings.case_sensitive -%}
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
        {%- set inferred = floodmark._json_inferred(settings, files) -%}
        {%- for file in found.values() -%}
            {%- do file.update({'seen': inferred}) -%}
        {%- endfor -%}
        {{ return({'files': found, 'seen': inferred, 'groups': [{'files': files}],
            'is_huge': floodmark._is_huge_json(run, files)}) }}
    {%- endif -%}
    {%- set is_vague = ns.seen and settings.infer_column_types
        and modules.re.search('decimal\\((19|[23]\\d),0\\)', ns.seen) -%}
    {%- set is_huge = modules.re.search('double|variant', floodmark._without_names(ns.seen or '')) is not none
        and floodmark._is_huge_json(run, files) -%}
    {{ return({'files': found, 'seen': ns.seen, 'is_quick': is_quick and not asks, 'is_huge': is_huge,
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


{# Whether files may have a number that no float holds, for a column of such a type. VARIANT calls such a number DOUBLE,
   and one of few digits DECIMAL: nobody has to ask where a look saw no DOUBLE. #}
{% macro _is_huge_json(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set told = (run.get('known_record') or '') ~ (settings.schema_hints or '') -%}
    {%- if not settings.infer_column_types and settings.schema_evolution != 'widen'
        and modules.re.search('(?i)float|double|real', told) is none -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set huge = '(\\d{39}|\\d{9}\\d*(\\.\\d*)?[eE]\\+?\\d|\\d[\\d.]*[eE]\\+?(\\d{3}|[3-9]\\d))' -%}
    {{ return(not floodmark._has_no_rows('(' ~ floodmark._json_records_sql(settings, files) ~ ') where value rlike '
        ~ floodmark._string_literal('[:,\\[]\\s*-?' ~ huge))) }}
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


{# Whether a line is no JSON object at a quick look, which leaves NaN, and what is no JSON between the braces, to the
   reader. #}
{% macro _looks_odd_sql() %}
    {{ return("(value <> '' and not (is_valid_utf8(value) and " ~ floodmark._is_braced_sql() ~ '))') }}
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


{# The records of JSON files as VARIANT: value, record (NULL where it is corrupt), _metadata. With
   `single_variant_column` a file of several lines is one record, whatever it holds. #}
{% macro _json_records_sql(settings, files) %}
    {%- set is_whole = floodmark._is_whole_json(settings) -%}
    {{ return(floodmark._json_parsed_sql(settings, floodmark._json_whole_sql(settings, files)
        if is_whole and settings.single_variant_column is none else 'select value, _metadata from '
        ~ floodmark._raw_files_sql(settings, files, {'wholetext': 'true'} if is_whole else {}))) }}
{% endmacro %}


{# A SELECT of JSON texts and `record`, the VARIANT of each, NULL if it is corrupt. `texts` is a SELECT of value and
   other columns, which stay. #}
{% macro _json_parsed_sql(settings, texts) %}
    {%- set group = {'lenient': floodmark._lenient_options_sql(settings)} -%}
    {%- set is_fit = floodmark._is_lenient_object_sql('value', group) if group.lenient
        else floodmark._is_braced_sql() -%}
    {%- if floodmark._is_whole_json(settings) and settings.single_variant_column is not none -%}
        {%- set is_fit = "(value like '[%' or value like '{%') and "
            ~ floodmark._is_one_value_sql('value', group.lenient) -%}
    {%- endif -%}
    select *, if(is_valid_utf8(value) and {{ is_fit }}, {{ floodmark._json_raw_sql('value', group) }}, null) as record
    from (
        select ltrim('\ufeff \t\r\n', value) as value, * except (value) from ({{ texts }})
    )
{% endmacro %}


{# The record that Spark itself infers of files. #}
{% macro _json_inferred(settings, files) %}
    {{ return(floodmark._seen_type(floodmark._readable_record(floodmark._struct_of_columns(floodmark._columns_of_files(
        settings, files, {'mode': 'DROPMALFORMED'}))))) }}
{% endmacro %}


{# What was seen, for reading it into a known type: where a value is an object in one record and none in another its
   type says nothing of the fields, so these are looked for. `steps` lead there, names, and none into an array or a map.
   What was seen for a map is a map then; without `of_maps` nobody asks for it. Spark's own inference, by which a
   lenient reader sees, calls such a value a string. #}
{% macro _unmixed(settings, files, known, seen, steps=[], of_maps=false) %}
    {%- set nesting = floodmark._nesting(known) -%}
    {%- set is_map = of_maps and nesting == 'map' and floodmark._nesting(floodmark._map_value_type(known)) -%}
    {%- if (seen == 'variant' or seen == 'string' and floodmark._is_lenient(settings))
            and (nesting in ['struct', 'array'] or is_map
            or settings.schema_evolution == 'widen' and floodmark._digits(known)) -%}
        {%- set seen = floodmark._seen_at(settings, files, steps, {'struct': 'OBJECT', 'map': 'OBJECT',
            'array': 'ARRAY'}.get(nesting, '(BIGINT|DECIMAL|DOUBLE)')) or seen -%}
    {%- endif -%}
    {%- if is_map and seen is not none and seen.startswith('struct<') -%}
        {%- set key, value = floodmark._map_types(known) -%}
        {{ return('map<' ~ key ~ ',' ~ (floodmark._unmixed(settings, files, value, floodmark._seen_values(seen),
            steps + [none], true) or value) ~ '>') }}
    {%- endif -%}
    {%- if settings.schema_evolution == 'widen' and seen is not none and floodmark._may_grow(known, seen) -%}
        {{ return(floodmark._needed_at(settings, files, steps, known, seen)) }}
    {%- elif seen is none or floodmark._nesting(seen) != nesting -%}
        {{ return(seen) }}
    {%- elif nesting == 'array' -%}
        {{ return('array<' ~ floodmark._unmixed(settings, files, known[6:-1], seen[6:-1], steps + [none], of_maps)
            ~ '>') }}
    {%- elif nesting != 'struct' -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- set fields, found = [], floodmark._struct_fields(seen) -%}
    {%- set types = floodmark._known_types(settings, known, found | map(attribute='name') | list) -%}
    {%- for field in found -%}
        {%- do fields.append(dict(field, type=floodmark._unmixed(settings, files, types[field.name], field.type,
            steps + [field.name], of_maps)) if field.name in types else field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The type of the objects, arrays or numbers to which steps lead in the records of files; none where there are none. #}
{% macro _seen_at(settings, files, steps, kind) %}
    {%- set at = floodmark._values_at(settings, files, steps) -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(\'seen\', schema_of_variant_agg(if('
        'schema_of_variant(' ~ at.value ~ ") rlike '^" ~ kind ~ "', " ~ at.value ~ ', null)))) from ' ~ at.from)[0] -%}
    {{ return(floodmark._seen_type(found.seen) if found.seen not in [none, 'VOID'] else none) }}
{% endmacro %}


{# The type that the numbers there need, where a known one is to grow to what was seen. #}
{% macro _needed_at(settings, files, steps, known, seen) %}
    {%- set at = floodmark._values_at(settings, files, steps) -%}
    {%- set number = 'if(schema_of_variant(' ~ at.value ~ ") rlike '^(BIGINT|DECIMAL|DOUBLE)', cast(" ~ at.value
        ~ ' as string), null)' -%}
    {{ return(floodmark._needed_type(floodmark._query_json('select to_json(' ~ floodmark._needed_digits_sql(number)
        ~ ') from ' ~ at.from)[0], seen, is_whole='decimal' not in known ~ seen)) }}
{% endmacro %}


{# The values to which steps lead in the records of files, {value, from} as SQL. #}
{% macro _values_at(settings, files, steps) %}
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
    {{ return({'value': ns.value, 'from': ns.from}) }}
{% endmacro %}
