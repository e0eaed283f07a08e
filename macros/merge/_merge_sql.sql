{#
  MERGE of a staged batch: keys joined NULL-safe, the batch's key range as literals so that Delta skips files,
  the latest row per key by the watermark column, ties by the greater row hash (docs/guides/merge.md).
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
    when matched {{ 'and ' ~ floodmark._wins_predicate(run, source, columns) if not source.get('is_ahead') }} then update set
        {{ assignments | join(',\n        ') }}
    {%- endif %}
    when not matched {{ 'and not ' ~ deletes if deletes }} then insert ({{ floodmark._quoted_csv(columns) }})
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


{# What a match sets: a list of assignments. #}
{% macro _assignments(names) %}
    {%- set assignments = [] -%}
    {%- for name in names -%}
        {%- do assignments.append('DBT_INTERNAL_DEST.' ~ floodmark._quoted(name) ~ ' = DBT_INTERNAL_SOURCE.' ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return(assignments) }}
{% endmacro %}


{# The columns that a match updates: merge_update_columns, or all but merge_exclude_columns. #}
{% macro _updated_columns(columns) %}
    {%- set only = floodmark._name_list(config.get('merge_update_columns')) -%}
    {%- set except = floodmark._name_list(config.get('merge_exclude_columns')) -%}
    {%- set names = [] -%}
    {%- for name in columns -%}
        {%- if (not only or name | lower in only | map('lower') | list) and (not except or name | lower not in except | map('lower') | list) -%}
            {%- do names.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# How source and target rows meet: keys equal or both NULL, and target keys within the batch's range. Where no source row has a NULL there, `=` says
   the same, and Spark joins by one number instead of a number and a flag; cdc and snapshot_diff refuse NULL keys. #}
{% macro _key_predicates(run, source) %}
    {%- set predicates = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- set has_nulls = run.settings.strategy == 'merge' and source.counts.get('null_' ~ loop.index0) != 0 -%}
        {%- do predicates.append('DBT_INTERNAL_SOURCE.' ~ quoted ~ (' <=> ' if has_nulls else ' = ') ~ 'DBT_INTERNAL_DEST.' ~ quoted) -%}
    {%- endfor -%}
    {{ return(predicates + floodmark._range_predicates(run, source) + ([source.counts.key_filter] if source.counts.key_filter else [])) }}
{% endmacro %}


{# Whether a part of a key is NULL. #}
{% macro _null_key_sql(keys) %}
    {%- set missing = [] -%}
    {%- for key in keys -%}
        {%- do missing.append(floodmark._quoted(key) ~ ' is null') -%}
        {#- Delta keeps '' of a partition column as NULL -#}
        {%- if key | lower in floodmark._name_list(config.get('partition_by')) | map('lower') | list -%}
            {%- do missing.append('cast(' ~ floodmark._quoted(key) ~ " as string) = ''") -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('(' ~ missing | join(' or ') ~ ')') }}
{% endmacro %}


{# The range of the batch's keys as literals, a list of conditions on DBT_INTERNAL_DEST. #}
{% macro _range_predicates(run, source) %}
    {%- set predicates = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- set low = source.counts['min_' ~ loop.index0] -%}
        {%- set high = source.counts['max_' ~ loop.index0] -%}
        {%- if low is defined and low is not none and high is not none and low | length < 400 and high | length < 400 -%}
            {%- set type = floodmark._find_column(source.columns, key).type -%}
            {%- set range = 'DBT_INTERNAL_DEST.' ~ quoted ~ ' between ' ~ floodmark._range_literal(low, type) ~ ' and ' ~ floodmark._range_literal(high, type) -%}
            {%- do predicates.append('(' ~ range ~ (' or DBT_INTERNAL_DEST.' ~ quoted ~ ' is null' if source.counts['null_' ~ loop.index0] else '') ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(predicates) }}
{% endmacro %}


{# Whether a key column's range can be written as literals that Delta's file statistics understand. #}
{% macro _has_range(column) %}
    {%- set ranged = ['string', 'date', 'timestamp', 'timestamp_ntz', 'tinyint', 'smallint', 'int', 'bigint'] -%}
    {{ return(column is not none
        and (floodmark._plain_type(column.type) in ranged or column.type.startswith('decimal'))) }}
{% endmacro %}


{# SQL text of the least or greatest key, `@` standing for min or max; times as exact microseconds, texts as the digits of their bytes. #}
{% macro _range_text_sql(quoted, type) %}
    {%- set value = '@(' ~ quoted ~ ')' -%}
    {%- set texts = {
        'timestamp': 'cast(unix_micros(' ~ value ~ ') as string)',
        'string': 'hex(cast(' ~ value ~ ' as binary))',
    } -%}
    {{ return(texts.get(floodmark._plain_type(type), 'cast(' ~ value ~ ' as string)')) }}
{% endmacro %}


{% macro _range_literal(text, type) %}
    {%- if floodmark._plain_type(type) == 'string' -%}
        {{ return(floodmark._bytes_literal(text)) }}
    {%- elif type == 'timestamp' -%}
        {{ return('timestamp_micros(' ~ text ~ ')') }}
    {%- elif type in ['date', 'timestamp_ntz'] -%}
        {{ return(type ~ "'" ~ text ~ "'") }}
    {%- endif -%}
    {{ return('cast(' ~ floodmark._string_literal(text) ~ ' as ' ~ type ~ ')') }}
{% endmacro %}
