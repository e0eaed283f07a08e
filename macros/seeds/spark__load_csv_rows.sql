{#
  Seeds in one atomic write, on session and Thrift alike: the rows travel as one JSON literal of strings, and Spark
  casts them, so that quotes, NULL, whole numbers beyond 2^53 and microseconds come through as they stand in the file.
  A text that its column's type cannot hold stops the seed. A seed without rows makes an empty table.
  dbt-spark inserts bound parameters, which lose all four.
#}
{% macro spark__load_csv_rows(model, agate_table) %}
    {%- set overrides = model['config'].get('column_types', {}) -%}
    {%- set quote = model['config'].get('quote_columns', none) -%}
    {%- set known = floodmark._known_seed_columns(agate_table) -%}
    {%- set fields = [] -%}
    {%- set casts = [] -%}
    {%- for name in agate_table.column_names -%}
        {%- set type = overrides.get(name) or (floodmark._find_column(known, name) or {}).ddl
            or floodmark._seed_type(agate_table, loop.index0) -%}
        {%- do fields.append('c' ~ loop.index0 ~ ': string') -%}
        {%- do casts.append(floodmark._seed_value_sql('c' ~ loop.index0, type, name | string) ~ ' as '
            ~ floodmark._quoted(name | string)) -%}
    {%- endfor -%}
    {%- set rows = [] -%}
    {%- for row in agate_table.rows -%}
        {%- set values = {} -%}
        {%- for value in row -%}
            {%- do values.update({'c' ~ loop.index0: floodmark._seed_text(value)}) -%}
        {%- endfor -%}
        {%- do rows.append(values) -%}
    {%- endfor -%}
    {%- set sql -%}
        create {{'or replace ' if config.get('file_format') == 'delta' }}table {{ this }}
        {{ file_format_clause() }}
        {#- a folder of files, and no pattern, whatever the warehouse's path has in it -#}
        {% set is_files = config.get('file_format') in [none, 'parquet', 'orc', 'json', 'csv', 'avro'] -%}
        {{ "options (`__globPaths__` = 'false')" if is_files }}
        {{ tblproperties_clause() if config.get('tblproperties') }}
        {{ partition_cols(label='partitioned by') }}
        {{ clustered_cols(label='clustered by') }}
        {{ location_clause() }}
        {{ comment_clause() }}
        as select {{ casts | join(', ') }}
        from (select inline(from_json({{ floodmark._string_literal(rows | tojson) }},
            'array<struct<{{ fields | join(', ') }}>>')))
    {%- endset -%}
    {%- do adapter.add_query(sql, abridge_sql_log=true) -%}
    {{ return(sql) }}
{% endmacro %}


{# The type of a column that is given none: dbt's, or a decimal where a whole number is beyond a bigint. #}
{% macro _seed_type(agate_table, index) %}
    {%- set type = adapter.convert_type(agate_table, index) -%}
    {%- for row in agate_table.rows if type == 'bigint' and row[index] is not none
        and not -9223372036854775808 <= row[index] <= 9223372036854775807 -%}
        {{ return('decimal(38, 0)') }}
    {%- endfor -%}
    {{ return(floodmark._seed_fraction_type(agate_table, index) if type == 'double' else type) }}
{% endmacro %}


{# The type of numbers with a fraction: double, which rounds far behind the point, or a decimal if one of them is so
   great that a double has another number before the point, as of an id. #}
{% macro _seed_fraction_type(agate_table, index) %}
    {%- set ns = namespace(whole=0, scale=0, is_changed=false) -%}
    {%- for row in agate_table.rows if row[index] is not none -%}
        {%- set whole, point, fraction = floodmark._seed_text(row[index]).lstrip('-').partition('.') -%}
        {%- set ns.whole = [ns.whole, whole | length] | max -%}
        {%- set ns.scale = [ns.scale, fraction | length] | max -%}
        {#- up to 15 digits a double prints as they were; NaN has none -#}
        {%- set ns.is_changed = ns.is_changed or whole | length > 15 and row[index].as_tuple().digits | length > 15
            and row[index] | float != row[index] -%}
    {%- endfor -%}
    {{ return('decimal(38, ' ~ ns.scale ~ ')' if ns.is_changed and ns.whole + ns.scale <= 38 else 'double') }}
{% endmacro %}


{# A text of a seed in its column's type. One that would be no value there, or another, stops the seed: without ANSI
   mode, as dbt-spark has it, the cast would be a NULL, or cut something off. #}
{% macro _seed_value_sql(text, type, column) %}
    {%- set cast = 'cast(' ~ text ~ ' as ' ~ type ~ ')' -%}
    {%- set holds = floodmark._seed_holds_sql(text, cast, type) -%}
    {%- if holds is none -%}
        {{ return(cast) }}
    {%- endif -%}
    {{ return('case when ' ~ text ~ ' is null or ' ~ holds ~ ' then ' ~ cast ~ ' else raise_error(concat('
        ~ floodmark._string_literal('the column `' ~ column ~ '` of the seed ' ~ this ~ ' is ' ~ type
        ~ ' and cannot hold: ') ~ ', ' ~ text ~ ', ' ~ floodmark._string_literal(
        '. Correct the value, or name another type in column_types') ~ ')) end') }}
{% endmacro %}


{# Whether a text says the same in a seed's type; none where every text does. `1.0` is a whole number, and a double
   holds the nearest one: it has no other. Spark checks the length of a varchar only where it inserts. #}
{% macro _seed_holds_sql(text, cast, type) %}
    {%- set length = modules.re.fullmatch('(?:var)?char *\\((\\d+)\\)', type | lower) -%}
    {%- if length -%}
        {{ return('char_length(' ~ text ~ ') <= ' ~ length.group(1)) }}
    {%- elif floodmark._cast_effect('string', type) != 'checks' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set family = floodmark._type_kind(floodmark._spelt_type(type)).family -%}
    {%- if family == 'integer' -%}
        {{ return(cast ~ ' is not null and not ' ~ text ~ " rlike '[.][0-9]*[1-9]'") }}
    {%- elif family in ['float', 'double'] -%}
        {{ return(cast ~ ' is not null') }}
    {%- endif -%}
    {{ return(floodmark._text_holds_sql(text, cast, family)) }}
{% endmacro %}


{# A seed's value as text that Spark casts back exactly; none stays NULL. #}
{% macro _seed_text(value) %}
    {%- if value is none or value is string -%}
        {{ return(value) }}
    {%- elif value is boolean -%}
        {{ return('true' if value else 'false') }}
    {%- elif value is number -%}
        {{ return('{:f}'.format(value)) }}
    {%- endif -%}
    {{ return(value.isoformat() | replace('T', ' ')) }}
{% endmacro %}


{# The columns of a seed's table, of a seed without rows: nothing else tells their types. #}
{% macro _known_seed_columns(agate_table) %}
    {%- set relation = load_relation(this) if not agate_table.rows else none -%}
    {{ return(floodmark._columns_of(relation=relation) if relation is not none else []) }}
{% endmacro %}


{# The table is made with its rows, by spark__load_csv_rows, which dbt does not call where there are none. #}
{% macro spark__create_csv_table(model, agate_table) %}
    {{ return(floodmark.spark__load_csv_rows(model, agate_table) if not agate_table.rows else '') }}
{% endmacro %}


{# A Delta table is replaced in place; what is not Delta goes first, as in dbt-spark. #}
{% macro spark__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
    {%- if old_relation and not (config.get('file_format') == 'delta' and old_relation.is_delta) -%}
        {%- do adapter.drop_relation(old_relation) -%}
    {%- endif -%}
    {{ return(floodmark.spark__create_csv_table(model, agate_table)) }}
{% endmacro %}
