{#
  MERGE of a staged batch. Keys are joined NULL-safe, and the batch's key range stands there as literals, so that Delta
  skips files. Of a key's rows in the batch the latest by the watermark column is merged, of equal ones the one with the
  greater row hash; it replaces the table's row unless that is later (_which_row_wins.sql, docs/guides/merge.md).
#}
{% macro _merge_sql(run, source, columns) %}
    {%- set assignments = floodmark._assignments(floodmark._updated_columns(columns)) -%}
    {%- set predicates = floodmark._key_predicates(run, source) + floodmark._user_predicates() -%}
    {%- set deletes = floodmark._deletes_predicate(run, source.columns, 'DBT_INTERNAL_SOURCE.') %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        {{ floodmark._latest_sql(run, source) }}
    ) as DBT_INTERNAL_SOURCE
    on {{ predicates | join('\n        and ') }}
    {%- if deletes %}
    when matched and {{ deletes }} then delete
    {%- endif %}
    {%- if assignments %}
    when matched {{'and ' ~ floodmark._wins_predicate(run, source, columns) if not source.get('is_ahead') }}
        then update set
        {{ assignments | join(',\n        ') }}
    {%- endif %}
    when not matched {{'and not ' ~ deletes if deletes }} then insert ({{ floodmark._quoted_csv(columns) }})
        values ({{ floodmark._quoted_csv(columns, 'DBT_INTERNAL_SOURCE.') }})
{% endmacro %}


{# The conditions that the user joins to the key, each in parentheses. #}
{% macro _user_predicates() %}
    {%- set predicates = [] -%}
    {%- for text in floodmark._as_list(config.get('incremental_predicates') or config.get('predicates')) -%}
        {%- do predicates.append(floodmark._clause(text)) -%}
    {%- endfor -%}
    {{ return(predicates) }}
{% endmacro %}
