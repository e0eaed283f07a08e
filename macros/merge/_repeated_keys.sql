{# Stop a batch in which a key comes more than once and no column says which row is the latest. Up to five such keys are
   named. #}
{% macro _check_keys(run, batch, source) %}
    {%- if source.counts.repeated and not floodmark._order_column(run, source.columns) -%}
        {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
        {%- set named = floodmark._query_json('select to_json(struct(' ~ keys
            ~ "), map('ignoreNullFields', 'false')) from " ~ source.stage ~ ' group by ' ~ keys
            ~ ' having count(*) > 1 order by 1 limit 5') -%}
        {%- set shown = [] -%}
        {%- for key in named -%}
            {%- do shown.append(floodmark._shown_json(key)) -%}
        {%- endfor -%}
        {%- set repeated = floodmark._counted(source.counts.repeated, 'key')
            ~ (' comes' if source.counts.repeated == 1 else ' come') ~ ' more than once' -%}
        {%- set by_version = batch.family == 'version' -%}
        {%- do floodmark._stop(repeated ~ ' in the batch and no '
            ~ ('_commit_version' if by_version else 'watermark column')
            ~ ' in the SELECT says which row is the latest: ' ~ shown | join(', ') ~ '. Add '
            ~ ('_commit_version' if by_version else 'the watermark column')
            ~ ' to the SELECT, or make the key unique', rejects=repeated) -%}
    {%- endif -%}
{% endmacro %}
