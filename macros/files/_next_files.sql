{# What the next run would load of a folder: for dbt compile and docs, and `floodmark plan`. #}

{# What `dbt compile` and its like print in place of the records: their columns, as the next run has them. Only these
   look at files; a run puts in its own. #}
{% macro _next_files_sql(files) %}
    {%- if not floodmark._only_looks() and not floodmark._is_dry() -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- set run = floodmark._look(floodmark._settings()) -%}
    {%- set plans = var('floodmark_plan', false) -%}
    {%- set known = none if plans else floodmark._known_schema(run) -%}
    {%- if known is not none -%}
        {{ return(floodmark._known_records_sql(run, known)) }}
    {%- endif -%}
    {%- do run.settings.files.update({'max_files_per_batch': [20000, run.settings.files.max_files_per_batch] | max,
        'max_bytes_per_batch': none} if plans else {}) -%}
    {%- set plan = floodmark._plan_files(run, run.replaces) -%}
    {%- do floodmark._tell_warnings(run) -%}
    {%- set due = floodmark._count_unseen_files(run, run.replaces) if plans and run.unseen_is_cut
        else {'files': plan.files | length, 'bytes': plan.files | sum(attribute='size')} -%}
    {%- set comment = floodmark._plan_comment({'kind': run.kind if plan.files or run.replaces and not run.target.exists
        and plan.record is not none else 'nothing new', 'low': none, 'high': none, 'lookback': 0, 'rows_null': 0,
        'rows_future': 0, 'file_count': due.files, 'file_bytes': due.bytes,
        'file_paths': (plan.files | map(attribute='path') | list)[:100],
        'new_columns': plan.file_schema.added if plan.get('file_schema') else []}) if plans else '' -%}
    {%- if plan.record is none -%}
        {%- set known = floodmark._known_schema(run) -%}
        {%- set comment = comment ~ ('' if known else '/*floodmark:waits*/ ') -%}
        {%- do plan.update({'file_schema': known or {'record': 'struct<>', 'partitions': []}}) -%}
    {%- endif -%}
    {{ return(comment ~ floodmark._no_records_sql(run, plan)) }}
{% endmacro %}


{# What stands for the files in a SELECT that reads none of them, by the schema of the last batch and the settings of
   today. #}
{% macro _known_records_sql(run, known) %}
    {%- set schema = run.settings.files.schema -%}
    {%- set record = floodmark._record_of(schema) if schema
        else floodmark._with_told(known.record, floodmark._told_columns(run.settings.files, known), []) -%}
    {{ return(floodmark._no_records_sql(run, {'file_schema': dict(known, record=record)})) }}
{% endmacro %}
