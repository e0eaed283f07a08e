{#
  Columns that identify a person, made less so: each macro returns SQL of one value (docs/guides/deidentification.md).
  NULL stays NULL.
#}

{# A text with all but its last characters hidden. One that is no longer than what would stay is hidden whole. #}
{% macro mask(column, keep=4, character='*') %}
    {%- do floodmark._check_arguments('mask', {'column': [column, 'name'], 'keep': [keep, 'count'],
        'character': [character, 'name']}) -%}
    {%- set text = 'cast(' ~ column ~ ' as string)' -%}
    {%- set hidden = floodmark._string_literal(character) -%}
    {{ return('if(length(' ~ text ~ ') > ' ~ keep ~ ', concat(repeat(' ~ hidden ~ ', length(' ~ text ~ ') - ' ~ keep
        ~ '), right(' ~ text ~ ', ' ~ keep ~ ')), repeat(' ~ hidden ~ ', length(' ~ text ~ ')))') }}
{% endmacro %}


{# A digest of a value behind a salt. Spark reads the salt from the environment variable when the query runs, so it is
   in no SQL, log or manifest; without it the query fails. #}
{% macro hash_with_salt(column, variable='FLOODMARK_SALT') %}
    {%- do floodmark._check_arguments('hash_with_salt', {'column': [column, 'name'],
        'variable': [variable, 'name']}) -%}
    {%- set name = floodmark._string_literal(variable) -%}
    {%- set missing = 'floodmark: the environment of Spark has no ' ~ variable ~ ', the salt of hash_with_salt: set it '
        'where Spark starts' -%}
    {#- what is not set is the text 'null' -#}
    {{ return("sha2(concat(coalesce(nullif(nullif(reflect('java.lang.System', 'getenv', " ~ name
        ~ "), 'null'), ''), raise_error("
        ~ floodmark._string_literal(missing) ~ ")), ':', cast(" ~ column ~ ' as string)), 256)') }}
{% endmacro %}


{# The token of a value, from a table that `tokens_of` fills. NULL where it has none yet. Within the subquery no name is
   one that a column could have. #}
{% macro tokenise(column, relation) %}
    {{ return('(select max(_floodmark_token) from (select value as _floodmark_value, token as _floodmark_token from '
        ~ relation ~ ') where _floodmark_value = cast(' ~ column ~ ' as string))') }}
{% endmacro %}


{# The SELECT of a model that gives each value of a column a random token, which stays: merge by `value`, with
   `merge_exclude_columns=['token']` and `full_refresh=false`. #}
{% macro tokens_of(relation, column) %}
    select value, uuid() as token
    from (select distinct cast({{ column }} as string) as value from {{ relation }})
    where value is not null
        {{ 'and value not in (select value from ' ~ this ~ ')' if is_incremental() }}
{% endmacro %}


{# A value made coarser: a time cut to a unit, such as 'month', or the first characters of a text, such as 3. #}
{% macro generalise(column, to) %}
    {%- set units = ['year', 'quarter', 'month', 'week', 'day', 'hour'] -%}
    {%- if to in units -%}
        {{ return("date_trunc('" ~ to ~ "', " ~ column ~ ')') }}
    {%- elif to is number and to is not boolean and to >= 0 and to == to | int -%}
        {{ return('left(cast(' ~ column ~ ' as string), ' ~ to ~ ')') }}
    {%- endif -%}
    {%- do floodmark._refuse([{'setting': 'to', 'got': to, 'expected': 'one of ' ~ units | join(', ')
        ~ ', or a number of characters', 'todo': 'Correct it'}], 'floodmark.generalise') -%}
{% endmacro %}
