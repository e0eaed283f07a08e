{#
  Constraints of an enforced contract are rules that reject a batch. They are asked of the rows that are about to be
  written, behind the other rules: a row that one of these holds back breaks no constraint of the table. As in SQL, NULL
  breaks none. Their results stand in the ledger beside those of the rules.
#}

{# Ask the constraints, {name: expression}, of the rows of a relation, and reject the batch where one is broken. #}
{% macro _check_constraints(batch, relation, constraints) %}
    {%- if not constraints -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set values = ['count(*)'] -%}
    {%- for expression in constraints.values() -%}
        {%- do values.append('count_if(not (' ~ expression ~ '))') -%}
    {%- endfor -%}
    {%- set counts = floodmark._query_json('select to_json(struct(array(' ~ values | join(', ') ~ ') as n)) from '
        ~ relation)[0].n -%}
    {%- set results, broken = [], [] -%}
    {%- for name in constraints -%}
        {%- do results.append({'name': name, 'action': 'fail', 'rows_judged': counts[0],
            'violations': counts[loop.index], 'sample': []}) -%}
        {%- if counts[loop.index] -%}
            {%- do broken.append(name ~ ' (' ~ floodmark._counted(counts[loop.index], 'row') ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do batch.update({'constraint_results': (batch.get('constraint_results') or []) + results}) -%}
    {%- if broken -%}
        {%- do floodmark._stop('the batch breaks the contract\'s constraints: ' ~ broken | join(', ')
            ~ '. Nothing was written: correct the SELECT or the constraint. '
            ~ floodmark._broken_rows(batch, relation, constraints, results),
            rejects='constraints broken: ' ~ broken | join(', ')) -%}
    {%- endif -%}
{% endmacro %}


{# Five rows of each constraint that is broken, in a sentence; the results get them, too. #}
{% macro _broken_rows(batch, relation, constraints, results) %}
    {%- set columns = floodmark._columns_of(query='select * from ' ~ relation) -%}
    {%- set parts, shown = [], [] -%}
    {%- for result in results if result.violations -%}
        {%- set expression = constraints[result.name] -%}
        {%- do parts.append(floodmark._sample_sql(results.index(result), relation, 'not (' ~ expression ~ ')', columns,
            batch.settings.unique_key, [expression])) -%}
    {%- endfor -%}
    {%- do floodmark._put_samples(results, parts) -%}
    {%- for result in results if result.sample -%}
        {%- do shown.append(result.name ~ ': ' ~ result.sample | join(', ')) -%}
    {%- endfor -%}
    {{ return(shown | join('; ')) }}
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
