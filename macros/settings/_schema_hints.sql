{#
  `schema_hints`: types that the user gives for some columns, each as a path and a type: `amount decimal(10, 2)`,
  `address.zip string`, `lines.element.sku string`, `tags.value int`. `element` leads into an array, `key` and `value`
  into a map.
#}

{# The hints of a text: a list of {path, type}, or none where it cannot be read. #}
{% macro _hints(text) %}
    {%- set hints = [] -%}
    {%- for part in floodmark._type_parts(text or '') -%}
        {%- set name = '(?:`(?:[^`]|``)+`|[^\\s.`:]+)' -%}
        {%- set found = modules.re.fullmatch('(' ~ name ~ '(?:\\.' ~ name ~ ')*)(?:\\s+|\\s*:\\s*)(\\S.*)', part | trim,
            flags=modules.re.S) -%}
        {%- if not found -%}
            {{ return(none) }}
        {%- endif -%}
        {%- set path = [] -%}
        {%- for step in modules.re.findall(name, found.group(1)) -%}
            {%- do path.append(floodmark._unquoted(step)) -%}
        {%- endfor -%}
        {%- do hints.append({'path': path, 'type': floodmark._spelt_type(found.group(2))}) -%}
    {%- endfor -%}
    {{ return(hints) }}
{% endmacro %}


{# A type as people write it, as floodmark writes types: no spaces but within names, `struct<a: int>` with colons. #}
{% macro _spelt_type(text) %}
    {%- set text = text | trim -%}
    {%- set nested = modules.re.fullmatch('(?i)(struct|array|map)\\s*<(.*)>', text, flags=modules.re.S) -%}
    {%- if not nested -%}
        {%- set plain = modules.re.sub('\\s*([(),])\\s*', '\\1', modules.re.sub('\\s+', ' ', text)) | lower -%}
        {%- set plain = modules.re.sub('^(numeric|dec)\\b', 'decimal', plain) -%}
        {%- set plain = modules.re.sub('^decimal\\((\\d+)\\)$', 'decimal(\\1,0)', plain) -%}
        {{ return({'integer': 'int', 'long': 'bigint', 'short': 'smallint', 'byte': 'tinyint', 'real': 'float',
            'timestamp_ltz': 'timestamp', 'decimal': 'decimal(10,0)'}.get(plain, plain)) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for part in floodmark._type_parts(nested.group(2)) -%}
        {%- if nested.group(1) | lower == 'struct' -%}
            {%- set field = modules.re.fullmatch('\\s*(`(?:[^`]|``)*`|[^\\s:`]+)(?:\\s*:\\s*|\\s+)(.*)', part,
                flags=modules.re.S) -%}
            {%- do parts.append(floodmark._quoted_field(floodmark._unquoted(field.group(1))) ~ ':'
                ~ floodmark._spelt_type(field.group(2)) if field else part) -%}
        {%- else -%}
            {%- do parts.append(floodmark._spelt_type(part)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(nested.group(1) | lower ~ '<' ~ parts | join(',') ~ '>') }}
{% endmacro %}


{# A record's type with the hints in it: of a column that has one, the hint's spelling and type; a column that was not
   seen yet comes last. A column that reads like a hinted one but for case goes. #}
{% macro _hinted_record(record, hints) %}
    {%- set ns = namespace(record=record or 'struct<>') -%}
    {#- a struct may have fields called key, value and element: another field tells -#}
    {%- set structs = [] -%}
    {%- for hint in hints -%}
        {%- for step in hint.path -%}
            {%- do structs.append(hint.path[:loop.index0] | map('lower') | list)
                if step not in ['key', 'value', 'element'] -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for hint in hints -%}
        {%- set ns.record = floodmark._hinted(ns.record, hint.path, hint.type, structs) -%}
    {%- endfor -%}
    {{ return(ns.record if ns.record != 'struct<>' else none) }}
{% endmacro %}


{# Fields that a record had and has no more as hints, should they come again. #}
{% macro _former_hints(record, former, path=[]) %}
    {%- set hints = [] -%}
    {%- for field in floodmark._struct_fields(former) -%}
        {%- set own = floodmark._find_column(floodmark._struct_fields(record), field.name) -%}
        {%- if own is none -%}
            {%- do hints.append({'path': path + [field.name], 'type': field.type}) -%}
        {%- elif own.type.startswith('struct<') and field.type.startswith('struct<') -%}
            {%- do hints.extend(floodmark._former_hints(own.type, field.type, path + [field.name])) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(hints) }}
{% endmacro %}


{# A type in which what `path` leads to has this type; `at` is the path of the type itself, and `structs` are paths of
   structs. #}
{% macro _hinted(type, path, wanted, structs, at=[]) %}
    {%- set is_struct = type is not none and type.startswith('struct<') or at | map('lower') | list in structs -%}
    {%- if not path -%}
        {{ return(wanted) }}
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
