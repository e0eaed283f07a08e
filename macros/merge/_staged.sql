{# What merge and insert_overwrite stage. #}
{% macro _merge_staged(run, batch, select_sql) %}
    {%- set staged = floodmark._staged_select(run, batch, select_sql) -%}
    {{ return(dict(staged, sql=floodmark._partition_values_sql(run, staged.columns, select_sql))) }}
{% endmacro %}


{# Under a watermark insert_overwrite reads the whole partitions that the batch's rows lie in. #}
{% macro _overwrite_reads(run, batch, select_sql) %}
    {%- if not floodmark._replaces_partitions(run, batch) -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {{ return(floodmark._whole_partitions_select(run, batch, floodmark._conformed_select(run, batch, select_sql),
        select_sql)) }}
{% endmacro %}


{# A condition on the quarantine of rows that a batch has read again: those of its partitions, and those within its
   bounds, which may lie in none; none where the quarantine has no partition column: its rows are of a time when the
   table was not partitioned by it. #}
{% macro _overwritten_rows_sql(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set held = floodmark._columns_of(relation=quarantine) if floodmark._has_quarantine(quarantine) else [] -%}
    {%- if not floodmark._find_column(held, run.settings.partition_by[0]) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set is_judged = batch.get('judged') and batch.judged.get('columns') -%}
    {%- set rows = floodmark._judged_relation(batch) if is_judged else floodmark._stage_relation(batch) -%}
    {%- set is_lost = batch.get('is_taken_over') and not batch.staged_by -%}
    {%- if not is_judged and (is_lost or not floodmark._is_stage_whole(rows)) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set partition = floodmark._quoted(run.settings.partition_by[0]) -%}
    {%- set values = [] -%}
    {%- set is_held = floodmark._broken_sql(batch.rules, ['drop', 'quarantine']) if is_judged else 'false' -%}
    {%- set follows = 'true' if is_held == 'false'
        else 'not ' ~ is_held ~ ' or ' ~ floodmark._follows_sql(run, batch.judged.columns, none) -%}
    {%- for value in run_query('select distinct cast(' ~ partition ~ ' as string) as value from '
        ~ rows ~ ' where ' ~ partition ~ ' is not null and (' ~ follows ~ ')').columns[0].values() -%}
        {%- do values.append(floodmark._string_literal(value)) -%}
    {%- endfor -%}
    {#- a column keeps the type in which it came first: what came in another stands in the text of its row -#}
    {%- set in_partitions = 'coalesce(cast(' ~ partition ~ ' as string), '
        ~ floodmark._value_of_text_sql(run.settings.partition_by[0], 'string') ~ ') in (' ~ values | join(', ') ~ ')'
        if values else none -%}
    {%- set in_bounds = floodmark._range_again_sql(dict(batch, low_position=floodmark._low_read(batch)), held)
        if is_judged and batch.low_position is not none else none -%}
    {%- set terms = [in_partitions, in_bounds] | reject('none') | list -%}
    {{ return('(' ~ terms | join(' or ') ~ ')' if terms else none) }}
{% endmacro %}


{# What insert_overwrite stages: the whole partitions that the batch's rows lie in, unless its rules have read them
   already. #}
{% macro _overwrite_staged(run, batch, select_sql) %}
    {%- if floodmark._replaces_partitions(run, batch) and not batch.get('judged') -%}
        {%- set select_sql = floodmark._conformed_select(run, batch,
            floodmark._whole_partitions_select(run, batch, select_sql)) -%}
    {%- endif -%}
    {{ return(floodmark._staged_select(run, batch, select_sql)) }}
{% endmacro %}


{# merge needs the columns that its settings name, and keys that can be compared. #}
{% macro _check_merge_columns(run, batch, columns) %}
    {%- set problems = floodmark._key_problems(run.settings.unique_key, columns) -%}
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


{# Problems of a number that comes as a text, though it says which row is the latest: a list for _refuse. What another
   run staged, it has checked. #}
{% macro _order_problems(run, batch, columns) %}
    {%- set name = floodmark._order_column(run, columns) -%}
    {%- set column = floodmark._find_column(columns, name) if name is not none else none -%}
    {%- if batch.family != 'sequence' or batch.kind == 'stream' or batch.get('staged_by') or column is none
        or not floodmark._plain_type(column.type).startswith('string') -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': 'watermark.column', 'got': column.name ~ ' ' ~ column.type,
        'expected': 'the type that it has upstream: of texts, 9 is above 10',
        'todo': 'Leave it in the SELECT as it is, and give ' ~ this ~ ' a column of that type, by hand or with '
        '--full-refresh'}]) }}
{% endmacro %}
