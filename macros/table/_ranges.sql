{# The least and the greatest of each key column whose range can be written as literals: entries min_i and max_i of a
   named_struct. #}
{% macro _key_ranges(keys, columns) %}
    {%- set ranges = [] -%}
    {%- for key in keys if floodmark._has_range(floodmark._find_column(columns, key)) -%}
        {%- set i = keys.index(key) -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- do ranges.extend(floodmark._range_counts('min_' ~ i, 'max_' ~ i, floodmark._find_column(columns, key).type,
            quoted, quoted)) -%}
    {%- endfor -%}
    {{ return(ranges) }}
{% endmacro %}


{# Entries of a named_struct, a list: the least of one SQL and the greatest of another, as text. NULL where a text is
   not UTF-8: Delta keeps another text of it as the least and the greatest of its file, which no literal meets. #}
{% macro _range_counts(low, high, type, least, greatest) %}
    {%- set entries = [] -%}
    {%- for name, value, aggregate in [(low, least, 'min('), (high, greatest, 'max(')] -%}
        {%- set text = floodmark._range_text_sql(value, type) | replace('@(', aggregate, 1) -%}
        {%- do entries.append("'" ~ name ~ "', " ~ ('if(count_if(not is_valid_utf8(' ~ value ~ ')) > 0, null, ' ~ text
            ~ ')' if floodmark._plain_type(type) == 'string' else text)) -%}
    {%- endfor -%}
    {{ return(entries) }}
{% endmacro %}


{# Keys whose text is longer are no range: a predicate of long literals costs more to plan than it saves. #}
{% macro _longest_range_literal() %}
    {{ return(400) }}
{% endmacro %}


{# The range of the batch's keys as literals, a list of conditions on DBT_INTERNAL_DEST. #}
{% macro _range_predicates(run, source) %}
    {%- set predicates = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- set low = source.counts['min_' ~ loop.index0] -%}
        {%- set high = source.counts['max_' ~ loop.index0] -%}
        {%- if low is defined and low is not none and high is not none
            and [low | length, high | length] | max < floodmark._longest_range_literal() -%}
            {%- set type = floodmark._find_column(source.columns, key).type -%}
            {%- set range = 'DBT_INTERNAL_DEST.' ~ quoted ~ ' between ' ~ floodmark._range_literal(low, type) ~ ' and '
                ~ floodmark._range_literal(high, type) -%}
            {%- do predicates.append('(' ~ range ~ (' or DBT_INTERNAL_DEST.' ~ quoted ~ ' is null'
                if source.counts['null_' ~ loop.index0] else '') ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(predicates) }}
{% endmacro %}


{# Whether a key column's range can be written as literals that Delta's file statistics understand. #}
{% macro _has_range(column) %}
    {%- set ranged = ['string', 'date', 'timestamp', 'timestamp_ntz', 'tinyint', 'smallint', 'int', 'bigint'] -%}
    {{ return(column is not none
        and (floodmark._plain_type(column.type) in ranged or column.type.startswith('decimal'))) }}
{% endmacro %}


{# SQL text of the least or greatest key, `@` standing for min or max; times as exact microseconds, texts as the
   digits of their bytes. #}
{% macro _range_text_sql(quoted, type) %}
    {%- set value = '@(' ~ quoted ~ ')' -%}
    {%- set texts = {
        'timestamp': 'cast(unix_micros(' ~ value ~ ') as string)',
        'string': 'hex(cast(' ~ value ~ ' as binary))',
    } -%}
    {{ return(texts.get(floodmark._plain_type(type), 'cast(' ~ value ~ ' as string)')) }}
{% endmacro %}


{% macro _range_literal(text, type) %}
    {%- if floodmark._plain_type(type) == 'string' -%}
        {{ return(floodmark._bytes_literal(text)) }}
    {%- elif type == 'timestamp' -%}
        {{ return('timestamp_micros(' ~ text ~ ')') }}
    {%- elif type in ['date', 'timestamp_ntz'] -%}
        {{ return(type ~ "'" ~ text ~ "'") }}
    {%- endif -%}
    {{ return('cast(' ~ floodmark._string_literal(text) ~ ' as ' ~ type ~ ')') }}
{% endmacro %}
