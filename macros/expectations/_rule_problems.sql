{# What only Spark knows of rules: whether their columns are there, and whether they are conditions. #}

{# Refuse rules that do not fit the columns of the SELECT, all at once. They are looked at once a run. #}
{% macro _check_rules(run, batch, columns, select_sql) %}
    {%- if run.get('checked_rules') == batch.rules -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set clauses = [] -%}
    {%- for rule in floodmark._row_rules(batch.rules) -%}
        {%- for key in ['expect', 'where'] if rule[key] -%}
            {%- do clauses.append({'setting': 'expectations.' ~ rule.name ~ '.' ~ key, 'sql': rule[key]}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if clauses and not floodmark._are_conditions(clauses, select_sql) -%}
        {%- for clause in clauses -%}
            {%- do problems.extend(floodmark._condition_problems(clause, columns, select_sql)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for rule in batch.rules if rule.kind == 'batch' -%}
        {%- do problems.extend(floodmark._judged_column_problems(rule, columns)) -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems, rejects='its expectations do not fit its columns') -%}
    {%- do run.update({'checked_rules': batch.rules}) -%}
{% endmacro %}


{# What is wrong with the columns of a rule of the batch: a list of problems. #}
{% macro _judged_column_problems(rule, columns) %}
    {%- set problems = [] -%}
    {%- for name in rule.unique + ([rule.column] if rule.column else []) -%}
        {%- set column = floodmark._find_column(columns, name) -%}
        {%- set got = name ~ (' ' ~ column.type if column else '') -%}
        {%- if not column -%}
            {%- do problems.append({'setting': 'expectations.' ~ rule.name, 'got': got,
                'expected': 'a column of the SELECT: ' ~ columns | map(attribute='name') | join(', '),
                'todo': 'Correct the name'}) -%}
        {%- elif name in rule.unique and floodmark._has_no_groups(column.type) -%}
            {%- do problems.append({'setting': 'expectations.' ~ rule.name ~ '.unique', 'got': got,
                'expected': 'columns whose values can be compared', 'todo': 'Cast it in the SELECT, or leave it out'})
                -%}
        {%- elif name == rule.column
            and floodmark._position_family(column.type) not in ['timestamp', 'timestamp_ntz', 'date'] -%}
            {%- do problems.append({'setting': 'expectations.' ~ rule.name ~ '.column', 'got': got,
                'expected': 'a timestamp or a date', 'todo': 'Cast it in the SELECT'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Whether all of these clauses are conditions of the SELECT's columns. #}
{% macro _are_conditions(clauses, select_sql) %}
    {%- set types = floodmark._tried(floodmark._condition_types, clauses, select_sql).value or ['?'] -%}
    {{ return(types | reject('equalto', 'boolean') | list == []) }}
{% endmacro %}


{% macro _condition_types(clauses, select_sql) %}
    {%- set values = [] -%}
    {%- for clause in clauses -%}
        {%- do values.append(clause.sql ~ ' as c' ~ loop.index0) -%}
    {%- endfor -%}
    {#- beside a row's columns, as rules are asked: none of them may be an aggregate -#}
    {%- set found = floodmark._columns_of(query='select *, ' ~ values | join(', ') ~ ' from (\n' ~ select_sql
        ~ '\n)') -%}
    {{ return((found | map(attribute='type') | list)[-(values | length):]) }}
{% endmacro %}


{# What is wrong with one of them: a list of problems, at most one. #}
{% macro _condition_problems(clause, columns, select_sql) %}
    {%- set found = floodmark._tried(floodmark._condition_types, [clause], select_sql) -%}
    {%- if found.value == ['boolean'] -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set todo = "Write one, such as 'amount > 0'" if not found.error
        else "It is asked of each row: judge the batch as a whole with 'rows' or 'unique', or the table with a dbt test"
        if found.condition == 'MISSING_GROUP_BY' else (found.error | trim).split('\n')[0] -%}
    {{ return([{'setting': clause.setting, 'got': clause.sql[1:-1] ~ ('' if found.error else ' ' ~ found.value[0]),
        'expected': "a condition of the SELECT's columns (" ~ columns | map(attribute='name') | join(', ') ~ ')',
        'todo': todo}]) }}
{% endmacro %}
