{#
  The rows that a replay loads, as the model's SELECT would give them today. A quarantine lags behind its model: it gets
  columns with the next row that is held back, and a column keeps the type in which it came first.
#}

{# The open rows of the quarantine that a batch replays, behind their `_floodmark_id`. #}
{% macro _replayed_select(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set rows = floodmark._open_rows_sql(quarantine, batch.asked.replay, 'rows') -%}
    {%- set has_raw = run_query('select 1 as one from (' ~ rows ~ ') where _floodmark_raw is not null limit 1').rows
        | length > 0 -%}
    {%- set values = ['_floodmark_id'] -%}
    {%- for column in floodmark._replayed_columns(run, batch.asked.replay.set or {},
        floodmark._columns_of(relation=quarantine)) -%}
        {%- do values.append(floodmark._replayed_value_sql(column, has_raw) ~ ' as '
            ~ floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ' from (' ~ rows ~ ') where _floodmark_batch_id < '
        ~ batch.batch_id) }}
{% endmacro %}


{# Its columns, a list of {name, kept, ddl, given}: `kept` is the type in the quarantine, none where it does not have
   the column; `ddl` the type in the table; `given` what `set` says, or none. What left the model since is not loaded
   where on_schema_change would refuse it; what has come since is NULL where that, a rule or `set` needs it. #}
{% macro _replayed_columns(run, set, columns) %}
    {%- set is_whole = run.settings.on_schema_change in ['fail', 'sync_all_columns']
        or config.get('contract').enforced -%}
    {%- set held = floodmark._without_own_names(columns) -%}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set written = strategy.own_columns(run, held) | map(attribute='name') | list -%}
    {%- set table = floodmark._table_own(run) -%}
    {%- set given, texts, found = {}, [], [] -%}
    {%- for name, expression in set.items() -%}
        {%- do given.update({name | lower: expression}) -%}
    {%- endfor -%}
    {%- for rule in run.settings.expectations or [] -%}
        {%- do texts.extend([rule.get('expect') or '', rule.get('where') or '']) -%}
    {%- endfor -%}
    {%- for column in held -%}
        {%- set known = floodmark._find_column(table, column.name) -%}
        {%- do found.append({'name': column.name, 'kept': column.ddl, 'ddl': (known or column).ddl})
            if known or not is_whole or column.name not in written -%}
    {%- endfor -%}
    {%- for column in table if not floodmark._find_column(held, column.name)
        and (is_whole or column.name | lower in given or floodmark._is_named(column.name, texts)) -%}
        {%- do found.append({'name': column.name, 'kept': none, 'ddl': column.ddl}) -%}
    {%- endfor -%}
    {%- for column in found -%}
        {%- do column.update({'ddl': floodmark._plain_type(column.ddl), 'given': given.get(column.name | lower)}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The columns of the table that the SELECT gives. #}
{% macro _table_own(run) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {{ return(strategy.own_columns(run, floodmark._without_own_names(floodmark._table_columns(run)))) }}
{% endmacro %}


{# One of these columns as SQL. Where `has_raw`, its type may have changed: `_floodmark_raw` is the row as it came. #}
{% macro _replayed_value_sql(column, has_raw) %}
    {%- if column.given is not none -%}
        {{ return('cast(' ~ floodmark._clause(column.given) ~ ' as ' ~ column.ddl ~ ')') }}
    {%- elif column.kept is none -%}
        {{ return('cast(null as ' ~ column.ddl ~ ')') }}
    {%- endif -%}
    {%- set kept = floodmark._conformed_sql(floodmark._quoted(column.name), floodmark._plain_type(column.kept),
        column.ddl, column.name) -%}
    {{ return('if(_floodmark_raw is null, ' ~ kept ~ ', ' ~ floodmark._value_that_came_sql(column) ~ ')' if has_raw
        else kept) }}
{% endmacro %}


{# Its value in a row as it came; one that the column cannot hold stops the replay. #}
{% macro _value_that_came_sql(column) %}
    {%- set came = {} -%}
    {%- for type in ['string', column.ddl] -%}
        {%- do came.update({type: 'from_json(_floodmark_raw, ' ~ floodmark._string_literal('struct<'
            ~ floodmark._quoted_field(column.name) ~ ':' ~ type ~ '>') ~ ').' ~ floodmark._quoted(column.name)}) -%}
    {%- endfor -%}
    {%- set text, value, holds = came.string, came[column.ddl], came[column.ddl] ~ ' is not null' -%}
    {%- if floodmark._type_kind(column.ddl).family in floodmark._checked_families() -%}
        {%- set value = 'try_cast(' ~ text ~ ' as ' ~ column.ddl ~ ')' -%}
        {%- set holds = floodmark._cast_holds_sql(text, value, 'string', column.ddl) -%}
    {%- endif -%}
    {{ return('case when ' ~ text ~ ' is null or ' ~ holds ~ ' then ' ~ value ~ ' else raise_error(concat('
        ~ floodmark._string_literal('`' ~ column.name ~ '` is ' ~ column.ddl ~ ' in the table and cannot hold: ')
        ~ ', ' ~ text ~ ', ' ~ floodmark._string_literal('. Give it another value with set when you replay')
        ~ ')) end') }}
{% endmacro %}
