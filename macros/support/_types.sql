{# Types as DESCRIBE prints them: those of nested columns, and whether two agree. #}

{# A type without the lengths of texts: of a table varchar(n) prints as such, of a query as string. #}
{% macro _plain_type(type) %}
    {{ return(modules.re.sub('\\b(var)?char\\(\\d+\\)', 'string', type)) }}
{% endmacro %}


{# Whether Spark has a cast from one type to another that can succeed (its ANSI rules, which try_cast follows); types that are not named here are left to it. #}
{% macro _is_castable(given, wanted) %}
    {%- set families = {'number': '(tinyint|smallint|int|bigint|float|double|decimal\\(.*\\))', 'boolean': 'boolean', 'date': 'date', 'timestamp': 'timestamp', 'ntz': 'timestamp_ntz', 'binary': 'binary',
        'array': 'array<.*', 'map': 'map<.*', 'struct': 'struct<.*'} -%}
    {%- set kinds = [] -%}
    {%- for type in [given, wanted] -%}
        {%- for name, pattern in families.items() if modules.re.fullmatch(pattern, type | lower, flags=modules.re.S) -%}
            {%- do kinds.append(name) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(kinds | length < 2 or kinds[0] == kinds[1] or kinds in [['number', 'boolean'], ['boolean', 'number'], ['number', 'timestamp'], ['timestamp', 'number'],
        ['date', 'timestamp'], ['timestamp', 'date'], ['date', 'ntz'], ['ntz', 'date'], ['timestamp', 'ntz'], ['ntz', 'timestamp']]) }}
{% endmacro %}


{# The fields of a struct type as DESCRIBE prints it: a list of {name, type}. #}
{% macro _struct_fields(type) %}
    {%- set fields = [] -%}
    {%- set ns = namespace(depth=0, quoted=false, part='') -%}
    {%- for letter in type[7:-1] ~ ',' -%}
        {%- if letter == '`' -%}
            {%- set ns.quoted = not ns.quoted -%}
        {%- endif -%}
        {%- if not ns.quoted and letter in '<(' -%}
            {%- set ns.depth = ns.depth + 1 -%}
        {%- elif not ns.quoted and letter in '>)' -%}
            {%- set ns.depth = ns.depth - 1 -%}
        {%- endif -%}
        {%- if letter == ',' and ns.depth == 0 and not ns.quoted -%}
            {%- set named = modules.re.fullmatch('(`(?:[^`]|``)*`|[^:]*):(.*)', ns.part) -%}
            {%- set name = named.group(1) -%}
            {%- do fields.append({'name': name[1:-1] | replace('``', '`') if name.startswith('`') else name, 'type': named.group(2)}) -%}
            {%- set ns.part = '' -%}
        {%- else -%}
            {%- set ns.part = ns.part ~ letter -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# The type of a map's values, as DESCRIBE prints the map: what follows the comma outside of brackets. #}
{% macro _map_value_type(type) %}
    {%- set ns = namespace(depth=0, quoted=false, at=none) -%}
    {%- for letter in type[4:-1] -%}
        {%- if letter == '`' -%}
            {%- set ns.quoted = not ns.quoted -%}
        {%- elif not ns.quoted -%}
            {%- set ns.depth = ns.depth + (1 if letter in '<(' else -1 if letter in '>)' else 0) -%}
            {%- set ns.at = loop.index if letter == ',' and ns.depth == 0 and ns.at is none else ns.at -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(type[4 + ns.at:-1]) }}
{% endmacro %}


{# A field's name as DESCRIBE prints it within a struct. #}
{% macro _quoted_field(name) %}
    {{ return(name if modules.re.fullmatch('[A-Za-z0-9_]+', name) else floodmark._quoted(name)) }}
{% endmacro %}


{# The words of a type, sorted: two types with the same ones differ in the order of their fields alone. #}
{% macro _type_words(type) %}
    {{ return(modules.re.split('[<>,:]', type | lower) | sort) }}
{% endmacro %}


{# A problem for _refuse where a column is not of the type that the model's table has: a list. #}
{% macro _type_problems(setting, name, type, known) %}
    {%- if known and floodmark._plain_type(known.type) == floodmark._plain_type(type) -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': setting, 'got': name ~ ' ' ~ type, 'expected': known.type ~ ', as in ' ~ this if known else 'a column of ' ~ this,
        'todo': 'Cast it in the SELECT, or run once with --full-refresh'}]) }}
{% endmacro %}
