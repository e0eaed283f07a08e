{% macro _is_utf8(encoding) %}
    {{ return(encoding | string | upper in ['UTF-8', 'UTF8']) }}
{% endmacro %}


{# A text that Spark has read as UTF-8, by the encoding that its bytes have. #}
{% macro _decoded_sql(text, encoding) %}
    {{ return(text if floodmark._is_utf8(encoding) else 'decode('
        ~ floodmark._whole_letters_sql(text, encoding) ~ ', ' ~ floodmark._string_literal(encoding) ~ ')') }}
{% endmacro %}


{# The bytes of a text without those of a letter that is cut off at its end: Spark's decode() refuses them. #}
{% macro _whole_letters_sql(text, encoding) %}
    {%- set bytes = 'cast(' ~ text ~ ' as binary)' -%}
    {%- set wide = modules.re.match('(?i)UTF[-_]?(16|32)', encoding) -%}
    {%- set size = wide.group(1) | int // 8 if wide else 1 -%}
    {{ return('substring(' ~ bytes ~ ', 1, octet_length(' ~ bytes ~ ') div ' ~ size ~ ' * ' ~ size ~ ')' if wide
        else bytes) }}
{% endmacro %}
