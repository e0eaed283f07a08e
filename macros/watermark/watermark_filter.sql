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
    {%- if watermark is not mapping or not watermark.get('column') -%}
        {%- do floodmark._refuse([{
            'setting': 'watermark', 'got': watermark, 'expected': "{'column': '<name>'}",
            'todo': 'floodmark.watermark_filter() needs the column that grows'}]) -%}
    {%- endif -%}
    {%- set column = (alias ~ '.' if alias else '') ~ floodmark._quoted(watermark.column) -%}
    {%- set predicate = 'true' -%}
    {%- if flags.WHICH in ['compile', 'show', 'generate'] -%}
        {%- set predicate = floodmark._next_bounds(column) -%}
    {%- endif -%}
    {{ return('/*floodmark:bounds ' ~ column ~ '*/ ' ~ predicate ~ ' /*floodmark:end*/') }}
{% endmacro %}


{# The predicate that the next run would use; a placeholder where the upstream does not exist yet. Reads, writes nothing. #}
{% macro _next_bounds(column) %}
    {%- set settings = floodmark._settings() -%}
    {%- set upstream = floodmark._upstream(settings, required=false) -%}
    {%- if upstream is none -%}
        {{ return('true /* the upstream does not exist yet: bounds come with the first run */') }}
    {%- endif -%}
    {%- set state = floodmark._model_state() if floodmark._ledger_exists() else none -%}
    {%- set target = floodmark._target_state(has_mark=state is not none and state.committed is not none) -%}
    {%- set mark = none if target.is_empty or should_full_refresh()
        else floodmark._position_parse(state.committed.mark if state and state.committed else none, upstream.family) -%}
    {%- set plan = floodmark._plan_watermark(settings, upstream, mark, none) -%}
    {{ return(floodmark._bounds_predicate(column, plan)) }}
{% endmacro %}


{# The compiled SELECT with this batch's bounds and files between its markers. #}
{% macro _select_of(batch, sql) %}
    {%- set ns = namespace(sql=sql) -%}
    {%- for marker in modules.re.findall('/\\*floodmark:bounds (.*?)\\*/', sql) | unique -%}
        {%- set found = '/\\*floodmark:bounds ' ~ modules.re.escape(marker) ~ '\\*/.*?/\\*floodmark:end\\*/' -%}
        {%- set predicate = floodmark._bounds_predicate(marker, batch) | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub(found, predicate, ns.sql, flags=modules.re.S) -%}
    {%- endfor -%}
    {%- if batch.files -%}
        {%- set reader = floodmark._files_sql(batch.settings.files, batch.files) | replace('\\', '\\\\') -%}
        {%- set ns.sql = modules.re.sub('/\\*floodmark:files\\*/.*?/\\*floodmark:end\\*/', reader, ns.sql, flags=modules.re.S) -%}
    {%- endif -%}
    {{ return(ns.sql) }}
{% endmacro %}
