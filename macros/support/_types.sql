{#
  Types as DDL text, in which a field's name stands in backticks where it is not [A-Za-z_][A-Za-z0-9_]* (_columns_of
  reads them so): their parts, whether two agree, and what a cast from one to the other does to values.
#}

{# A type in Spark's JSON (DESCRIBE ... AS JSON) as DDL text. #}
{% macro _type_ddl(type) %}
    {%- if type.name == 'struct' -%}
        {%- set fields = [] -%}
        {%- for field in type.fields -%}
            {%- do fields.append(floodmark._quoted_field(field.name) ~ ':' ~ floodmark._type_ddl(field.type)) -%}
        {%- endfor -%}
        {{ return('struct<' ~ fields | join(',') ~ '>') }}
    {%- elif type.name == 'array' -%}
        {{ return('array<' ~ floodmark._type_ddl(type.element_type) ~ '>') }}
    {%- elif type.name == 'map' -%}
        {{ return('map<' ~ floodmark._type_ddl(type.key_type) ~ ',' ~ floodmark._type_ddl(type.value_type) ~ '>') }}
    {%- elif type.name == 'decimal' -%}
        {{ return('decimal(' ~ type.precision ~ ',' ~ type.scale ~ ')') }}
    {%- elif type.name in ['char', 'varchar'] -%}
        {{ return(type.name ~ '(' ~ type.length ~ ')') }}
    {%- elif type.name == 'interval' -%}
        {{ return('interval ' ~ type.start_unit ~ (' to ' ~ type.end_unit if type.end_unit != type.start_unit
            else '')) }}
    {%- elif type.name == 'string' and type.collation | default('UTF8_BINARY') != 'UTF8_BINARY' -%}
        {{ return('string collate ' ~ type.collation) }}
    {%- endif -%}
    {{ return({'timestamp_ltz': 'timestamp'}.get(type.name, type.name)) }}
{% endmacro %}


{# What stands between the commas of a type's brackets: a list of texts. A comma in the text of a comment parts
   nothing. #}
{% macro _type_parts(text) %}
    {%- set parts = [] -%}
    {%- set ns = namespace(depth=0, part='') -%}
    {%- for token in modules.re.findall('`(?:[^`]|``)*`|\'(?:[^\'\\\\]|\\\\.)*\''
        '|"(?:[^"\\\\]|\\\\.)*"|[<>(),]|[^`\'"<>(),]+|[\'"]', text) -%}
        {%- set ns.depth = ns.depth + {'<': 1, '(': 1, '>': -1, ')': -1}.get(token, 0) -%}
        {%- if token == ',' and ns.depth == 0 -%}
            {%- do parts.append(ns.part) -%}
            {%- set ns.part = '' -%}
        {%- else -%}
            {%- set ns.part = ns.part ~ token -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts + [ns.part] if text else []) }}
{% endmacro %}


{# The fields of a struct type: a list of {name, type}. #}
{% macro _struct_fields(type) %}
    {%- set fields = [] -%}
    {%- for part in floodmark._type_parts(type[7:-1]) -%}
        {%- set named = modules.re.fullmatch('(`(?:[^`]|``)*`|[^:`]*):(.*)', part | trim, flags=modules.re.S) -%}
        {%- set name = named.group(1) -%}
        {%- do fields.append({'name': name[1:-1] | replace('``', '`') if name.startswith('`') else name,
            'type': named.group(2)}) -%}
    {%- endfor -%}
    {{ return(fields) }}
{% endmacro %}


{# The types of a map: [key, value]. #}
{% macro _map_types(type) %}
    {{ return(floodmark._type_parts(type[4:-1]) | map('trim') | list) }}
{% endmacro %}


{% macro _map_value_type(type) %}
    {{ return(floodmark._map_types(type)[1]) }}
{% endmacro %}


{# A field's name within a struct. One that begins with a digit may read as a number: `2024`, `1e5`, `5L`. #}
{% macro _quoted_field(name) %}
    {{ return(name if modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name) else floodmark._quoted(name)) }}
{% endmacro %}


{# struct, array or map; none of a type that is no such. #}
{% macro _nesting(type) %}
    {{ return((modules.re.match('(struct|array|map)<', type) or [none, none])[1]) }}
{% endmacro %}


{# A type without the names of its fields, so that a name is not taken for a type. #}
{% macro _without_names(type) %}
    {{ return(modules.re.sub('`(?:[^`]|``)*`:|[A-Za-z0-9_]+:', '', type)) }}
{% endmacro %}


{# A type without the lengths of texts: of a table varchar(n) prints as such, of a query as string. #}
{% macro _plain_type(type) %}
    {{ return(modules.re.sub('\\b(var)?char\\(\\d+\\)', 'string', type)) }}
{% endmacro %}


{# Whether values of a type cannot be put in order. #}
{% macro _has_no_order(type) %}
    {{ return(floodmark._has_no_groups(type)
        or modules.re.search('\\bmap<|\\bvoid\\b', floodmark._without_names(type)) is not none) }}
{% endmacro %}


{# Whether values of a type cannot be grouped. Maps can, and what has no type yet. #}
{% macro _has_no_groups(type) %}
    {{ return(modules.re.search('\\b(variant|geometry|geography)\\b|\\binterval$',
        floodmark._without_names(type)) is not none) }}
{% endmacro %}


{# Whether a type says nothing of its values yet, as that of `null as n` and of `array()`. #}
{% macro _is_untyped(type) %}
    {{ return(modules.re.search('\\bvoid\\b', floodmark._without_names(type | lower)) is not none) }}
{% endmacro %}


{# A type without what is untyped: without such fields, none where nothing is left. #}
{% macro _typed_part(type) %}
    {%- if not floodmark._is_untyped(type) -%}
        {{ return(type) }}
    {%- elif type.startswith('array<') -%}
        {%- set element = floodmark._typed_part(type[6:-1]) -%}
        {{ return('array<' ~ element ~ '>' if element is not none else none) }}
    {%- elif type.startswith('map<') -%}
        {%- set key, value = floodmark._map_types(type) -%}
        {%- set typed = floodmark._typed_part(value) if not floodmark._is_untyped(key) -%}
        {{ return('map<' ~ key ~ ',' ~ typed ~ '>' if typed else none) }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- set typed = floodmark._typed_part(field.type) -%}
        {%- if typed is not none -%}
            {%- do fields.append(floodmark._quoted_field(field.name) ~ ':' ~ typed) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('struct<' ~ fields | join(',') ~ '>' if fields else none) }}
{% endmacro %}


{# The words of a type, sorted: two types with the same ones differ in the order of their fields alone. #}
{% macro _type_words(type) %}
    {{ return(modules.re.findall('`(?:[^`]|``)*`|[^<>,:`]+', type | lower) | sort) }}
{% endmacro %}


{# A problem for _refuse where a column is not of the type that the model's table has: a list. #}
{% macro _type_problems(setting, name, type, known) %}
    {%- if known and floodmark._plain_type(known.type) == floodmark._plain_type(type) -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': setting, 'got': name ~ ' ' ~ type,
        'expected': known.type ~ ', as in ' ~ this if known else 'a column of ' ~ this,
        'todo': 'Cast it in the SELECT, or run once with --full-refresh'}]) }}
{% endmacro %}


{# A struct as DDL text, of a list of {name, type}. #}
{% macro _struct_of(fields) %}
    {%- set parts = [] -%}
    {%- for field in fields -%}
        {%- do parts.append(floodmark._quoted_field(field.name) ~ ':' ~ field.type) -%}
    {%- endfor -%}
    {{ return('struct<' ~ parts | join(',') ~ '>') }}
{% endmacro %}


{# Columns as people write them, of a list of {name, type}; `ddl` counts before `type`. With `is_plain`, texts of any
   length. #}
{% macro _as_ddl(fields, is_plain=false) %}
    {%- set parts = [] -%}
    {%- for field in fields -%}
        {%- set type = field.ddl or field.type -%}
        {%- do parts.append(floodmark._quoted(field.name) ~ ' '
            ~ (floodmark._plain_type(type) if is_plain else type)) -%}
    {%- endfor -%}
    {{ return(parts | join(', ')) }}
{% endmacro %}


{# A name as it is, of one that stands in backticks or not. #}
{% macro _unquoted(name) %}
    {{ return(name[1:-1] | replace('``', '`') if name.startswith('`') else name) }}
{% endmacro %}


{# The types of a struct's fields: {name: type}. #}
{% macro _types_of(record) %}
    {%- set types = {} -%}
    {%- for field in floodmark._struct_fields(record) -%}
        {%- do types.update({field.name: field.type}) -%}
    {%- endfor -%}
    {{ return(types) }}
{% endmacro %}


{# A struct as DDL text, of columns that _columns_of found. Names of nested fields keep their case. #}
{% macro _struct_of_columns(columns) %}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append({'name': column.name, 'type': column.ddl}) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# Precision and scale of an exact number; none of any other type. Delta gives an integer ten digits, a long twenty. #}
{% macro _digits(type) %}
    {%- set found = modules.re.fullmatch('decimal\\((\\d+),(\\d+)\\)', type) -%}
    {%- if found -%}
        {{ return([found.group(1) | int, found.group(2) | int]) }}
    {%- endif -%}
    {{ return({'tinyint': [10, 0], 'smallint': [10, 0], 'int': [10, 0], 'bigint': [20, 0]}.get(type)) }}
{% endmacro %}


{# The decimal that takes all numbers of these digits, each [precision, scale]; none where there is none. #}
{% macro _decimal_of(digits) %}
    {%- set ns = namespace(whole=0, scale=0) -%}
    {%- for precision, scale in digits -%}
        {%- set ns.whole = [ns.whole, precision - scale] | max -%}
        {%- set ns.scale = [ns.scale, scale] | max -%}
    {%- endfor -%}
    {{ return('decimal(' ~ (ns.whole + ns.scale) ~ ',' ~ ns.scale ~ ')' if ns.whole + ns.scale <= 38 else none) }}
{% endmacro %}
