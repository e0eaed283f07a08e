{# Stop a batch in which a key comes more than once and no column says which row is the latest. Up to five such keys are
   named. #}
{% macro _check_keys(run, batch, source) %}
    {%- set order = floodmark._order_column(run, source.columns) -%}
    {%- set holds = batch.get('judged') and batch.judged.rows_quarantined -%}
    {#- one commit may take a row of a key away and add another -#}
    {%- set is_mixed = order and (source.counts.repeated or holds) and floodmark._reads_images(run, batch)
        and not floodmark._find_column(source.columns, '_change_type') -%}
    {%- if is_mixed -%}
        {%- set rows = floodmark._loaded_or_held_sql(run, batch) if holds else source.stage -%}
    {%- elif order -%}
        {{ return(none) }}
    {%- else -%}
        {%- set rows = source.stage if source.counts.repeated else floodmark._held_changes_sql(run, batch) -%}
    {%- endif -%}
    {%- if rows is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key + ([order] if is_mixed else [])) -%}
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
        {%- if is_mixed -%}
            {%- do floodmark._stop(repeated ~ ' in one commit of the batch and no _change_type in the SELECT says '
                'which row was taken away: ' ~ shown | join(', ') ~ '. Add _change_type to the SELECT; merge does not '
                'write it into the table, so give it there a second time under another name if you want to keep it',
                rejects=repeated ~ ' in one commit') -%}
        {%- endif -%}
        {%- set by_version = batch.family == 'version' -%}
        {%- do floodmark._stop(repeated ~ ' in the batch and no '
            ~ ('_commit_version' if by_version else 'watermark column')
            ~ ' in the SELECT says which row is the latest: ' ~ shown | join(', ')
            ~ ('. Nothing was written: ' ~ floodmark._way_out_of_replay() if floodmark._replays_rows(batch)
            else '. Add ' ~ ('_commit_version' if by_version else 'the watermark column')
            ~ ' to the SELECT, or make the key unique'), rejects=repeated) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a batch reads changes that take rows away, and not the whole table as a first load does. #}
{% macro _reads_images(run, batch) %}
    {{ return(batch.family == 'version' and floodmark._reads_state(run.sql)
        and (batch.low_position is not none or batch.start_position is not none)) }}
{% endmacro %}


{# The rows of a batch that are loaded or go to the quarantine: for a FROM. NULL is no key of which a row that is held
   could be another image. #}
{% macro _loaded_or_held_sql(run, batch) %}
    {{ return('(select * from ' ~ floodmark._judged_relation(batch) ~ ' where if('
        ~ floodmark._broken_sql(batch.rules, ['quarantine']) ~ ', not ' ~ floodmark._null_key_sql(run) ~ ', not '
        ~ floodmark._broken_sql(batch.rules, ['drop']) ~ '))') }}
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
