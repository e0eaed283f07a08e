{#
  Structs meet by the names of their fields, as columns do: Spark's INSERT takes fields by their position, and MERGE refuses those that
  stand elsewhere. So the SELECT of a batch is wrapped where a struct of it, also one in an array or a map, is not as in the table. Fields
  that are new follow on_schema_change; one that the SELECT lacks is NULL, since a struct is one value and comes whole. What merge and
  cdc compare with the table comes in the table's own types.
#}

{# The SELECT with its columns as they will be in the table; itself where none differs. #}
{% macro _conformed_select(run, batch, select_sql) %}
    {%- if not floodmark._conforming_columns(run, batch) -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {{ return(floodmark._conforming_sql(floodmark._conformed_columns(run, batch, floodmark._select_columns(run, select_sql)), select_sql)) }}
{% endmacro %}


{# The table's columns that a batch's may have to be like: not floodmark's own, since the sequence of events is refused where its type changes. #}
{% macro _conforming_columns(run, batch) %}
    {%- set known = [] -%}
    {%- for column in (floodmark._table_columns(run) if run.target.is_delta and not batch.replaces else []) if not column.name.startswith('_floodmark_') and ('struct<' in column.type or floodmark._is_cast(run, column.name)) -%}
        {%- do known.append(column) -%}
    {%- endfor -%}
    {{ return(known) }}
{% endmacro %}


{# The columns of a SELECT as they will be in the table: those that differ have `given`, the type in which they come. #}
{% macro _conformed_columns(run, batch, columns) %}
    {%- set known = floodmark._conforming_columns(run, batch) -%}
    {%- set conformed = [] -%}
    {%- for column in columns -%}
        {%- set type = floodmark._wanted_type(run, column, floodmark._find_column(known, column.name)) -%}
        {%- do conformed.append(dict(column, type=type | lower, ddl=type, given=column.ddl) if type is not none else column) -%}
    {%- endfor -%}
    {{ return(conformed) }}
{% endmacro %}


{# The SELECT that gives these columns. #}
{% macro _conforming_sql(columns, select_sql) %}
    {%- set selected = [] -%}
    {%- for column in columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- do selected.append(floodmark._conformed_sql(quoted, column.given, column.ddl) ~ ' as ' ~ quoted if column.given is defined else quoted) -%}
    {%- endfor -%}
    {{ return('select ' ~ selected | join(', ') ~ ' from (\n' ~ select_sql ~ '\n)' if columns | selectattr('given', 'defined') | list else select_sql) }}
{% endmacro %}


{# The type in which a column of the SELECT is to come, by on_schema_change; none where it comes as it is, so that a contract is of the SELECT. 'fail' and 'sync_all_columns' refuse
   the fields that they refuse as columns, so those are left for _align_columns to name. #}
{% macro _wanted_type(run, column, known) %}
    {%- if known is none or known.type == column.type -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set mode = run.settings.on_schema_change -%}
    {%- set casts = 'struct<' not in known.type and mode in ['ignore', 'append_new_columns'] and not config.get('contract').enforced and floodmark._is_cast(run, known.name) -%}
    {%- set type = known.ddl if casts else floodmark._conformed_type(column.ddl, known.ddl, mode != 'ignore') -%}
    {#- a key with more or fewer fields is another key, and refused as such -#}
    {%- set is_fixed = mode in ['fail', 'sync_all_columns'] or not casts and known.name | lower in run.settings.unique_key | map('lower') | list -%}
    {%- set is_refused = is_fixed and floodmark._type_words(type) != floodmark._type_words(column.ddl) -%}
    {{ return(none if is_refused or type | lower == column.type else type) }}
{% endmacro %}


{# Whether a column is compared with the table's, as key or as part of a row. In cdc not the key, which is refused where its type changes. #}
{% macro _is_cast(run, name) %}
    {{ return(run.settings.strategy == 'merge' or run.settings.strategy == 'cdc' and name | lower not in run.settings.unique_key | map('lower') | list) }}
{% endmacro %}


{# A type with the fields of `known` in their order and, with `grows`, those that are new behind them; what is no struct stays as it is given. #}
{% macro _conformed_type(given, known, grows) %}
    {%- if given.startswith('array<') and known.startswith('array<') -%}
        {{ return('array<' ~ floodmark._conformed_type(given[6:-1], known[6:-1], grows) ~ '>') }}
    {%- elif given.startswith('map<') and known.startswith('map<') -%}
        {%- set value = floodmark._map_value_type(given) -%}
        {{ return(given[:-1 - value | length] ~ floodmark._conformed_type(value, floodmark._map_value_type(known), grows) ~ '>') }}
    {%- elif not (given.startswith('struct<') and known.startswith('struct<')) -%}
        {{ return(given) }}
    {%- endif -%}
    {%- set fields = floodmark._struct_fields(given) -%}
    {%- set before = floodmark._struct_fields(known) -%}
    {%- set parts = [] -%}
    {%- for field in before -%}
        {%- set own = floodmark._find_column(fields, field.name) -%}
        {%- do parts.append(floodmark._quoted_field(field.name) ~ ':' ~ (floodmark._conformed_type(own.type, field.type, grows) if own else field.type)) -%}
    {%- endfor -%}
    {%- for field in fields if grows and not floodmark._find_column(before, field.name) -%}
        {%- do parts.append(floodmark._quoted_field(field.name) ~ ':' ~ field.type) -%}
    {%- endfor -%}
    {{ return('struct<' ~ parts | join(',') ~ '>') }}
{% endmacro %}


{# A value of one type as SQL of another that _conformed_type made of it. #}
{% macro _conformed_sql(value, given, wanted, depth=0) %}
    {%- set e, k = 'e' ~ depth, 'k' ~ depth -%}
    {%- if given | lower == wanted | lower -%}
        {{ return(value) }}
    {%- elif 'struct<' not in wanted -%}
        {%- if not floodmark._is_castable(given, wanted) -%}
            {%- do floodmark._refuse([{'setting': 'on_schema_change', 'got': value | replace('`', '') ~ ' ' ~ given | lower, 'expected': wanted | lower ~ ', as in ' ~ this ~ ', or a type that can be cast to it',
                'todo': 'Cast it in the SELECT, or run once with --full-refresh'}]) -%}
        {%- endif -%}
        {#- without ANSI mode, as dbt-spark has it, a cast that fails is a NULL: the write of the batch would have refused it -#}
        {{ return('coalesce(try_cast(' ~ value ~ ' as ' ~ wanted ~ '), if(' ~ value ~ ' is null, null, raise_error(concat('
            ~ floodmark._string_literal(value ~ ' is ' ~ wanted ~ ' in the table and cannot be: ') ~ ', cast(' ~ value ~ ' as string)))))') }}
    {%- elif given.startswith('array<') -%}
        {{ return('transform(' ~ value ~ ', ' ~ e ~ ' -> ' ~ floodmark._conformed_sql(e, given[6:-1], wanted[6:-1], depth + 1) ~ ')') }}
    {%- elif given.startswith('map<') -%}
        {{ return('transform_values(' ~ value ~ ', (' ~ k ~ ', ' ~ e ~ ') -> ' ~ floodmark._conformed_sql(e, floodmark._map_value_type(given), floodmark._map_value_type(wanted), depth + 1) ~ ')') }}
    {%- endif -%}
    {%- set fields = floodmark._struct_fields(given) -%}
    {%- set parts = [] -%}
    {%- for field in floodmark._struct_fields(wanted) -%}
        {%- set own = floodmark._find_column(fields, field.name) -%}
        {%- do parts.append(floodmark._string_literal(field.name) ~ ', '
            ~ (floodmark._conformed_sql(value ~ '.' ~ floodmark._quoted(own.name), own.type, field.type, depth) if own else 'cast(null as ' ~ field.type ~ ')')) -%}
    {%- endfor -%}
    {{ return('if(' ~ value ~ ' is null, null, named_struct(' ~ parts | join(', ') ~ '))') }}
{% endmacro %}


{# The fields that `given` has and `known` lacks, as paths for ALTER TABLE: a list of {name, path, ddl}. #}
{% macro _new_fields(name, path, given, known) %}
    {%- if given.startswith('array<') and known.startswith('array<') -%}
        {{ return(floodmark._new_fields(name, path ~ '.element', given[6:-1], known[6:-1])) }}
    {%- elif given.startswith('map<') and known.startswith('map<') -%}
        {{ return(floodmark._new_fields(name, path ~ '.value', floodmark._map_value_type(given), floodmark._map_value_type(known))) }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- set before = floodmark._struct_fields(known) if known.startswith('struct<') else [] -%}
    {%- for field in (floodmark._struct_fields(given) if before and given.startswith('struct<') else []) -%}
        {%- set own = floodmark._find_column(before, field.name) -%}
        {%- set inner = path ~ '.' ~ floodmark._quoted(field.name) -%}
        {%- if own -%}
            {%- do found.extend(floodmark._new_fields(name ~ '.' ~ field.name, inner, field.type, own.type)) -%}
        {%- else -%}
            {%- do found.append({'name': name ~ '.' ~ field.name, 'path': inner, 'ddl': field.type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
