{#
  A SELECT has each column once: Delta tells no two apart that differ in case alone. One check for every strategy
  and for streams.
#}

{# Problems of names that come more than once: a list for _refuse. #}
{% macro _doubled_problems(names, setting='SELECT') %}
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


{% macro _check_doubled(names) %}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- set setting = strategy if strategy in ['cdc', 'snapshot_diff'] else 'SELECT' -%}
    {%- set problems = floodmark._doubled_problems(names, setting) -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems, rejects=problems[0].got) -%}
    {%- endif -%}
{% endmacro %}
