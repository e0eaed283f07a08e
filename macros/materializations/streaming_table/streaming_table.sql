{#
  A SELECT over stream(...) as a Structured Streaming query into a Delta table (docs/guides/streams.md): to the end of
  what is there under `dbt build`, by its trigger under `floodmark stream`.
#}
{% materialization streaming_table, adapter='spark', supported_languages=['sql'] %}
    {%- set settings = floodmark._stream_settings() -%}
    {%- set target_relation = this.incorporate(type='table') -%}

    {{ run_hooks(pre_hooks) }}

    {%- if floodmark._is_dry() -%}
        {%- do floodmark._stream_dry(settings, floodmark._select_text(sql)) -%}
    {%- else -%}
        {%- set has_run = adapter.floodmark_streams().keep_running(floodmark._model_id(),
            floodmark._checkpoint_base(floodmark._setting('checkpoint_location'), floodmark._model_id()),
            floodmark._run_stream, settings, floodmark._select_text(sql)) -%}
        {%- if has_run -%}
            {%- do apply_grants(target_relation, config.get('grants'),
                should_revoke=should_revoke(load_relation(this), should_full_refresh())) -%}
            {%- do floodmark._persist_docs(target_relation) -%}
        {%- else -%}
            {%- do store_raw_result(name='main', message='STREAM stopped', code='STREAM', rows_affected='-1') -%}
        {%- endif -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
