{# Debezium's envelope as events: the columns of `after`, of a delete those of `before`; `_operation` (insert, update,
   delete, truncate), `_sequence` (the expression `sequence` over the envelope) and `_changed_at` (timestamp of
   ts_ms). Messages without an operation, Kafka's tombstones, are none. `keep` names columns beside the envelope that
   the events shall have too, such as a watermark's. Stands in a FROM. #}
{% macro debezium(relation, sequence='source.lsn', keep=[]) %}
(
    {%- set columns = floodmark._columns_if_known('select * from ' ~ relation) %}
    select _row.*, _operation, _sequence,
        _changed_at{{', ' ~ floodmark._quoted_csv(floodmark._name_list(keep)) if keep }} from (
        select
            {{ floodmark._envelope_row_sql(relation, columns) }} as _row,
            case op when 'd' then 'delete' when 't' then 'truncate' when 'u' then 'update'
                else 'insert' end as _operation,
            {{ floodmark._with_numbers_sql(sequence, sequence, columns) }} as _sequence,
            timestamp_millis({{ floodmark._with_numbers_sql('ts_ms', sequence, columns) }}) as _changed_at
                {{- ', ' ~ floodmark._quoted_csv(floodmark._name_list(keep)) if keep }}
        from {{ relation }}
        where op in ('c', 'r', 'u', 'd', 't')
    )
)
{% endmacro %}


{# An expression over an envelope, in which a number that is a text in these columns is a number: files without
   schema_hints have texts alone, and of texts 9 is above 10. Where nobody knows the columns yet, it is taken for one if
   the sequence is no more than such a number: a part of an expression may have any type. #}
{% macro _with_numbers_sql(expression, sequence, columns) %}
    {%- set patterns = {} -%}
    {%- for name in ['ts_ms', 'ts_us', 'ts_ns', 'lsn', 'pos', 'row'] -%}
        {%- for path in [['source', name]] + ([[name]] if name.startswith('ts_') else []) -%}
            {%- do patterns.update({'(?i)(?<![\\w.`])`?' ~ path | join('`?\\.`?') ~ '`?(?![\\w`]|\\s*[.(])': path}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set ns = namespace(sql=expression, is_alone=false) -%}
    {%- for pattern in patterns -%}
        {%- set ns.is_alone = ns.is_alone or modules.re.fullmatch(pattern, sequence | trim) is not none -%}
    {%- endfor -%}
    {%- for pattern, path in patterns.items()
        if (floodmark._type_of_path(columns, path).startswith('string') if columns else ns.is_alone) -%}
        {%- set ns.sql = modules.re.sub(pattern, 'cast(\\g<0> as bigint)', ns.sql) -%}
    {%- endfor -%}
    {{ return(ns.sql) }}
{% endmacro %}


{# The type of a column or of a field of it; '' where there is none. #}
{% macro _type_of_path(columns, path) %}
    {%- set column = floodmark._find_column(columns, path[0]) -%}
    {%- if column is none or path | length == 1 -%}
        {{ return(column.type if column else '') }}
    {%- endif -%}
    {{ return(floodmark._type_of_path(floodmark._struct_fields(column.type), path[1:])
        if column.type.startswith('struct<') else '') }}
{% endmacro %}


{# The row of an envelope. Where `before` and `after` are structs of two types, as with PostgreSQL's default replica
   identity, whose `before` holds the key alone, it is put together by name. A side that is a text is JSON: where files
   hold snapshots alone at first, all `before` are null, and a column of nulls is a string. One that the feed does not
   have is NULL. #}
{% macro _envelope_row_sql(relation, columns) %}
    {%- set columns = floodmark._columns_named(columns, ['before', 'after']) -%}
    {%- set types = [] -%}
    {%- for column in columns if column.type.startswith('struct<') -%}
        {%- do types.append(column.ddl) -%}
    {%- endfor -%}
    {%- if columns and not types -%}
        {%- do floodmark._stop('before and after of ' ~ relation ~ ' are no structs, which debezium() needs: parse '
            ~ 'them with from_json(), or give them types in schema_hints') -%}
    {%- elif columns and types | length == 1 -%}
        {%- set sides = [] -%}
        {%- for side in ['before', 'after'] -%}
            {%- set column = floodmark._find_column(columns, side) -%}
            {%- do sides.append('null' if not column else (side if column.ddl == types[0]
                else 'from_json(cast(' ~ side ~ ' as string), ' ~ floodmark._string_literal(types[0]) ~ ')')) -%}
        {%- endfor -%}
        {{ return("if(op = 'd', " ~ sides | join(', ') ~ ')') }}
    {%- endif -%}
    {%- if types | unique(case_sensitive=true) | list | length < 2 -%}
        {#- of files a batch checks it, which knows their columns (_with_sides) -#}
        {%- set text = relation | string | trim -%}
        {%- set marker = '/*floodmark:sides*/ ' if text.startswith('/*floodmark:files*/')
            and text.endswith('/*floodmark:end*/') else '' -%}
        {{ return(marker ~ "if(op = 'd', before, after)") }}
    {%- endif -%}
    {{ return(floodmark._struct_of_either_sql(['before', 'after'], types)) }}
{% endmacro %}


{# A struct with the fields of two, those of `after` first: of a delete what `before` has, else what `after` has, NULL
   where that side lacks the field. `names` are the SQL of both, `types` their types. #}
{% macro _struct_of_either_sql(names, types) %}
    {%- set before, after = floodmark._struct_fields(types[0]), floodmark._struct_fields(types[1]) -%}
    {%- set values = [] -%}
    {%- for field in after -%}
        {%- do values.append(floodmark._string_literal(field.name)) -%}
        {%- do values.append(floodmark._field_of_either_sql(names, floodmark._find_column(before, field.name),
            field)) -%}
    {%- endfor -%}
    {%- for field in before if not floodmark._find_column(after, field.name) -%}
        {%- do values.append(floodmark._string_literal(field.name)) -%}
        {%- do values.append(floodmark._field_of_either_sql(names, field, none)) -%}
    {%- endfor -%}
    {%- set is_null = "if(op = 'd', " ~ names[0] ~ ' is null, ' ~ names[1] ~ ' is null)' -%}
    {{ return('if(' ~ is_null ~ ', null, named_struct(' ~ values | join(', ') ~ '))') }}
{% endmacro %}


{# One field of it; none stands for a side that lacks it. #}
{% macro _field_of_either_sql(names, before, after) %}
    {%- set values = [
        names[0] ~ '.' ~ floodmark._quoted(before.name) if before else 'null',
        names[1] ~ '.' ~ floodmark._quoted(after.name) if after else 'null',
    ] -%}
    {%- set are_two = before and after and before.type != after.type -%}
    {%- set nesting = floodmark._nesting(after.type) if are_two else none -%}
    {%- if nesting == 'struct' and before.type.startswith('struct<') -%}
        {{ return(floodmark._struct_of_either_sql(values, [before.type, after.type])) }}
    {%- elif nesting and nesting == floodmark._nesting(before.type) -%}
        {%- set type = floodmark._conformed_type(before.type, after.type, true, casts=true) -%}
        {%- set values = [floodmark._conformed_sql(values[0], before.type, type, before.name),
            floodmark._conformed_sql(values[1], after.type, type, after.name)] -%}
    {%- endif -%}
    {{ return("if(op = 'd', " ~ values | join(', ') ~ ')') }}
{% endmacro %}


{# The columns of a query over a user's relation, as _columns_of gives them; none of them where Spark cannot tell yet:
   before the first run of what it reads, of a CTE of the model, of new_files(), whose columns come with each batch, and
   without the plugin. #}
{% macro _columns_if_known(query) %}
    {%- set can_ask = execute and adapter.floodmark_described is defined and '/*floodmark:files*/' not in query -%}
    {%- set known = adapter.floodmark_described(query) if can_ask else none -%}
    {{ return(floodmark._columns_of(query=known) if known else []) }}
{% endmacro %}
