{# What a macro returns, {value, error, condition, raised}: `error` is the sentence of a statement that failed in it,
   `condition` Spark's name of it, `raised` for `adapter.floodmark_raise`. Without the plugin nothing can be tried. #}
{% macro _tried(macro) %}
    {%- if adapter.floodmark_plugin is not defined -%}
        {{ return({'value': macro(*varargs), 'error': none, 'condition': none, 'raised': none}) }}
    {%- endif -%}
    {{ return(adapter.floodmark_try(macro, *varargs)) }}
{% endmacro %}


{# What a macro returns, {value, error}: `error` says why it failed, whatever that is. For what is done for one table
   after the other, and writes no batch. Without the plugin nothing can be tried. #}
{% macro _outlasted(macro) %}
    {%- if adapter.floodmark_outlast is not defined -%}
        {{ return({'value': macro(*varargs), 'error': none}) }}
    {%- endif -%}
    {{ return(adapter.floodmark_outlast(macro, *varargs)) }}
{% endmacro %}
