{#
  Corrupt records that a replay reads again, from the texts that the quarantine has of them, in the schema of today.
  Those that can be read now are the batch's records, as those of files are (_file_records.sql).
#}

{# SQL of the records in these texts, for the staging table; none where none can be read. `texts` is a SELECT of
   {value, _floodmark_id, _metadata}; batch.files are the files that they stood in, {path, size, modified_at,
   archived_to}. #}
{% macro _records_again_sql(run, batch, texts) %}
    {%- set selects = [] -%}
    {%- for group in floodmark._file_format(run.settings.files).groups_again(run,
        floodmark._with_folder_columns(run, batch), texts) -%}
        {%- do selects.append(floodmark._records_sql(run, batch, group, group.sql)) -%}
    {%- endfor -%}
    {{ return(selects | join('\nunion all\n') if selects else none) }}
{% endmacro %}


{# The table of a batch's texts. #}
{% macro _texts_relation(batch) %}
    {{ return(floodmark._stage_relation(dict(batch, staged_by=none)) ~ '__window0') }}
{% endmacro %}


{# Write the texts of a batch into a table, under the session's own settings, for what the user asks of them; then the
   records into its staging table, of which its SELECT reads those that are not corrupt. #}
{% macro _read_again(run, batch, texts) %}
    {%- set stage = floodmark._records_stage(dict(batch, records_by=invocation_id[:8])) -%}
    {%- set table, conf = floodmark._texts_relation(batch), floodmark._files_conf(run.settings.files) -%}
    {%- do floodmark._execute([floodmark._create_stage_sql(table) ~ '\n' ~ texts]) -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- do floodmark._execute([floodmark._create_stage_sql(stage) ~ '\n' ~ batch.again_sql]) -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- do floodmark._drop_staging_tables([table]) -%}
    {%- do batch.update({'records_by': invocation_id[:8],
        'reader': floodmark._records_reader(run, batch, stage)}) -%}
{% endmacro %}
