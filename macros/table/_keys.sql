{# Problems of a key that is no column of the SELECT, has no type, or cannot be compared: a list for _refuse. With
   `cdc`, its settings, `columns` are those that the table keeps. #}
{% macro _key_problems(run, keys, columns, cdc=none) %}
    {%- set problems = [] -%}
    {%- for key in keys -%}
        {%- set column = floodmark._find_column(columns, key) -%}
        {%- if column is none and floodmark._is_untyped_column(run, key) -%}
            {%- do problems.append(floodmark._untyped_problem('unique_key', key)) -%}
        {%- elif column is none -%}
            {%- do problems.append({'setting': 'unique_key', 'got': key,
                'expected': 'a column of the SELECT' ~ (' that the table keeps' if cdc else ''),
                'todo': 'Add it to the SELECT' ~ (' and to column_list' if cdc and cdc.column_list else '')
                ~ ', or correct the name'}) -%}
        {%- elif floodmark._has_no_order(column.type) -%}
            {%- do problems.append({'setting': 'unique_key', 'got': key ~ ' ' ~ column.type,
                'expected': 'a type that can be compared', 'todo': 'Use another key'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Keys of two relations that are the same; NULL-safe unless another operator is given. #}
{% macro _same_key(run, one, other, operator='<=>') %}
    {%- set parts = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- do parts.append(one ~ '.' ~ floodmark._quoted(key) ~ ' ' ~ operator ~ ' ' ~ other ~ '.'
            ~ floodmark._quoted(key)) -%}
    {%- endfor -%}
    {{ return(parts | join(' and ')) }}
{% endmacro %}


{# What a match sets: a list of assignments. #}
{% macro _assignments(names) %}
    {%- set assignments = [] -%}
    {%- for name in names -%}
        {%- do assignments.append('DBT_INTERNAL_DEST.' ~ floodmark._quoted(name) ~ ' = DBT_INTERNAL_SOURCE.'
            ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return(assignments) }}
{% endmacro %}


{# The columns that a match updates: merge_update_columns, or all but merge_exclude_columns. #}
{% macro _updated_columns(columns) %}
    {%- set only = floodmark._name_list(config.get('merge_update_columns')) -%}
    {%- set except = floodmark._name_list(config.get('merge_exclude_columns')) -%}
    {%- set names = [] -%}
    {%- for name in columns -%}
        {%- if (not only or name | lower in only | map('lower') | list)
            and (not except or name | lower not in except | map('lower') | list) -%}
            {%- do names.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# How source and target rows meet: keys equal or both NULL, and target keys within the batch's range. Where no source
   row has a NULL there, `=` says the same, and Spark joins by one number instead of a number and a flag; cdc and
   snapshot_diff refuse NULL keys. #}
{% macro _key_predicates(run, source) %}
    {%- set predicates = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- set has_nulls = run.settings.strategy == 'merge' and source.counts.get('null_' ~ loop.index0) != 0 -%}
        {%- do predicates.append('DBT_INTERNAL_SOURCE.' ~ quoted ~ (' <=> ' if has_nulls else ' = ')
            ~ 'DBT_INTERNAL_DEST.' ~ quoted) -%}
    {%- endfor -%}
    {{ return(predicates + floodmark._range_predicates(run,
        source) + ([source.counts.key_filter] if source.counts.key_filter else [])) }}
{% endmacro %}


{# Whether a part of the key is NULL. #}
{% macro _null_key_sql(run) %}
    {%- set missing = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- do missing.append(floodmark._quoted(key) ~ ' is null') -%}
        {#- Delta keeps '' of a partition column as NULL -#}
        {%- if key | lower in floodmark._partition_names(run) -%}
            {%- do missing.append('cast(' ~ floodmark._quoted(key) ~ " as string) = ''") -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('(' ~ missing | join(' or ') ~ ')') }}
{% endmacro %}
