{#
  A SELECT has each column once, and a struct each field: Delta tells no two apart that differ in case alone. One check
  for every strategy and for streams.
#}

{# Problems of columns, and of fields within them, that come more than once: a list for _refuse. Where columns do, the
   exact types of none are known; of columns of our own, and before a stream begins, they are not either. #}
{% macro _doubled_problems(columns, setting='SELECT') %}
    {%- set problems = floodmark._doubled_names(columns | map(attribute='name') | list, setting) -%}
    {%- if problems -%}
        {{ return(problems) }}
    {%- endif -%}
    {%- for column in columns if column.ddl is defined and 'struct<' in column.ddl -%}
        {%- do problems.extend(floodmark._doubled_fields(column.name, column.ddl, setting)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of fields within a type; `name` is that of what has the type. #}
{% macro _doubled_fields(name, type, setting) %}
    {%- set nesting, inner = floodmark._nesting(type), [] -%}
    {%- if nesting is none -%}
        {{ return([]) }}
    {%- elif nesting == 'array' -%}
        {%- do inner.append({'name': name ~ '.element', 'type': type[6:-1]}) -%}
    {%- elif nesting == 'map' -%}
        {%- for part in floodmark._map_types(type) -%}
            {%- do inner.append({'name': name ~ '.' ~ ['key', 'value'][loop.index0], 'type': part}) -%}
        {%- endfor -%}
    {%- else -%}
        {%- for field in floodmark._struct_fields(type) -%}
            {%- do inner.append(dict(field, name=name ~ '.' ~ field.name)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set problems = floodmark._doubled_names(inner | map(attribute='name') | list, setting) -%}
    {%- for field in inner -%}
        {%- do problems.extend(floodmark._doubled_fields(field.name, field.type, setting)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{% macro _doubled_names(names, setting) %}
    {%- set spellings = {} -%}
    {%- for name in names -%}
        {%- do spellings.setdefault(name | lower, []).append(name) -%}
    {%- endfor -%}
    {%- set problems = [] -%}
    {%- for name, written in spellings.items() if written | length > 1 -%}
        {%- set cased = written | unique(case_sensitive=true) | list -%}
        {%- set spelled = ', as ' ~ cased | join(' and ') if cased | length > 1 else '' -%}
        {%- do problems.append({'setting': setting, 'got': 'a column ' ~ name ~ ' twice in the SELECT' ~ spelled,
            'expected': 'each column once',
            'todo': 'Give one another name' ~ (': names that differ only in case are the same' if spelled else '')}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{% macro _check_doubled(columns) %}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- set setting = strategy if strategy in ['cdc', 'snapshot_diff'] else 'SELECT' -%}
    {%- set problems = floodmark._doubled_problems(columns, setting) -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems, rejects=problems[0].got) -%}
    {%- endif -%}
{% endmacro %}
