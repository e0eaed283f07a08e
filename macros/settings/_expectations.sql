{#
  `expectations=[...]`: docs/guides/expectations.md. A rule of rows has `expect`; a rule of the batch as a whole has
  `rows`, `unique` or `fresh_within` in its place.
#}
{% macro _row_rule_schema() %}
    {{ return({
        'name': {'type': 'text', 'required': true, 'expected': 'a name of its own', 'todo': 'Give the rule a name',
            'meaning': 'unique in the model; shown in results, warnings and the quarantine'},
        'expect': {'type': 'text', 'required': true, 'expected': "a condition of the SELECT's columns",
            'todo': "Write one, such as 'amount > 0'; a rule of the batch has rows, unique or fresh_within",
            'meaning': "a boolean of the SELECT's columns, plain SQL"},
        'on_violation': {'type': 'choice', 'choices': ['warn', 'drop', 'quarantine', 'fail'], 'default': 'warn',
            'meaning': '`warn` keeps the row, `drop` leaves it out, `quarantine` moves it to `<model>__quarantine`, '
            '`fail` rejects the batch'},
        'where': {'type': 'text', 'without': 'all rows', 'expected': 'a condition',
            'meaning': 'the rule is evaluated only for rows for which this is true'},
        'nulls': {'type': 'choice', 'choices': ['violate', 'pass'], 'default': 'violate',
            'meaning': 'what a result of NULL is: `violate`, as in Delta Live Tables, or `pass`, as in dbt_utils'},
        'max_violations': {'type': 'whole', 'without': 'no limit',
            'meaning': 'the batch is rejected where more rows violate the rule, whatever `on_violation` says'},
        'max_violation_fraction': {'type': 'fraction', 'without': 'no limit',
            'meaning': 'the same as a fraction of the rows on which it was evaluated'},
        'severity': {'type': 'choice', 'choices': ['warn', 'error'], 'default': 'warn',
            'meaning': '`error` fails the node after its data is committed'},
        'message': {'type': 'text', 'without': 'the condition', 'meaning': 'a text that is shown instead of it'},
        'tags': {'type': 'names', 'without': 'none', 'expected': 'a text or a list', 'todo': 'Write them in quotes',
            'meaning': 'words of your own: `dbt docs` shows them beside the rule, and the ledger keeps them with the '
            'rules of each plan (`batch_log.expectations`)'},
        'deletes': {'type': 'flag', 'default': false,
            'meaning': 'whether the rule is evaluated for deletes and truncates among change events, too'},
    }) }}
{% endmacro %}


{% macro _batch_rule_schema() %}
    {{ return({
        'name': {'type': 'text', 'required': true, 'expected': 'a name of its own', 'todo': 'Give the rule a name',
            'meaning': 'unique in the model'},
        'rows': {'type': 'any', 'without': '–',
            'meaning': "how many rows the batch may have: `{'min', 'max', 'change_from_median', 'of_last'}`"},
        'unique': {'type': 'names', 'without': '–', 'expected': 'a column or a list of columns',
            'todo': 'Write their names', 'meaning': 'columns whose values come once in the batch'},
        'fresh_within': {'type': 'duration', 'without': '–', 'expected': "a duration such as '2 hours'",
            'meaning': "how old the greatest value of `column` may be: `'1 day'`"},
        'column': {'type': 'column', 'without': 'required with `fresh_within`', 'meaning': 'a timestamp or a date'},
        'on_violation': {'type': 'choice', 'choices': ['warn', 'fail'], 'default': 'warn',
            'meaning': '`warn`, or `fail`: the batch is rejected'},
        'severity': {'type': 'choice', 'choices': ['warn', 'error'], 'default': 'warn',
            'meaning': '`error` fails the node after its data is committed'},
        'message': {'type': 'text', 'without': 'what was found', 'meaning': 'a text that is shown instead of it'},
        'tags': {'type': 'names', 'without': 'none', 'expected': 'a text or a list', 'todo': 'Write them in quotes',
            'meaning': 'words of your own: `dbt docs` shows them beside the rule, and the ledger keeps them with the '
            'rules of each plan (`batch_log.expectations`)'},
    }) }}
{% endmacro %}


{% macro _rows_rule_schema() %}
    {{ return({
        'min': {'type': 'whole', 'without': '–', 'meaning': 'at least this many'},
        'max': {'type': 'whole', 'without': '–', 'meaning': 'at most this many'},
        'change_from_median': {'type': 'fraction', 'without': '–',
            'meaning': "the fraction by which the number may differ from the median of the model's last batches; "
            'asked once there are three, or `of_last`, where that is fewer'},
        'of_last': {'type': 'count', 'default': 10, 'meaning': 'how many batches the median is of'},
    }) }}
{% endmacro %}


{# Whether a rule is of the batch as a whole. #}
{% macro _is_batch_rule(rule) %}
    {{ return(rule.get('rows') is not none or rule.get('unique') is not none or rule.get('fresh_within') is not none) }}
{% endmacro %}


{# The rules of this model, or what another has given, with their defaults, conditions ready to stand within a
   statement: a list. #}
{% macro _expectations(given=none) %}
    {%- set rules = [] -%}
    {%- for given in (floodmark._setting('expectations') if given is none else given) or [] -%}
        {%- if floodmark._is_batch_rule(given) -%}
            {%- set rule = floodmark._with_defaults(given, floodmark._batch_rule_schema()) -%}
            {%- do rule.update({'unique': floodmark._distinct_names(rule.unique), 'kind': 'batch', 'expect': none,
                'where': none, 'column': floodmark._bare_name(rule.column),
                'rows': floodmark._with_defaults(rule.rows, floodmark._rows_rule_schema()) if rule.rows else none}) -%}
        {%- else -%}
            {%- set rule = floodmark._with_defaults(given, floodmark._row_rule_schema()) -%}
            {%- do rule.update({'expect': floodmark._clause(rule.expect), 'kind': 'row', 'given': rule.expect | trim,
                'where': floodmark._clause(rule.where) if rule.where else none}) -%}
        {%- endif -%}
        {%- do rules.append(dict(rule, tags=floodmark._name_list(rule.tags))) -%}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}


{# Problems of `expectations=[...]` that show without Spark: a list for _refuse. #}
{% macro _expectations_problems() %}
    {%- set given = floodmark._setting('expectations') -%}
    {%- if given is none -%}
        {{ return([]) }}
    {%- elif given is string or given is mapping or given is not sequence -%}
        {{ return([{'setting': 'expectations', 'got': given, 'expected':
            "a list such as [{'name': 'amount_positive', 'expect': 'amount > 0'}]", 'todo': 'Write it as a list'}]) }}
    {%- endif -%}
    {%- set problems, names = [], [] -%}
    {%- for rule in given -%}
        {%- if rule is not mapping -%}
            {%- do problems.append({'setting': 'expectations[' ~ loop.index0 ~ ']', 'got': rule,
                'expected': "a mapping such as {'name': 'amount_positive', 'expect': 'amount > 0'}",
                'todo': 'Write it as a mapping'}) -%}
        {%- else -%}
            {%- set label = 'expectations.' ~ rule.name if rule.get('name') is string
                else 'expectations[' ~ loop.index0 ~ ']' -%}
            {%- do problems.extend(floodmark._batch_rule_problems(label, rule) if floodmark._is_batch_rule(rule)
                else floodmark._row_rule_problems(label, rule)) -%}
            {%- if rule.get('name') is string and rule.name | lower in names -%}
                {%- do problems.append({'setting': label, 'got': rule.name, 'expected': 'a unique name',
                    'todo': 'Give one of the rules another name'}) -%}
            {%- endif -%}
            {%- do names.append(rule.get('name') | string | lower) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{% macro _row_rule_problems(label, rule) %}
    {%- set schema = floodmark._row_rule_schema() -%}
    {#- without a condition it may be a rule of the batch whose key is misspelt -#}
    {%- set problems = floodmark._schema_problems(label, rule, schema if rule.get('expect') is not none
        else dict(floodmark._batch_rule_schema(), **schema)) -%}
    {%- for key in ['expect', 'where'] if rule.get(key) is string and rule[key] | trim -%}
        {%- do problems.extend(floodmark._clause_problems(label ~ '.' ~ key, rule[key])) -%}
        {%- do problems.append({'setting': label ~ '.' ~ key, 'got': rule[key], 'expected': 'no subquery',
            'todo': 'Look into another table with floodmark.in_relation()'}) if floodmark._has_subquery(rule[key]) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Whether a condition has a SELECT in its code: in a text or a comment it is none. #}
{% macro _has_subquery(text) %}
    {%- set code = [] -%}
    {%- for part in floodmark._sql_parts(text) -%}
        {%- do code.append(part.text if part.kind in ['code', '(', ')'] else ' ') -%}
    {%- endfor -%}
    {{ return(modules.re.search('(?i)\\(\\s*(?:select|with)\\b', code | join) is not none) }}
{% endmacro %}


{% macro _batch_rule_problems(label, rule) %}
    {%- set problems = floodmark._schema_problems(label, rule, floodmark._batch_rule_schema()) -%}
    {%- set asks = ['rows', 'unique', 'fresh_within'] | select('in', rule) | list -%}
    {%- if asks | length > 1 -%}
        {%- do problems.append({'setting': label, 'got': asks, 'expected': 'one of rows, unique and fresh_within',
            'todo': 'Write a rule for each'}) -%}
    {%- endif -%}
    {%- set rows = rule.get('rows') -%}
    {%- if rows is mapping -%}
        {%- do problems.extend(floodmark._schema_problems(label ~ '.rows', rows, floodmark._rows_rule_schema())) -%}
    {%- endif -%}
    {%- if rows is not none and (rows is not mapping or not ['min', 'max', 'change_from_median'] | select('in', rows)
        | list) -%}
        {%- do problems.append({'setting': label ~ '.rows', 'got': rows, 'expected':
            "a mapping with min, max or change_from_median, such as {'min': 1}", 'todo': 'Write one of them'}) -%}
    {%- endif -%}
    {%- if rule.get('fresh_within') is not none and not rule.get('column') -%}
        {%- do problems.append({'setting': label ~ '.column', 'got': none, 'expected': 'a column',
            'todo': 'Name the timestamp or date that is to be fresh'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
