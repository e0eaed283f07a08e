{#
  A replay of corrupt records parses their texts again, as the files that they stood in are read today. What can be read
  goes through the model's SELECT like records of files, and through its rules: rows that break one are in the
  quarantine then, as those of any batch. A record that cannot be read stays open.
#}

{# Find out how the corrupt records of a replay are read (batch.again_sql). Whether any can be. #}
{% macro _plan_records_again(run, batch) %}
    {%- if not batch.get('file_schema') -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set files = floodmark._query_json('select to_json(struct(path, size, modified_at, archived_to)) from ('
        ~ floodmark._files_of_texts_sql(floodmark._texts_again_sql(batch)) ~ ')') -%}
    {%- do batch.update({'again_sql': floodmark._records_again_sql(run, dict(batch, files=files),
        'select * from ' ~ floodmark._texts_relation(batch))}) -%}
    {{ return(batch.again_sql is not none) }}
{% endmacro %}


{# The files that texts stood in, as they were then, and where they are archived: {path, size, modified_at,
   archived_to}. #}
{% macro _files_of_texts_sql(texts) %}
    select path, size, modified_at, max(archived_to) as archived_to
    from (
        select _metadata.file_path as path, _metadata.file_size as size,
            unix_micros(_metadata.file_modification_time) as modified_at
        from ({{ texts }})
    )
    left join (
        select file.path as moved, file.size as moved_size, file.reason as archived_to
        from (
            select explode(files) as file from {{ floodmark._log_of() }} and event = 'archived'
        )
    ) on moved = path and moved_size = size
    group by path, size, modified_at
    order by all
{% endmacro %}


{# The texts of the corrupt records that a batch replays: {value, _floodmark_id, _metadata}. The ledger tells what their
   files were. #}
{% macro _texts_again_sql(batch) %}
    {%- set asked = batch.asked.replay -%}
    select value, _floodmark_id,
        named_struct('file_path', _floodmark_file, 'file_name', substring_index(_floodmark_file, '/', -1),
            'file_size', file.size, 'file_block_start', bigint(0), 'file_block_length', file.size,
            'file_modification_time', timestamp_micros(file.modified_at)) as _metadata
    from (
        select cast({{ floodmark._clause((asked.set or {}).get('_floodmark_raw', '_floodmark_raw')) }} as string)
                as value,
            _floodmark_id, _floodmark_file, _floodmark_batch_id
        from ({{ floodmark._open_rows_sql(floodmark._quarantine_relation(this), asked, 'records') }})
        where _floodmark_batch_id < {{ batch.batch_id }}
    )
    left join (
        select batch_id, explode(files) as file from {{ floodmark._log_of() }} and event = 'planned'
    ) on batch_id = _floodmark_batch_id and file.path = _floodmark_file
{% endmacro %}
