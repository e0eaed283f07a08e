{# What people write on the command line, checked before anything runs: arguments of operations, and variables. #}

{# Refuse an operation with arguments of another type than its entry has. `given` is {name: [value, kind]}, of
   _argument_kinds. Nothing that passes as a number or a flag can be other SQL. #}
{% macro _check_arguments(operation, given) %}
    {%- set problems = [] -%}
    {%- for name, argument in given.items() -%}
        {%- do problems.extend(floodmark._argument_problems(name, argument[0], argument[1])) -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems, "operation '" ~ operation ~ "'") -%}
{% endmacro %}


{# What each kind of argument is expected to be. #}
{% macro _argument_kinds() %}
    {{ return({
        'name': 'text',
        'text': 'text',
        'names': 'a name or a list of names',
        'value': 'a time, a number or text',
        'flag': 'true or false',
        'count': 'a whole number of at least 0',
        'some': 'a whole number of at least 1',
        'size': 'a number above 0',
    }) }}
{% endmacro %}


{# The problem of one argument: a list for _refuse. #}
{% macro _argument_problems(name, value, kind) %}
    {%- if floodmark._is_argument(value, kind) -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set wants_bare = kind in ['flag', 'count', 'some', 'size'] -%}
    {%- set problem = {'setting': name, 'expected': floodmark._argument_kinds()[kind],
        'todo': 'Write it without quotes' if wants_bare and value is string
            else 'Correct it' ~ ('' if kind == 'name' else ', or leave it out')} -%}
    {%- if value is not undefined -%}
        {%- set is_plain = value is none or value is boolean or value is number or value is sequence -%}
        {%- do problem.update({'got': value if is_plain else value | string}) -%}
    {%- endif -%}
    {{ return([problem]) }}
{% endmacro %}


{% macro _is_argument(value, kind) %}
    {%- if value is undefined or kind == 'name' -%}
        {{ return(value is string and value | trim | length > 0) }}
    {%- elif value is none -%}
        {{ return(kind in ['text', 'names', 'value']) }}
    {%- elif kind == 'text' -%}
        {{ return(value is string or value is number and value is not boolean) }}
    {%- elif kind == 'value' -%}
        {{ return(value is not boolean and value is not mapping and (value is string or value is not sequence)) }}
    {%- elif kind == 'names' -%}
        {%- set is_list = value is sequence and value is not mapping -%}
        {{ return(value is string or is_list and value | select('string') | list | length == value | length) }}
    {%- elif kind == 'flag' -%}
        {{ return(value is boolean) }}
    {%- elif kind == 'size' -%}
        {{ return(value is number and value is not boolean and value > 0) }}
    {%- endif -%}
    {{ return(value is integer and value >= (1 if kind == 'some' else 0)) }}
{% endmacro %}


{# Problems of the variables that floodmark reads: a list for _refuse. #}
{% macro _variable_problems() %}
    {%- set problems = [] -%}
    {%- for name, known in {'floodmark_backfill': ['from', 'to', 'step'], 'floodmark_restate': ['from']}.items() -%}
        {%- do problems.extend(floodmark._range_problems(name, var(name, none), known)) -%}
    {%- endfor -%}
    {%- set replay = var('floodmark_replay', none) -%}
    {%- if replay is mapping and replay.get('set') is mapping -%}
        {%- do problems.extend(floodmark._set_problems('floodmark_replay.set', replay.set)) -%}
        {%- set replay = dict(replay, set=none) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._range_problems('floodmark_replay', replay, ['rule', 'where', 'set'])
        if replay is not sameas true else []) -%}
    {%- set bytes = var('floodmark_key_filter_bytes', 0) -%}
    {%- if not floodmark._is_argument(bytes, 'count') -%}
        {%- do problems.append({'setting': 'floodmark_key_filter_bytes', 'got': bytes,
            'expected': 'a whole number of bytes',
            'todo': 'Leave it out for 16 MiB'}) -%}
    {%- endif -%}
    {%- if var('floodmark_bounds', none) not in [none, 'passed'] -%}
        {%- do problems.append({'setting': 'floodmark_bounds', 'got': var('floodmark_bounds'),
            'expected': "'passed'",
            'todo': 'Leave it out: floodmark reconcile sets it'}) -%}
    {%- endif -%}
    {%- if var('floodmark_plan', false) is not boolean -%}
        {%- do problems.append({'setting': 'floodmark_plan', 'got': var('floodmark_plan'),
            'expected': 'true or false',
            'todo': 'Leave it out: floodmark plan sets it'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of what a replay is to give to columns, {column: SQL expression}: a list for _refuse. YAML reads `true` as a
   flag, and `null` as none: they are the SQL that they look like. #}
{% macro _set_problems(name, set) %}
    {%- set problems = [] -%}
    {%- for column, value in set.items() if value is not boolean -%}
        {%- do problems.extend(floodmark._argument_problems(name ~ '.' ~ column, value, 'value')) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of a variable that is a range: a mapping with some of these keys, each a value. #}
{% macro _range_problems(name, range, known) %}
    {%- set expected = 'a mapping such as {' ~ known | join(': ..., ') ~ ': ...}' -%}
    {%- if range is none -%}
        {{ return([]) }}
    {%- elif range is not mapping or not range -%}
        {{ return([{'setting': name, 'got': range,
            'expected': expected,
            'todo': "Write it as one, such as --vars '{" ~ name ~ ': {' ~ known | join(': ..., ') ~ ": ...}}'"}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- for key, value in range.items() -%}
        {%- if key not in known -%}
            {%- do problems.append({'setting': name ~ '.' ~ key,
                'expected': 'one of ' ~ known | join(', '),
                'todo': 'Remove it or correct its name'}) -%}
        {%- else -%}
            {%- do problems.extend(floodmark._argument_problems(name ~ '.' ~ key, value, 'value')) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}
