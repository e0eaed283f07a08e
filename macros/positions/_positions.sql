{#
  A position is a point of the watermark column as an exact integer: microseconds since 1970-01-01 UTC for timestamps
  and dates, the number itself for sequences and Delta versions. Jinja calculates with positions; SQL sees literals.
#}

{# The family of a column type: timestamp, timestamp_ntz, date, sequence, or none where it cannot be a watermark. #}
{% macro _position_family(type) %}
    {%- if type in ['timestamp', 'timestamp_ntz', 'date'] -%}
        {{ return(type) }}
    {%- elif type in ['tinyint', 'smallint', 'int', 'bigint'] or modules.re.fullmatch('decimal\\(\\d+,0\\)', type) -%}
        {{ return('sequence') }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# Whether positions of a family are plain numbers. #}
{% macro _is_counted(family) %}
    {{ return(family in ['sequence', 'version']) }}
{% endmacro %}


{# SQL text of an expression of a family, in the form that _position_from_text reads. #}
{% macro _position_text_sql(expression, family) %}
    {{ return('cast(' ~ ('unix_micros(' ~ expression ~ ')' if family == 'timestamp' else expression) ~ ' as string)') }}
{% endmacro %}


{# The position that SQL printed with _position_text_sql; none for NULL. #}
{% macro _position_from_text(text, family) %}
    {%- if text is none -%}
        {{ return(none) }}
    {%- elif family == 'timestamp' or floodmark._is_counted(family) -%}
        {{ return(text | int) }}
    {%- endif -%}
    {{ return(floodmark._parse_timestamp(text)) }}
{% endmacro %}


{# Microseconds of the 400 years after which the Gregorian calendar repeats. Python's datetime knows the years 1 to
   9999 alone, Spark a thousand times as many: a time is calculated within one cycle, and the cycles are counted. #}
{% macro _calendar_cycle() %}
    {{ return(12622780800000000) }}
{% endmacro %}


{# Microseconds since 1970 of 'yyyy-MM-dd[HH:mm[:ss[.ffffff]]]', read as UTC; none where the text has another form.
   Years are as Spark prints them: '-0044' (year 0 is there, and leaps), '0000', '2024', '+12345'. #}
{% macro _parse_timestamp(text) %}
    {%- set parts = modules.re.fullmatch('([-+]?\\d{4,})-(\\d\\d)-(\\d\\d)(?:[ '
        'T](\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{1,6}))?)?)?(?:Z|\\+00:?00)?', text | string | trim) -%}
    {%- if not parts -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set n = parts.groups() -%}
    {%- set month = n[1] | int -%}
    {%- set year = n[0] | int -%}
    {%- set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) -%}
    {%- set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] -%}
    {%- if not (1 <= month <= 12) or not (1 <= n[2] | int <= days[month - 1]) or (n[3] or 0) | int > 23
            or (n[4] or 0) | int > 59 or (n[5] or 0) | int > 59 -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set delta = modules.datetime.datetime(2000 + year % 400, month, 1, (n[3] or 0) | int, (n[4] or 0) | int,
        (n[5] or 0) | int) - modules.datetime.datetime(1970, 1, 1) -%}
    {%- set micros = ((n[6] or '0') ~ '000000')[:6] | int -%}
    {{ return(((delta.days + n[2]
        | int - 1) * 86400 + delta.seconds) * 1000000 + micros + (year // 400 - 5) * floodmark._calendar_cycle()) }}
{% endmacro %}


{# A position as the ledger prints it: UTC yyyy-MM-dd HH:mm:ss.SSSSSS, or digits; none for none. #}
{% macro _position_print(position, family) %}
    {%- if position is none -%}
        {{ return(none) }}
    {%- elif floodmark._is_counted(family) -%}
        {{ return(position | string) }}
    {%- endif -%}
    {%- set cycle = floodmark._calendar_cycle() -%}
    {%- set text = (modules.datetime.datetime(1970, 1,
        1) + modules.datetime.timedelta(microseconds=position % cycle)).isoformat(' ', 'microseconds') -%}
    {%- if 0 <= position < cycle -%}
        {{ return(text) }}
    {%- endif -%}
    {%- set year = text[:4] | int + 400 * (position // cycle) -%}
    {{ return(('%05d' if year < 0 else '%04d' if year < 10000 else '%+d') % year ~ text[4:]) }}
{% endmacro %}


{# The position that the ledger printed. #}
{% macro _position_parse(text, family) %}
    {%- if text is none -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(text | int if floodmark._is_counted(family) else floodmark._parse_timestamp(text)) }}
{% endmacro %}


{# A SQL literal of the column's own type, so that Delta can skip files; timestamps carry their zone. A number, which a
   lookback may lead further, has at most the 38 digits of Spark's longest type. #}
{% macro _position_literal(position, family) %}
    {%- if floodmark._is_counted(family) -%}
        {{ return([[position, -floodmark._greatest_number()] | max, floodmark._greatest_number()] | min | string) }}
    {%- endif -%}
    {%- set text = floodmark._position_print(floodmark._nearest_position(position, family), family) -%}
    {%- if family == 'date' -%}
        {{ return("date'" ~ text.split(' ')[0] ~ "'") }}
    {%- elif family == 'timestamp_ntz' -%}
        {{ return("timestamp_ntz'" ~ text ~ "'") }}
    {%- endif -%}
    {{ return("timestamp'" ~ text ~ "+00:00'") }}
{% endmacro %}


{# A time's position, or the first or last one that Spark's type has: a lookback, `start` or max_future may lead
   further. #}
{% macro _nearest_position(position, family) %}
    {%- if -9223372036854775808 <= position <= 9223372036854775807 -%}
        {{ return(position) }}
    {%- endif -%}
    {%- set limit = 2147483647 * floodmark._micros_in().day if family == 'date' else 9223372036854775807 -%}
    {#- a session's readers count a date in the Julian calendar, too, whose days end some 44,000 before -#}
    {%- set least = -limit + 50000 * floodmark._micros_in().day if family == 'date' else -limit -%}
    {{ return(least if position < -limit else [position, limit] | min) }}
{% endmacro %}


{# Whether a text is a position of a family. #}
{% macro _is_position(text, family) %}
    {%- set value = modules.re.fullmatch('-?\\d+', text | string) if floodmark._is_counted(family)
        else floodmark._parse_timestamp(text) -%}
    {{ return(value is not none) }}
{% endmacro %}


{# This moment as a timestamp's position. #}
{% macro _now() %}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.datetime(1970, 1, 1,
        tzinfo=modules.pytz.utc) -%}
    {{ return((now.days * 86400 + now.seconds) * 1000000 + now.microseconds) }}
{% endmacro %}


{# A position below every other. #}
{% macro _least_position() %}
    {{ return(-floodmark._greatest_number() - 1) }}
{% endmacro %}


{# The greatest whole number that Spark has, of decimal(38,0). #}
{% macro _greatest_number() %}
    {{ return(10 ** 38 - 1) }}
{% endmacro %}


{# The smallest step of a family, in positions: one microsecond, one day, or one. #}
{% macro _position_unit(family) %}
    {{ return(floodmark._micros_in().day if family == 'date' else 1) }}
{% endmacro %}


{# How many microseconds each unit of a duration has. #}
{% macro _micros_in() %}
    {{ return({
        'microsecond': 1, 'millisecond': 1000, 'second': 1000000, 'minute': 60000000,
        'hour': 3600000000, 'day': 86400000000, 'week': 604800000000,
    }) }}
{% endmacro %}


{# Microseconds of a duration such as '2 hours' or '1 day'; none where it is not one. #}
{% macro _parse_duration(text) %}
    {%- set micros = floodmark._micros_in() -%}
    {%- set parts = modules.re.fullmatch('(\\d+)\\s+(' ~ micros.keys() | join('|') ~ ')s?',
        text | string | trim | lower) -%}
    {{ return((parts.group(1) | int) * micros[parts.group(2)] if parts else none) }}
{% endmacro %}


{# Whether a value is a whole number, as a number or as digits, and not below 0. #}
{% macro _is_whole(value) %}
    {{ return(value is not boolean and modules.re.fullmatch('\\d+(\\.0)?', value | string) is not none) }}
{% endmacro %}


{# A number or duration as one number, microseconds for a duration; none where it is neither. #}
{% macro _distance(value) %}
    {{ return(value | int if floodmark._is_whole(value) else floodmark._parse_duration(value)) }}
{% endmacro %}


{# A watermark's settings in positions: {start, step} or none, and lookback, 0 where there is none. #}
{% macro _reach(watermark, family) %}
    {%- set reach = {'start': none, 'step': none, 'lookback': 0} -%}
    {%- for key in reach if watermark[key] is defined and watermark[key] is not none -%}
        {%- if floodmark._is_counted(family) -%}
            {%- do reach.update({key: watermark[key] | int}) -%}
        {%- else -%}
            {%- do reach.update({key: floodmark._parse_timestamp(watermark.start) if key == 'start'
                else floodmark._distance(watermark[key])}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(reach) }}
{% endmacro %}
