{# The columns of the model's table, looked up once a batch. #}
{% macro _table_columns(run) %}
    {%- if run.get('table_columns') is none -%}
        {%- do run.update({'table_columns': floodmark._columns_of(relation=this)}) -%}
    {%- endif -%}
    {{ return(run.table_columns) }}
{% endmacro %}


{# Those of some names that no column of the model's table has. #}
{% macro _names_beyond_table(run, names) %}
    {%- set found = [] -%}
    {%- for name in names if not floodmark._find_column(floodmark._table_columns(run), name) -%}
        {%- do found.append(name) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The columns by which the table is, or will be, partitioned: their names in lower case. A table that somebody else
   made need not have those of the config. #}
{% macro _partition_names(run) %}
    {%- if run.get('partitions') is none -%}
        {%- do run.update({'partitions': floodmark._table_columns(run) | selectattr('is_partition', 'defined')
            | map(attribute='name') | map('lower') | list if run.target.exists
            else floodmark._planned_partitions()}) -%}
    {%- endif -%}
    {{ return(run.partitions) }}
{% endmacro %}


{# The columns by which a table that this run makes will be partitioned: their names in lower case. #}
{% macro _planned_partitions() %}
    {{ return(floodmark._name_list(config.get('partition_by')) | map('lower') | list) }}
{% endmacro %}


{# The columns of a batch's SELECT, looked up once; without the files that it reads, which may be a long list. #}
{% macro _select_columns(run, select_sql) %}
    {%- if run.get('selected') is none or run.selected.sql != select_sql -%}
        {%- set reader = run.get('reader') -%}
        {%- set query = select_sql | replace(reader.sql, reader.described) if reader else select_sql -%}
        {%- do run.update({'selected': {'sql': select_sql, 'columns': floodmark._columns_of(query=query)}}) -%}
    {%- endif -%}
    {{ return(run.selected.columns) }}
{% endmacro %}


{# Problems of columns of the SELECT that floodmark writes itself, those of its prefix and those in `kept`: a list for
   _refuse. #}
{% macro _own_name_problems(columns, setting='incremental_strategy', kept=[]) %}
    {%- set problems = [] -%}
    {%- for column in columns if column.name | lower in kept | map('lower') | list
        or (column.name | lower).startswith('_floodmark_') -%}
        {%- do problems.append({'setting': setting, 'got': 'a column ' ~ column.name ~ ' in the SELECT',
            'expected': 'no column that floodmark writes itself', 'todo': 'Leave it out or give it another name'}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}
