{# merge, as the protocol sees it (macros/protocol/_strategy.sql); append and insert_overwrite have their own files. #}

{% macro _merge_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), staged=floodmark._merge_staged,
        check_columns=floodmark._check_merge_columns, counts=floodmark._merge_counts,
        check_staged=floodmark._check_keys, finds_by_key=true, orders_by_mark=true, compares_all=true,
        reading=floodmark._reading_names, named=floodmark._named_by_merge, replayed=floodmark._last_readings_sql,
        changes=floodmark._merge_changes, before_replace=floodmark._note_made_peak,
        statement=floodmark._merge_statement)) }}
{% endmacro %}


{# What its settings name and the table lacks. #}
{% macro _named_by_merge(run) %}
    {{ return([floodmark._quoted_csv(floodmark._names_beyond_table(run,
        floodmark._name_list(config.get('merge_update_columns'))
        + floodmark._name_list(config.get('merge_exclude_columns'))))]) }}
{% endmacro %}


{# The peak of a table that the batch makes. #}
{% macro _note_made_peak(run, batch, source) %}
    {%- set names = floodmark._target_columns(run, source.columns) | map(attribute='name') | list -%}
    {%- do floodmark._compare_with_peak(run, batch, source, floodmark._written_order(run, source, names)) -%}
{% endmacro %}


{% macro _merge_statement(run, batch, source, columns) %}
    {%- do source.update({'written': columns}) -%}
    {%- do floodmark._compare_with_peak(run, batch, source, floodmark._written_order(run, source, columns)) -%}
    {{ return(floodmark._merge_sql(run, source, columns)) }}
{% endmacro %}


{# Whether a MERGE has anything to write. One that reads again below the mark may find all as it was: it is counted
   before, since a MERGE that changes nothing still makes a commit. #}
{% macro _merge_changes(run, batch, source) %}
    {%- if not floodmark._has_rows(run, batch, source) -%}
        {{ return(false) }}
    {%- elif batch.kind == 'stream' or batch.family == 'version'
        or run.settings.watermark and not batch.lookback and batch.nulls != 'include'
        and batch.low_position is not none -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(floodmark._count_changes(run, source) > 0) }}
{% endmacro %}
