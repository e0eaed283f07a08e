{#
  Settings are declared: `_watermark_schema()` and its like give a row for each key, {name: row}. A row has
  - `type`: one of _schema_types, which says what a value must be; what is `any` has a check of its own;
  - `is_dbts`: true for a setting of dbt's, which stands in the config alone and not in `meta`;
  - `required`: true where there must be one, which is not empty;
  - `default`: the value where none is given; `without`: what holds then, in words, where no value says it;
  - `choices`: what a `choice` may be;
  - `excludes`: a key that must not be given beside it;
  - `needs`: [key, value, why], where it goes with one value of another key alone;
  - `expected`, `todo`: words of its own, where those of its type do not do;
  - `meaning`: a sentence for docs/reference/settings.md, whose tables are made from these rows.
  The checks, the defaults and the page come from it. A new setting is a row, its use and its test.
#}

{# What a value of each type must be, and what to do where it is not. #}
{% macro _schema_types() %}
    {{ return({
        'any': {},
        'column': {'expected': 'a column', 'todo': 'Write its name'},
        'column_or_false': {'expected': 'a name, or false', 'todo': 'Write one of them'},
        'text': {'expected': 'text', 'todo': 'Put it in quotes'},
        'names': {'expected': 'a list of columns', 'todo': 'Write their names'},
        'names_or_none': {'expected': 'a list of columns, or []', 'todo': 'Write their names'},
        'choice': {'todo': 'Use one of them'},
        'choice_or_false': {'todo': 'Use one of them'},
        'flag': {'expected': 'true or false', 'todo': 'Write it without quotes'},
        'flag_or_names': {'expected': 'true, false or a list of columns', 'todo': 'Use one of them'},
        'count': {'expected': 'a whole number of at least 1'},
        'whole': {'expected': 'a whole number of at least 0', 'todo': 'Correct the number'},
        'fraction': {'expected': 'a number from 0 to 1'},
        'bytes': {'expected': "a number of bytes, or text such as '512 mb'", 'todo': 'Write one of them'},
        'mapping': {'todo': 'Write it as a mapping'},
        'duration': {'expected': "a duration such as '30 days'",
            'todo': 'Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks'},
        'distance': {'expected': 'a duration or a whole number'},
    }) }}
{% endmacro %}


{# Whether a value is of a row's type; distances have a check of their own (_distance_problems). #}
{% macro _is_of_type(value, row) %}
    {%- if row.type == 'column' -%}
        {{ return(value is string and value | length > 0) }}
    {%- elif row.type == 'column_or_false' -%}
        {{ return(value is string and value | length > 0 or value is boolean and not value) }}
    {%- elif row.type == 'text' -%}
        {{ return(value is string and value | trim | length > 0) }}
    {%- elif row.type == 'names' -%}
        {{ return(floodmark._is_names(value)) }}
    {%- elif row.type == 'names_or_none' -%}
        {{ return(value == [] or floodmark._is_names(value)) }}
    {%- elif row.type == 'choice' -%}
        {{ return(value in row.choices or value is number and value is not boolean and value | string in row.choices) }}
    {%- elif row.type == 'choice_or_false' -%}
        {{ return(value in row.choices or value == false) }}
    {%- elif row.type == 'flag' -%}
        {{ return(value is boolean) }}
    {%- elif row.type == 'flag_or_names' -%}
        {{ return(value is boolean or floodmark._is_names(value)) }}
    {%- elif row.type == 'count' -%}
        {{ return(value is number and value is not boolean and value >= 1 and value == value | int) }}
    {%- elif row.type == 'whole' -%}
        {{ return(value is number and value is not boolean and value >= 0 and value == value | int) }}
    {%- elif row.type == 'fraction' -%}
        {{ return(value is number and value is not boolean and 0 <= value <= 1) }}
    {%- elif row.type == 'bytes' -%}
        {{ return(floodmark._bytes(value)) }}
    {%- elif row.type == 'mapping' -%}
        {{ return(value is mapping) }}
    {%- elif row.type == 'duration' -%}
        {{ return(floodmark._parse_duration(value) is not none) }}
    {%- endif -%}
    {{ return(true) }}
{% endmacro %}


{# What is said of a value that is not of its row's type. #}
{% macro _type_problem(setting, value, row) %}
    {%- set words = floodmark._schema_types()[row.type] -%}
    {{ return({'setting': setting, 'got': value,
        'expected': row.expected or words.expected or 'one of ' ~ row.choices | join(', '),
        'todo': row.todo or words.todo}) }}
{% endmacro %}


{# Problems of the keys of one setting, each by itself and beside the others: a list for _refuse. #}
{% macro _schema_problems(setting, given, schema) %}
    {%- set problems = [] -%}
    {%- for key in given if key not in schema -%}
        {%- do problems.append({'setting': setting ~ '.' ~ key, 'got': given[key],
            'expected': 'one of ' ~ schema | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- for key, row in schema.items() -%}
        {%- set value = given.get(key) -%}
        {%- if row.get('required') and not value or value is not none and not floodmark._is_of_type(value, row) -%}
            {%- do problems.append(floodmark._type_problem(setting ~ '.' ~ key, value, row)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for key, row in schema.items() if given.get(key) -%}
        {%- if row.excludes and given.get(row.excludes) -%}
            {%- do problems.append({'setting': setting ~ '.' ~ key, 'got': given[key],
                'expected': key ~ ' or ' ~ row.excludes ~ ', not both', 'todo': 'Remove one'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for key, row in schema.items() if row.needs and given.get(key) is not none -%}
        {%- set other, wanted, why = row.needs -%}
        {%- set value = given.get(other, schema[other].default) | string -%}
        {%- if value != wanted and value in schema[other].choices -%}
            {%- do problems.append({'setting': setting ~ '.' ~ key, 'got': given[key],
                'expected': other ~ ' ' ~ wanted ~ ' with it', 'todo': 'Remove it: ' ~ why}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# What is given, with the defaults of what is not: a value for each key of the schema, none where it has no default.
   A whole number may be written as 1e3. #}
{% macro _with_defaults(given, schema) %}
    {%- set settings = {} -%}
    {%- for key, row in schema.items() -%}
        {%- set value = given[key] if given.get(key) is not none else row.get('default') -%}
        {%- do settings.update({key: value | int if value is number and row.type in ['count', 'whole'] else value}) -%}
    {%- endfor -%}
    {{ return(settings) }}
{% endmacro %}
