{# Rescued data of loaded rows: what is in it, and how a column gets it. #}

{# Fill a column of a model's table from the key of its name in rescued data, and take the key out of it, in one commit.
   A row that has a value already, and a value that does not fit, stay as they are. The table gets the column where it
   has none, in a commit before. What was filled is found no more, so the operation may be repeated. The events that cdc
   remembers beside the table come first: they would differ from its rows. #}
{% macro promote_rescued(model, column, type=none) %}
    {%- do floodmark._check_arguments('promote_rescued',
        {'model': [model, 'name'], 'column': [column, 'name'], 'type': [type, 'text']}) -%}
    {%- set node = floodmark._rescue_node(model) -%}
    {%- set id = floodmark._node_id(node) -%}
    {%- set table = floodmark._rescue_table(node) -%}
    {%- do floodmark._check_promotes(node, table) -%}
    {%- set known = floodmark._find_column(table.columns, column) -%}
    {%- set type = floodmark._promoted_type(node, table, column, known, type) -%}
    {%- set cut = floodmark._rescued_cut_sql(table.rescued, column) -%}
    {%- set json = cut ~ '.value' -%}
    {%- set fitted = floodmark._fitted_sql(json, type) -%}
    {%- set has = 'instr(' ~ table.rescued ~ ', ' ~ floodmark._string_literal(floodmark._json_name(column) ~ ':')
        ~ ') > 0 and ' ~ json ~ ' is not null' -%}
    {%- set is_free = floodmark._quoted(known.name) ~ ' is null' if known else 'true' -%}
    {%- set found = floodmark._query_json("select to_json(named_struct('rows', count(*), 'full', count_if(not ("
        ~ is_free ~ ")), 'misfits', count_if(" ~ is_free ~ ' and ' ~ fitted ~ " is null), 'example', min(if(" ~ is_free
        ~ ' and ' ~ fitted ~ ' is null, ' ~ json ~ ', null)))) from ' ~ table.relation ~ ' where ' ~ has)[0] -%}
    {%- if not found.rows -%}
        {%- do print('No row of ' ~ id ~ " has '" ~ column ~ "' in " ~ table.rescued_name ~ '.') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set fills = found.rows - found.full - found.misfits -%}
    {%- if fills -%}
        {%- set filled = known or {'name': column, 'type': type} -%}
        {%- set quoted = floodmark._quoted(filled.name) -%}
        {%- for relation in floodmark._promoted_tables(node, table) -%}
            {%- if not floodmark._find_column(floodmark._columns_of(relation=relation), column) -%}
                {%- do floodmark._add_mapped_columns(relation, {'new': [filled], 'fields': []},
                    floodmark._properties_of(table.relation).get('delta.columnMapping.mode', 'none') != 'none') -%}
            {%- endif -%}
            {%- do floodmark._execute(['update ' ~ relation ~ ' set ' ~ quoted ~ ' = ' ~ fitted ~ ', ' ~ table.rescued
                ~ ' = if(startswith(' ~ cut ~ ".rest, '{\"_file_path\":'), null, " ~ cut ~ '.rest) where ' ~ has
                ~ ' and ' ~ quoted ~ ' is null and ' ~ fitted ~ ' is not null']) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do print(floodmark._promoted_sentence(id, column, type, found, fills)) -%}
    {%- do print('To load it from now on, add "' ~ floodmark._quoted_field(column) ~ ' ' ~ type ~ '" to files.'
        ~ ('schema' if table.has_schema else 'schema_hints') ~ '.') if fills and not known else none -%}
{% endmacro %}


{# The tables in which a column is filled: what cdc remembers of events with rescued data (SCD 2), then the model's. #}
{% macro _promoted_tables(node, table) %}
    {%- set state = adapter.get_relation(none, node.schema, table.relation.identifier ~ '__cdc_state') -%}
    {{ return(([state] if state is not none and floodmark._find_column(floodmark._columns_of(relation=state),
        table.rescued_name) else []) + [table.relation]) }}
{% endmacro %}


{# A model that keeps the event of each value is refused: an earlier event would no longer be told from a later one. #}
{% macro _check_promotes(node, table) %}
    {%- if floodmark._find_column(table.columns, '_floodmark_columns') -%}
        {%- do floodmark._stop('with ignore_null_updates each value needs the event that set it, which rescued data '
            'does not tell. Add the column to files.'
            ~ ('schema' if table.has_schema else 'schema_hints') ~ ': new events have it then, and --full-refresh '
            'reads all files again, which fills it in every row',
            floodmark._node_id(node)) -%}
    {%- endif -%}
{% endmacro %}


{# What was done, in one line. #}
{% macro _promoted_sentence(id, column, type, found, fills) %}
    {%- set left = [] -%}
    {%- if found.full -%}
        {%- do left.append(floodmark._counted(found.full, 'row') ~ (' has' if found.full == 1 else ' have')
            ~ ' a value already') -%}
    {%- endif -%}
    {%- if found.misfits -%}
        {%- do left.append(floodmark._counted(found.misfits, 'value') ~ (' does' if found.misfits == 1 else ' do')
            ~ ' not fit ' ~ type ~ ', such as ' ~ found.example) -%}
    {%- endif -%}
    {{ return("Filled '" ~ column ~ "' of " ~ id ~ ' in ' ~ floodmark._counted(fills, 'row')
        ~ (' (' ~ left | join('; ') ~ ')' if left else '') ~ '.') }}
{% endmacro %}


{# A model that loads files, as batches or as a stream, and rescues; another one is refused. #}
{% macro _rescue_node(model) %}
    {%- set node = floodmark._managed_node(model) -%}
    {%- if floodmark._node_setting(node, 'files') is not mapping
        or not floodmark._node_files(node).rescued_data_column -%}
        {%- do floodmark._stop('it rescues nothing: files.rescued_data_column names the column for that',
            floodmark._node_id(node)) -%}
    {%- endif -%}
    {{ return(node) }}
{% endmacro %}


{# Its table: {relation, columns, rescued (quoted), rescued_name, has_schema}. #}
{% macro _rescue_table(node) %}
    {%- set id, settings = floodmark._node_id(node), floodmark._node_files(node) -%}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- if relation is none -%}
        {%- do floodmark._stop('its table is not there: run the model first', id) -%}
    {%- endif -%}
    {%- set columns = floodmark._columns_of(relation=relation) -%}
    {%- set rescued = floodmark._find_column(columns, settings.rescued_data_column) -%}
    {%- if rescued is none -%}
        {%- do floodmark._stop('its table has no column ' ~ settings.rescued_data_column
            ~ ': let the SELECT keep it', id) -%}
    {%- endif -%}
    {{ return({'relation': relation, 'columns': columns, 'rescued': floodmark._quoted(rescued.name),
        'rescued_name': rescued.name, 'has_schema': settings.schema is not none}) }}
{% endmacro %}


{# The type in which a key of rescued data becomes a column: that of the column, what is asked for, or where types are
   inferred that of the values; else string. #}
{% macro _promoted_type(node, table, column, known, type) %}
    {%- if column | lower in ['_file_path', table.rescued_name | lower] -%}
        {%- do floodmark._stop("'" ~ column ~ "' cannot come from rescued data: `floodmark rescue show` lists its keys",
            floodmark._node_id(node)) -%}
    {%- elif type is none and known is none -%}
        {%- set seen = floodmark._query_json('select to_json(struct(schema_of_variant_agg('
            ~ floodmark._raw_field_sql('try_parse_json(' ~ table.rescued ~ ')', column) ~ ') as seen)) from '
            ~ table.relation)[0].get('seen') if floodmark._node_files(node).infer_column_types else none -%}
        {{ return((floodmark._kept_type(floodmark._seen_type(seen), true) if seen not in [none, 'VOID'] else none)
            or 'string') }}
    {%- elif type is none -%}
        {{ return(known.type) }}
    {%- endif -%}
    {%- set read = floodmark._tried(floodmark._record_of, 'value ' ~ type) -%}
    {%- if read.error is not none -%}
        {%- do floodmark._stop("'" ~ type ~ "' is not a type of Spark: write one such as bigint or decimal(10, 2)",
            floodmark._node_id(node)) -%}
    {%- endif -%}
    {%- set type = floodmark._struct_fields(read.value)[0].type -%}
    {%- if known is not none and known.type != type -%}
        {%- do floodmark._stop("its column '" ~ known.name ~ "' is " ~ known.type ~ ', not ' ~ type
            ~ ': leave the type out', floodmark._node_id(node)) -%}
    {%- endif -%}
    {{ return(type) }}
{% endmacro %}


{# Rescued data cut at a key: {value, rest}, the JSON of the key as it is written there, and the object without it, NULL
   where it has no such key. The last key is `_file_path`, so another one stands before it. A place where the key's name
   stands is the key where what is before it is an object; its value ends where the first JSON text does. #}
{% macro _rescued_cut_sql(rescued, key) %}
    {%- set name = floodmark._json_name(key) ~ ':' -%}
    {%- set text = floodmark._string_literal(name) -%}
    {%- set before = 'array_join(slice(p, 1, i), ' ~ text ~ ')' -%}
    {%- set places = 'filter(sequence(1, greatest(size(p) - 1, 1)), i -> try_parse_json(rtrim(\',\', ' ~ before
        ~ ") || '}') is not null)" -%}
    {%- set place = "transform(array(split(" ~ rescued ~ ', '
        ~ floodmark._string_literal(modules.re.escape(name)) ~ ')), p -> get(transform(' ~ places
        ~ ", i -> named_struct('before', " ~ before ~ ", 'after', split(array_join(slice(p, i + 1, size(p)), " ~ text
        ~ "), ',\"'))), 0))" -%}
    {%- set value = "array_join(slice(c.after, 1, j), ',\"')" -%}
    {{ return('get(transform(' ~ place ~ ', c -> get(transform(filter(sequence(1, size(c.after)), j -> try_parse_json('
        ~ value ~ ") is not null), j -> named_struct('value', " ~ value ~ ", 'rest', c.before || '\"' || "
        "array_join(slice(c.after, j + 1, size(c.after)), ',\"'))), 0)), 0)") }}
{% endmacro %}


{# The value of a JSON text in a type, NULL where it does not fit or would lose something. What stands in quotes may be
   a number: files without types have nothing else. #}
{% macro _fitted_sql(json, type) %}
    {%- set candidates = [] -%}
    {%- if type == 'string' -%}
        {#- as it stands there: Spark would read a number as a double first -#}
        {{ return(floodmark._unquoted_sql(json, 'nullif(' ~ json ~ ", 'null')")) }}
    {%- elif type.startswith('decimal') or type in ['tinyint', 'float', 'double', 'timestamp', 'timestamp_ntz'] -%}
        {#- of these Spark's reader makes other values: a moment of a number, -56 of 200, 15 of "1,5" -#}
        {{ return(floodmark._exact_cast_sql(floodmark._unquoted_sql(json, 'null' if type.startswith('timestamp')
            else json), type)) }}
    {%- elif floodmark._has_other_keys(type) -%}
        {#- names in JSON are strings -#}
        {{ return('cast(null as ' ~ type ~ ')') }}
    {%- endif -%}
    {%- for text in [json, "trim('\"' from " ~ json ~ ')'] -%}
        {%- set read = "from_json('{\"v\":' || " ~ text ~ " || '}', " ~ floodmark._string_literal('v ' ~ type
            ~ ', _floodmark_bad string') ~ ", map('columnNameOfCorruptRecord', '_floodmark_bad'))" -%}
        {%- set keeps = 'true' -%}
        {%- if type == 'date' -%}
            {%- set keeps = text ~ " rlike '^\"?\\\\d{4}-\\\\d{1,2}-\\\\d{1,2}\"?$'" -%}
        {%- elif floodmark._nesting(type) -%}
            {%- set keeps = 'to_json(try_parse_json(to_json(' ~ read ~ '.v))) = to_json(try_parse_json(' ~ text
                ~ '))' -%}
        {%- endif -%}
        {%- do candidates.append('if(' ~ read ~ '._floodmark_bad is null and ' ~ keeps ~ ', ' ~ read ~ '.v, null)') -%}
    {%- endfor -%}
    {{ return('coalesce(' ~ candidates | join(', ') ~ ')') }}
{% endmacro %}


{# The text of a JSON string; of what is none `other`. #}
{% macro _unquoted_sql(json, other) %}
    {{ return("if(startswith(" ~ json ~ ", '\"'), from_json('{\"v\":' || " ~ json ~ " || '}', 'v string').v, " ~ other
        ~ ')') }}
{% endmacro %}


{# A SELECT of the keys in a model's rescued data: key, rows, types, example. #}
{% macro _rescued_keys_sql(model) %}
    {%- set table = floodmark._rescue_table(floodmark._rescue_node(model)) -%}
    select key, count(*) as rows, array_join(array_sort(collect_set(lower(schema_of_variant(variant)))), ', ') as types,
        min(to_json(variant)) as example
    from (
        select {{ table.rescued }}, explode(from_json({{ table.rescued }}, 'map<string, variant>')) as (key, variant)
        from {{ table.relation }} where {{ table.rescued }} is not null
    )
    where key <> '_file_path'
    group by key order by rows desc, key
{% endmacro %}
