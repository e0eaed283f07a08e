{# Print how two tables, versions or files differ: keys by what became of them, columns that differ, and some keys
   with the value of A and that of B. `a` and `b` are a dbt node's name, `schema.table` or a path
   (macros/operations/_diff_sides.sql). #}
{% macro diff(a, b, key, columns=none, except_columns=none, limit=10) %}
    {%- for line in floodmark._diff_lines(floodmark._diff(a, b, key, columns, except_columns, limit)) -%}
        {%- do print(line) -%}
    {%- endfor -%}
{% endmacro %}


{# A SELECT of one JSON row: what _diff finds. Relative paths lie in `folder`, or in the project if none is given. #}
{% macro _diff_sql(a, b, key, columns=none, except_columns=none, limit=10, folder=none) %}
    {%- set found = floodmark._diff(a, b, key, columns, except_columns, limit, folder) -%}
    {{ return(floodmark._values_sql({'found': 'string'}, [[tojson(found)]])) }}
{% endmacro %}


{# What differs: {a, b, key, equal, rows_a, rows_b, unchanged, updated, deleted, inserted, repeated_a, repeated_b,
   null_a, null_b, columns, only_a, only_b, types, sample, notes}. A key that comes more than once is not compared, so
   A and B are not equal then. #}
{% macro _diff(a, b, key, columns=none, except_columns=none, limit=10, folder=none) %}
    {%- do floodmark._check_arguments('diff',
        {'a': [a, 'name'], 'b': [b, 'name'], 'key': [key, 'names'], 'columns': [columns, 'names'],
        'except_columns': [except_columns, 'names'], 'limit': [limit, 'count']}) -%}
    {%- set keys = floodmark._diff_names(key) -%}
    {%- set only = floodmark._diff_names(columns) -%}
    {%- set excepted = floodmark._diff_names(except_columns) -%}
    {%- if not keys -%}
        {%- do floodmark._diff_stop('name the columns that identify a row in `key`') -%}
    {%- elif only and excepted -%}
        {%- do floodmark._diff_stop('name the columns to compare or those to leave out, not both') -%}
    {%- endif -%}
    {%- set plan = floodmark._diff_plan(floodmark._diff_side(a, 'A', folder), floodmark._diff_side(b, 'B', folder),
        keys, only, excepted) -%}
    {%- set counts = floodmark._query_json(floodmark._diff_counts_sql(plan))[0] -%}
    {%- set differing = {} -%}
    {%- for pair in plan.compared -%}
        {%- do differing.update({pair.name: counts.pop('d' ~ loop.index0)}) -%}
    {%- endfor -%}
    {%- set equal = counts.updated + counts.deleted + counts.inserted + counts.pop('repeated') == 0 -%}
    {%- set sample = floodmark._query_json(floodmark._diff_sample_sql(plan, limit | int))
        if not equal and limit | int > 0 else [] -%}
    {%- set found = dict({'a': plan.a.given, 'b': plan.b.given, 'key': plan.key | map(attribute='name') | list,
        'equal': equal}, **counts) -%}
    {%- do found.update({'columns': differing, 'only_a': plan.only_a, 'only_b': plan.only_b, 'types': plan.types,
        'sample': floodmark._diff_clipped(sample)}) -%}
    {{ return(dict(found, notes=floodmark._diff_notes(found))) }}
{% endmacro %}


{# Column names from a list, or from one text with commas. #}
{% macro _diff_names(given) %}
    {{ return(floodmark._distinct_names((given.split(',') if given is string else given or []) | map('trim') | select
        | list)) }}
{% endmacro %}


{# Stop with one sentence about what was given. #}
{% macro _diff_stop(sentence) %}
    {%- do floodmark._raise('floodmark diff: ' ~ sentence) -%}
{% endmacro %}


{# Long values are cut: the sample is for reading, and travels in the text of a statement. #}
{% macro _diff_clipped(sample) %}
    {%- for row in sample -%}
        {%- do row.update({'columns': row.columns or []}) -%}
        {%- for column in row.columns -%}
            {%- for side in ['a', 'b'] if column[side] is not none and column[side] | length > 1000 -%}
                {%- do column.update({side: column[side][:1000] ~ '…'}) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(sample) }}
{% endmacro %}


{# What is to know beside the numbers, as sentences. #}
{% macro _diff_notes(found) %}
    {%- set notes = [] -%}
    {%- for side in ['a', 'b'] if found['only_' ~ side] -%}
        {%- do notes.append('Only in ' ~ side | upper ~ ', not compared: ' ~ found['only_' ~ side] | join(', ')
            ~ '.') -%}
    {%- endfor -%}
    {%- for pair in found.types -%}
        {%- do notes.append('Types differ: ' ~ pair.column ~ ' is ' ~ pair.a ~ ' in A and ' ~ pair.b ~ ' in B.') -%}
    {%- endfor -%}
    {%- if found.repeated_a or found.repeated_b -%}
        {%- do notes.append('More than once: ' ~ floodmark._counted(found.repeated_a, 'key') ~ ' in A, '
            ~ floodmark._counted(found.repeated_b, 'key') ~ ' in B; they are not compared.') -%}
    {%- endif -%}
    {%- if found.null_a or found.null_b -%}
        {%- do notes.append('With a NULL: ' ~ floodmark._counted(found.null_a, 'key') ~ ' in A, '
            ~ floodmark._counted(found.null_b, 'key') ~ ' in B.') -%}
    {%- endif -%}
    {{ return(notes) }}
{% endmacro %}


{# What was found as lines of text. #}
{% macro _diff_lines(found) %}
    {%- set lines = ['A: ' ~ found.a ~ ', ' ~ floodmark._counted(found.rows_a, 'row'),
        'B: ' ~ found.b ~ ', ' ~ floodmark._counted(found.rows_b, 'row')] + found.notes -%}
    {%- set changes = [] -%}
    {%- for change in ['unchanged', 'updated', 'deleted', 'inserted'] -%}
        {%- do changes.append([change, found[change]]) -%}
    {%- endfor -%}
    {%- do lines.extend(floodmark._diff_table(['change', 'keys'], changes)) -%}
    {%- set columns = found.columns.items() | selectattr(1) | list -%}
    {%- if columns -%}
        {%- do lines.extend(floodmark._diff_table(['column', 'differs in rows'], columns)) -%}
    {%- endif -%}
    {%- set rows = [] -%}
    {%- for row in found.sample -%}
        {%- for column in row.columns -%}
            {%- do rows.append([row.change, row.key, column.column, 'NULL' if column.a is none else column.a,
                'NULL' if column.b is none else column.b]) -%}
        {%- else -%}
            {%- do rows.append([row.change, row.key, '', floodmark._counted(row.in_a, 'row'),
                floodmark._counted(row.in_b, 'row')]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(lines + (floodmark._diff_table(['change', 'key', 'column', 'A', 'B'], rows) if rows else [])) }}
{% endmacro %}


{# Lines of a table, an empty one before it, drawn as dbt draws its own. #}
{% macro _diff_table(headings, rows) %}
    {%- set rules = [] -%}
    {%- for heading in headings -%}
        {%- set width = ([headings] + rows) | map(attribute=loop.index0) | map('string') | map('length') | max -%}
        {%- do rules.append('-' * width) -%}
    {%- endfor -%}
    {%- set lines = [''] -%}
    {%- for row in [headings, rules] + rows -%}
        {%- set cells = [] -%}
        {%- for value in row -%}
            {%- do cells.append((value | string).ljust(rules[loop.index0] | length)) -%}
        {%- endfor -%}
        {%- do lines.append('| ' ~ cells | join(' | ') ~ ' |') -%}
    {%- endfor -%}
    {{ return(lines) }}
{% endmacro %}
