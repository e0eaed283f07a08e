{# `create or replace table` takes a Delta table or nothing: what else stands there goes first, as in dbt-spark. #}
{% macro _drop_what_is_not_delta(run) %}
    {%- if run.target.exists and not run.target.is_delta -%}
        {%- do adapter.drop_relation(run.target.relation) -%}
    {%- endif -%}
{% endmacro %}


{# What to do where `location_root` names another place than the table's, in a sentence; none for any other error. #}
{% macro _lies_elsewhere(error) %}
    {{ return(this ~ ' lies elsewhere than location_root says, and Delta replaces a table only where it lies. Drop the '
        'table, and the next run loads all rows into the new place, or set location_root back'
        if 'DELTA_TABLE_LOCATION_MISMATCH' in error else none) }}
{% endmacro %}


{# Create the target, or replace it in one commit, with what the batch holds. #}
{% macro _replace_table_sql(select_sql, own_properties={}) %}
    {%- set properties = dict({'delta.enableDeletionVectors': 'true'}, **own_properties) -%}
    {#- Delta cannot create a table with both column mapping and the change feed, nor one whose columns are called as
       the feed's -#}
    {%- set mapped = floodmark._asks_for_mapping() or floodmark._lists_changes()
        or 'delta.enableChangeDataFeed' in own_properties -%}
    {%- if floodmark._setting('change_feed') is sameas true
        or not mapped and floodmark._setting('change_feed') is not sameas false -%}
        {%- do properties.update({'delta.enableChangeDataFeed': 'true'}) -%}
    {%- endif -%}
    {%- if floodmark._setting('cdc') is not none -%}
        {%- set cdc = floodmark._cdc_settings() -%}
        {%- do properties.update({'floodmark.cdc': floodmark._to_property(floodmark._cdc_made_by(cdc,
            floodmark._distinct_names(config.get('unique_key')) | sort))}) -%}
        {%- do properties.update(floodmark._sequence_property(cdc)) -%}
    {%- endif -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    create or replace table {{ this }}
    using delta
    {{ options_clause() }}
    tblproperties {{ floodmark._properties_sql(properties) }}
    {{'partitioned by (' ~ floodmark._quoted_csv(floodmark._distinct_names(config.get('partition_by'))) ~ ')'
        if config.get('partition_by') }}
    {{ location_clause() }}
    as
    {{ select_sql }}
{% endmacro %}
