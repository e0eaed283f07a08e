{# Add the columns and fields of a table that are new. #}
{% macro _add_columns(relation, changes) %}
    {%- set added = [] -%}
    {%- for column in changes.new + changes.fields -%}
        {%- do added.append((column.path or floodmark._quoted(column.name)) ~ ' ' ~ (column.ddl or column.type)) -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do floodmark._enable_types(relation, changes.new + changes.fields) -%}
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
