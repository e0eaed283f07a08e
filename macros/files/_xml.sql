{#
  XML: an element a record, by the option rowTag. Of a record in which something does not fit Spark gives the text of
  the whole file, so a window has texts alone, which are cast then. A file that is not well formed is corrupt.
#}
{% macro _xml_files() %}
    {{ return(dict(floodmark._file_format_defaults(), provider='xml', bad_column='_floodmark_bad', is_text=true,
        raw_sql=floodmark._xml_raw_sql, look=floodmark._look_at_xml, groups=floodmark._xml_groups, needs_look=true,
        variant_groups=floodmark._xml_variant_groups)) }}
{% endmacro %}


{# What the files hold: {files: {path: {seen, reason}}, seen}. #}
{% macro _look_at_xml(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set found = {} -%}
    {%- for row in floodmark._query_json(floodmark._xml_reasons_sql(settings, files)) -%}
        {%- do found.update({row.path: {'reason': row.reason}}) -%}
    {%- endfor -%}
    {%- set whole = floodmark._whole_files(files, found) -%}
    {%- set asks = settings.infers or settings.rescued_data_column -%}
    {%- if settings.schema_evolution == 'fail' -%}
        {%- for file in whole -%}
            {%- do found[file.path].update({'seen': floodmark._xml_seen(settings, [file])}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return({'files': found, 'seen': floodmark._xml_seen(settings, whole) if whole and asks else none}) }}
{% endmacro %}


{# Why a file is corrupt: it is not well formed, or a record has no end, which Spark passes over. #}
{% macro _xml_reasons_sql(settings, files) %}
    {%- set tag = modules.re.escape(floodmark._reader_option(settings, 'rowTag', '')) -%}
    {%- set ends = "regexp_count(text, '</" ~ tag ~ "\\\\s*>') + regexp_count(text, '<" ~ tag
        ~ "(?:\\\\s[^>]*)?/>')" -%}
    select to_json(named_struct('path', file, 'reason', case
        when begun <> ended then 'it is cut off: ' || begun || ' records begin, ' || ended || ' end'
        when from_xml(value, '_floodmark_bad string', map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord',
            '_floodmark_bad'))._floodmark_bad is not null then 'not well-formed XML' end))
    from (
        select file, value, regexp_count(text, '<{{ tag }}(?=[\\s/>])') as begun, {{ ends }} as ended
        from (
            select _metadata.file_path as file, ltrim('\ufeff', value) as value,
                regexp_replace(value, '(?s)<!--.*?-->|<!\\[CDATA\\[.*?\\]\\]>', '') as text
            from text.`{{ floodmark._files_path(settings) }}`
                {{ floodmark._files_options(settings, {'wholetext': 'true'}) }}
            where {{ floodmark._files_predicate(files) }}
        )
    )
    where trim(value) <> ''
{% endmacro %}


{# The record that Spark infers of files, a struct. #}
{% macro _xml_seen(settings, files) %}
    {{ return(floodmark._struct_of_columns(floodmark._columns_of_files(settings, files,
        {'inferSchema': settings.infer_column_types | string | lower}))) }}
{% endmacro %}


{# All files in one window; a text that is not known becomes a VARIANT, which prints it as one. #}
{% macro _xml_groups(run, batch, look) %}
    {%- set known = floodmark._types_of(batch.file_schema.record) -%}
    {%- set fields, lies_as = floodmark._struct_fields(batch.file_schema.record), [] -%}
    {%- for field in (floodmark._struct_fields(floodmark._readable_record(look.seen)) if look.seen else [])
        if field.name not in known -%}
        {%- do fields.append(dict(field, type='variant' if floodmark._nesting(field.type) is none else
            floodmark._kept_type(field.type, false))) -%}
    {%- endfor -%}
    {%- for field in fields -%}
        {%- do lies_as.append(dict(field, type=floodmark._kept_type(field.type, false))) -%}
    {%- endfor -%}
    {%- set files = floodmark._whole_files(batch.files, look.files) -%}
    {{ return([{'record': floodmark._struct_of(fields), 'files': files, 'options': {'inferSchema': 'false'},
        'lies_as': floodmark._struct_of(lies_as + [{'name': '_floodmark_bad', 'type': 'string'}]),
        'rows_sql': floodmark._xml_rows_sql, 'reason_sql': '_floodmark_reason'}] if files else []) }}
{% endmacro %}


{# The rows of a window: its columns in their types, `texts` where something does not fit, and why a file is corrupt
   that an XSD does not let pass. #}
{% macro _xml_rows_sql(settings, window, group) %}
    {%- set columns, pairs, misfits = [], [], ['false'] -%}
    {%- for field in floodmark._struct_fields(group.record) -%}
        {%- set quoted = floodmark._quoted(field.name) -%}
        {%- set type = floodmark._kept_type(field.type, false) -%}
        {%- do pairs.append(floodmark._string_literal(field.name) ~ ', ' ~ quoted) -%}
        {%- if type == field.type -%}
            {%- do columns.append(quoted) -%}
        {%- elif field.type == 'variant' -%}
            {%- do columns.append('cast(' ~ quoted ~ ' as variant) as ' ~ quoted) -%}
        {%- else -%}
            {%- set cast = floodmark._exact_cast_sql(quoted, field.type) -%}
            {%- do columns.append(cast ~ ' as ' ~ quoted) -%}
            {%- do misfits.append('(' ~ quoted ~ ' is not null and ' ~ cast ~ ' is null)') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set validates = floodmark._reader_option(settings, 'rowValidationXSDPath', none) -%}
    {%- set rows = 'select *, _metadata' ~ (', max(_floodmark_bad) over (partition by _metadata.file_path) as '
        '_floodmark_invalid' if validates else ', cast(null as string) as _floodmark_invalid') ~ ' from ' ~ window
        ~ ' where ' ~ floodmark._files_predicate(group.files) -%}
    select {{ columns | join(', ') }}{{ ',' if columns }} _metadata, _floodmark_invalid as _floodmark_bad,
        if({{ misfits | join(' or ') }}, named_struct({{ pairs | join(', ') }}), null) as texts,
        if(_floodmark_invalid is null, null, 'not valid against the XSD') as _floodmark_reason
    from ({{ rows }}
    {{ 'qualify row_number() over (partition by _metadata.file_path order by 1) = 1 or _floodmark_invalid is null'
        if validates }})
{% endmacro %}


{% macro _xml_raw_sql(bad, group) %}
    {{ return('to_variant_object(texts)' if group.get('lies_as') and 'texts' not in group
        else 'cast(null as variant)') }}
{% endmacro %}


{# Each element in one VARIANT. #}
{% macro _xml_variant_groups(run, batch, look) %}
    {%- set name = run.settings.files.single_variant_column -%}
    {%- set files = floodmark._whole_files(batch.files, look.files) -%}
    {{ return([{'record': batch.record, 'lies_as': batch.record, 'files': files,
        'options': {'singleVariantColumn': name}, 'rows_sql': floodmark._xml_variant_rows_sql,
        'reason_sql': 'cast(null as string)', 'texts': none}] if files else []) }}
{% endmacro %}


{% macro _xml_variant_rows_sql(settings, window, group) %}
    {{ return('select *, cast(null as string) as _floodmark_bad, _metadata from ' ~ window ~ ' where '
        ~ floodmark._files_predicate(group.files)) }}
{% endmacro %}
