{# A SQL string literal that comes back byte for byte: safe for quotes, backslashes, line ends, and for ${...}, which
   Spark would replace by a setting, in literals too; `null` for none and undefined. #}
{% macro _string_literal(value) %}
    {%- if value is none or value is undefined -%}
        {{ return('null') }}
    {%- endif -%}
    {{ return("'" ~ (value | string
        | replace('\\', '\\\\') | replace("'", "\\'") | replace('\n', '\\n') | replace('\r', '\\r')
        | replace('${', '\\u0024{') | replace('\u0000', '\\u0000')) ~ "'") }}
{% endmacro %}


{# SQL of the text whose bytes these hex digits are: a string literal where it is UTF-8, else the bytes. #}
{% macro _bytes_literal(digits) %}
    {%- set text = ''.encode('utf-8').fromhex(digits).decode('utf-8', 'replace') -%}
    {{ return(floodmark._string_literal(text) if text.encode('utf-8').hex() == digits | lower
        else "cast(X'" ~ digits ~ "' as string)") }}
{% endmacro %}


{# SQL of a moment as text, in UTC whatever the session's zone is, as a cast prints it. #}
{% macro _utc_text_sql(moment) %}
    {{ return('cast(timestampadd(microsecond, unix_micros(' ~ moment ~ "), timestamp_ntz'1970-01-01') as string)") }}
{% endmacro %}


{# SQL of a moment that is text in UTC. #}
{% macro _utc_literal(text) %}
    {{ return('timestamp' ~ floodmark._string_literal(text ~ '+00:00')) }}
{% endmacro %}


{# A column name in backticks, safe for backticks inside. #}
{% macro _quoted(name) %}
    {{ return('`' ~ (name | replace('`', '``')) ~ '`') }}
{% endmacro %}


{# Column names in backticks, each behind `prefix`, separated by commas. #}
{% macro _quoted_csv(names, prefix='') %}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append(prefix ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return(quoted | join(', ')) }}
{% endmacro %}


{# A count and its noun, such as '1 row' and '1,200 rows'. #}
{% macro _counted(count, noun) %}
    {{ return('{:,} '.format(count) ~ noun ~ ('' if count == 1 else 's')) }}
{% endmacro %}


{# SQL of a value as JSON. By default to_json prints moments with three digits behind the second; `type` tells whether
   the value has any. #}
{% macro _to_json_sql(value, type='timestamp') %}
    {%- set moment = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" -%}
    {{ return('to_json(' ~ value ~ (", map('timestampFormat', " ~ floodmark._string_literal(moment ~ 'XXX')
        ~ ", 'timestampNTZFormat', " ~ floodmark._string_literal(moment) ~ ')' if 'timestamp' in type else '') ~ ')') }}
{% endmacro %}


{# JSON text with its numbers in quotes, behind a character that no text has: Spark reads a number of a text as a double
   before it is a string. A number stands outside of quotes, of names and of what the pattern `also` finds. #}
{% macro _hidden_numbers_sql(text, also='') %}
    {{ return('replace(regexp_replace(' ~ text ~ ', ' ~ floodmark._string_literal('(?s)("(?:[^"\\\\]++|\\\\.)*+"' ~ also
        ~ '|[A-Za-z_$][\\w$]*+)|(-?\\d[\\d.eE+-]*+)') ~ ", '$1\"\ufdd5$2\"'), '\"\ufdd5\"', '')") }}
{% endmacro %}


{# A string that was read from such a text, with its numbers as they were. #}
{% macro _shown_numbers_sql(value) %}
    {{ return('regexp_replace(' ~ value ~ ", '\"\ufdd5([^\"]*)\"|^\ufdd5', '$1')") }}
{% endmacro %}


{# A SELECT that gives these rows: `columns` is {name: type}, each row a list of texts or none. #}
{% macro _values_sql(columns, rows) %}
    {%- set selects = [] -%}
    {%- for row in rows + [none] -%}
        {%- set values = [] -%}
        {%- for name, type in columns.items() -%}
            {%- do values.append('cast(' ~ floodmark._string_literal(row[loop.index0] if row is not none else none)
                ~ ' as ' ~ type ~ ') as ' ~ name) -%}
        {%- endfor -%}
        {%- do selects.append('select ' ~ values | join(', ') ~ (' where false' if row is none else '')) -%}
    {%- endfor -%}
    {{ return(selects | join('\nunion all ')) }}
{% endmacro %}
