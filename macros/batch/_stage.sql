{# Write the SELECT's output once, and take every check and count from there. Returns {sql, stage, columns, counts}.
   Parquet takes every name and type, and Spark lists such a table only once it is whole; a new Delta table costs it
   twice the time, since its state has to be put together before the first read. #}
{% macro _stage(run, batch, select_sql) %}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- if batch.staged_by -%}
        {%- set columns = floodmark._columns_of(relation=stage) -%}
        {#- settings may have changed since the run that staged it -#}
        {%- if run.settings.strategy == 'cdc' -%}
            {%- do floodmark._check_event_columns(run, batch, columns) -%}
        {%- else -%}
            {%- do floodmark._check_stage_columns(run, batch, columns) -%}
        {%- endif -%}
    {%- else -%}
        {%- if run.settings.strategy == 'cdc' -%}
            {%- set columns = floodmark._checked_events(run, batch, select_sql) -%}
            {%- set select_sql = floodmark._staged_events_sql(run, batch, columns, select_sql) -%}
        {%- else -%}
            {%- if floodmark._replaces_partitions(run, batch) -%}
                {%- set select_sql = floodmark._conformed_select(run, batch,
                    floodmark._whole_partitions_select(run, batch, select_sql)) -%}
            {%- endif -%}
            {%- set columns = floodmark._select_columns(run, select_sql) -%}
            {%- do floodmark._check_stage_columns(run, batch, columns) -%}
            {%- if run.settings.strategy == 'merge' -%}
                {%- set select_sql = floodmark._partition_values_sql(columns, select_sql) -%}
            {%- endif -%}
        {%- endif -%}
        {%- do floodmark._execute([floodmark._create_stage_sql(stage) ~ '\nselect * from (\n' ~ select_sql ~ '\n)']) -%}
    {%- endif -%}
    {%- set source = {'sql': 'select * from ' ~ stage, 'stage': stage, 'columns': columns, 'counts': {}} -%}
    {%- if batch.family == 'version' -%}
        {%- do floodmark._check_change_columns(run, batch, source.columns) -%}
    {%- endif -%}
    {%- do source.update({'counts': floodmark._strategy(run.settings).counts(run, stage, batch, source)}) -%}
    {%- do floodmark._check_constraints(batch, source) -%}
    {%- do floodmark._check_keys(run, batch, source) -%}
    {%- if run.settings.strategy == 'cdc' -%}
        {%- do floodmark._check_events(run, batch, source) -%}
        {%- if floodmark._restates_from(batch) is not none -%}
            {%- do floodmark._check_restated(run, batch, source) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(source) }}
{% endmacro %}


{# The events of a batch as they are staged. #}
{% macro _staged_events_sql(run, batch, columns, select_sql) %}
    {%- set sql = floodmark._conforming_sql(run, columns, floodmark._events_sql(run.settings.cdc, select_sql)) -%}
    {%- set sql = floodmark._without_replaced_sql(run, batch, columns,
        floodmark._partition_values_sql(columns, sql)) -%}
    {%- if floodmark._restates_from(batch) is not none -%}
        {%- set sql = floodmark._restated_events_sql(run, batch, sql,
            floodmark._find_column(columns, '_floodmark_sequence').type) -%}
    {%- endif -%}
    {{ return(sql) }}
{% endmacro %}


{# What the columns of a batch forbid, refused before anything is written: merge needs the columns that its settings
   name, and keys that can be compared; names with our prefix are ours. #}
{% macro _check_stage_columns(run, batch, columns) %}
    {%- set is_merge = run.settings.strategy == 'merge' -%}
    {%- set problems = floodmark._key_problems(run.settings.unique_key, columns) if is_merge else [] -%}
    {%- for setting in ['merge_update_columns', 'merge_exclude_columns'] if is_merge -%}
        {%- for name in floodmark._name_list(config.get(setting))
            if not floodmark._find_column(columns + ([] if batch.replaces else floodmark._table_columns(run)), name) -%}
            {%- do problems.append({'setting': setting, 'got': name, 'expected': 'columns of the SELECT',
                'todo': 'Correct the name or remove it'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in columns if (column.name | lower).startswith('_floodmark_') -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': 'a column ' ~ column.name ~ ' in the SELECT',
            'expected': 'no column that floodmark writes itself', 'todo': 'Leave it out or give it another name'}) -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, problems[0].setting ~ ': ' ~ problems[0].got) -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
    {#- what was not cast to the table's type: a contract is of the SELECT, and a struct with other fields is another
       key -#}
    {%- for key in run.settings.unique_key if is_merge and not batch.replaces
        and run.settings.on_schema_change in ['ignore', 'append_new_columns'] -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), key) -%}
        {%- if known is not none and (config.get('contract').enforced or 'struct<' in known.type) -%}
            {%- do problems.extend(floodmark._type_problems('unique_key', key,
                floodmark._find_column(columns, key).type, known)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, 'a key of another type') -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# The columns of the SELECT by which a statement finds rows of the table must be in the table, too: one that
   somebody made may lack them. cdc and snapshot_diff have a check of their own. #}
{% macro _check_table_columns(run, batch, columns) %}
    {%- set settings = run.settings -%}
    {%- if batch.replaces or settings.on_schema_change in ['append_new_columns', 'sync_all_columns'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set needed = [] -%}
    {%- for key in settings.unique_key if settings.strategy == 'merge' -%}
        {%- do needed.append({'setting': 'unique_key', 'name': key}) -%}
    {%- endfor -%}
    {%- if floodmark._replaces_partitions(run, batch) -%}
        {%- do needed.append({'setting': 'partition_by', 'name': settings.partition_by[0]}) -%}
        {#- rows of the first partition that lie below `start` are looked for -#}
        {%- if settings.watermark.start is not none -%}
            {%- do needed.append({'setting': 'watermark.column', 'name': settings.watermark.column}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set problems, awaited = [], run.get('awaited') or [] -%}
    {%- for need in needed -%}
        {%- set column = floodmark._find_column(columns, need.name) -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), need.name) -%}
        {%- if column and not known and need.name | lower not in awaited -%}
            {%- do problems.append({'setting': need.setting, 'got': need.name, 'expected': 'a column of ' ~ this,
                'todo': 'Add it: alter table ' ~ this ~ ' add columns (' ~ floodmark._quoted(column.name) ~ ' '
                    ~ column.ddl ~ "), set on_schema_change to 'append_new_columns', or run with --full-refresh"}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, problems[0].setting ~ ': ' ~ this ~ ' has no column ' ~ problems[0].got) -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# Where no column says which row is the latest, a key may come once in a batch: refused, the keys named. #}
{% macro _check_keys(run, batch, source) %}
    {%- if run.settings.strategy == 'merge' and source.counts.repeated
        and not floodmark._order_column(run, source.columns) -%}
        {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
        {%- set named = floodmark._query_json('select to_json(struct(' ~ keys
            ~ "), map('ignoreNullFields', 'false')) from " ~ source.stage ~ ' group by ' ~ keys
            ~ ' having count(*) > 1 order by 1 limit 5') -%}
        {%- set shown = [] -%}
        {%- for key in named -%}
            {%- do shown.append(tojson(key)) -%}
        {%- endfor -%}
        {%- set repeated = floodmark._counted(source.counts.repeated, 'key')
            ~ (' comes' if source.counts.repeated == 1 else ' come') ~ ' more than once' -%}
        {%- do floodmark._fail(batch, repeated) -%}
        {%- do floodmark._stop(repeated
            ~ ' in the batch and no watermark column in the SELECT says which row is the latest: ' ~ shown | join(', ')
            ~ '. Add the watermark column to the SELECT, or make the key unique') -%}
    {%- endif -%}
{% endmacro %}
