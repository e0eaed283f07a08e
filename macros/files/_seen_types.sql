{#
  What was seen in the files of a batch, as one type: a struct as DDL text (macros/support/_types.sql). Two files that
  differ are merged as Spark's own inference does it (JsonInferSchema): what is both a number and a text is kept as a
  string, and so is what is both a struct and none. Until it is kept such a type is called `variant`.
#}

{# The type of a record by what schema_of_variant prints (`OBJECT<a: BIGINT>`); none where it is no object. #}
{% macro _seen_record(text) %}
    {%- set type = floodmark._seen_type(text or '') -%}
    {%- if type.startswith('array<struct<') -%}
        {%- set type = type[6:-1] -%}
    {%- endif -%}
    {{ return(type if type.startswith('struct<') else none) }}
{% endmacro %}


{# The type of any value by what schema_of_variant prints, or by a type that Spark inferred. What lies deeper than
   `levels` is as mixed values are: each level takes macros that call themselves, of which Python allows few. #}
{% macro _seen_type(text, levels=20) %}
    {%- set is_nested = text[:7] in ['OBJECT<', 'struct<'] or text[:6] in ['ARRAY<', 'array<'] -%}
    {%- if is_nested and not levels -%}
        {{ return('variant') }}
    {%- elif text[:7] in ['OBJECT<', 'struct<'] -%}
        {%- set fields = [] -%}
        {%- for part in floodmark._type_parts(text[7:-1]) -%}
            {%- set named = modules.re.fullmatch('(`(?:[^`]|``)*`|[^:`]*): ?(.*)', part | trim, flags=modules.re.S) -%}
            {%- do fields.append({'name': floodmark._unquoted(named.group(1)),
                'type': floodmark._seen_type(named.group(2), levels - 1)}) -%}
        {%- endfor -%}
        {{ return(floodmark._struct_of(fields)) }}
    {%- endif -%}
    {{ return('array<' ~ floodmark._seen_type(text[6:-1], levels - 1) ~ '>' if is_nested else text | lower) }}
{% endmacro %}


{# One type for values of two; `conflict` where there is none. It is a string where files have types of their own: among
   these a date is no timestamp with a zone. #}
{% macro _merged_types(one, other, conflict='variant') %}
    {%- if one == other or other == 'void' -%}
        {{ return(one) }}
    {%- elif one == 'void' -%}
        {{ return(other) }}
    {%- elif one.startswith('struct<') and other.startswith('struct<') -%}
        {{ return(floodmark._merged_structs(one, other, conflict)) }}
    {%- elif one.startswith('array<') and other.startswith('array<') -%}
        {{ return('array<' ~ floodmark._merged_types(one[6:-1], other[6:-1], conflict) ~ '>') }}
    {%- elif one.startswith('map<') and other.startswith('map<') -%}
        {%- set mine, its = floodmark._map_types(one), floodmark._map_types(other) -%}
        {{ return('map<' ~ mine[0] ~ ',' ~ floodmark._merged_types(mine[1], its[1], conflict) ~ '>'
            if mine[0] == its[0] else conflict) }}
    {%- endif -%}
    {%- for types in [['tinyint', 'smallint', 'int', 'bigint'], ['date', 'timestamp'], ['date', 'timestamp_ntz']]
        if one in types and other in types and not (types == ['date', 'timestamp'] and conflict == 'string') -%}
        {{ return(types[[types.index(one), types.index(other)] | max]) }}
    {%- endfor -%}
    {%- set digits = [floodmark._digits(one), floodmark._digits(other)] -%}
    {%- if none not in digits -%}
        {{ return(floodmark._decimal_of(digits) or 'double') }}
    {%- elif (one in ['float', 'double'] or digits[0]) and (other in ['float', 'double'] or digits[1]) -%}
        {{ return('double') }}
    {%- endif -%}
    {{ return(conflict) }}
{% endmacro %}


{# The fields of both, in the order of their names as Spark's inference has it. #}
{% macro _merged_structs(one, other, conflict='variant') %}
    {%- set types = {} -%}
    {%- for field in floodmark._struct_fields(one) + floodmark._struct_fields(other) -%}
        {%- do types.update({field.name: floodmark._merged_types(types[field.name], field.type, conflict)
            if field.name in types else field.type}) -%}
    {%- endfor -%}
    {%- set fields = [] -%}
    {%- for name in types | sort(case_sensitive=true) -%}
        {%- do fields.append({'name': name, 'type': types[name]}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# A record with the fields of another behind its own, where it lacks them; those that both have in a type for both. #}
{% macro _joined_records(one, other, conflict='variant') %}
    {%- if one is none -%}
        {{ return(other) }}
    {%- endif -%}
    {%- set types = floodmark._types_of(one) -%}
    {%- set others = floodmark._types_of(other) -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(one) -%}
        {%- do fields.append(dict(field, type=floodmark._merged_types(field.type, others[field.name],
            conflict))
            if field.name in others else field) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(other) if field.name not in types -%}
        {%- do fields.append(field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The type of the values of an object that was seen, for a column that is a map; none where it has none. #}
{% macro _seen_values(seen) %}
    {%- set ns = namespace(type=none) -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- set ns.type = field.type if ns.type is none else floodmark._merged_types(ns.type, field.type) -%}
    {%- endfor -%}
    {{ return(ns.type) }}
{% endmacro %}


{# A seen type whose decimals of 19 digits or more without any behind the point are double where Spark infers that:
   VARIANT does not tell `5` beside `1.0` from integers that are no longs. #}
{% macro _settled_decimals(seen, inferred) %}
    {%- if seen.startswith('array<') and inferred.startswith('array<') -%}
        {{ return('array<' ~ floodmark._settled_decimals(seen[6:-1], inferred[6:-1]) ~ '>') }}
    {%- elif not (seen.startswith('struct<') and inferred.startswith('struct<')) -%}
        {{ return('double' if inferred == 'double' and floodmark._digits(seen) else seen) }}
    {%- endif -%}
    {%- set types = floodmark._types_of(inferred) -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- do fields.append(dict(field, type=floodmark._settled_decimals(field.type, types[field.name])
            if field.name in types else field.type)) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The type in which seen values are kept: what was NULL alone is a string, a struct without fields is nothing (none).
   Without `is_typed` every value is a string, within structs and arrays. #}
{% macro _kept_type(type, is_typed, is_exact=false) %}
    {%- if type.startswith('array<') or type.startswith('repeated<') -%}
        {%- set element = floodmark._kept_type(type.partition('<')[2][:-1], is_typed, is_exact) -%}
        {{ return('array<' ~ element ~ '>' if element is not none else none) }}
    {%- elif type.startswith('valued<') -%}
        {{ return(floodmark._kept_type(type[7:-1], is_typed, is_exact)) }}
    {%- elif is_typed and not is_exact and modules.re.fullmatch('decimal\\((\\d+,[1-9]\\d*|1?[0-8],0|9,0)\\)',
        type) -%}
        {#- as Spark reads it from JSON; VARIANT has `1.0` as decimal(1,0), and integers that are no longs have at least
            19 digits -#}
        {{ return('double') }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(type if is_typed and type not in ['void', 'variant'] else 'string') }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- set kept = floodmark._kept_type(field.type, is_typed, is_exact) -%}
        {%- if kept is not none -%}
            {%- do fields.append({'name': field.name, 'type': kept}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields) if fields else none) }}
{% endmacro %}


{# The record that a window reads: the known one, and the fields that were seen besides, as string, by which Spark
   means the JSON as it stands in the file. Texts are read as VARIANT, which prints them as such. Where a field is a
   text in one record and none in another it is read as boolean: what is none makes Spark hand out the record's own
   text. Within arrays and maps all are, since these are rescued as a whole. Those that are known but for their case
   are read as these. `within` is none, 'struct' or 'array'. `parsed` is a pattern of types whose text may be no JSON:
   they are read as VARIANT. #}
{% macro _read_record(known, seen, is_sensitive=true, within=none, parsed='$^') %}
    {%- if seen is none -%}
        {{ return(known) }}
    {%- elif known.startswith('array<') and seen.startswith('array<') -%}
        {{ return('array<' ~ floodmark._read_record(known[6:-1], seen[6:-1], is_sensitive, 'array', parsed)
            ~ '>') }}
    {%- elif known.startswith('map<') and floodmark._nesting(seen) in ['struct', 'map'] -%}
        {%- set key, value = floodmark._map_types(known) -%}
        {{ return('map<' ~ key ~ ',' ~ floodmark._read_record(value, floodmark._seen_values(seen)
            if seen.startswith('struct<') else floodmark._map_value_type(seen), is_sensitive, 'array', parsed)
            ~ '>') }}
    {%- elif not (known.startswith('struct<') and seen.startswith('struct<')) -%}
        {{ return(known) }}
    {%- endif -%}
    {%- set other = floodmark._types_of(seen) -%}
    {%- set mine = floodmark._types_of(known) -%}
    {%- set deeper = within or 'struct' -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(known) -%}
        {%- do fields.append({'name': field.name, 'type': floodmark._read_record(field.type, other[field.name],
            is_sensitive, deeper, parsed) if field.name in other else field.type}) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(seen) if field.name not in mine
        and field.name != '' and (within or field.name != '_metadata') -%}
        {%- set alike = none if is_sensitive else floodmark._find_column(floodmark._struct_fields(known),
            field.name) -%}
        {%- set unknown = {'string': 'variant', 'void': 'variant',
            'variant': 'variant' if within else 'boolean'}.get(field.type,
            'variant' if modules.re.match(parsed, field.type) else 'string') -%}
        {%- do fields.append({'name': field.name, 'type': floodmark._read_record(alike.type, field.type, is_sensitive,
            deeper, parsed) if alike else ('boolean' if within == 'array' else unknown)}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}
