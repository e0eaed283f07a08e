{# Types that grow: which one takes all values of another and its own, and how a table's column becomes of that type. #}

{# The type that a known one grows to for values of another, or the known one where it cannot: integers grow, to
   double or to a decimal where digits come behind the point, a long to a decimal alone, a decimal in digits before and
   behind the point, a date to a timestamp without a zone. #}
{% macro _widened(known, seen) %}
    {%- set whole = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if known == seen -%}
        {{ return(known) }}
    {%- elif known in whole and seen in whole -%}
        {{ return(seen if whole.index(seen) > whole.index(known) else known) }}
    {%- elif known in whole[:3] and seen in ['float', 'double'] or known == 'float' and seen == 'double' -%}
        {{ return('double') }}
    {%- elif known == 'date' and seen == 'timestamp_ntz' -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- set one, other = floodmark._digits(known), floodmark._digits(seen) -%}
    {%- if one is none or other is none or seen in whole and known in whole -%}
        {{ return(known) }}
    {%- endif -%}
    {{ return(floodmark._decimal_of([one, other]) or known) }}
{% endmacro %}


{# Whether numbers of a seen type may make a known one grow, so that their digits have to be counted. #}
{% macro _may_grow(known, seen) %}
    {{ return(floodmark._digits(known) is not none and floodmark._widened(known, seen) != known
        or known.startswith('decimal') and seen == 'double') }}
{% endmacro %}


{# SQL of what the numbers in texts need, a struct {n, others, whole, scale, least, greatest}: digits before and behind
   the point, the range of whole ones, and how many numbers there are of which this tells nothing, such as 1e5. #}
{% macro _needed_digits_sql(text) %}
    {%- set is_plain = text ~ " rlike '^\\\\s*[-+]?\\\\d+([.]\\\\d*)?\\\\s*$'" -%}
    {%- set is_number = 'try_cast(' ~ text ~ ' as double) is not null' -%}
    {%- set whole = "regexp_extract(" ~ text ~ ", '^\\\\s*[-+]?0*(\\\\d*)', 1)" -%}
    {%- set scale = "regexp_extract(" ~ text ~ ", '[.](\\\\d*?)0*\\\\s*$', 1)" -%}
    {%- set value = 'if(' ~ is_plain ~ ', try_cast(' ~ text ~ ' as decimal(38,0)), null)' -%}
    {{ return("named_struct('n', count_if(" ~ is_plain ~ "), 'others', count_if(" ~ is_number ~ ' and not ' ~ is_plain
        ~ "), 'whole', max(if(" ~ is_plain ~ ', length(' ~ whole ~ "), 0)), 'scale', max(if(" ~ is_plain ~ ', length('
        ~ scale ~ "), 0)), 'least', cast(min(" ~ value ~ ") as string), 'greatest', cast(max(" ~ value
        ~ ') as string))') }}
{% endmacro %}


{# The type that such numbers need, or `seen` where that is not known. With `is_whole` it is an integer where none has
   digits behind the point. #}
{% macro _needed_type(found, seen, is_whole=true) %}
    {%- if not found.n or found.others or found.whole + found.scale > 38 -%}
        {{ return(seen) }}
    {%- endif -%}
    {%- for type, bits in {'tinyint': 7, 'smallint': 15, 'int': 31, 'bigint': 63}.items()
        if is_whole and not found.scale and found.least | int >= -(2 ** bits) and found.greatest | int < 2 ** bits -%}
        {{ return(type) }}
    {%- endfor -%}
    {{ return('decimal(' ~ ([found.whole, 1 - found.scale] | max + found.scale) ~ ',' ~ found.scale ~ ')') }}
{% endmacro %}


{# Give columns of the model's table the types to which those of the SELECT have grown. Delta changes none that a
   constraint names: ours are off until the batches are loaded. #}
{% macro _widen_table(run, columns) %}
    {%- set tried = floodmark._tried(floodmark._widen_columns, this, floodmark._table_columns(run), columns) -%}
    {%- do run.update({'table_columns': none, 'state_fits': false}) if tried.error is not none or tried.value -%}
    {%- if tried.condition == 'DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE' and floodmark._lift_constraints(run) -%}
        {%- do floodmark._widen_table(run, columns) -%}
    {%- elif (tried.condition or '').endswith('_DEPENDENT_COLUMN_CHANGE') -%}
        {%- do floodmark._stop('a column of ' ~ this ~ ' cannot become as wide as its values: ' ~ tried.error
            ~ '. Drop the constraint (alter table ' ~ this ~ ' drop constraint NAME), run the model, and add it again. '
            "If it is a generated column, set files.schema_evolution to 'add_new_columns': values that do not fit are "
            'rescued then', rejects='a constraint or a generated column names a column that would grow') -%}
    {%- elif tried.error is not none -%}
        {%- do adapter.floodmark_raise(tried.raised) -%}
    {%- endif -%}
{% endmacro %}


{# Give columns of a table, which are `known`, the types to which others have grown. Whether there was one. #}
{% macro _widen_columns(relation, known, columns) %}
    {%- set widened = [] -%}
    {%- for column in columns -%}
        {%- set own = floodmark._find_column(known, column.name) -%}
        {%- set ddl = column.ddl or column.type -%}
        {%- if own and own.ddl != ddl -%}
            {%- do widened.extend(floodmark._widened_parts(floodmark._quoted(own.name), own.ddl, ddl)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if widened -%}
        {%- do floodmark._set_properties({'delta.enableTypeWidening': 'true'}, relation) -%}
        {%- do floodmark._enable_types(relation, widened) -%}
        {%- for part in widened -%}
            {%- do floodmark._execute(['alter table ' ~ relation ~ ' alter column ' ~ part.path ~ ' type '
                ~ part.type]) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(widened | length > 0) }}
{% endmacro %}


{# What has grown in a column: a list of {path, type}. #}
{% macro _widened_parts(path, known, given) %}
    {%- set nesting = floodmark._nesting(known) -%}
    {%- set parts = [] -%}
    {%- if nesting != floodmark._nesting(given) -%}
        {{ return([]) }}
    {%- elif nesting == 'array' -%}
        {{ return(floodmark._widened_parts(path ~ '.element', known[6:-1], given[6:-1])) }}
    {%- elif nesting == 'struct' -%}
        {%- for field in floodmark._struct_fields(known) -%}
            {%- set other = floodmark._find_column(floodmark._struct_fields(given), field.name) -%}
            {%- if other -%}
                {%- do parts.extend(floodmark._widened_parts(path ~ '.' ~ floodmark._quoted(field.name), field.type,
                    other.type)) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- elif nesting is none and known != given and floodmark._widened(known, given) == given -%}
        {%- do parts.append({'path': path, 'type': given}) -%}
    {%- endif -%}
    {{ return(parts) }}
{% endmacro %}
