{# What a macro returns, {value, error, condition, raised}: `error` is the sentence of a statement that failed in it,
   `condition` Spark's name of it, `raised` for `adapter.floodmark_raise`. Without the plugin nothing can be tried. #}
{% macro _tried(macro) %}
    {%- if adapter.floodmark_plugin is not defined -%}
        {{ return({'value': macro(*varargs), 'error': none, 'condition': none, 'raised': none}) }}
    {%- endif -%}
    {{ return(adapter.floodmark_try(macro, *varargs)) }}
{% endmacro %}
