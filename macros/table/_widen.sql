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


{# The decimal that takes all numbers of these digits, each [precision, scale]; none where there is none. #}
{% macro _decimal_of(digits) %}
    {%- set ns = namespace(whole=0, scale=0) -%}
    {%- for precision, scale in digits -%}
        {%- set ns.whole = [ns.whole, precision - scale] | max -%}
        {%- set ns.scale = [ns.scale, scale] | max -%}
    {%- endfor -%}
    {{ return('decimal(' ~ (ns.whole + ns.scale) ~ ',' ~ ns.scale ~ ')' if ns.whole + ns.scale <= 38 else none) }}
{% endmacro %}


{# Precision and scale of an exact number; none of any other type. Delta gives an integer ten digits, a long twenty. #}
{% macro _digits(type) %}
    {%- set found = modules.re.fullmatch('decimal\\((\\d+),(\\d+)\\)', type) -%}
    {%- if found -%}
        {{ return([found.group(1) | int, found.group(2) | int]) }}
    {%- endif -%}
    {{ return({'tinyint': [10, 0], 'smallint': [10, 0], 'int': [10, 0], 'bigint': [20, 0]}.get(type)) }}
{% endmacro %}


{# Give columns of the table the types to which those of the SELECT have grown. #}
{% macro _widen_table(run, columns) %}
    {%- set widened = [] -%}
    {%- for column in columns -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), column.name) -%}
        {%- if known and known.ddl != column.ddl -%}
            {%- do widened.extend(floodmark._widened_parts(floodmark._quoted(known.name), known.ddl, column.ddl)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if widened -%}
        {%- do floodmark._set_properties({'delta.enableTypeWidening': 'true'}) -%}
        {%- do floodmark._enable_types(this, widened | map(attribute='type') | join(',')) -%}
        {%- for part in widened -%}
            {%- do floodmark._execute(['alter table ' ~ this ~ ' alter column ' ~ part.path ~ ' type ' ~ part.type]) -%}
        {%- endfor -%}
        {%- do run.update({'table_columns': none}) -%}
    {%- endif -%}
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
