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


{# A known record with the columns of hints that it lacks behind its own; the paths of these go into `added`. #}
{% macro _with_told(known, told, added) %}
    {%- set fields = floodmark._struct_fields(known) -%}
    {%- set new = [] -%}
    {%- for hint in told if floodmark._find_column(fields, hint.path[0]) is none -%}
        {%- do new.append(hint) -%}
    {%- endfor -%}
    {%- if not new -%}
        {{ return(known) }}
    {%- endif -%}
    {%- for field in floodmark._struct_fields(floodmark._hinted_record(none, new)) -%}
        {%- do fields.append(field) -%}
        {%- do added.append([field.name]) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# A known type with the fields that were seen besides, behind its own, at every depth. `path` leads to it; the paths
   of new ones go into `added`. What is in the values of maps is no column: it goes there with `names_all`. #}
{% macro _grown(known, seen, hints, path, added, exact=none, names_all=false) %}
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
    {%- set exact_types = floodmark._types_of(exact) if exact else {} -%}
    {%- for field in floodmark._struct_fields(known) -%}
        {%- set other = floodmark._struct_fields(seen) | selectattr('name', 'equalto', field.name) | list -%}
        {%- do names.append(field.name | lower) -%}
        {%- do fields.append({'name': field.name, 'type': floodmark._grown(field.type, other[0].type, hints,
            path + [field.name], added, exact_types[field.name] if exact else none, names_all) if other
            else field.type}) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(seen) if field.name | lower not in names -%}
        {%- do names.append(field.name | lower) -%}
        {%- set hinted = [] -%}
        {%- for hint in hints
            if hint.path[:path | length] == path and (hint.path[path | length] or '') | lower == field.name | lower -%}
            {%- do hinted.append({'path': hint.path[path | length:], 'type': hint.type}) -%}
        {%- endfor -%}
        {%- set field = dict(field, type=floodmark._without_case_twins(field.type)) -%}
        {%- set new = floodmark._struct_fields(floodmark._hinted_record(floodmark._struct_of([field]), hinted))[0] -%}
        {%- do fields.append(new) -%}
        {%- do added.append(path + [new.name]) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# What was seen, with its fields spelt as known ones whose names differ in case alone. #}
{% macro _spelt_as(known, seen) %}
    {%- if known.startswith('array<') and seen.startswith('array<') -%}
        {{ return('array<' ~ floodmark._spelt_as(known[6:-1], seen[6:-1]) ~ '>') }}
    {%- elif not (known.startswith('struct<') and seen.startswith('struct<')) -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- set types = {} -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- set own = floodmark._find_column(floodmark._struct_fields(known), field.name) -%}
        {%- set name = own.name if own else field.name -%}
        {%- set type = floodmark._spelt_as(own.type, field.type) if own else field.type -%}
        {%- do types.update({name: floodmark._merged_types(types[name], type) if name in types else type}) -%}
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
