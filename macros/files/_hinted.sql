{# What the hints of `schema_hints` (macros/settings/_schema_hints.sql) make of a record. #}

{# A record's type with the hints in it: of a column that has one, the hint's spelling and type; a column that was not
   seen yet comes last. A column that reads like a hinted one but for case goes. A seen object may be a map, or the
   element of an array, as the hint says, unless `is_certain`: the record is known. #}
{% macro _hinted_record(record, hints, is_certain=false) %}
    {%- set ns = namespace(record=record or 'struct<>') -%}
    {#- a struct may have fields called key, value and element: another field tells -#}
    {%- set structs = [] -%}
    {%- set are_certain = is_certain or hints | map(attribute='of_structs', default=false) | select | list != [] -%}
    {%- for hint in hints -%}
        {%- for step in hint.path -%}
            {%- do structs.append(hint.path[:loop.index0] | map('lower') | list)
                if step not in ['key', 'value', 'element'] -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for hint in hints -%}
        {%- set ns.record = floodmark._hinted(ns.record, hint.path, hint.type, {'paths': structs,
            'are_certain': are_certain}) -%}
    {%- endfor -%}
    {{ return(ns.record if ns.record != 'struct<>' else none) }}
{% endmacro %}


{# Fields that a record had and has no more, or without a type, as hints, should they come again. #}
{% macro _former_hints(record, former, path=[]) %}
    {%- set hints = [] -%}
    {%- for field in floodmark._struct_fields(former) if floodmark._typed_part(field.type) is not none -%}
        {%- set own = floodmark._find_column(floodmark._struct_fields(record), field.name) -%}
        {%- if own is none or floodmark._typed_part(own.type) is none -%}
            {%- do hints.append({'path': path + [field.name], 'type': field.type}) -%}
        {%- elif own.type.startswith('struct<') and field.type.startswith('struct<') -%}
            {%- do hints.extend(floodmark._former_hints(own.type, field.type, path + [field.name])) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(hints) }}
{% endmacro %}


{# A type in which what `path` leads to has this type; `at` is the path of the type itself. `structs` are {paths,
   are_certain}: paths of structs, and whether all that were seen are. #}
{% macro _hinted(type, path, wanted, structs, at=[]) %}
    {%- set is_seen = type is not none and type.startswith('struct<') -%}
    {%- set is_struct = not at or at | map('lower') | list in structs.paths or is_seen
        and (structs.are_certain or not path or path[0] not in ['key', 'value', 'element']
        or floodmark._find_column(floodmark._struct_fields(type), path[0]) is not none) -%}
    {%- if not path -%}
        {{ return(wanted) }}
    {%- elif is_seen and not is_struct -%}
        {{ return(floodmark._hinted('array<' ~ type ~ '>' if path[0] == 'element' else 'map<string,'
            ~ (floodmark._kept_type(floodmark._seen_values(type) or 'void', true) or 'string') ~ '>', path, wanted,
            structs, at)) }}
    {%- elif path[0] == 'element' and not is_struct -%}
        {%- set element = type[6:-1] if type and type.startswith('array<') else none -%}
        {{ return('array<' ~ floodmark._hinted(element, path[1:], wanted, structs, at + [path[0]]) ~ '>') }}
    {%- elif path[0] in ['key', 'value'] and not is_struct or type and type.startswith('map<') -%}
        {%- set key, value = floodmark._map_types(type) if type and type.startswith('map<') else ['string', none] -%}
        {%- set key = floodmark._hinted(key, path[1:], wanted, structs, at + [path[0]]) if path[0] == 'key'
            else key -%}
        {%- set value = floodmark._hinted(value, path[1:], wanted, structs, at + [path[0]]) if path[0] == 'value'
            else value or 'string' -%}
        {{ return('map<' ~ key ~ ',' ~ value ~ '>') }}
    {%- endif -%}
    {%- set ns = namespace(is_there=false) -%}
    {%- set fields = [] -%}
    {%- for field in (floodmark._struct_fields(type) if type and type.startswith('struct<') else []) -%}
        {%- if field.name | lower != path[0] | lower -%}
            {%- do fields.append(field) -%}
        {%- elif not ns.is_there -%}
            {%- set ns.is_there = true -%}
            {%- do fields.append({'name': path[0],
                'type': floodmark._hinted(field.type, path[1:], wanted, structs, at + [path[0]])}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not ns.is_there -%}
        {%- do fields.append({'name': path[0],
            'type': floodmark._hinted(none, path[1:], wanted, structs, at + [path[0]])}) -%}
    {%- endif -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}
