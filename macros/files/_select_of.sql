{# The compiled SELECT with this batch's bounds, versions and files between its markers. #}
{% macro _select_of(batch, sql) %}
    {%- set ns = namespace(sql=sql) -%}
    {%- for marker in modules.re.findall('/\\*floodmark:bounds (.*?)\\*/', sql) | unique(case_sensitive=true) -%}
        {%- set found = '/\\*floodmark:bounds ' ~ modules.re.escape(marker) ~ '\\*/.*?/\\*floodmark:end\\*/' -%}
        {%- set predicate = floodmark._bounds_predicate(marker, batch) | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub(found, predicate, ns.sql, flags=modules.re.S) -%}
    {%- endfor -%}
    {%- for name, kind in modules.re.findall('/\\*floodmark:changes (\\S+?)( preimages| events)?\\*/', sql) | unique -%}
        {%- set found = '/\\*floodmark:changes ' ~ modules.re.escape(name ~ kind) ~ '\\*/.*?/\\*floodmark:end\\*/' -%}
        {%- set rows = floodmark._changes_sql(name, batch, floodmark._kind_of_changes(kind | trim, sql))
            | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub(found, rows, ns.sql, flags=modules.re.S) -%}
    {%- endfor -%}
    {%- if batch.get('reader') -%}
        {%- set ns.sql = floodmark._with_sides(batch, ns.sql) if '/*floodmark:sides*/' in sql else ns.sql -%}
        {%- set ns.sql = modules.re.sub('/\\*floodmark:files\\*/.*?/\\*floodmark:end\\*/',
            batch.reader | replace('\\', '\\\\'), ns.sql, flags=modules.re.S) -%}
    {%- endif -%}
    {{ return(ns.sql) }}
{% endmacro %}


{# The SELECT where debezium() reads the files of a batch: its IF was written before anybody knew the types of `before`
   and `after`. A side that the files do not have is NULL. Stops where one IF cannot give both: Spark brings structs
   together whose fields have the same names in the same order. #}
{% macro _with_sides(batch, sql) %}
    {%- set types, fields = [], [] -%}
    {%- set columns = floodmark._struct_fields(batch.file_schema.record) -%}
    {%- for side in floodmark._columns_named(columns, ['before', 'after']) -%}
        {%- do types.append(side.type) -%}
        {%- do fields.append(floodmark._struct_fields(side.type) | map(attribute='name') | map('lower') | list
            if side.type.startswith('struct<') else none) -%}
    {%- endfor -%}
    {%- if types | length == 2 and (none in fields or fields[0] != fields[1]) -%}
        {%- do floodmark._stop('in these files before is ' ~ types[0] ~ ' and after is ' ~ types[1]
            ~ '. debezium() over new_files() needs structs with the same fields: give before and after one type in '
            'files.schema_hints, or load the files into a bronze model and read that',
            rejects='before and after have two types') -%}
    {%- endif -%}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- set missing = ['before', 'after'] | reject('in', names) | list -%}
    {%- set either = "/*floodmark:sides*/ if(op = 'd', before, after)" -%}
    {{ return(sql | replace(either, either | replace(missing[0], 'null')) if missing | length == 1 else sql) }}
{% endmacro %}
