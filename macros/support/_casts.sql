{#
  What a cast does to a value. One that keeps every value goes as it is; one that may change a value is checked value by
  value: a value that would lose digits, a time of day or precision stops the batch.
#}

{# The kind of a flat type: {family, whole, scale}, `whole` the digits before the point, `scale` those behind it, of
   numbers that have such. #}
{% macro _type_kind(type) %}
    {%- set name = floodmark._plain_type(type | lower) -%}
    {%- set whole = {'tinyint': 3, 'smallint': 5, 'int': 10, 'bigint': 19}.get(name) -%}
    {%- set decimal = modules.re.fullmatch('decimal\\((\\d+), ?(\\d+)\\)', name) -%}
    {%- if whole -%}
        {{ return({'family': 'integer', 'whole': whole, 'scale': 0}) }}
    {%- elif decimal -%}
        {{ return({'family': 'decimal', 'whole': decimal.group(1) | int - decimal.group(2) | int,
            'scale': decimal.group(2) | int}) }}
    {%- endif -%}
    {%- set family = 'string' if name.startswith('string') else (modules.re.match('\\w+', name) or ['other'])[0] -%}
    {{ return({'family': family, 'whole': none, 'scale': none}) }}
{% endmacro %}


{# What becomes of values of one flat type in another: `keeps`, `checks` (it depends on the value), or `impossible`.
   Integers have at most 15 digits that a double keeps, and 6 that a float does. #}
{% macro _cast_effect(given, wanted) %}
    {%- set from, to = floodmark._type_kind(given), floodmark._type_kind(wanted) -%}
    {%- set pair = from.family ~ ' ' ~ to.family -%}
    {%- if from.whole is not none and to.whole is not none -%}
        {#- an integer type holds some of the numbers with its digits, and all with fewer -#}
        {%- set holds = to.whole - (1 if from.family == 'decimal' and to.family == 'integer' else 0) -%}
        {%- set fits = to.scale >= from.scale and holds >= from.whole -%}
        {{ return('keeps' if fits else 'checks') }}
    {%- elif from.whole is not none and to.family in ['float', 'double'] -%}
        {{ return('keeps' if from.whole + from.scale <= (6 if to.family == 'float' else 15) else 'checks') }}
    {%- elif pair in ['float double', 'date timestamp', 'date timestamp_ntz'] or from.family == 'void'
        or pair == 'string string' -%}
        {{ return('keeps') }}
    {#- a moment within an hour that the clock shows twice, or never, is another one behind such a cast -#}
    {%- elif to.family == 'string'
        and from.family not in ['timestamp', 'binary', 'struct', 'array', 'map', 'variant', 'other'] -%}
        {{ return('keeps') }}
    {%- endif -%}
    {{ return('checks' if floodmark._is_castable(given, wanted) else 'impossible') }}
{% endmacro %}


{# Whether Spark has a cast from one type to another that can succeed (its ANSI rules, which try_cast follows) and keeps
   what is meant: a number is no moment, since nobody tells its unit. Types that are not named here are left to it. A
   nested value meets its own kind, and comes from a variant. #}
{% macro _is_castable(given, wanted) %}
    {%- set families = {'integer': 'number', 'decimal': 'number', 'float': 'number', 'double': 'number'} -%}
    {%- set known = ['number', 'boolean', 'date', 'timestamp', 'timestamp_ntz', 'binary'] -%}
    {%- set kinds = [] -%}
    {%- for type in [given, wanted] -%}
        {%- set family = floodmark._type_kind(type).family -%}
        {%- do kinds.append(families.get(family, family)) -%}
    {%- endfor -%}
    {%- set nested = ['array', 'map', 'struct'] -%}
    {%- if kinds[0] in nested or kinds[1] in nested -%}
        {{ return(kinds[0] == kinds[1] or kinds[0] == 'variant') }}
    {%- endif -%}
    {{ return(kinds | reject('in', known) | list != [] or kinds[0] == kinds[1]
        or kinds | sort in [['boolean', 'number'], ['date', 'timestamp'], ['date', 'timestamp_ntz'],
        ['timestamp', 'timestamp_ntz']]) }}
{% endmacro %}


{# A flat value as SQL of another type. One that would not come back as it was stops the batch: without ANSI mode, as
   dbt-spark has it, a cast that fails is a NULL. `label` is what the message calls it. #}
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
        ~ floodmark._string_literal('`' ~ label ~ '` is ' ~ wanted ~ ' in the table and cannot hold: ') ~ ', cast('
        ~ value ~ " as string), " ~ floodmark._string_literal('. It is ' ~ given | lower ~ ' in the SELECT of ' ~ this
        ~ ', and the value would change: cast it there, or run once with --full-refresh') ~ ')) end') }}
{% endmacro %}


{# A flat value as SQL of another type, NULL where it cannot be that. Spark refuses some casts, whatever the value. #}
{% macro _tried_cast_sql(value, given, wanted) %}
    {{ return('cast(null as ' ~ wanted ~ ')' if floodmark._cast_effect(given, wanted | lower) == 'impossible'
        else 'try_cast(' ~ value ~ ' as ' ~ wanted ~ ')') }}
{% endmacro %}


{# Whether a value is the same in the other type: it comes back from there, or is the text that it came as. #}
{% macro _cast_holds_sql(value, cast, given, wanted) %}
    {%- set from, to = floodmark._type_kind(given).family, floodmark._type_kind(wanted).family -%}
    {%- if from == 'variant' -%}
        {{ return(floodmark._variant_holds_sql(value, cast, wanted)) }}
    {%- elif from == 'string' -%}
        {{ return(floodmark._text_holds_sql(value, cast, to)) }}
    {%- elif from == 'date' or from not in floodmark._checked_families() + ['binary'] -%}
        {{ return(cast ~ ' is not null') }}
    {%- endif -%}
    {#- equal NULL-safe: NaN comes back as NaN, and what has no cast comes back as NULL -#}
    {%- set holds = 'try_cast(' ~ cast ~ ' as ' ~ given ~ ') <=> ' ~ value -%}
    {%- set pairs = {'integer float': cast, 'integer double': cast, 'float integer': value, 'double integer': value} -%}
    {%- set floating = pairs.get(from ~ ' ' ~ to) -%}
    {#- 2^63 is cast to the greatest bigint, which is cast to 2^63 -#}
    {{ return(holds ~ (' and not ' ~ floating ~ ' = 9223372036854775808D' if floating else '')) }}
{% endmacro %}


{# Whether a text says the same in another type. A number does if it keeps its digits. A text does not if Spark cuts
   something off: what is beyond microseconds, the time for a date, the zone for a type without one. Nor does it where
   Spark adds something: the day that `08:15` has not, the month of `2024`, an hour to a time that the clock leaves
   out. #}
{% macro _text_holds_sql(value, cast, family) %}
    {%- set cut = ' and not ' ~ value ~ " rlike ':[0-9]+[.][0-9]{6}[0-9]*[1-9]' and " ~ value ~ ' rlike '
        ~ floodmark._string_literal('^\\s*' ~ floodmark._text_pattern('timestamp')) -%}
    {%- if family == 'decimal' -%}
        {{ return(floodmark._digits_sql(value) ~ ' = ' ~ floodmark._digits_sql('cast(' ~ cast ~ ' as string)')) }}
    {%- elif family in ['float', 'double'] -%}
        {#- rounded too: of 2e23 Java prints 1.9999999999999998E23 -#}
        {%- set rounded = "printf('%." ~ (5 if family == 'float' else 14) ~ "e', " ~ cast ~ ')' -%}
        {{ return(cast ~ ' is not null and ' ~ floodmark._digits_sql(value) ~ ' in ('
            ~ floodmark._digits_sql('cast(' ~ cast ~ ' as string)') ~ ', ' ~ floodmark._digits_sql(rounded) ~ ')') }}
    {%- elif family == 'date' -%}
        {{ return(cast ~ ' = try_cast(' ~ value ~ ' as timestamp_ntz)' ~ cut) }}
    {%- elif family == 'timestamp_ntz' -%}
        {{ return('try_cast(' ~ cast ~ ' as timestamp) = try_cast(' ~ value ~ ' as timestamp)' ~ cut) }}
    {%- elif family == 'timestamp' -%}
        {#- without an offset it is a time of the session's clock, which leaves some out -#}
        {%- set local = floodmark._string_literal('^\\s*' ~ floodmark._text_pattern('timestamp')
            ~ '[T ][\\d:.]+\\s*$') -%}
        {{ return(cast ~ ' is not null' ~ cut ~ ' and (not ' ~ value ~ ' rlike ' ~ local ~ ' or try_cast(' ~ cast
            ~ ' as timestamp_ntz) = try_cast(' ~ value ~ ' as timestamp_ntz))') }}
    {%- endif -%}
    {{ return(cast ~ ' is not null') }}
{% endmacro %}


{# A pattern of the texts that are values of a type; none where the cast alone tells. #}
{% macro _text_pattern(type) %}
    {%- set day = '\\d{4}-\\d{1,2}-\\d{1,2}' -%}
    {%- if type in ['tinyint', 'smallint', 'int', 'bigint'] -%}
        {{ return('[-+]?\\d+\\s*$') }}
    {%- elif type in ['float', 'double'] -%}
        {{ return('[-+]?((\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?|(?i:inf|infinity|nan))\\s*$') }}
    {%- endif -%}
    {{ return({'date': day ~ '\\s*$', 'timestamp': '[-+]?\\d*' ~ day ~ '(?!\\d)',
        'timestamp_ntz': '[-+]?\\d*' ~ day ~ '([T ][\\d:.]*)?\\s*$'}.get(type)) }}
{% endmacro %}


{# Families of flat types whose casts may change a value. #}
{% macro _checked_families() %}
    {{ return(['integer', 'decimal', 'float', 'double', 'boolean', 'date', 'timestamp', 'timestamp_ntz']) }}
{% endmacro %}


{# The digits of a number in a text, without its sign, point, exponent and the zeros at both ends. Rounding changes them
   wherever it changes the number. #}
{% macro _digits_sql(text) %}
    {{ return("trim(both '0' from regexp_replace(lower(" ~ text ~ "), 'e.*|[^0-9]', ''))") }}
{% endmacro %}


{# Whether a VARIANT is the same in another type. JSON's null is NULL in every type. A flat value is cast as its text
   is; a nested one must come back with the same JSON. #}
{% macro _variant_holds_sql(value, cast, wanted) %}
    {%- set family = floodmark._type_kind(wanted).family -%}
    {%- set text = 'try_cast(' ~ value ~ ' as string)' -%}
    {%- set read = 'try_cast(' ~ text ~ ' as ' ~ wanted ~ ')' -%}
    {%- if floodmark._nesting(wanted | lower) -%}
        {%- set holds = 'to_json(to_variant_object(' ~ cast ~ ')) = to_json(' ~ value ~ ')' -%}
    {%- elif family not in floodmark._checked_families() -%}
        {%- set holds = cast ~ ' is not null' -%}
    {%- else -%}
        {%- set holds = cast ~ ' = ' ~ read ~ ' and ' ~ floodmark._text_holds_sql(text, read, family) -%}
    {%- endif -%}
    {{ return('(is_variant_null(' ~ value ~ ') or ' ~ holds ~ ')') }}
{% endmacro %}
