{# What merge stages: texts in partition columns as Delta will keep them. #}
{% macro _merge_staged(run, batch, select_sql) %}
    {%- set staged = floodmark._staged_select(run, batch, select_sql) -%}
    {{ return(dict(staged, sql=floodmark._partition_values_sql(run, staged.columns, select_sql))) }}
{% endmacro %}


{# merge needs the columns that its settings name, and keys that can be compared. #}
{% macro _check_merge_columns(run, batch, columns) %}
    {%- set problems = floodmark._key_problems(run, run.settings.unique_key, columns) -%}
    {%- for setting in ['merge_update_columns', 'merge_exclude_columns'] -%}
        {%- for name in floodmark._name_list(config.get(setting))
            if not floodmark._find_column(columns + ([] if batch.replaces else floodmark._table_columns(run)), name)
            and not floodmark._is_untyped_column(run, name) -%}
            {%- do problems.append({'setting': setting, 'got': name, 'expected': 'columns of the SELECT',
                'todo': 'Correct the name or remove it'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do floodmark._reject_columns(problems + floodmark._order_problems(run, batch, columns)
        + floodmark._own_name_problems(columns)) -%}
    {#- what was not cast to the table's type: a contract is of the SELECT, and a struct with other fields is another
       key -#}
    {%- set problems = [] -%}
    {%- for key in run.settings.unique_key
        if not batch.replaces and run.settings.on_schema_change in ['ignore', 'append_new_columns'] -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), key) -%}
        {%- if known is not none and (config.get('contract').enforced or 'struct<' in known.type) -%}
            {%- do problems.extend(floodmark._type_problems('unique_key', key,
                floodmark._find_column(columns, key).type, known)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._reject_columns(problems, 'a key has another type than in the table') -%}
{% endmacro %}


{# Problems of the column that says which row is the latest: a list for _refuse. Rows without a value in it come again
   in each run, and the table must tell whether it has a newer one. A number may not come as a text. What another run
   staged, it has checked. #}
{% macro _order_problems(run, batch, columns) %}
    {%- set name = floodmark._order_column(run, columns) -%}
    {%- set column = floodmark._find_column(columns, name) if name is not none else none -%}
    {%- if column and batch.nulls == 'include' and batch.rows_null and not batch.begins
        and not floodmark._find_column(floodmark._table_columns(run), name) -%}
        {{ return([{'setting': 'watermark.nulls', 'got': 'include', 'expected': 'the watermark column ' ~ name ~ ' in '
            ~ this, 'todo': 'Rows without a value in it are read in each run, and would replace newer ones. Run once '
            'with --full-refresh, or add the column to the table and give its rows their values'}]) }}
    {%- endif -%}
    {%- if batch.family != 'sequence' or batch.kind == 'stream' or batch.get('staged_by') or column is none
        or not floodmark._plain_type(column.type).startswith('string') -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': 'watermark.column', 'got': column.name ~ ' ' ~ column.type,
        'expected': 'the type that it has upstream: of texts, 9 is above 10',
        'todo': 'Leave it in the SELECT as it is, and give ' ~ this ~ ' a column of that type, by hand or with '
        '--full-refresh'}]) }}
{% endmacro %}
