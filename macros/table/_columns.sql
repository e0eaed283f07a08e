{# The columns to write, after on_schema_change: names that SELECT and target share. What the SELECT lacks keeps its
   value on update and is NULL on insert. #}
{% macro _align_columns(run, source) %}
    {%- set source_columns = source.columns or floodmark._columns_of(query=source.sql) -%}
    {%- do floodmark._check_doubled(source_columns) -%}
    {%- set source_columns = floodmark._target_columns(run, source_columns) -%}
    {%- do floodmark._give_types(run, source_columns) -%}
    {%- do floodmark._add_awaited(run, source_columns) -%}
    {%- do floodmark._remember_untyped(run) -%}
    {%- set target_columns = floodmark._table_columns(run) -%}
    {%- set mode = run.settings.on_schema_change -%}
    {%- set changes = floodmark._schema_changes(source_columns, target_columns) -%}
    {%- set refuses = mode == 'fail' and (changes.new or changes.fields or changes.gone or changes.retyped)
        or mode == 'sync_all_columns' and (changes.gone or changes.retyped) -%}
    {%- if refuses -%}
        {%- set way_out = "on_schema_change is 'fail'. Run with --full-refresh, or set on_schema_change to "
            "'append_new_columns'" if mode == 'fail'
            else 'Delta can add columns but not drop or retype them in place. Run with --full-refresh' -%}
        {%- do floodmark._stop('the SELECT and ' ~ this ~ ' differ (' ~ floodmark._describe_changes(changes) ~ '): '
            ~ way_out, rejects='the SELECT and the table differ') -%}
    {%- endif -%}
    {%- if mode in ['append_new_columns', 'sync_all_columns'] -%}
        {%- if changes.new or changes.fields -%}
            {%- do floodmark._check_feed_names(run, changes.new) -%}
            {%- do floodmark._add_columns(this, changes) -%}
            {%- do run.update({'table_columns': none}) -%}
        {%- endif -%}
        {%- set target_columns = target_columns + changes.new -%}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for column in target_columns if floodmark._find_column(source_columns, column.name) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# Columns of the table that have no type get that of the SELECT, once it has one. #}
{% macro _give_types(run, source_columns) %}
    {%- set typed, given = [], [] -%}
    {%- for column in floodmark._table_columns(run) if column.type == 'void' -%}
        {%- set own = floodmark._find_column(source_columns, column.name) -%}
        {%- if own and own.type != 'void' -%}
            {%- do typed.append('alter table ' ~ this ~ ' alter column ' ~ floodmark._quoted(column.name) ~ ' type '
                ~ own.ddl) -%}
            {%- do given.append(own) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if typed -%}
        {%- do floodmark._enable_types(this, given) -%}
        {%- do floodmark._execute(typed) -%}
        {%- do run.update({'table_columns': none}) -%}
    {%- endif -%}
{% endmacro %}


{# Add what the table was made without, since it had no type then (_untyped_columns.sql). A struct grows as a whole
   where on_schema_change leaves new columns out: only those with such a field have any here. #}
{% macro _add_awaited(run, source_columns) %}
    {%- if run.get('awaited') -%}
        {%- set changes = floodmark._schema_changes(source_columns, floodmark._table_columns(run)) -%}
        {%- set awaited = {'new': [], 'fields': []} -%}
        {%- for column in changes.new + changes.fields -%}
            {%- set is_field = column.within is defined -%}
            {%- if (column.within or floodmark._path_part(column.name)) | lower in run.awaited
                or is_field and run.settings.on_schema_change == 'ignore' -%}
                {%- do awaited['fields' if is_field else 'new'].append(column) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- do floodmark._add_columns(this, awaited) -%}
        {%- do run.update({'table_columns': none}) -%}
    {%- endif -%}
{% endmacro %}


{# The columns of the model's table, looked up once a batch. #}
{% macro _table_columns(run) %}
    {%- if run.get('table_columns') is none -%}
        {%- do run.update({'table_columns': floodmark._columns_of(relation=this)}) -%}
    {%- endif -%}
    {{ return(run.table_columns) }}
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
