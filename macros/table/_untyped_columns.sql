{#
  Columns and fields that have no type yet, as of `null as n` or `array()`: a table cannot hold them, so they are kept
  out until the SELECT gives them one. The table names what was kept out of it in its property `floodmark.untyped`, so
  that they are added then, whatever on_schema_change says of columns that are new.
#}

{# The names of what is untyped in a column: itself, or fields of its structs, in lower case. #}
{% macro _untyped_names(name, type) %}
    {%- if not floodmark._is_untyped(type) -%}
        {{ return([]) }}
    {%- elif floodmark._typed_part(type) is none -%}
        {{ return([name | lower]) }}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for field in floodmark._inner_fields(name, type) -%}
        {%- do names.extend(floodmark._untyped_names(field.name, field.type)) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# What lies one level within a type: a list of {name, type}, the fields of a struct, the element of an array, the
   value of a map. #}
{% macro _inner_fields(name, type) %}
    {%- set nesting = floodmark._nesting(type) -%}
    {%- set fields = [] -%}
    {%- if nesting == 'array' -%}
        {%- do fields.append({'name': name ~ '.element', 'type': type[6:-1]}) -%}
    {%- elif nesting == 'map' -%}
        {%- do fields.append({'name': name ~ '.value', 'type': floodmark._map_value_type(type)}) -%}
    {%- elif nesting == 'struct' -%}
        {%- for field in floodmark._struct_fields(type) -%}
            {%- do fields.append({'name': name ~ '.' ~ floodmark._path_part(field.name), 'type': field.type}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(fields) }}
{% endmacro %}


{# The names of a column and of all fields within it, in lower case. #}
{% macro _field_names(name, type) %}
    {%- set names = [name | lower] -%}
    {%- for field in floodmark._inner_fields(name, type) -%}
        {%- do names.extend(floodmark._field_names(field.name, field.type)) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# Note what is kept out, and say it once a run. #}
{% macro _note_untyped(run, names) %}
    {%- if names and not run.get('untyped') -%}
        {%- do floodmark._warn_once(run, 'the SELECT gives ' ~ names | join(', ')
            ~ ' without a type (NULL, or an empty array or map): ' ~ ('it is' if names | length == 1 else 'they are')
            ~ ' kept out of ' ~ this ~ ' until the SELECT gives a type, such as cast(null as string)') -%}
    {%- endif -%}
    {%- do run.update({'untyped': names}) -%}
{% endmacro %}


{# Whether a setting that names this column names one that is kept out. Where a batch goes on from the staging table of
   an earlier run, the table tells. #}
{% macro _is_untyped_column(run, name) %}
    {%- set untyped = run.get('untyped') -%}
    {%- if untyped is none and run.target.is_delta -%}
        {%- set untyped = floodmark._kept_untyped() -%}
    {%- endif -%}
    {{ return(floodmark._path_part(name) | lower in (untyped or [])) }}
{% endmacro %}


{# The problem of a setting that needs the column which it names, and names one that is kept out: for _refuse. #}
{% macro _untyped_problem(setting, name) %}
    {{ return({'setting': setting, 'got': name ~ ' without a type (NULL, or an empty array or map)',
        'expected': 'a column with a type', 'todo': 'Cast it in the SELECT, such as cast(null as string)'}) }}
{% endmacro %}


{# The names that the table was made without and that the SELECT types now, whatever on_schema_change says: they are not
   new, so snapshot_diff compares them. #}
{% macro _awaited_names(run, batch, columns, known) %}
    {%- if batch and batch.replaces or not run.target.is_delta -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set names, there = [], [] -%}
    {%- for column in known -%}
        {%- do there.extend(floodmark._field_names(floodmark._path_part(column.name), column.ddl)) -%}
    {%- endfor -%}
    {%- for column in columns if not column.name.startswith('_floodmark_') -%}
        {%- set name = floodmark._path_part(column.name) -%}
        {%- do names.extend(floodmark._field_names(name, column.ddl)
            | reject('in', there + floodmark._untyped_names(name, column.ddl)) | list) -%}
    {%- endfor -%}
    {%- if not names -%}
        {{ return([]) }}
    {%- elif run.get('awaits') is none -%}
        {%- do run.update({'awaits': floodmark._kept_untyped()}) -%}
    {%- endif -%}
    {{ return(names | select('in', run.awaits) | list) }}
{% endmacro %}


{# The names that the table says were kept out of it. #}
{% macro _kept_untyped() %}
    {{ return(fromjson(floodmark._from_property(floodmark._properties_of(this).get('floodmark.untyped')) or '[]')) }}
{% endmacro %}


{# Have a table that is there name what the SELECT gives without a type by now. #}
{% macro _remember_untyped(run) %}
    {%- if run.get('untyped') -%}
        {%- set named = floodmark._kept_untyped() -%}
        {%- set names = named + (run.untyped | reject('in', named) | list) -%}
        {%- if names | length > named | length -%}
            {%- do floodmark._set_properties({'floodmark.untyped': floodmark._to_property(tojson(names))}) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The property of a table that is made without them. #}
{% macro _untyped_property(run) %}
    {{ return({'floodmark.untyped': floodmark._to_property(tojson(run.untyped))} if run.get('untyped') else {}) }}
{% endmacro %}
