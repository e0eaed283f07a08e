{#
  What a cast does to a value. One that keeps every value goes as it is; one that may change a value is checked value by value: a value that
  would lose digits, a time of day or precision stops the batch.
#}

{# The kind of a flat type: {family, whole, scale}, `whole` the digits before the point, `scale` those behind it, of numbers that have such. #}
{% macro _type_kind(type) %}
    {%- set name = floodmark._plain_type(type | lower) -%}
    {%- set whole = {'tinyint': 3, 'smallint': 5, 'int': 10, 'bigint': 19}.get(name) -%}
    {%- set decimal = modules.re.fullmatch('decimal\\((\\d+), ?(\\d+)\\)', name) -%}
    {%- if whole -%}
        {{ return({'family': 'integer', 'whole': whole, 'scale': 0}) }}
    {%- elif decimal -%}
        {{ return({'family': 'decimal', 'whole': decimal.group(1) | int - decimal.group(2) | int, 'scale': decimal.group(2) | int}) }}
    {%- endif -%}
    {%- set family = 'string' if name.startswith('string') else (modules.re.match('\\w+', name) or ['other'])[0] -%}
    {{ return({'family': family, 'whole': none, 'scale': none}) }}
{% endmacro %}


{# What becomes of values of one flat type in another: `keeps`, `checks` (it depends on the value), or `impossible`. Integers have at most 15 digits that
   a double keeps, and 6 that a float does. #}
{% macro _cast_effect(given, wanted) %}
    {%- set from, to = floodmark._type_kind(given), floodmark._type_kind(wanted) -%}
    {%- set pair = from.family ~ ' ' ~ to.family -%}
    {%- if from.whole is not none and to.whole is not none -%}
        {%- set fits = to.scale >= from.scale and to.whole >= from.whole -%}
        {{ return('keeps' if fits else 'checks') }}
    {%- elif from.whole is not none and to.family in ['float', 'double'] -%}
        {{ return('keeps' if from.whole + from.scale <= (6 if to.family == 'float' else 15) else 'checks') }}
    {%- elif pair in ['float double', 'date timestamp', 'date timestamp_ntz', 'timestamp timestamp_ntz', 'timestamp_ntz timestamp'] or from.family in ['string', 'void'] and to.family == 'string' -%}
        {{ return('keeps') }}
    {%- elif from.family == 'void' -%}
        {{ return('keeps') }}
    {%- elif to.family == 'string' and from.family not in ['binary', 'struct', 'array', 'map', 'variant', 'other'] -%}
        {{ return('keeps') }}
    {%- endif -%}
    {{ return('checks' if floodmark._is_castable(given, wanted) else 'impossible') }}
{% endmacro %}


{# Whether Spark has a cast from one type to another that can succeed (its ANSI rules, which try_cast follows); types that are not named here are left to it. #}
{% macro _is_castable(given, wanted) %}
    {%- set families = {'integer': 'number', 'decimal': 'number', 'float': 'number', 'double': 'number'} -%}
    {%- set known = ['number', 'boolean', 'date', 'timestamp', 'timestamp_ntz', 'binary', 'array', 'map', 'struct'] -%}
    {%- set kinds = [] -%}
    {%- for type in [given, wanted] -%}
        {%- set family = floodmark._type_kind(type).family -%}
        {%- do kinds.append(families.get(family, family)) -%}
    {%- endfor -%}
    {{ return(kinds | reject('in', known) | list != [] or kinds[0] == kinds[1] or kinds | sort in [['boolean', 'number'], ['number', 'timestamp'], ['date', 'timestamp'],
        ['date', 'timestamp_ntz'], ['timestamp', 'timestamp_ntz']]) }}
{% endmacro %}


{# A flat value as SQL of another type. One that would not come back as it was stops the batch: without ANSI mode, as dbt-spark has it, a cast that
   fails is a NULL. `label` is what the message calls it. #}
{% macro _cast_sql(value, given, wanted, label) %}
    {%- set wanted = floodmark._plain_type(wanted) -%}
    {%- set cast = 'try_cast(' ~ value ~ ' as ' ~ wanted ~ ')' -%}
    {%- if floodmark._plain_type(given | lower) == wanted | lower -%}
        {{ return(value) }}
    {%- elif floodmark._cast_effect(given, wanted) == 'keeps' -%}
        {{ return(cast) }}
    {%- endif -%}
    {%- set holds = floodmark._cast_holds_sql(value, cast, given, wanted) -%}
    {{ return('case when ' ~ value ~ ' is null or ' ~ holds ~ ' then ' ~ cast ~ ' else raise_error(concat('
        ~ floodmark._string_literal('`' ~ label ~ '` is ' ~ wanted ~ ' in the table and cannot be: ') ~ ', cast(' ~ value ~ " as string), "
        ~ floodmark._string_literal('. It is ' ~ given | lower ~ ' in the SELECT of ' ~ this ~ ', and would change: cast it there, or run once with --full-refresh') ~ ')) end') }}
{% endmacro %}


{# Whether a value is the same in the other type: it comes back from there; of a text, what Spark would cut off it is looked at too. #}
{% macro _cast_holds_sql(value, cast, given, wanted) %}
    {%- set from, to = floodmark._type_kind(given).family, floodmark._type_kind(wanted).family -%}
    {%- if from == 'string' and to in ['decimal', 'date'] -%}
        {%- set whole = {'decimal': 'decimal(38,18)', 'date': 'timestamp_ntz'}[to] -%}
        {{ return(cast ~ ' = try_cast(' ~ value ~ ' as ' ~ whole ~ ')') }}
    {%- elif from in ['integer', 'decimal', 'float', 'double', 'boolean', 'timestamp', 'timestamp_ntz', 'binary'] -%}
        {#- equal NULL-safe: NaN comes back as NaN, and what has no cast comes back as NULL -#}
        {{ return('try_cast(' ~ cast ~ ' as ' ~ given ~ ') <=> ' ~ value) }}
    {%- endif -%}
    {{ return(cast ~ ' is not null') }}
{% endmacro %}
