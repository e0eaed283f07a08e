{#
  The schema of a batch: what is known, and what its files have besides (docs/guides/files.md). A known column keeps its
  type; what does not fit is rescued.
#}

{# {record, added}: the schema, and the paths of what it has besides the known one. `known` is none before the first
   batch; `seen` is none where no record was seen. Where columns are widened `exact` is what was seen,
   in its own types. `told` are the user's own hints: a column that they name is known from then on. #}
{% macro _evolved(known, seen, hints, adds, exact=none, told=[]) %}
    {%- if known is none -%}
        {%- set record = floodmark._hinted_record(floodmark._without_case_twins(seen, hints) if seen else none,
            hints) -%}
        {{ return({'record': record, 'added': []}) }}
    {%- endif -%}
    {%- set added = [] -%}
    {%- set record = floodmark._with_told(known, told, added) -%}
    {%- if seen is not none and adds -%}
        {%- set record = floodmark._grown(record, seen, hints, [], added, exact) -%}
    {%- endif -%}
    {{ return({'record': record, 'added': added}) }}
{% endmacro %}


{# A known record with the columns of hints that it lacks behind its own, at every depth; the paths of these go into
   `added`. #}
{% macro _with_told(known, told, added) %}
    {%- set told = floodmark._applicable_hints(known, told) -%}
    {{ return(floodmark._grown(known, floodmark._spelt_as(known, floodmark._hinted_record(known, told, true)
        or 'struct<>'), [], [], added) if told else known) }}
{% endmacro %}


{# A known type with the fields that were seen besides, behind its own, at every depth. `path` leads to it; the paths
   of new ones go into `added`. What is in the values of maps is no column: it goes there with `names_all`. What had no
   type yet, as `null` of Avro, is new once it has one. #}
{% macro _grown(known, seen, hints, path, added, exact=none, names_all=false) %}
    {%- if path and 'void' in known and floodmark._typed_part(known) is none -%}
        {%- set is_typed = floodmark._typed_part(seen) is not none -%}
        {%- do added.append(path) if is_typed -%}
        {%- set told = hints | selectattr('path', 'equalto', path) | map(attribute='type') | first -%}
        {{ return((told or floodmark._without_case_twins(seen)) if is_typed else known) }}
    {%- endif -%}
    {%- if names_all and known.startswith('map<') and seen.startswith('struct<') -%}
        {%- do floodmark._grown(floodmark._map_value_type(known), floodmark._seen_values(seen) or 'void', hints,
            path + ['value'], added, none, true) -%}
        {{ return(known) }}
    {%- endif -%}
    {%- if known.startswith('array<') and seen.startswith('array<') -%}
        {{ return('array<' ~ floodmark._grown(known[6:-1], seen[6:-1], hints, path + ['element'], added,
            exact[6:-1] if exact else none, names_all) ~ '>') }}
    {%- elif not (known.startswith('struct<') and seen.startswith('struct<')) -%}
        {{ return(floodmark._widened(known, exact) if exact else known) }}
    {%- endif -%}
    {%- set names, fields = [], [] -%}
    {%- set others, exact_types = floodmark._types_of(seen), floodmark._types_of(exact) if exact else {} -%}
    {%- for field in floodmark._struct_fields(known) -%}
        {%- do names.append(field.name | lower) -%}
        {%- do fields.append({'name': field.name, 'type': floodmark._grown(field.type, others[field.name], hints,
            path + [field.name], added, exact_types[field.name] if exact else none, names_all)
            if field.name in others else field.type}) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(seen) if field.name | lower not in names -%}
        {%- do names.append(field.name | lower) -%}
        {%- set hinted = [] -%}
        {%- for hint in hints
            if hint.path[:path | length] == path and (hint.path[path | length] or '') | lower == field.name | lower -%}
            {%- do hinted.append(dict(hint, path=hint.path[path | length:])) -%}
        {%- endfor -%}
        {%- set field = dict(field, type=floodmark._without_case_twins(field.type)) -%}
        {%- set new = floodmark._struct_fields(floodmark._hinted_record(floodmark._struct_of([field]), hinted))[0] -%}
        {%- do fields.append(new) -%}
        {%- do added.append(path + [new.name]) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# What was seen, with its fields spelt as known ones whose names differ in case alone, and each such name once: as the
   first of those that nobody knows. `conflict` is of what has no common type. #}
{% macro _spelt_as(known, seen, conflict='variant') %}
    {%- if seen.startswith('array<') -%}
        {{ return('array<' ~ floodmark._spelt_as(known[6:-1] if known.startswith('array<') else 'struct<>', seen[6:-1],
            conflict) ~ '>') }}
    {%- elif not seen.startswith('struct<') -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- set own_types, types, names = floodmark._types_of(known if known.startswith('struct<') else 'struct<>'), {},
        {} -%}
    {%- for name in own_types -%}
        {%- do names.update({name | lower: name}) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- set name = names.setdefault(field.name | lower, field.name) -%}
        {%- set own = own_types.get(name, 'struct<>') -%}
        {%- set type = floodmark._spelt_as(own, field.type, conflict) -%}
        {%- do types.update({name: floodmark._spelt_as(own, floodmark._merged_types(types[name], type, conflict),
            conflict) if name in types else type}) -%}
    {%- endfor -%}
    {%- set fields = [] -%}
    {%- for name, type in types.items() -%}
        {%- do fields.append({'name': name, 'type': type}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# A type in which of fields that differ in case alone one is left: the one that a hint spells, else the first. #}
{% macro _without_case_twins(type, hints=[]) %}
    {%- if type.startswith('array<') -%}
        {{ return('array<' ~ floodmark._without_case_twins(type[6:-1]) ~ '>') }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(type) }}
    {%- endif -%}
    {%- set spelt = hints | map(attribute='path') | map('first') | list -%}
    {%- set kept = {} -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- if field.name | lower not in kept or field.name in spelt -%}
            {%- do kept.update({field.name | lower: {'name': field.name,
                'type': floodmark._without_case_twins(field.type)}}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(kept.values())) }}
{% endmacro %}
