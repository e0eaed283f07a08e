{# A SELECT of one JSON row that compares `due`, the model's SELECT up to the mark, with its table, by key: expected,
   missing and repeated counts, a sample, the range they lie in ([from, to), of the watermark column), and the
   lookback that reaches the lowest missing row. Where the SELECT changes the column's values they say nothing of the
   upstream's, and stay none. With merge a key belongs once, else as often as the SELECT gives it. #}
{% macro _reconcile_sql(due, name, keys, sample) %}
    {%- set node = floodmark._managed_node(name) -%}
    {%- set id = floodmark._node_id(node) -%}
    {%- set upstream = floodmark._node_upstream(node) -%}
    {%- set state = floodmark._model_state(id) if floodmark._ledger_exists() else none -%}
    {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
    {%- if not state or not state.committed or state.committed.mark is none or relation is none -%}
        {%- do floodmark._stop('it has no mark yet: run it first', id) -%}
    {%- elif upstream is none -%}
        {%- do floodmark._stop('its upstream is not found: build it, or name it in watermark.from', id) -%}
    {%- endif -%}
    {%- set family = state.committed.family -%}
    {%- set column = floodmark._find_column(floodmark._columns_of(query=due), upstream.column) -%}
    {%- set selected = due -%}
    {%- set due = floodmark._due_under_rules(node, due) -%}
    {%- set may_be = floodmark._replayed_rows_sql(node) -%}
    {%- set value = floodmark._quoted(column.name) if column and floodmark._position_family(column.type) == family
        else 'cast(null as ' ~ ('bigint' if family == 'sequence' else family) ~ ')' -%}
    {%- set found = floodmark._compare_keys(id, due, relation, keys, sample,
        (node.config.get('incremental_strategy') or 'append') == 'merge', value, family, may_be) -%}
    {%- set mark = floodmark._position_parse(state.committed.mark, family) -%}
    {%- do found.update({'mark': state.committed.mark, 'from': none, 'to': none, 'lookback': none}) -%}
    {%- if found.least is not none and floodmark._changes_column(selected, column.name, selected, upstream.relation) -%}
        {%- do found.update({'least': none, 'least_missing': none}) -%}
    {%- endif -%}
    {%- if found.least is not none -%}
        {%- do found.update({'from': floodmark._position_print(floodmark._position_from_text(found.least, family),
            family), 'to': floodmark._position_print(floodmark._position_from_text(found.greatest,
            family) + floodmark._position_unit(family), family)}) -%}
    {%- endif -%}
    {%- if found.least_missing is not none -%}
        {#- bounds are open below: one unit more than the distance reaches the row -#}
        {%- set distance = mark - floodmark._position_from_text(found.least_missing, family) + 1 -%}
        {%- do found.update({'lookback': distance | string if family == 'sequence'
            else floodmark._duration_print(distance)}) -%}
    {%- endif -%}
    {%- for name in ['least', 'greatest', 'least_missing'] -%}
        {%- do found.pop(name) -%}
    {%- endfor -%}
    {{ return(floodmark._values_sql({'found': 'string'}, [[tojson(found)]])) }}
{% endmacro %}


{# What `due` gives without the rows that the model's rules hold back. #}
{% macro _due_under_rules(node, due) %}
    {%- set broken = [] -%}
    {%- for rule in floodmark._row_rules_of(node) if rule.on_violation in ['drop', 'quarantine'] -%}
        {%- do broken.append('(' ~ floodmark._violated_sql(rule) ~ ')') -%}
    {%- endfor -%}
    {%- if not broken -%}
        {{ return(due) }}
    {%- endif -%}
    {{ return('select * except (_floodmark_broken) from (select *, ' ~ broken | join(' or ')
        ~ ' as _floodmark_broken from (\n' ~ due ~ '\n)) where not _floodmark_broken') }}
{% endmacro %}


{# The rows of a model that were replayed; none where it has no quarantine. They may be in its table beside what the
   SELECT gives, and need not: a full refresh or a backfill takes them out, and a replay may have changed their keys. #}
{% macro _replayed_rows_sql(node) %}
    {%- set quarantine = floodmark._quarantine_of(node) -%}
    {{ return('select * from ' ~ quarantine ~ " where _floodmark_state = 'replayed'"
        if floodmark._has_quarantine(quarantine) else none) }}
{% endmacro %}


{# What `due` gives and what the table holds, by key: {expected, missing, repeated, sample, least, greatest,
   least_missing}, the last three positions of `value`. With `once` a key belongs once, else as often as `due` gives
   it, and no more often than `due` and `may_be` give it together. #}
{% macro _compare_keys(id, due, relation, keys, sample, once, value='cast(null as bigint)', family='sequence',
    may_be=none) %}
    {%- set keys = floodmark._distinct_names(keys) -%}
    {%- set columns = floodmark._columns_of(query=due) -%}
    {%- set held_columns = floodmark._columns_of(relation=relation) -%}
    {%- for key in keys if not floodmark._find_column(columns, key) or not floodmark._find_column(held_columns, key) -%}
        {%- do floodmark._stop('its SELECT and its table do not both have the key column ' ~ key
            ~ ': name another key', id) -%}
    {%- endfor -%}
    {%- set key_struct = 'struct(' ~ floodmark._quoted_csv(keys) ~ ')' -%}
    {%- set may_columns = floodmark._columns_of(query=may_be) if may_be and not once else [] -%}
    {%- for key in keys if may_columns and not floodmark._find_column(may_columns, key) -%}
        {%- do may_columns.clear() -%}
    {%- endfor -%}
    {%- set query -%}
        with due as (select {{ floodmark._keys_as_held_sql(keys, columns, held_columns) }} as k,
            {{ '1' if once else 'count(*)' }} as n, min({{ value }}) as p, max({{ value }}) as q
            from (
            {{ due }}
            ) group by 1),
        held as (select {{ key_struct }} as k, count(*) as n from {{ relation }}
            group by {{ floodmark._quoted_csv(keys) }}),
        {%- if may_columns %}
        more as (select {{ floodmark._keys_as_held_sql(keys, may_columns, held_columns) }} as k, count(*) as n
            from ({{ may_be }}) group by 1),
        {%- endif %}
        compared as (
            select k, due.n as expected, coalesce(held.n, 0) as held, p, q,
                if(coalesce(held.n, 0) < due.n, 'missing', 'repeated') as problem
            from due left join held using (k) {{ 'left join more using (k)' if may_columns }}
                where {{ 'coalesce(held.n, 0) = 0 or held.n > 1' if once else 'coalesce(held.n, 0) < due.n or held.n > '
                    ~ ('due.n + coalesce(more.n, 0)' if may_columns else 'due.n') }}
        )
        select to_json(named_struct(
            'expected', (select coalesce(sum(n), 0) from due),
            'missing', count_if(problem = 'missing'), 'repeated', count_if(problem = 'repeated'),
            'least', {{ floodmark._position_text_sql('min(p)', family) }}, 'greatest',
                {{ floodmark._position_text_sql('max(q)', family) }},
            'least_missing', {{ floodmark._position_text_sql("min(p) filter (where problem = 'missing')", family) }},
            'sample', (select collect_list(named_struct('problem', problem, 'key',
                to_json(k, map('ignoreNullFields', 'false')), 'expected', expected, 'held', held))
                from (select * from compared order by problem, to_json(k) limit {{ sample }}))
        ), map('ignoreNullFields', 'false')) from compared
    {%- endset -%}
    {{ return(floodmark._query_json(query)[0]) }}
{% endmacro %}


{# Keys as a struct, as the table holds them: each has its type there, and in the column of a partition texts are as
   Delta keeps them. #}
{% macro _keys_as_held_sql(keys, columns, held_columns) %}
    {%- set values = [] -%}
    {%- for key in keys -%}
        {%- set held, given = floodmark._find_column(held_columns, key), floodmark._find_column(columns, key).type -%}
        {%- set value = floodmark._tried_sql(floodmark._quoted(key), given, held.ddl) if given != held.type
            else floodmark._quoted(key) -%}
        {%- do values.append((floodmark._text_of_partition_sql(value) if held.is_partition
            and floodmark._plain_type(held.type) == 'string' else value) ~ ' as ' ~ floodmark._quoted(key)) -%}
    {%- endfor -%}
    {{ return('struct(' ~ values | join(', ') ~ ')') }}
{% endmacro %}


{# A SELECT of one JSON row that compares a stream's table with `due`, its compiled SELECT, by key. The SELECT reads
   again what the stream's checkpoint has read of each source. #}
{% macro _reconcile_stream_sql(due, name, keys, sample) %}
    {%- set stream = floodmark._stream_node(name) -%}
    {%- if not stream.is_readable -%}
        {%- do floodmark._stop('it is a stream, and streams are read only inside the dbt process: use a target with '
            'method: session', stream.id) -%}
    {%- elif stream.location is none -%}
        {%- do floodmark._stop('it has no checkpoint yet: run it first', stream.id) -%}
    {%- endif -%}
    {%- set passed = adapter.floodmark_streams().as_read(dict(floodmark._stream_request(stream.id, stream.settings,
        due), location=stream.location)) -%}
    {%- set found = floodmark._compare_keys(stream.id, floodmark._due_under_rules(floodmark._managed_node(name),
        passed.sql), stream.relation, keys, sample,
        stream.settings.output_mode != 'complete' and stream.config.get('unique_key') is not none,
        may_be=floodmark._replayed_rows_sql(floodmark._managed_node(name))) -%}
    {%- for name in ['least', 'greatest', 'least_missing'] -%}
        {%- do found.pop(name) -%}
    {%- endfor -%}
    {%- do found.update({'mark': passed.number | string, 'from': none, 'to': none, 'lookback': none}) -%}
    {{ return(floodmark._values_sql({'found': 'string'}, [[tojson(found)]])) }}
{% endmacro %}


{# Microseconds as the shortest whole duration that is not less: '90 seconds', '2 hours', '3 days'. #}
{% macro _duration_print(micros) %}
    {%- set ns = namespace(text=none) -%}
    {%- for unit in ['day', 'hour', 'minute', 'second', 'microsecond'] -%}
        {%- set size = floodmark._micros_in()[unit] -%}
        {%- set count = (micros + size - 1) // size -%}
        {%- if ns.text is none and (micros >= 2 * size or size == 1) -%}
            {%- set ns.text = count ~ ' ' ~ unit ~ ('' if count == 1 else 's') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(ns.text) }}
{% endmacro %}
