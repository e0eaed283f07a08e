{#
  A replay loads open rows of the quarantine: `floodmark quarantine replay`, or `dbt run --select <model> --vars
  '{floodmark_replay: {rule: ..., where: ..., set: {column: expression}}}'`. It is one batch of kind replay that goes
  through the model's own strategy, is judged by today's rules, and leaves the mark where it is. Rows that still break a
  rule stay open. Corrupt records of files are a batch of their own (_replay_records.sql).
#}

{# What this run was asked to replay, {rule, where, set}, where `true` is everything; none where it was not. #}
{% macro _replay_asked() %}
    {%- set asked = var('floodmark_replay', none) -%}
    {%- if asked is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set asked = floodmark._with_defaults(asked if asked is mapping else {},
        {'rule': {}, 'where': {}, 'set': {}}) -%}
    {{ return(dict(asked, set=floodmark._set_expressions(asked.set or {}) or none)) }}
{% endmacro %}


{# What `set` gives to columns, by their bare names: a null is NULL, and a flag its word. #}
{% macro _set_expressions(set) %}
    {%- set given = {} -%}
    {%- for name, value in set.items() -%}
        {%- do given.update({floodmark._bare_name(name): tojson(value) if value is none or value is boolean
            else value}) -%}
    {%- endfor -%}
    {{ return(given) }}
{% endmacro %}


{# The next batch of a replay, recorded in the ledger: open rows, then corrupt records; none where nothing is open, and
   behind them. #}
{% macro _next_replay_batch(run) %}
    {%- set asked = run.replay -%}
    {%- if run.first -%}
        {%- do floodmark._check_replay(run) -%}
        {%- do run.update({'first': false, 'to_replay': floodmark._open_parts(run)}) -%}
    {%- endif -%}
    {%- if not run.to_replay -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set part = run.to_replay.pop(0) -%}
    {%- set plan = floodmark._plan_whole() -%}
    {%- do plan.update({'settings': run.settings, 'batch_id': run.state.last_batch_id + 1, 'kind': 'replay',
        'replaces': false, 'generation': run.state.committed.generation, 'family': run.state.committed.family,
        'asked': {'replay': asked, 'part': part}, 'reason': floodmark._replay_reason(asked),
        'watermark_column': run.state.committed.watermark_column, 'upstream': run.state.committed.upstream}) -%}
    {#- the next batch of files looks for the schema in the last one -#}
    {%- do plan.update(floodmark._plan_schema(run, false, []) if floodmark._replayed_files(run) else {}) -%}
    {%- do plan.update({'is_last': not run.to_replay}) -%}
    {%- if part == 'rows' -%}
        {%- do floodmark._tell_who_is_past(run, plan) -%}
    {%- elif not floodmark._plan_records_again(run, plan) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do floodmark._record_plan(run, plan) -%}
    {{ return(plan) }}
{% endmacro %}


{# Refuse a replay that asks for what is not there. #}
{% macro _check_replay(run) %}
    {%- do floodmark._refuse(floodmark._replay_problems(run)) -%}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- do floodmark._stop_without_quarantine() if not floodmark._has_quarantine(quarantine) -%}
    {%- do floodmark._check_replayed_columns(run.replay, floodmark._columns_of(relation=quarantine)
        + floodmark._table_own(run) + (floodmark._selected_now(run) if run.replay.set else []),
        floodmark._replayed_files(run)) -%}
    {%- do floodmark._check_replayed_rule(run.replay, quarantine, run.settings.expectations) -%}
{% endmacro %}


{% macro _stop_without_quarantine(id=none) %}
    {%- do floodmark._stop('it has no quarantine: no row of it was ever quarantined', id) -%}
{% endmacro %}


{# What a replay has to load, of _replayed_parts. #}
{% macro _open_parts(run) %}
    {%- set parts = [] -%}
    {%- for part in floodmark._replayed_parts(run.replay, floodmark._replayed_files(run)) -%}
        {%- set rows = floodmark._open_rows_sql(floodmark._quarantine_relation(this), run.replay, part) -%}
        {%- do parts.append(part) if not floodmark._has_no_rows('(' ~ rows ~ ')') -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{# The settings of files whose corrupt records are in the quarantine; none where none are: a stream rescues them. #}
{% macro _replayed_files(run) %}
    {{ return(run.settings.files if run.request is undefined else none) }}
{% endmacro %}


{# How many of the rows that a replay was asked for are still open. Without a correction these are all, also files that
   are corrupt as a whole. #}
{% macro _still_open(run) %}
    {{ return(floodmark._count_open(floodmark._quarantine_relation(this), run.replay,
        floodmark._replayed_parts(run.replay, floodmark._replayed_files(run)) if run.replay.set else ['all'])) }}
{% endmacro %}


{# Warn of models that follow this one by a watermark, and whose next run reads above a row of the replay: they do not
   load it. #}
{% macro _tell_who_is_past(run, batch) %}
    {%- set columns = floodmark._columns_of(relation=floodmark._quarantine_relation(this)) -%}
    {%- for node in floodmark._managed_nodes().values() if model.unique_id in node.depends_on.nodes -%}
        {%- set watermark = floodmark._node_setting(node, 'watermark') -%}
        {%- set column = floodmark._find_column(columns, watermark.get('column') or '')
            if watermark is mapping and watermark.get('kind') != 'version' else none -%}
        {%- set upstream = floodmark._upstream_node(watermark.get('from'), node, required=false) if column else none -%}
        {%- if upstream and upstream.unique_id == model.unique_id
            and floodmark._is_past(run, floodmark._node_id(node), watermark, batch, column) -%}
            {%- do floodmark._warn_once(run, 'rows of this replay are at or below the mark of '
                ~ floodmark._node_id(node) ~ ' (' ~ column.name
                ~ '), which does not load them: backfill it, or give them another ' ~ column.name
                ~ ' with set when you replay') -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Whether a model with a watermark reads above a row of a replay: above its mark, or where its lookback begins. #}
{% macro _is_past(run, id, watermark, batch, column) %}
    {%- set committed = floodmark._model_state(id).committed -%}
    {%- set rows = floodmark._replayed_select(run, batch) -%}
    {#- as they are replayed: the quarantine may have another type -#}
    {%- set column = floodmark._find_column(floodmark._columns_of(query=rows), column.name) -%}
    {%- if not committed or committed.mark is none or not column
        or floodmark._position_family(column.type) != committed.family -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set reach = floodmark._reach(watermark, committed.family) -%}
    {%- set low = floodmark._low_read({'family': committed.family, 'lookback': reach.lookback,
        'low_position': floodmark._position_parse(committed.mark, committed.family), 'start_position': reach.start}) -%}
    {{ return(not floodmark._has_no_rows('(' ~ rows ~ ') where ' ~ floodmark._quoted(column.name) ~ ' <= '
        ~ floodmark._position_literal(low, committed.family))) }}
{% endmacro %}


{# What makes a replay of a model impossible, whatever it has loaded: a list for _refuse. #}
{% macro _never_replayed_problems(strategy, output_mode, asked) %}
    {%- if not floodmark._strategy({'strategy': strategy}).replays -%}
        {{ return([{'setting': 'floodmark_replay', 'got': asked,
            'expected': 'a strategy that can replay, and this is ' ~ strategy,
            'todo': 'Correct the rows upstream: the next run reads all of them again'}]) }}
    {%- elif output_mode == 'complete' -%}
        {{ return([{'setting': 'floodmark_replay', 'got': asked,
            'expected': "an output_mode other than 'complete'",
            'todo': 'Correct the rows upstream: each micro-batch gives the whole table again'}]) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{% macro _replay_problems(run) %}
    {%- set problems = floodmark._never_replayed_problems(run.settings.strategy, run.settings.get('output_mode'),
        run.replay) -%}
    {%- if problems -%}
    {%- elif not run.state.committed or run.target.is_empty and not run.target.is_delta or run.full_refresh -%}
        {%- do problems.append({'setting': 'floodmark_replay', 'got': run.replay,
            'expected': 'a model that was loaded before, with a quarantine',
            'todo': 'Run the model first; a full refresh reads all rows again'}) -%}
    {%- elif floodmark._has_lost_rows(run) -%}
        {%- do problems.append({'setting': 'floodmark_replay', 'got': run.replay,
            'expected': 'a table with the rows that the model has loaded, and somebody emptied ' ~ this,
            'todo': 'Run the model first, which loads all of them again; then replay'}) -%}
    {%- endif -%}
    {%- set where = run.replay.where -%}
    {%- do problems.extend(floodmark._clause_problems('floodmark_replay.where', where) if where is string else []) -%}
    {{ return(problems + floodmark._expression_problems('floodmark_replay.set', run.replay.set or {})) }}
{% endmacro %}


{# Whether somebody has emptied or replaced the table. The next run begins it anew, but not where a replay has put rows
   into it. A table that got no row because all were held back is not emptied. #}
{% macro _has_lost_rows(run) %}
    {%- set committed, landed = run.state.committed, run.state.landed -%}
    {%- set is_restored = run.target.disturbed and landed and landed.generation == committed.generation -%}
    {{ return(run.target.is_empty and (is_restored or committed.target_id not in [none, run.target.id]
        or floodmark._was_emptied(run.state, committed.generation))) }}
{% endmacro %}


{# What forbids to put the expressions of `set` into a statement. #}
{% macro _expression_problems(name, set) %}
    {%- set problems = [] -%}
    {%- for column, expression in set.items() -%}
        {%- do problems.extend(floodmark._clause_problems(name ~ '.' ~ column, expression)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Columns that `set` gives a value must be there. Of a model with `files` it may be the text of corrupt records. #}
{% macro _check_replayed_columns(asked, columns, files) %}
    {%- set problems, given = [], [] -%}
    {%- set texts = ['_floodmark_raw'] if files else [] -%}
    {%- for column in columns if not column.name.startswith('_floodmark_')
        and column.name | lower not in given | map('lower') | list -%}
        {%- do given.append(column.name) -%}
    {%- endfor -%}
    {%- for name in asked.set or {} if name not in texts
        and (name.startswith('_floodmark_') or not floodmark._find_column(columns, name)) -%}
        {%- do problems.append({'setting': 'floodmark_replay.set', 'got': name,
            'expected': 'a column of the quarantine (' ~ (given + texts) | join(', ') ~ ')',
            'todo': 'Correct the name'}) -%}
    {%- endfor -%}
    {%- if '_floodmark_raw' in (asked.set or {}) and asked.set | length > 1 -%}
        {%- do problems.append({'setting': 'floodmark_replay.set', 'got': asked.set | join(', '),
            'expected': '_floodmark_raw alone, or columns',
            'todo': 'Replay corrupt records and rows that break a rule one after the other'}) -%}
    {%- endif -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}


{# A rule that is asked for is one of the model, or one that a row of the quarantine breaks. #}
{% macro _check_replayed_rule(asked, quarantine, rules) %}
    {%- if asked.rule is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set known = floodmark._row_rules(rules or []) | map(attribute='name') | list -%}
    {%- for row in floodmark._query_json('select to_json(struct(rule)) from (select distinct explode(_floodmark_rules)'
        ' as rule from ' ~ quarantine ~ ') order by rule') if row.rule not in known -%}
        {%- do known.append(row.rule) -%}
    {%- endfor -%}
    {%- if asked.rule not in known -%}
        {%- do floodmark._refuse([{'setting': 'rule', 'got': asked.rule,
            'expected': 'one of ' ~ known | join(', '), 'todo': 'Correct the name'}]) -%}
    {%- endif -%}
{% endmacro %}


{% macro _replay_reason(asked) %}
    {%- set parts = [] -%}
    {%- for name in ['rule', 'where'] if asked[name] -%}
        {%- do parts.append(name ~ ' ' ~ asked[name]) -%}
    {%- endfor -%}
    {%- for name, expression in (asked.set or {}).items() -%}
        {%- do parts.append(name ~ ' = ' ~ expression) -%}
    {%- endfor -%}
    {{ return('replay' ~ (' of ' ~ parts | join(', ') if parts else '')) }}
{% endmacro %}
