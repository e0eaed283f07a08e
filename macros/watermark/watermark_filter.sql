{# The predicate that keeps the rows of this batch. It stands between marker comments: the materialization puts in
   the bounds of each batch; `dbt compile`, `show` and `docs` print those that the next run would use. #}
{% macro watermark_filter(alias=none) %}
    {%- if not execute or model.resource_type == 'unit_test' -%}
        {{ return('true') }}
    {%- endif -%}
    {%- if model.config.materialized != 'incremental' -%}
        {%- do floodmark._refuse([{
            'setting': 'materialized', 'got': model.config.materialized,
            'expected': "'incremental' where floodmark.watermark_filter() is called",
            'todo': 'Call it in the incremental model that loads the rows, not upstream of it'}]) -%}
    {%- endif -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- if watermark is not mapping or not watermark.get('column') or watermark.get('kind') == 'version' -%}
        {%- do floodmark._refuse([{
            'setting': 'watermark', 'got': watermark, 'expected': "{'column': '<name>'}",
            'todo': 'floodmark.watermark_filter() needs the column that grows'}]) -%}
    {%- endif -%}
    {%- do floodmark._require_opt_in() -%}
    {%- set column = (alias ~ '.' if alias else '') ~ floodmark._quoted(watermark.column) -%}
    {%- set predicate = 'true' -%}
    {%- if floodmark._only_looks() -%}
        {%- set predicate = floodmark._next_bounds(column) -%}
    {%- endif -%}
    {{ return('/*floodmark:bounds ' ~ column ~ '*/ ' ~ predicate ~ ' /*floodmark:end*/') }}
{% endmacro %}
