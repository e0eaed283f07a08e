{# The rows of a batch that go to the quarantine: those that a rule sends there, and corrupt records of files. #}
{% macro _quarantine_held(run, batch, select_sql) %}
    {%- set parts = [] -%}
    {%- if batch.get('judged') and batch.judged.rows_quarantined and not floodmark._replays_rows(batch) -%}
        {%- do parts.append({'sql': floodmark._rows_to_quarantine_sql(batch),
            'names': floodmark._storable(batch.judged.columns) | map(attribute='name') | list
                + ['_floodmark_rules', '_floodmark_reason', '_floodmark_file']}) -%}
    {%- endif -%}
    {%- if batch.get('rows_corrupt') -%}
        {%- do parts.append({'sql': floodmark._corrupt_rows_sql(run, batch),
            'names': ['_floodmark_reason', '_floodmark_raw', '_floodmark_file', '_floodmark_line']}) -%}
    {%- endif -%}
    {%- if parts -%}
        {%- set columns = batch.judged.columns if batch.get('judged')
            else floodmark._select_columns(run, select_sql) -%}
        {%- set reading = floodmark._strategy(run.settings).whole -%}
        {%- set unlike = floodmark._origin_columns(run.settings) + (reading(run, columns) if reading else []) -%}
        {%- do floodmark._quarantine(batch, columns, parts, floodmark._leaves_open(run, batch, columns),
            unlike=unlike, is_whole=reading is not none, sql=floodmark._text_of_range(run)) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a batch may read rows again that an earlier batch has quarantined, and leaves them open. A batch that loads
   everything, a range or its files anew marks them as superseded instead. Without the watermark column, or where the
   SELECT changes it, floodmark cannot tell which rows lie in the range, so they stay open. A file that comes again
   brings rows of the same keys. #}
{% macro _leaves_open(run, batch, columns) %}
    {%- if (batch.get('asked') or {}).get('restate') -%}
        {#- it judges the whole feed, and loads some of its keys -#}
        {{ return(true) }}
    {%- elif batch.kind == 'backfill'
        and not floodmark._placing_column(batch, columns, floodmark._text_of_range(run)) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set supersedes = batch.kind in ['first_load', 'full_refresh', 'backfill', 'replay'] or strategy.replaced
        or batch.files and floodmark._goes_by_file(run, batch) -%}
    {%- set reads_all = not run.settings.watermark and batch.kind != 'stream' if batch.files is none
        else strategy.finds_by_key -%}
    {{ return(not supersedes and (strategy.whole or batch.lookback or batch.nulls == 'include' or reads_all)) }}
{% endmacro %}
