{# Paths of files as Spark prints them, and as patterns. #}

{# One pattern of Hadoop's for the paths of files: `file:/in/{a.parquet,b/c.parquet}`. #}
{% macro _pattern_of(files) %}
    {%- set paths = [] -%}
    {%- for file in files -%}
        {%- do paths.append(floodmark._decoded_path(file.path)) -%}
    {%- endfor -%}
    {%- set ns = namespace(prefix=paths[0].rpartition('/')[0] ~ '/', shared=true) -%}
    {%- for path in paths[1:] -%}
        {%- set parts = path.split('/') -%}
        {%- set kept = [] -%}
        {%- set ns.shared = true -%}
        {%- for part in ns.prefix.split('/')[:-1] -%}
            {%- set ns.shared = ns.shared and loop.index0 < parts | length - 1 and parts[loop.index0] == part -%}
            {%- do kept.append(part) if ns.shared else none -%}
        {%- endfor -%}
        {%- set ns.prefix = kept | join('/') ~ '/' -%}
    {%- endfor -%}
    {%- set rests = [] -%}
    {%- for path in paths -%}
        {%- do rests.append(floodmark._without_pattern(path[ns.prefix | length:])) -%}
    {%- endfor -%}
    {{ return(floodmark._without_pattern(ns.prefix) ~ (rests[0] if rests | length == 1
        else '{' ~ rests | join(',') ~ '}')) }}
{% endmacro %}


{# A text in a pattern that means itself. #}
{% macro _without_pattern(text) %}
    {{ return(modules.re.sub('([\\\\*?\\[\\]{},])', '\\\\\\1', text)) }}
{% endmacro %}


{# A path as Spark's `_metadata` prints it, as it is: `%20` is a space. #}
{% macro _decoded_path(text) %}
    {%- set parts = [] -%}
    {%- for plain, coded in modules.re.findall('([^%]+|%(?![0-9A-Fa-f]{2}))|((?:%[0-9A-Fa-f]{2})+)', text) -%}
        {%- do parts.append(plain or ''.encode('utf-8').fromhex(coded | replace('%', '')).decode('utf-8',
            'replace')) -%}
    {%- endfor -%}
    {{ return(parts | join) }}
{% endmacro %}
