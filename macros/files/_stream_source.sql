{# A stream that Spark SQL has no name for: Python makes a view of it before the query starts
   (dbt_floodmark/streaming/sources.py). #}
{% macro _stream_source(format, options, path=none) %}
    {%- set source = {'format': format, 'options': options, 'path': path} -%}
    {%- set name = '_floodmark_source_' ~ local_md5(tojson(source, sort_keys=true))[:12] -%}
    {{ return('stream(' ~ name ~ ') /*floodmark:stream '
        ~ tojson(dict(source, name=name), sort_keys=true) | replace('*/', '*\\/') ~ '*/') }}
{% endmacro %}
