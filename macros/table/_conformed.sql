{#
  The SELECT of a batch as the table will hold it, whatever the strategy. Structs meet by the names of their fields, as
  columns do: Spark's INSERT takes fields by their position, and MERGE refuses those that stand elsewhere. Values come
  in the table's own types, and a value that would not stay what it is stops the batch (_casts.sql). Fields that are new
  follow on_schema_change; one that the SELECT lacks is NULL, since a struct is one value and comes whole. What has no
  type yet (`null as n`) is kept out until it has one.
#}

{# The SELECT with its columns as they will be in the table; itself where none differs. Its columns are known
   afterwards (_select_columns). #}
{% macro _conformed_select(run, batch, select_sql) %}
    {%- set columns = floodmark._conformed_columns(run, batch, floodmark._select_columns(run, select_sql)) -%}
    {%- set conformed = floodmark._conforming_sql(run, columns, select_sql) -%}
    {%- do run.update({'selected': {'sql': conformed, 'columns': columns}}) -%}
    {{ return(conformed) }}
{% endmacro %}


{# The table's columns that a batch's have to be like: not floodmark's own, since the sequence of events is refused
   where its type changes. #}
{% macro _conforming_columns(run, batch) %}
    {%- set has_table = run.target.is_delta and not (batch and batch.replaces) -%}
    {{ return(floodmark._without_own_names(floodmark._table_columns(run)) if has_table else []) }}
{% endmacro %}


{# The columns of a SELECT as they will be in the table: those that differ have `given`, the type in which they come;
   those without a type are left out. Types that have no cast are refused with all columns at once. `batch` is none
   before a stream's first batch. #}
{% macro _conformed_columns(run, batch, columns) %}
    {%- set known = floodmark._conforming_columns(run, batch) -%}
    {%- set conformed, problems, untyped = [], [], [] -%}
    {%- do run.update({'awaited': floodmark._awaited_names(run, batch, columns, known)}) -%}
    {%- for column in columns -%}
        {%- set own, name = floodmark._find_column(known, column.name), floodmark._path_part(column.name) -%}
        {%- set type = floodmark._wanted_type(run, column, own) -%}
        {%- do untyped.extend(floodmark._untyped_names(name, column.ddl)
            | reject('in', floodmark._field_names(name, own.ddl) if own else []) | list) -%}
        {%- if type is none -%}
            {%- continue -%}
        {%- elif type == column.ddl -%}
            {%- do conformed.append(column) -%}
        {%- else -%}
            {%- do problems.extend(floodmark._cast_problems(column.name, column.ddl, type)) -%}
            {%- do conformed.append(dict(column, type=type | lower, ddl=type, given=column.ddl)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems,
            rejects=problems[0].got ~ ' where the table has ' ~ problems[0].expected) -%}
    {%- endif -%}
    {%- do run.update({'leaves_out': conformed | length < columns | length}) -%}
    {%- do floodmark._note_untyped(run, untyped) -%}
    {{ return(conformed) }}
{% endmacro %}


{# The SELECT that gives these columns; itself where it does so already. #}
{% macro _conforming_sql(run, columns, select_sql) %}
    {%- set selected = [] -%}
    {%- for column in columns -%}
        {%- do selected.append(floodmark._conformed_column_sql(column)) -%}
    {%- endfor -%}
    {%- set conforming = 'select ' ~ selected | join(', ') ~ ' from (\n' ~ select_sql ~ '\n)' -%}
    {{ return(conforming if floodmark._conforms(run, columns) else select_sql) }}
{% endmacro %}


{# Whether the columns of _conformed_columns are others than the SELECT's. #}
{% macro _conforms(run, columns) %}
    {{ return(columns | selectattr('given', 'defined') | list != [] or run.get('leaves_out', false)) }}
{% endmacro %}


{# A column of _conformed_columns as SQL over the SELECT, under its name. #}
{% macro _conformed_column_sql(column) %}
    {{ return(floodmark._conformed_value_sql(column) ~ (' as ' ~ floodmark._quoted(column.name)
        if column.given is defined else '')) }}
{% endmacro %}


{% macro _conformed_value_sql(column) %}
    {%- set quoted = floodmark._quoted(column.name) -%}
    {{ return(floodmark._conformed_sql(quoted, column.given, column.ddl, column.name)
        if column.given is defined else quoted) }}
{% endmacro %}


{# The type in which a column of the SELECT is to come, by on_schema_change; none where it has none yet. 'fail' and
   'sync_all_columns' refuse another type and the fields that they refuse as columns, so those are left for
   _align_columns to name, and a key of cdc and snapshot_diff to its check. #}
{% macro _wanted_type(run, column, known) %}
    {%- if column.name.startswith('_floodmark_') -%}
        {{ return(column.ddl) }}
    {%- elif known is none or known.ddl == column.ddl -%}
        {{ return(floodmark._typed_part(column.ddl)) }}
    {%- endif -%}
    {%- set mode = run.settings.on_schema_change -%}
    {%- set casts = mode in ['ignore', 'append_new_columns'] and floodmark._is_cast(run, known.name) -%}
    {%- set is_awaited = run.awaited | select('in', floodmark._field_names(floodmark._path_part(column.name),
        column.ddl)) | list != [] -%}
    {%- set type = floodmark._conformed_type(column.ddl, known.ddl, mode != 'ignore' or is_awaited, casts) -%}
    {#- a key with more or fewer fields is another key, and refused as such -#}
    {%- set is_key = known.name | lower in run.settings.unique_key | map('lower') | list -%}
    {%- set is_fixed = mode in ['fail', 'sync_all_columns'] or is_key -%}
    {%- set is_refused = is_fixed and not floodmark._is_untyped(column.type)
        and not (casts and 'struct<' not in column.type)
        and floodmark._type_words(type) != floodmark._type_words(column.ddl) -%}
    {{ return(column.ddl if is_refused else floodmark._typed_part(type)) }}
{% endmacro %}


{# Whether a column comes in the table's type. Not the key of cdc and of snapshot_diff, and none of a contract: they
   are refused where their type changes. #}
{% macro _is_cast(run, name) %}
    {%- set is_strict = run.settings.strategy in ['cdc', 'snapshot_diff'] or config.get('contract').enforced -%}
    {{ return(not is_strict or name | lower not in run.settings.unique_key | map('lower') | list) }}
{% endmacro %}


{# A type with the fields of `known` in their order and spelling and, with `grows`, those that are new behind them;
   what is not nested is as it is given, or with `casts` as it is known. #}
{% macro _conformed_type(given, known, grows, casts=false) %}
    {%- set nesting = floodmark._nesting(known) -%}
    {%- if given == 'void' -%}
        {{ return(known) }}
    {%- elif nesting is none or floodmark._nesting(given) != nesting -%}
        {{ return(known if casts and known != 'void' or given | lower == known | lower else given) }}
    {%- elif nesting == 'array' -%}
        {{ return('array<' ~ floodmark._conformed_type(given[6:-1], known[6:-1], grows, casts) ~ '>') }}
    {%- elif nesting == 'map' -%}
        {%- set types = [] -%}
        {%- for type in floodmark._map_types(given) -%}
            {%- do types.append(floodmark._conformed_type(type, floodmark._map_types(known)[loop.index0], grows,
                casts)) -%}
        {%- endfor -%}
        {{ return('map<' ~ types | join(',') ~ '>') }}
    {%- endif -%}
    {%- set fields = floodmark._struct_fields(given) -%}
    {%- set before = floodmark._struct_fields(known) -%}
    {%- set parts = [] -%}
    {%- for field in before -%}
        {%- set own = floodmark._find_column(fields, field.name) -%}
        {%- do parts.append(floodmark._quoted_field(field.name) ~ ':'
            ~ (floodmark._conformed_type(own.type, field.type, grows, casts) if own else field.type)) -%}
    {%- endfor -%}
    {%- for field in fields if grows and not floodmark._find_column(before, field.name) -%}
        {%- do parts.append(floodmark._quoted_field(field.name) ~ ':' ~ field.type) -%}
    {%- endfor -%}
    {{ return('struct<' ~ parts | join(',') ~ '>') }}
{% endmacro %}


{# What forbids to bring a column or field from one type to another: a list of problems for _refuse. #}
{% macro _cast_problems(name, given, wanted) %}
    {%- set problems = [] -%}
    {%- set nesting = floodmark._nesting(wanted) -%}
    {%- if given | lower == wanted | lower or given == 'void' -%}
        {{ return([]) }}
    {%- elif nesting is none or floodmark._nesting(given) != nesting -%}
        {%- if floodmark._cast_effect(given, wanted) == 'impossible' -%}
            {%- do problems.append({'setting': 'on_schema_change', 'got': name ~ ' ' ~ given | lower,
                'expected': wanted | lower ~ ', as in ' ~ this ~ ', or a type that can be cast to it',
                'todo': 'Cast it in the SELECT, or run once with --full-refresh'}) -%}
        {%- endif -%}
    {%- elif nesting == 'array' -%}
        {%- do problems.extend(floodmark._cast_problems(name ~ '.element', given[6:-1], wanted[6:-1])) -%}
    {%- elif nesting == 'map' -%}
        {%- for part in ['key', 'value'] -%}
            {%- do problems.extend(floodmark._cast_problems(name ~ '.' ~ part, floodmark._map_types(given)[loop.index0],
                floodmark._map_types(wanted)[loop.index0])) -%}
        {%- endfor -%}
    {%- else -%}
        {%- set fields = floodmark._struct_fields(given) -%}
        {%- for field in floodmark._struct_fields(wanted) if floodmark._find_column(fields, field.name) -%}
            {%- do problems.extend(floodmark._cast_problems(name ~ '.' ~ field.name,
                floodmark._find_column(fields, field.name).type, field.type)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# A value of one type as SQL of another that _conformed_type made of it; `name` is what a message calls it. With
   `is_tried` nothing stops: what cannot be of the other type is NULL, and so is a map some of whose keys cannot. #}
{% macro _conformed_sql(value, given, wanted, name, depth=0, is_tried=false) %}
    {%- set e, k = 'e' ~ depth, 'k' ~ depth -%}
    {%- set nesting = floodmark._nesting(wanted) -%}
    {%- if given == wanted -%}
        {{ return(value) }}
    {%- elif given == 'void' -%}
        {{ return('cast(null as ' ~ wanted ~ ')') }}
    {%- elif nesting is none or floodmark._nesting(given) != nesting -%}
        {{ return(floodmark._tried_cast_sql(value, given, wanted) if is_tried
            else floodmark._cast_sql(value, given, wanted, name)) }}
    {%- elif nesting == 'array' -%}
        {{ return('transform(' ~ value ~ ', ' ~ e ~ ' -> '
            ~ floodmark._conformed_sql(e, given[6:-1], wanted[6:-1], name ~ '.element', depth + 1, is_tried) ~ ')') }}
    {%- elif nesting == 'map' -%}
        {%- set from, to = floodmark._map_types(given), floodmark._map_types(wanted) -%}
        {%- set is_same = floodmark._conformed_type(from[0], to[0], true) | lower == to[0] | lower -%}
        {%- if is_tried and not is_same and floodmark._cast_effect(from[0], to[0] | lower) != 'keeps' -%}
            {#- a key that is NULL, or comes twice, is an error -#}
            {{ return('cast(null as ' ~ wanted ~ ')') }}
        {%- endif -%}
        {%- set keyed = value if from[0] == to[0]
            else 'transform_keys(' ~ value ~ ', (' ~ k ~ ', ' ~ e ~ ') -> '
            ~ floodmark._conformed_sql(k, from[0], to[0], name ~ '.key', depth + 1, is_tried) ~ ')' -%}
        {{ return(keyed if from[1] == to[1] else 'transform_values(' ~ keyed ~ ', (' ~ k ~ ', ' ~ e ~ ') -> '
            ~ floodmark._conformed_sql(e, from[1], to[1], name ~ '.value', depth + 1, is_tried) ~ ')') }}
    {%- endif -%}
    {%- set fields = floodmark._struct_fields(given) -%}
    {%- set parts = [] -%}
    {%- for field in floodmark._struct_fields(wanted) -%}
        {%- set own = floodmark._find_column(fields, field.name) -%}
        {%- do parts.append(floodmark._string_literal(field.name) ~ ', '
            ~ (floodmark._conformed_sql(value ~ '.' ~ floodmark._quoted(own.name), own.type, field.type,
            name ~ '.' ~ field.name, depth, is_tried) if own else 'cast(null as ' ~ field.type ~ ')')) -%}
    {%- endfor -%}
    {{ return('if(' ~ value ~ ' is null, null, named_struct(' ~ parts | join(', ') ~ '))') }}
{% endmacro %}


{# The fields that `given` has and `known` lacks, as paths for ALTER TABLE: a list of {name, path, ddl, within};
   `within` is their name as in _field_names. #}
{% macro _new_fields(name, path, given, known, within=none) %}
    {%- set within = within or floodmark._path_part(name) -%}
    {%- set nesting = floodmark._nesting(known) -%}
    {%- set found = [] -%}
    {%- if nesting is none or floodmark._nesting(given) != nesting -%}
        {{ return([]) }}
    {%- elif nesting == 'array' -%}
        {{ return(floodmark._new_fields(name, path ~ '.element', given[6:-1], known[6:-1],
            within ~ '.element')) }}
    {%- elif nesting == 'map' -%}
        {%- for part in ['key', 'value'] -%}
            {%- do found.extend(floodmark._new_fields(name, path ~ '.' ~ part, floodmark._map_types(given)[loop.index0],
                floodmark._map_types(known)[loop.index0], within ~ '.' ~ part)) -%}
        {%- endfor -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set before = floodmark._struct_fields(known) -%}
    {%- for field in floodmark._struct_fields(given) -%}
        {%- set own = floodmark._find_column(before, field.name) -%}
        {%- set inner = path ~ '.' ~ floodmark._quoted(field.name) -%}
        {%- set part = within ~ '.' ~ floodmark._path_part(field.name) -%}
        {%- if own -%}
            {%- do found.extend(floodmark._new_fields(name ~ '.' ~ field.name, inner, field.type, own.type, part)) -%}
        {%- else -%}
            {%- do found.append({'name': name ~ '.' ~ field.name, 'path': inner, 'ddl': field.type,
                'within': part}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A text as Delta keeps it in a column that partitions its table: NULL for '', and U+FFFD for bytes that are no
   UTF-8. #}
{% macro _text_of_partition_sql(value) %}
    {{ return('nullif(make_valid_utf8(' ~ value ~ "), '')") }}
{% endmacro %}


{# A SELECT with the texts of columns that partition the table as Delta keeps them: what is compared with the table
   must be what the table will hold, or a row that is read again is another one. #}
{% macro _partition_values_sql(run, columns, select_sql) %}
    {%- set partitions = floodmark._partition_names(run) -%}
    {%- set values, texts = [], [] -%}
    {%- for column in columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- if column.name | lower in partitions and floodmark._plain_type(column.type) == 'string' -%}
            {%- do texts.append(column.name) -%}
            {%- set quoted = floodmark._text_of_partition_sql(quoted) ~ ' as ' ~ quoted -%}
        {%- endif -%}
        {%- do values.append(quoted) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ' from (\n' ~ select_sql ~ '\n)' if texts else select_sql) }}
{% endmacro %}
