{# What the hints of `schema_hints` (macros/settings/_schema_hints.sql) make of a record. #}

{# A record's type with the hints in it: of a column that has one, the hint's spelling and type; a column that was not
   seen yet comes last. A column that reads like a hinted one but for case goes. A seen object may be a map, or the
   element of an array, as the hint says, unless `is_certain`: the record is known. #}
{% macro _hinted_record(record, hints, is_certain=false) %}
    {%- set ns = namespace(record=record or 'struct<>') -%}
    {%- set are_certain = is_certain or hints | map(attribute='of_structs', default=false) | select | list != [] -%}
    {%- set structs = {'paths': floodmark._told_structs(hints), 'are_certain': are_certain} -%}
    {%- for hint in hints -%}
        {%- set ns.record = floodmark._hinted(ns.record, hint.path, hint.type, structs) -%}
    {%- endfor -%}
    {{ return(ns.record if ns.record != 'struct<>' else none) }}
{% endmacro %}


{# The paths, in lower case, of what hints name a field of. A struct may have fields called key, value and element:
   another one tells that it is a struct. #}
{% macro _told_structs(hints) %}
    {%- set structs = [] -%}
    {%- for hint in hints -%}
        {%- for step in hint.path -%}
            {%- do structs.append(hint.path[:loop.index0] | map('lower') | list)
                if step not in ['key', 'value', 'element'] -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(structs) }}
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


{# How far a path leads in a type: {type, at, rest}: the type that it leads to, by which steps, and those that lead no
   further. #}
{% macro _followed(type, path) %}
    {%- set ns = namespace(type=type, taken=0) -%}
    {%- for step in path -%}
        {%- set part = floodmark._part_of(ns.type, step) -%}
        {%- if part is none -%}
            {%- break -%}
        {%- endif -%}
        {%- set ns.type, ns.taken = part, loop.index -%}
    {%- endfor -%}
    {{ return({'type': ns.type, 'at': path[:ns.taken], 'rest': path[ns.taken:]}) }}
{% endmacro %}


{# The type to which a step of a hint's path leads; none where it leads nowhere. #}
{% macro _part_of(type, step) %}
    {%- if type.startswith('struct<') -%}
        {{ return((floodmark._find_column(floodmark._struct_fields(type), step) or {}).get('type')) }}
    {%- elif type.startswith('array<') and step == 'element' -%}
        {{ return(type[6:-1]) }}
    {%- elif type.startswith('map<') and step in ['key', 'value'] -%}
        {{ return(floodmark._map_types(type)[0 if step == 'key' else 1]) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# Hints but those that take a known struct for a map or an array: by `key`, `value` or `element`, of which it has no
   such field, and of whose fields no other hint speaks. #}
{% macro _applicable_hints(known, hints) %}
    {%- set structs, found = floodmark._told_structs(hints), [] -%}
    {%- for hint in hints -%}
        {%- set end = floodmark._followed(known, hint.path) -%}
        {%- if not (end.at and end.rest and end.rest[0] in ['key', 'value', 'element']
            and end.type.startswith('struct<') and end.at | map('lower') | list not in structs) -%}
            {%- do found.append(hint) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Whether a known type is what a hint says, but for what it has besides; `widens`: or grew out of it. #}
{% macro _keeps_hint(known, told, widens) %}
    {%- set nesting = floodmark._nesting(told) -%}
    {%- if known == told or widens and not nesting and floodmark._merged_types(known, told, none) == known -%}
        {{ return(true) }}
    {%- elif nesting is none or nesting != floodmark._nesting(known) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set parts = {'array': ['element'], 'map': ['key', 'value']}.get(nesting)
        or floodmark._types_of(told).keys() | list -%}
    {%- for part in parts -%}
        {%- set own = floodmark._part_of(known, part) -%}
        {%- if own is none or not floodmark._keeps_hint(own, floodmark._part_of(told, part), widens) -%}
            {{ return(false) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{# Warn of hints that a batch's schema does not follow: they type what a table lacks, and change nothing in it. #}
{% macro _warn_of_hints(run, schema) %}
    {%- set settings, idle = run.settings.files, [] -%}
    {%- set columns = floodmark._struct_of(floodmark._struct_fields(schema.record) + schema.partitions) -%}
    {%- for hint in floodmark._hints(settings.schema_hints) or [] -%}
        {%- set end = floodmark._followed(columns, hint.path) -%}
        {%- if end.rest or not floodmark._keeps_hint(end.type, hint.type, settings.schema_evolution == 'widen') -%}
            {%- do idle.append(hint.path | join('.') ~ ' ' ~ hint.type ~ ' (' ~ (end.at | join('.') ~ ' is '
                ~ end.type if end.at else 'the table has no such column') ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if idle -%}
        {%- do floodmark._warn_once(run, 'files.schema_hints cannot change what the table has: ' ~ idle[:5] | join(', ')
            ~ (', ...' if idle | length > 5 else '') ~ '. Correct them, or run once with --full-refresh') -%}
    {%- endif -%}
{% endmacro %}
