{#
  Constraints of an enforced contract are rules that reject a batch. They are asked of the rows that are about to be
  written, behind the other rules: a row that one of these holds back breaks no constraint of the table. As in a rule
  and in Delta, NULL is a violation. Their results stand in the ledger beside those of the rules.
#}

{# Ask the constraints, {name: expression}, of the rows of a relation, and reject the batch where one is broken. #}
{% macro _check_constraints(batch, relation, constraints) %}
    {%- if not constraints -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set results = floodmark._constraint_results(relation, constraints) -%}
    {%- do batch.update({'constraint_results': (batch.get('constraint_results') or []) + results}) -%}
    {%- set broken = floodmark._broken_constraints(results) -%}
    {%- if broken -%}
        {%- do floodmark._stop('the batch breaks the contract\'s constraints: ' ~ broken
            ~ '. Nothing was written: ' ~ (floodmark._way_out_of_replay() if floodmark._replays_rows(batch)
            else 'correct the SELECT or the constraint') ~ '. '
            ~ floodmark._broken_rows(relation, constraints, results, batch.settings.unique_key),
            rejects='constraints broken: ' ~ broken) -%}
    {%- endif -%}
{% endmacro %}


{# What becomes of constraints that are asked of a relation, as results of rules. #}
{% macro _constraint_results(relation, constraints) %}
    {%- set values = ['count(*)'] -%}
    {%- for expression in constraints.values() -%}
        {%- do values.append('count_if(' ~ floodmark._breaks_sql(expression) ~ ')') -%}
    {%- endfor -%}
    {%- set counts = floodmark._query_json('select to_json(struct(array(' ~ values | join(', ') ~ ') as n)) from '
        ~ relation)[0].n -%}
    {%- set results = [] -%}
    {%- for name in constraints -%}
        {%- do results.append({'name': name, 'action': 'fail', 'rows_judged': counts[0],
            'violations': counts[loop.index], 'sample': []}) -%}
    {%- endfor -%}
    {{ return(results) }}
{% endmacro %}


{# Whether a row breaks a constraint, as Delta sees it. #}
{% macro _breaks_sql(expression) %}
    {{ return('not coalesce((' ~ expression ~ '), false)') }}
{% endmacro %}


{# Which constraints are broken, and by how many rows, in words. #}
{% macro _broken_constraints(results) %}
    {%- set broken = [] -%}
    {%- for result in results if result.violations -%}
        {%- do broken.append(result.name ~ ' (' ~ floodmark._counted(result.violations, 'row') ~ ')') -%}
    {%- endfor -%}
    {{ return(broken | join(', ')) }}
{% endmacro %}


{# Five rows of each constraint that is broken, in a sentence; the results get them, too. #}
{% macro _broken_rows(relation, constraints, results, keys) %}
    {%- set columns = floodmark._columns_of(query='select * from ' ~ relation) -%}
    {%- set parts, shown = [], [] -%}
    {%- for result in results if result.violations -%}
        {%- set expression = constraints[result.name] -%}
        {%- do parts.append(floodmark._sample_sql(results.index(result), relation, floodmark._breaks_sql(expression),
            columns, keys, [expression])) -%}
    {%- endfor -%}
    {%- do floodmark._put_samples(results, parts) -%}
    {%- for result in results if result.sample -%}
        {%- do shown.append(result.name ~ ': ' ~ result.sample | join(', ')) -%}
    {%- endfor -%}
    {{ return(shown | join('; ')) }}
{% endmacro %}


{# Before the first batch of a run: take constraints off that its rows may break. One that has another condition now
   stays while rows of the table break the new one: Delta would not take it in its place. One without a name has another
   name with each condition, so those that are gone stay for those that came. If the contract has no constraints any
   more, the table is asked once Delta has refused a batch (_obsolete_constraints). #}
{% macro _relax_constraints(run) %}
    {%- if floodmark._has_constraints() and run.target.is_delta and not run.target.is_empty
        and not run.full_refresh -%}
        {%- set properties = floodmark._properties_of(this) -%}
        {%- set own, changed, keeps = floodmark._own_constraints(properties), {}, [] -%}
        {%- set gone = floodmark._unnamed_constraints(own) | reject('in', floodmark._constraint_texts()) | list -%}
        {%- for name, text in floodmark._added_constraints(properties).items()
            if own.get(name, text) != text or gone and floodmark._unnamed_constraints([name]) -%}
            {%- do changed.update({name: text}) -%}
        {%- endfor -%}
        {%- for result in (floodmark._constraint_results(floodmark._rows_under_contract_sql(run), changed) if changed
            else []) if result.violations -%}
            {%- do keeps.extend([result.name] + (gone if floodmark._unnamed_constraints([result.name]) else [])) -%}
        {%- endfor -%}
        {%- do run.update({'properties': floodmark._properties_of(this)
            if floodmark._drop_constraints(this, properties, keeps) else properties}) -%}
    {%- endif -%}
{% endmacro %}


{# Stop where rows of the table break constraints that it still has to be given, which Delta would refuse: behind the
   batches of a run, which may correct such rows, and before a stream. `properties` are the table's; `so_far` says what
   the run did. #}
{% macro _check_added_constraints(run, properties, so_far) %}
    {%- set added = floodmark._added_constraints(properties) -%}
    {%- if added -%}
        {%- set relation = floodmark._rows_under_contract_sql(run) -%}
        {%- set results = floodmark._constraint_results(relation, added) -%}
        {%- set broken = floodmark._broken_constraints(results) -%}
        {%- if broken -%}
            {%- do floodmark._stop('rows that ' ~ this ~ " has break the contract's constraints: " ~ broken ~ '. '
                ~ so_far ~ ': correct these rows, change the constraint, or run once with --full-refresh. '
                ~ floodmark._broken_rows(relation, added, results, run.settings.unique_key)) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The model's table for a FROM, with NULL in the columns of the contract that its next batch adds. #}
{% macro _rows_under_contract_sql(run) %}
    {%- set known, added = floodmark._table_columns(run), ['*'] -%}
    {%- for name, column in model.columns.items() if not floodmark._find_column(known, name) -%}
        {%- do added.append('cast(null as ' ~ column.data_type ~ ') as ' ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return('(select ' ~ added | join(', ') ~ ' from ' ~ this ~ ')' if added | length > 1 else this | string) }}
{% endmacro %}


{# The constraints that what is staged can be asked for. #}
{% macro _staged_constraints(settings) %}
    {{ return(floodmark._event_constraints(settings.cdc) if settings.cdc else floodmark._constraints()) }}
{% endmacro %}


{# The constraints that a change event can be asked for: an upsert that sets all its columns, not what the table adds.
   Where NULLs are ignored the rows are asked instead (_check_formed_rows). #}
{% macro _event_constraints(cdc) %}
    {%- set found = {} -%}
    {%- for name, expression in floodmark._constraints().items()
        if not floodmark._ignores_nulls(cdc) and not modules.re.search('(?i)_floodmark_|(?<!\\w)(?:'
        ~ modules.re.escape(cdc.start_at) ~ '|' ~ modules.re.escape(cdc.end_at) ~ ')(?!\\w)', expression) -%}
        {%- do found.update({name: '_floodmark_delete or _floodmark_truncate or (' ~ expression ~ ')'}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
