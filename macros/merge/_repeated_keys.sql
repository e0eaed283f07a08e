{# Stop a batch in which a key comes more than once and no column says which row is the latest. Up to five such keys are
   named. #}
{% macro _check_keys(run, batch, source) %}
    {%- set rows = none if floodmark._order_column(run, source.columns) else
        (source.stage if source.counts.repeated else floodmark._held_changes_sql(run, batch)) -%}
    {%- if rows is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set found = floodmark._query_json('select to_json(struct(count(*) over () as repeated, shown)) from ('
        'select to_json(struct(' ~ keys ~ "), map('ignoreNullFields', 'false')) as shown from " ~ rows
        ~ ' group by ' ~ keys ~ ' having count(*) > 1) order by 1 limit 5') -%}
    {%- if found -%}
        {%- set shown = [] -%}
        {%- for key in found -%}
            {%- do shown.append(floodmark._shown_json(fromjson(key.shown))) -%}
        {%- endfor -%}
        {%- set repeated = floodmark._counted(found[0].repeated, 'key')
            ~ (' comes' if found[0].repeated == 1 else ' come') ~ ' more than once' -%}
        {%- set by_version = batch.family == 'version' -%}
        {%- do floodmark._stop(repeated ~ ' in the batch and no '
            ~ ('_commit_version' if by_version else 'watermark column')
            ~ ' in the SELECT says which row is the latest: ' ~ shown | join(', ') ~ '. Add '
            ~ ('_commit_version' if by_version else 'the watermark column')
            ~ ' to the SELECT, or make the key unique', rejects=repeated) -%}
    {%- endif -%}
{% endmacro %}


{# The changes of the keys of which a batch of a change feed has rows for the quarantine: for a FROM, none where it has
   none. One that is held may be older or newer than another that is kept. NULL is no key of which a row could be
   newer. #}
{% macro _held_changes_sql(run, batch) %}
    {%- set reads_changes = batch.family == 'version'
        and (batch.low_position is not none or batch.start_position is not none) -%}
    {%- if not reads_changes or not batch.get('judged') or not batch.judged.rows_quarantined -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {{ return('(select * from ' ~ floodmark._judged_relation(batch) ~ ' where (' ~ keys ~ ') in (select ' ~ keys
        ~ ' from ' ~ floodmark._judged_relation(batch) ~ ' where '
        ~ floodmark._broken_sql(batch.rules, ['quarantine']) ~ '))') }}
{% endmacro %}
