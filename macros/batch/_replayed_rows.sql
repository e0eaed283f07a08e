{#
  The rows that a replay loads, as the model's SELECT would give them today. A quarantine lags behind its model: it gets
  columns with the next row that is held back, and a column keeps the type in which it came first.
#}

{# The open rows of the quarantine that a batch replays, behind their `_floodmark_id`. What `set` gives is worked out
   once a row, below the casts, which ask for a value more than once. #}
{% macro _replayed_select(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set asked = batch.asked.replay -%}
    {%- set rows = floodmark._open_rows_sql(quarantine, asked, 'rows') -%}
    {%- set has_raw = not floodmark._has_no_rows('(' ~ rows ~ ') where _floodmark_raw is not null') -%}
    {%- set given = floodmark._given_columns(asked.set or {}, rows) -%}
    {%- set values = ['_floodmark_id'] -%}
    {%- for column in floodmark._replayed_columns(run, given, floodmark._columns_of(relation=quarantine)) -%}
        {%- do values.append(floodmark._replayed_value_sql(column, has_raw) ~ ' as '
            ~ floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ' from (' ~ floodmark._with_given_sql(given, rows)
        ~ ') where _floodmark_batch_id < ' ~ batch.batch_id) }}
{% endmacro %}


{# What `set` gives: a list of {name, expression, as, type}; `as` is the column of _with_given_sql, `type` the type that
   Spark finds for the expression over these rows. #}
{% macro _given_columns(set, rows) %}
    {%- set given = [] -%}
    {%- for name, expression in set.items() -%}
        {%- do given.append({'name': name, 'expression': floodmark._clause(expression),
            'as': '_floodmark_set_' ~ loop.index0}) -%}
    {%- endfor -%}
    {%- set types = floodmark._columns_of(query=floodmark._with_given_sql(given, rows)) if given else [] -%}
    {%- for column in given -%}
        {%- do column.update({'type': floodmark._find_column(types, column.as).ddl}) -%}
    {%- endfor -%}
    {{ return(given) }}
{% endmacro %}


{% macro _with_given_sql(given, rows) %}
    {%- set values = ['*'] -%}
    {%- for column in given -%}
        {%- do values.append(column.expression ~ ' as ' ~ column.as) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ' from (' ~ rows ~ ')' if given else rows) }}
{% endmacro %}


{# The columns of a replay, a list of {name, kept, ddl, given}: `kept` is the type in the quarantine, none where it does
   not have the column; `ddl` the type in the table, with the fields that the SELECT adds to it unless on_schema_change
   is 'fail', else that of the SELECT; `given` what `set` says (_given_columns), or none. They are those that the SELECT
   gives today: what left the model since keeps its value in the table. What has come since is NULL where
   on_schema_change, the contract, a rule, `set` or the strategy needs it. `set` also gives columns that the table
   alone has. #}
{% macro _replayed_columns(run, given, columns) %}
    {%- set held = floodmark._without_own_names(columns) -%}
    {%- set table = floodmark._table_own(run) -%}
    {%- set selected = floodmark._selected_now(run) or held -%}
    {%- set named = floodmark._named_columns(run, selected) -%}
    {%- set needed = floodmark._strategy(run.settings).own_columns(run, selected) if config.get('contract').enforced
        else (table if run.settings.on_schema_change in ['fail', 'sync_all_columns'] else []) -%}
    {%- set found = [] -%}
    {%- for column in selected -%}
        {%- set kept = floodmark._find_column(held, column.name) -%}
        {%- set known = floodmark._find_column(table, column.name) -%}
        {%- if kept or floodmark._find_column(needed + given + named, column.name) -%}
            {%- set type = floodmark._typed_part(column.ddl) or (known or kept or column).ddl -%}
            {%- do found.append({'name': (kept or known or column).name, 'kept': kept.ddl if kept else none,
                'ddl': floodmark._conformed_type(type, known.ddl, run.settings.on_schema_change != 'fail', true)
                if known else type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for column in table if floodmark._find_column(given, column.name)
        and not floodmark._find_column(found, column.name) -%}
        {%- do found.append({'name': column.name, 'kept': none, 'ddl': column.ddl}) -%}
    {%- endfor -%}
    {%- for column in found -%}
        {%- do column.update({'ddl': floodmark._plain_type(column.ddl),
            'given': floodmark._find_column(given, column.name)}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Those of the columns that the conditions of rules, and the strategy's settings, name. #}
{% macro _named_columns(run, columns) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set texts, named = (strategy.named(run) if strategy.named else []) | list, [] -%}
    {%- for rule in run.settings.expectations or [] -%}
        {%- for key in ['expect', 'where'] if rule.get(key) -%}
            {%- do texts.append(floodmark._without_relations(rule[key])) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in columns if floodmark._is_named(column.name, texts, fields=true) -%}
        {%- do named.append(column) -%}
    {%- endfor -%}
    {{ return(named) }}
{% endmacro %}


{# The columns that the SELECT gives today; none where nobody knows its files. #}
{% macro _selected_now(run) %}
    {%- if run.request is defined -%}
        {{ return(floodmark._columns_of(query='select * from ' ~ adapter.floodmark_streams().shape)) }}
    {%- endif -%}
    {%- set is_version = run.settings.watermark and run.settings.watermark.kind == 'version' -%}
    {%- set edge = 0 if is_version else none -%}
    {%- set known = floodmark._known_schema(run) if run.settings.files else none -%}
    {%- if run.settings.files and not known -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(floodmark._columns_of(query=floodmark._select_of({'family': 'version' if is_version else 'timestamp',
        'unbounded': true, 'low_position': edge, 'high_position': edge, 'start_position': none, 'nulls': none,
        'lookback': 0, 'reader': floodmark._known_records_sql(run, known) if known else none, 'file_schema': known},
        run.sql))) }}
{% endmacro %}


{# The columns of the table that the SELECT gives. #}
{% macro _table_own(run) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {{ return(strategy.own_columns(run, floodmark._without_own_names(floodmark._table_columns(run)))) }}
{% endmacro %}


{# One of these columns as SQL. Where `has_raw`, its type may have changed: `_floodmark_raw` is the row as it came, and
   the column is taken as it is kept where it prints as it does there. #}
{% macro _replayed_value_sql(column, has_raw) %}
    {%- if column.given is not none -%}
        {{ return(floodmark._given_value_sql(column)) }}
    {%- elif column.kept is none -%}
        {{ return('cast(null as ' ~ column.ddl ~ ')') }}
    {%- endif -%}
    {%- set quoted = floodmark._quoted(column.name) -%}
    {%- set type = floodmark._plain_type(column.kept) -%}
    {#- of a type without such a cast nothing fits: what came later in another is NULL here -#}
    {%- set kept = floodmark._value_that_fits_sql(column, quoted, 'false', 'cast(null as ' ~ column.ddl ~ ')')
        if floodmark._cast_problems(column.name, type, column.ddl)
        else floodmark._conformed_sql(quoted, type, column.ddl, column.name) -%}
    {%- if not has_raw -%}
        {{ return(kept) }}
    {%- endif -%}
    {%- set came = floodmark._text_that_came_sql('_floodmark_raw', column.name) -%}
    {%- set printed = floodmark._text_that_came_sql(floodmark._to_json_sql('struct(' ~ quoted ~ ')'), column.name) -%}
    {{ return('if(_floodmark_raw is null or ' ~ came ~ ' <=> ' ~ printed ~ ', ' ~ kept ~ ', '
        ~ floodmark._value_that_came_sql(column, came) ~ ')') }}
{% endmacro %}


{# The text of a column in a row as it came, with all digits of its numbers; NULL where it has none. #}
{% macro _text_that_came_sql(raw, name) %}
    {{ return(floodmark._shown_numbers_sql('from_json(' ~ floodmark._hidden_numbers_sql(raw) ~ ', '
        ~ floodmark._string_literal('struct<' ~ floodmark._quoted_field(name) ~ ':string>') ~ ').'
        ~ floodmark._quoted(name))) }}
{% endmacro %}


{# Its value in a row as it came, of which `text` is the text; one that the column cannot hold stops the replay. Spark
   reads no map from JSON whose keys are not strings. #}
{% macro _value_that_came_sql(column, text) %}
    {%- set value, holds = 'cast(null as ' ~ column.ddl ~ ')', 'false' -%}
    {%- if column.ddl == 'string' -%}
        {%- set value, holds = text, 'true' -%}
    {%- elif floodmark._type_kind(column.ddl).family in floodmark._checked_families() -%}
        {%- set value = 'try_cast(' ~ text ~ ' as ' ~ column.ddl ~ ')' -%}
        {%- set holds = floodmark._cast_holds_sql(text, value, 'string', column.ddl) -%}
    {%- elif modules.re.search('map<(?!string)', floodmark._without_names(column.ddl)) is none -%}
        {%- set value = 'from_json(_floodmark_raw, ' ~ floodmark._string_literal('struct<'
            ~ floodmark._quoted_field(column.name) ~ ':' ~ column.ddl ~ '>') ~ ').' ~ floodmark._quoted(column.name) -%}
        {%- set holds = value ~ ' is not null' -%}
    {%- endif -%}
    {{ return(floodmark._value_that_fits_sql(column, text, holds, value)) }}
{% endmacro %}


{# The value that `set` gives it; one that the column cannot hold stops the replay. #}
{% macro _given_value_sql(column) %}
    {%- set value, type = column.given.as, column.given.type -%}
    {%- set problems = floodmark._cast_problems(column.name, type, column.ddl) -%}
    {%- if problems -%}
        {%- do floodmark._refuse([{'setting': 'floodmark_replay.set.' ~ column.name,
            'got': column.given.expression[1:-1] ~ ' ' ~ type | lower,
            'expected': column.ddl | lower ~ ', as in ' ~ this ~ ', or a type that can be cast to it',
            'todo': 'Cast it'}], rejects='set: ' ~ column.name ~ ' is ' ~ column.ddl) -%}
    {%- elif floodmark._nesting(column.ddl) is not none or type == 'void'
        or floodmark._cast_effect(type, column.ddl) == 'keeps' -%}
        {{ return(floodmark._conformed_sql(value, type, column.ddl, column.name)) }}
    {%- endif -%}
    {%- set cast = 'try_cast(' ~ value ~ ' as ' ~ column.ddl ~ ')' -%}
    {{ return(floodmark._value_that_fits_sql(column, value, floodmark._cast_holds_sql(value, cast, type, column.ddl),
        cast)) }}
{% endmacro %}


{# A value as it is cast to its column, which holds it where the condition `holds`; else the replay stops. #}
{% macro _value_that_fits_sql(column, value, holds, cast) %}
    {{ return('case when ' ~ value ~ ' is null or ' ~ holds ~ ' then ' ~ cast ~ ' else raise_error(concat('
        ~ floodmark._string_literal('`' ~ column.name ~ '` is ' ~ column.ddl ~ ' in the table and cannot hold: ')
        ~ ', cast(' ~ value ~ ' as string), '
        ~ floodmark._string_literal('. Give it another value with set when you replay') ~ ')) end') }}
{% endmacro %}


{# Whether each row that a batch replays is the newest change of its key: what a change feed tells, or a stream that
   updates groups, is open only then (_supersede_changed). Of rows of a time when the watermark was another nobody
   knows: they replace none. #}
{% macro _replays_newest(run, batch) %}
    {%- if batch.kind != 'replay' or not floodmark._tells_changes(run, batch) -%}
        {{ return(false) }}
    {%- elif batch.family != 'version' -%}
        {#- without state, a stream may have had another mode, in which nothing superseded older rows -#}
        {{ return(run.settings.get('remembers', false)) }}
    {%- endif -%}
    {%- set last = run_query('select max(batch_id) from ' ~ floodmark._log_of(floodmark._batch_model(batch))
        ~ " and event = 'planned' and not family <=> 'version'").rows[0][0] -%}
    {%- if last is none -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set found = run_query('select count(*), count_if(_floodmark_batch_id <= ' ~ last ~ ') from ('
        ~ floodmark._open_rows_sql(floodmark._quarantine_relation(this), batch.asked.replay, 'rows')
        ~ ') where _floodmark_batch_id < ' ~ batch.batch_id).rows[0] -%}
    {%- if 0 < found[1] < found[0] -%}
        {%- do floodmark._stop('rows of its quarantine are of batches up to ' ~ last ~ ', when its watermark was '
            'another, so they must not replace newer rows, and the others may: replay them apart, with where: '
            "'_floodmark_batch_id <= " ~ last ~ "', then the others",
            rejects='rows of two kinds of watermark were to be replayed at once') -%}
    {%- endif -%}
    {{ return(found[1] == 0) }}
{% endmacro %}
