{# What becomes of a table whose SELECT has other columns now (`on_schema_change`). #}

{# The columns to write, after on_schema_change: names that SELECT and target share. What the SELECT lacks keeps its
   value on update and is NULL on insert. #}
{% macro _align_columns(run, source) %}
    {%- set mode, accepted = run.settings.on_schema_change, floodmark._accepted_changes(run, source) -%}
    {%- set changes, target_columns = accepted.changes, floodmark._table_columns(run) -%}
    {%- if mode in ['append_new_columns', 'sync_all_columns'] -%}
        {%- if changes.new or changes.fields -%}
            {%- do floodmark._check_feed_names(run, changes.new) -%}
            {%- do floodmark._add_columns(this, changes) -%}
            {%- do run.update({'table_columns': none}) -%}
        {%- endif -%}
        {%- set target_columns = target_columns + changes.new -%}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for column in target_columns if floodmark._find_column(accepted.columns, column.name) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# How the SELECT and the table differ, once columns that had no type have got theirs, refused where on_schema_change
   does: {columns, changes}, the SELECT's columns and _schema_changes. #}
{% macro _accepted_changes(run, source) %}
    {%- set source_columns = source.columns or floodmark._columns_of(query=source.sql) -%}
    {%- do floodmark._check_doubled(source_columns) -%}
    {%- set source_columns = floodmark._target_columns(run, source_columns) -%}
    {%- do floodmark._give_types(run, source_columns) -%}
    {%- do floodmark._add_awaited(run, source_columns) -%}
    {%- do floodmark._remember_untyped(run) -%}
    {%- set mode = run.settings.on_schema_change -%}
    {%- set changes = floodmark._schema_changes(source_columns, floodmark._table_columns(run)) -%}
    {%- set refuses = mode == 'fail' and (changes.new or changes.fields or changes.gone or changes.retyped)
        or mode == 'sync_all_columns' and (changes.gone or changes.retyped) -%}
    {%- if refuses -%}
        {%- set way_out = "on_schema_change is 'fail'. Run with --full-refresh, or set on_schema_change to "
            "'append_new_columns'" if mode == 'fail'
            else 'Delta can add columns but not drop or retype them in place. Run with --full-refresh' -%}
        {%- do floodmark._stop('the SELECT and ' ~ this ~ ' differ (' ~ floodmark._describe_changes(changes) ~ '): '
            ~ way_out, rejects='the SELECT and the table differ') -%}
    {%- endif -%}
    {{ return({'columns': source_columns, 'changes': changes}) }}
{% endmacro %}


{# Whether such changes count where no row of the batch does: columns come, some that had no type among them, or
   on_schema_change refuses. What 'ignore' leaves out is in no row of the table. #}
{% macro _columns_count(run, changes) %}
    {%- set mode = run.settings.on_schema_change -%}
    {{ return(true if run.get('awaited') or mode != 'ignore' and (changes.new or changes.fields)
        or mode in ['fail', 'sync_all_columns'] and (changes.gone or changes.retyped) else false) }}
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


{# Add the columns and fields of a table that are new. #}
{% macro _add_columns(relation, changes) %}
    {%- set added = [] -%}
    {%- for column in changes.new + changes.fields -%}
        {%- do added.append((column.path or floodmark._quoted(column.name)) ~ ' ' ~ (column.ddl or column.type)) -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do floodmark._enable_types(relation, changes.new + changes.fields) -%}
        {%- set needed = floodmark._name_properties(changes.new) -%}
        {%- do floodmark._set_properties(needed, relation) if needed -%}
        {%- do floodmark._execute(['alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')']) -%}
    {%- endif -%}
{% endmacro %}


{# Let a table that is there have columns of the types that these have: Delta enables some by itself where it makes a
   table alone. #}
{% macro _enable_types(relation, columns) %}
    {%- set types = [] -%}
    {%- for column in columns -%}
        {%- do types.append(floodmark._without_names(column.ddl or column.type) | lower) -%}
    {%- endfor -%}
    {%- set types = types | join(', ') -%}
    {%- for type, feature in {'timestamp_ntz': 'timestampNtz', 'variant': 'variantType'}.items()
        if modules.re.search('\\b' ~ type ~ '\\b', types) -%}
        {%- do floodmark._execute(['alter table ' ~ relation ~ " set tblproperties ('delta.feature." ~ feature
            ~ "' = 'supported')"]) -%}
    {%- endfor -%}
{% endmacro %}


{# How a SELECT differs from its table: {new, fields, gone, retyped}, each a list of columns; `fields` are those that
   structs have beyond the table's, where the struct is as in the table else. #}
{% macro _schema_changes(source_columns, target_columns) %}
    {%- set changes = {'new': [], 'fields': [], 'gone': [], 'retyped': []} -%}
    {%- for column in source_columns -%}
        {%- set known = floodmark._find_column(target_columns, column.name) -%}
        {%- if known is none -%}
            {%- do changes.new.append(column) -%}
        {%- elif known.type != column.type and 'struct<' in known.type
            and floodmark._conformed_type(column.ddl, known.ddl, true) | lower == column.type
            and floodmark._conformed_type(known.ddl, column.ddl, false) | lower == column.type -%}
            {%- do changes.fields.extend(floodmark._new_fields(column.name, floodmark._quoted(column.name), column.ddl,
                known.ddl)) -%}
        {%- elif floodmark._plain_type(known.type) != floodmark._plain_type(column.type) -%}
            {%- do changes.retyped.append(column) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in target_columns if not floodmark._find_column(source_columns, column.name) -%}
        {%- do changes.gone.append(column) -%}
    {%- endfor -%}
    {{ return(changes) }}
{% endmacro %}


{% macro _describe_changes(changes) %}
    {%- set parts = [] -%}
    {%- for what, columns in {'new': changes.new + changes.fields, 'gone': changes.gone,
        'of another type': changes.retyped}.items() if columns -%}
        {%- do parts.append(what ~ ': ' ~ columns | map(attribute='name') | join(', ')) -%}
    {%- endfor -%}
    {{ return(parts | join('; ')) }}
{% endmacro %}
