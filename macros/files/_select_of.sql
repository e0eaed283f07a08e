{# The compiled SELECT with this batch's bounds, versions and files between its markers. #}
{% macro _select_of(batch, sql) %}
    {%- set ns = namespace(sql=sql) -%}
    {%- for marker in modules.re.findall('/\\*floodmark:bounds (.*?)\\*/', sql) | unique(case_sensitive=true) -%}
        {%- set found = '/\\*floodmark:bounds ' ~ modules.re.escape(marker) ~ '\\*/.*?/\\*floodmark:end\\*/' -%}
        {%- set predicate = floodmark._bounds_predicate(marker, batch) | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub(found, predicate, ns.sql, flags=modules.re.S) -%}
    {%- endfor -%}
    {%- for name, kind in modules.re.findall('/\\*floodmark:changes (\\S+?)( preimages| events)?\\*/', sql) | unique -%}
        {%- set found = '/\\*floodmark:changes ' ~ modules.re.escape(name ~ kind) ~ '\\*/.*?/\\*floodmark:end\\*/' -%}
        {%- set rows = floodmark._changes_sql(name, batch, floodmark._kind_of_changes(kind | trim, sql))
            | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub(found, rows, ns.sql, flags=modules.re.S) -%}
    {%- endfor -%}
    {%- if batch.get('reader') -%}
        {%- set ns.sql = modules.re.sub('/\\*floodmark:files\\*/.*?/\\*floodmark:end\\*/',
            batch.reader | replace('\\', '\\\\'), ns.sql, flags=modules.re.S) -%}
    {%- endif -%}
    {{ return(ns.sql) }}
{% endmacro %}
