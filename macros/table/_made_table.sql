{# What a table is made with, and what a table that somebody else made must be like. #}

{# Properties of a table that is made for these columns. #}
{% macro _made_properties(run, columns) %}
    {%- set columns = floodmark._target_columns(run, columns or []) -%}
    {%- set reserved = floodmark._feed_names(columns) -%}
    {%- if reserved and floodmark._setting('change_feed') is sameas true -%}
        {%- do floodmark._refuse([{'setting': 'change_feed', 'got': true,
            'expected': 'no column ' ~ reserved | join(' or ')
            ~ ' in the SELECT: the change feed needs such names itself',
            'todo': 'Give the column another name, or remove change_feed'}],
            rejects='a column has a name that the change feed needs') -%}
    {%- endif -%}
    {{ return(dict(floodmark._name_properties(columns), **floodmark._untyped_property(run))) }}
{% endmacro %}


{# Properties that the names of columns ask for: no change feed beside those that a feed needs for itself, and no
   deletion vectors beside `_metadata`, where Delta looks for its own to write them (AMBIGUOUS_REFERENCE). #}
{% macro _name_properties(columns) %}
    {{ return(dict({'delta.enableChangeDataFeed': 'false'} if floodmark._feed_names(columns) else {},
        **({'delta.enableDeletionVectors': 'false'} if floodmark._find_column(columns, '_metadata') else {}))) }}
{% endmacro %}


{# The columns that have a name of Delta's change feed. #}
{% macro _feed_names(columns) %}
    {{ return(columns | map(attribute='name') | map('lower')
        | select('in', floodmark._change_columns() + ['_commit_timestamp']) | list) }}
{% endmacro %}


{# Such a column cannot come into a table that has a change feed. #}
{% macro _check_feed_names(run, columns) %}
    {%- set reserved = floodmark._feed_names(columns) -%}
    {%- if reserved and floodmark._properties_of(this).get('delta.enableChangeDataFeed') == 'true' -%}
        {%- do floodmark._refuse([{'setting': 'on_schema_change', 'got': 'a new column ' ~ reserved | join(' and '),
            'expected': 'other names: ' ~ this ~ ' has a change feed, which needs these itself',
            'todo': "Rename the column in the SELECT, or set change_feed=false and run once with --full-refresh"}],
            rejects='a column has a name that the change feed needs') -%}
    {%- endif -%}
{% endmacro %}


{# Delta's MERGE cannot read CHAR columns (DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT). Tables that floodmark
   makes have none; DESCRIBE shows them as string, unless Spark is told to keep their types. #}
{% macro _check_char_columns(run) %}
    {%- if run.settings.strategy not in ['merge', 'cdc', 'snapshot_diff'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set keeps_types = 'spark.sql.preserveCharVarcharTypeInfo' -%}
    {%- do floodmark._set_conf({keeps_types: 'true'}) -%}
    {%- set columns = floodmark._described_columns(run_query('describe query select * from ' ~ this).rows) -%}
    {%- do floodmark._reset_conf([keeps_types]) -%}
    {%- set problems = [] -%}
    {%- for column in columns if modules.re.search('\\bchar\\(\\d+\\)', column.type) -%}
        {#- Delta keeps the CHAR of a field whose type is changed -#}
        {%- do problems.append({'setting': 'incremental_strategy',
            'got': run.settings.strategy ~ ' into column ' ~ column.name ~ ' ' ~ column.type ~ ' of ' ~ this,
            'expected': "no CHAR column, which Delta's MERGE cannot read",
            'todo': 'Make it a string: alter table ' ~ this ~ ' alter column ' ~ floodmark._quoted(column.name)
            ~ ' type string' if floodmark._nesting(column.type) is none
            else 'Make the table anew with strings within this column, or run once with --full-refresh'}) -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems, rejects='the table has CHAR columns') -%}
{% endmacro %}


{# The columns of a table made by hand that are not among `given`, in lower case: its own, which it may generate, so
   cdc and SCD 2 snapshots do not write them. #}
{% macro _foreign_names(table, given) %}
    {%- set names = given | map(attribute='name') | map('lower') | list -%}
    {{ return(table | map(attribute='name') | map('lower') | reject('in', names) | list) }}
{% endmacro %}


{# These names as a table property. #}
{% macro _foreign_property(names) %}
    {{ return({'floodmark.foreign': floodmark._to_property(tojson(names))}) }}
{% endmacro %}


{# Of the columns that somebody else made those that still are: one that the SELECT has come to give is the model's from
   now on, also where the SELECT loses it again. #}
{% macro _still_foreign(known, given) %}
    {%- set names = given | map(attribute='name') | map('lower') | list -%}
    {%- set foreign = known | reject('in', names) | list -%}
    {%- if foreign != known -%}
        {%- do floodmark._set_properties(floodmark._foreign_property(foreign)) -%}
    {%- endif -%}
    {{ return(foreign) }}
{% endmacro %}
