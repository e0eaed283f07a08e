{# What became of the rules of a batch. #}

{# Give a batch what became of its rules, batch.judged: {columns, path, rows_read, rows_kept, rows_dropped,
   rows_quarantined, rows_warned, results}. `columns` are those that were judged, `path` the one of them that is the
   path of a row's file. `results` has a mapping for each rule: {name, action, rows_judged, violations, sample};
   `sample` is a list of rows as JSON, five at most, with their `keys`. #}
{% macro _count_judged(batch, columns, path, asked, keys) %}
    {%- do batch.update({'judged': {'columns': columns, 'path': path}}) -%}
    {%- set judged = floodmark._judged_relation(batch) -%}
    {%- set rules = floodmark._row_rules(batch.rules) -%}
    {%- set held = floodmark._broken_sql(rules, ['quarantine', 'fail']) -%}
    {%- set gone = floodmark._broken_sql(rules, ['drop', 'quarantine', 'fail']) -%}
    {%- set values = ["'rows_read', count(*)", "'rows_quarantined', count_if(" ~ held ~ ')', "'rows_gone', count_if("
        ~ gone ~ ')', "'rows_warned', count_if(" ~ floodmark._broken_sql(rules) ~ ' and not ' ~ gone ~ ')'] -%}
    {#- an earlier version of floodmark wrote no column of whom a rule was asked -#}
    {%- set written = floodmark._columns_of(relation=judged) if rules | selectattr('where') | list else [] -%}
    {%- for rule in rules -%}
        {%- set column = floodmark._asked_column(rules, rule) -%}
        {%- set terms = [column] if floodmark._find_column(written, column) else floodmark._asked_terms(rule, asked) -%}
        {%- do values.append("'broken_" ~ loop.index0 ~ "', count_if(" ~ floodmark._broken_sql(rules,
            names=[rule.name]) ~ ')') -%}
        {%- do values.append("'asked_" ~ loop.index0 ~ "', " ~ ('count_if(' ~ terms | join(' and ') ~ ')' if terms
            else 'count(*)')) -%}
    {%- endfor -%}
    {%- set found = floodmark._query_json('select to_json(named_struct(' ~ values | join(', ') ~ ')) from '
        ~ judged)[0] -%}
    {%- set results = [] -%}
    {%- for rule in rules -%}
        {%- do results.append({'name': rule.name, 'action': rule.on_violation,
            'rows_judged': found['asked_' ~ loop.index0], 'violations': found['broken_' ~ loop.index0],
            'sample': []}) -%}
    {%- endfor -%}
    {%- do floodmark._add_samples(batch, results, keys) -%}
    {%- do batch.judged.update({'rows_read': found.rows_read, 'rows_kept': found.rows_read - found.rows_gone,
        'rows_dropped': found.rows_gone - found.rows_quarantined, 'rows_quarantined': found.rows_quarantined,
        'rows_warned': found.rows_warned, 'results': results + floodmark._batch_results(batch, found.rows_read)}) -%}
{% endmacro %}


{# What became of the rules of a batch of which no row breaks one, in the form of _count_judged. #}
{% macro _count_all_hold(batch, rows) %}
    {%- set results = [] -%}
    {%- for rule in batch.rules -%}
        {%- do results.append({'name': rule.name, 'action': rule.on_violation, 'rows_judged': rows, 'violations': 0,
            'sample': []}) -%}
    {%- endfor -%}
    {%- do batch.update({'judged': {'rows_read': rows, 'rows_kept': rows, 'rows_dropped': 0, 'rows_quarantined': 0,
        'rows_warned': 0, 'results': results}}) -%}
{% endmacro %}


{# Whether a batch had rules, and no row broke one. #}
{% macro _held_rules(batch) %}
    {%- set results = batch.judged.get('results') if batch.get('judged') else none -%}
    {{ return(results is not none and results | map(attribute='violations') | select | list == []) }}
{% endmacro %}


{# Put five rows beside each rule that is violated: their keys, what the rule names, and their file. #}
{% macro _add_samples(batch, results, keys) %}
    {%- set parts, columns = [], batch.judged.columns -%}
    {%- set path = floodmark._file_of_row_sql(batch) -%}
    {%- for result in results if result.violations -%}
        {%- set rule = batch.rules | selectattr('name', 'equalto', result.name) | first -%}
        {%- do parts.append(floodmark._sample_sql(results.index(result), floodmark._judged_relation(batch),
            floodmark._broken_sql(batch.rules, names=[rule.name]), columns, keys,
            [floodmark._named_text(rule), rule.where or ''], path)) -%}
    {%- endfor -%}
    {%- do floodmark._put_samples(results, parts) -%}
{% endmacro %}


{# A SELECT of five rows of a relation for which a condition is true, {rule, shown}: their keys and the columns that
   the texts name, all where there are none, and their file. #}
{% macro _sample_sql(place, relation, condition, columns, keys, texts, path=none) %}
    {%- set shown = [] -%}
    {%- for column in columns
        if column.name | lower in keys | map('lower') | list or floodmark._is_named(column.name, texts) -%}
        {%- do shown.append(floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {%- set shown = shown or [floodmark._quoted_csv(columns | map(attribute='name') | list)] -%}
    {{ return('(select ' ~ place ~ ' as rule, left(to_json(struct('
        ~ (shown + ([path ~ ' as file'] if path else [])) | join(', ')
        ~ "), map('ignoreNullFields', 'false')), 500) as shown from " ~ relation ~ ' where ' ~ condition
        ~ ' order by shown limit 5)') }}
{% endmacro %}


{# Put what such SELECTs give beside the results at their places. #}
{% macro _put_samples(results, parts) %}
    {%- for row in (floodmark._query_json('select to_json(struct(rule, shown)) from (' ~ parts | join(' union all ')
        ~ ') order by rule, shown') if parts else []) -%}
        {%- do results[row.rule].sample.append(row.shown) -%}
    {%- endfor -%}
{% endmacro %}


{# A result as people read it. #}
{% macro _result_sentence(rule, result) %}
    {%- if rule.kind == 'batch' -%}
        {{ return(rule.name ~ ' (' ~ rule.on_violation ~ '): ' ~ (rule.message or result.found)) }}
    {%- endif -%}
    {{ return(rule.name ~ ' (' ~ rule.on_violation ~ '): ' ~ '{:,} of '.format(result.violations)
        ~ floodmark._counted(result.rows_judged, 'row') ~ (' violates ' if result.violations == 1 else ' violate ')
        ~ (rule.message or rule.given) ~ (', such as ' ~ result.sample | join(', ') if result.sample else '')) }}
{% endmacro %}


{# The rules of a batch with their results, [rule, result] each, of those that are violated. #}
{% macro _violated_rules(batch) %}
    {%- set found = [] -%}
    {%- for result in batch.judged.results if result.violations -%}
        {%- do found.append([batch.rules | selectattr('name', 'equalto', result.name) | first, result]) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Why a rule rejects the batch, in words that go behind its sentence; none where it does not. #}
{% macro _rejects(rule, result) %}
    {%- set most, fraction = rule.get('max_violations'), rule.get('max_violation_fraction') -%}
    {%- if rule.on_violation == 'fail' -%}
        {{ return('') }}
    {%- elif most is not none and result.violations > most -%}
        {{ return(', more than max_violations (' ~ most ~ ')') }}
    {%- elif fraction is not none and result.violations / result.rows_judged > fraction -%}
        {{ return(', more than max_violation_fraction (' ~ fraction ~ ')') }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# Reject a batch whose rules say so. All that is violated is named. #}
{% macro _check_violations(batch) %}
    {%- set sentences, rejects = [], [] -%}
    {%- for rule, result in floodmark._violated_rules(batch) -%}
        {%- set why = floodmark._rejects(rule, result) -%}
        {%- do sentences.append(floodmark._result_sentence(rule, result) ~ (why or '')) -%}
        {%- if why is not none -%}
            {%- do rejects.append(rule.name ~ ' is violated by '
                ~ (floodmark._counted(result.violations, 'row') if rule.kind == 'row' else 'the batch') ~ why) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if rejects -%}
        {%- do floodmark._stop('the batch breaks its expectations:\n  - ' ~ sentences | join('\n  - ')
            ~ ('\nNothing was written. ' ~ floodmark._ways_out_of_rows('the rule') if batch.kind == 'stream'
            else '\nNothing was written, and the mark stays: ' ~ (floodmark._way_out_of_replay()
            if floodmark._replays_rows(batch) else 'correct the rows upstream, or the rule')),
            rejects='expectations: ' ~ rejects | join('; ')) -%}
    {%- endif -%}
{% endmacro %}


{# The results of a batch, of rules and of constraints, as its event in the ledger has them. #}
{% macro _results_literal(batch) %}
    {%- set of_rules = batch.judged.get('results') if batch.get('judged') else none -%}
    {%- set of_constraints = batch.get('constraint_results') -%}
    {%- if of_rules is none and of_constraints is none -%}
        {{ return('null') }}
    {%- endif -%}
    {%- set rows = [] -%}
    {%- for result in (of_rules or []) + (of_constraints or []) -%}
        {%- set shown = [] -%}
        {%- for row in result.sample -%}
            {#- one that is cut is no JSON any more -#}
            {%- do shown.append(row if row.endswith('}') and row | length < 500
                else floodmark._shown_json(row)) -%}
        {%- endfor -%}
        {%- do rows.append(dict(result, sample='[' ~ shown | join(', ') ~ ']' if shown else none)) -%}
    {%- endfor -%}
    {{ return(floodmark._string_literal(tojson(rows))) }}
{% endmacro %}


{# Once a batch is committed: the warnings of its rules, and errors of the node for those whose severity says so. They
   wait for the end of the run, so that it loads all that is due. A stream may have no end. #}
{% macro _note_violations(run, batch) %}
    {%- for rule, result in (floodmark._violated_rules(batch) if batch.get('judged') and batch.judged.get('results')
        else []) -%}
        {%- set sentence = floodmark._result_sentence(rule, result) -%}
        {%- if rule.severity == 'error' -%}
            {%- do run.update({'errors': (run.get('errors') or []) + [sentence]}) -%}
            {%- do floodmark._say('expectation ' ~ sentence) -%}
        {%- else -%}
            {%- do floodmark._warn_once(run, 'expectation ' ~ sentence) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._tell_violations(run, is_passing=true) if batch.kind == 'stream' -%}
{% endmacro %}


{# End the node by what its run has found: warnings that waited, and errors. With `is_passing` a stream that is kept
   running goes on behind them. #}
{% macro _tell_violations(run, is_passing=false) %}
    {%- set is_committed = is_passing or run.total.batches -%}
    {%- do floodmark._tell_warnings(run, '. The batch is committed: --warn-error fails the node' if is_committed
        else '', is_passing) -%}
    {%- if run.get('errors') -%}
        {%- do floodmark._stop('expectation ' ~ run.errors | join('; expectation ')
            ~ '. The batch is committed: severity error fails the node', is_passing=is_passing) -%}
    {%- endif -%}
{% endmacro %}
