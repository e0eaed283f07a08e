{# Write the SELECT's output once, and take every check and count from there. Returns {sql, stage, columns, counts}.
   Parquet takes every name and type, and Spark lists such a table only once it is whole; a new Delta table costs it
   twice the time, since its state has to be put together before the first read. #}
{% macro _stage(run, batch, select_sql) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- if batch.staged_by -%}
        {%- set columns = floodmark._columns_of(relation=stage) -%}
        {#- settings may have changed since the run that staged it -#}
        {%- do strategy.check_columns(run, batch, columns) -%}
    {%- else -%}
        {%- set staged = strategy.staged(run, batch, select_sql) -%}
        {%- set columns = staged.columns -%}
        {%- do floodmark._execute([floodmark._create_stage_sql(stage, run.settings.strategy) ~ '\nselect * from (\n'
            ~ staged.sql ~ '\n)']) -%}
    {%- endif -%}
    {{ return(floodmark._checked_source(run, batch, {'sql': 'select * from ' ~ stage, 'stage': stage,
        'columns': columns, 'counts': {}})) }}
{% endmacro %}


{# A source with the counts of its stage, once every check has passed. #}
{% macro _checked_source(run, batch, source) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- if batch.family == 'version' -%}
        {%- do floodmark._check_change_columns(run, source.columns) -%}
    {%- endif -%}
    {%- do source.update({'counts': strategy.counts(run, source.stage, batch, source)}) -%}
    {%- if strategy.check_staged -%}
        {%- do strategy.check_staged(run, batch, source) -%}
    {%- endif -%}
    {#- a row that a change takes away, or that a later one replaces, is not written -#}
    {%- set constraints = floodmark._staged_constraints(batch.settings) -%}
    {%- if constraints -%}
        {%- do floodmark._check_constraints(batch, source.stage if strategy.apply
            else '(\n' ~ floodmark._kept_sql(run, source) ~ '\n)', constraints) -%}
    {%- endif -%}
    {{ return(source) }}
{% endmacro %}


{# The columns of the SELECT by which a statement finds rows of the table must be in the table, too: one that
   somebody made may lack them. A strategy that does not conform its SELECT has a check of its own. #}
{% macro _check_table_columns(run, batch, columns) %}
    {%- set settings = run.settings -%}
    {%- if batch.replaces
        or run.target.is_empty and settings.on_schema_change in ['append_new_columns', 'sync_all_columns'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set needed = [] -%}
    {%- for key in settings.unique_key if floodmark._strategy(settings).finds_by_key -%}
        {%- do needed.append({'setting': 'unique_key', 'name': key}) -%}
    {%- endfor -%}
    {%- if floodmark._replaces_partitions(run, batch) -%}
        {%- do needed.append({'setting': 'partition_by', 'name': settings.partition_by[0]}) -%}
        {#- rows of the first partition that lie below `start` are looked for -#}
        {%- if settings.watermark.start is not none -%}
            {%- do needed.append({'setting': 'watermark.column', 'name': settings.watermark.column}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set problems, awaited = [], run.get('awaited') or [] -%}
    {%- for need in needed -%}
        {%- set column = floodmark._find_column(columns, need.name) -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), need.name) -%}
        {%- if column and not known and need.name | lower not in awaited -%}
            {%- do problems.append({'setting': need.setting, 'got': need.name, 'expected': 'a column of ' ~ this,
                'todo': 'Add it: alter table ' ~ this ~ ' add columns (' ~ floodmark._quoted(column.name) ~ ' '
                    ~ column.ddl ~ "), set on_schema_change to 'append_new_columns', or run with --full-refresh"
                    if run.target.is_empty else 'Run once with --full-refresh: the rows that are there have no value '
                    'in it, so a batch would load them a second time'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems,
            rejects=problems[0].setting ~ ': ' ~ this ~ ' has no column ' ~ problems[0].got) -%}
    {%- endif -%}
{% endmacro %}
