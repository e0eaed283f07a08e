{#
  A SELECT may give the watermark column another value under its name: `date_trunc('hour', ts) as ts`. Where the mark is
  read from the rows that were loaded, or rows of the table are deleted by that column, it must be the upstream's own.
#}

{# Refuse a SELECT whose watermark column has values that its upstream does not have. Asked only if the text names an
   expression like the column. `marks_sql`: of a first load whose mark is read from its rows, a SELECT of the rows that
   do not wait. #}
{% macro _check_watermark_column(run, select_sql, marks_sql=none) %}
    {%- set name = run.settings.watermark.column -%}
    {%- if floodmark._changes_column(run.sql, name, select_sql, run.upstream.relation, marks_sql) -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': name ~ ', which the SELECT changes',
            'expected': 'the values that ' ~ run.upstream.relation ~ ' has',
            'todo': 'Give the changed column another name: by this one floodmark finds the mark, or the rows that '
            'a batch replaces. If changed values are loaded, load the table once with --full-refresh'}],
            rejects='the SELECT changes the watermark column') -%}
    {%- endif -%}
{% endmacro %}


{# Whether the rows of a SELECT, whose text is `sql`, have values in a column that its upstream does not have. Each part
   of a UNION has a filter of its own, so there only the mark matters, the greatest value of `marks_sql`: it may be of
   any part. #}
{% macro _changes_column(sql, name, rows_sql, upstream, marks_sql=none) %}
    {%- set column = floodmark._quoted(name) -%}
    {%- if floodmark._may_change_column(sql, name) -%}
        {%- set given = 'select distinct ' ~ column ~ ' as value from (\n' ~ rows_sql ~ '\n) where ' ~ column
            ~ ' is not null' -%}
    {%- elif marks_sql is not none and modules.re.search('\\bunion\\b', floodmark._words_of(sql)) -%}
        {%- set given = 'select max(' ~ column ~ ') as value from (\n' ~ marks_sql ~ '\n) having max(' ~ column
            ~ ') is not null' -%}
    {%- else -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(not floodmark._has_no_rows('(' ~ given ~ ') as given left anti join (select ' ~ column
        ~ ' as value from ' ~ upstream ~ ') as had on given.value = had.value')) }}
{% endmacro %}


{# Whether the text of a SELECT lets its column have other values than the upstream's. Its own name again, and a cast
   that keeps the value, are no other ones. #}
{% macro _may_change_column(sql, name) %}
    {%- set column = '`?' ~ modules.re.escape(name) ~ '`?' -%}
    {%- set own = '((?:\\w+\\.)?' ~ column ~ ')' -%}
    {%- set again = '(?i)((?:\\bselect|,)\\s+)(?:' ~ own ~ '|cast\\(\\s*' ~ own
        ~ '\\s+as\\s+(?:timestamp|bigint)\\s*\\))\\s+as\\s+' ~ column ~ '(?![\\w`])' -%}
    {%- set sql = modules.re.sub(again, '\\1\\2\\3', sql) -%}
    {{ return(floodmark._names_expression(sql, name) or floodmark._takes_from_another(sql, name)) }}
{% endmacro %}


{# Whether a SELECT may give this name to something else than the upstream's column: to an expression, with or without
   AS, or to the column of another relation of a join. #}
{% macro _names_expression(sql, name) %}
    {%- set words = floodmark._words_of(sql) -%}
    {%- set column = modules.re.escape(name | lower) ~ '(?![\\w.(])' -%}
    {#- behind a word that is not of SQL's own, or the end of an expression, a name is an alias -#}
    {%- for before in modules.re.findall("([\\w)\\]']+)\\s+" ~ column, words)
        if before not in floodmark._words_before_columns() -%}
        {{ return(true) }}
    {%- endfor -%}
    {%- set alias = floodmark._bounded_alias(sql) -%}
    {%- for other in modules.re.findall('(\\w+)\\.' ~ column, words) | unique
        if alias is not none and floodmark._is_across_a_join(words, other, alias) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# The text of a SELECT in lower case, without comments, backticks and what stands in quotes. #}
{% macro _words_of(sql) %}
    {%- set words = [] -%}
    {%- for part in floodmark._sql_parts(sql) if part.kind not in ['comment', 'open'] -%}
        {%- do words.append(part.text | replace('`', '') if part.kind != 'string' or part.text[0] == '`' else "''") -%}
    {%- endfor -%}
    {{ return(words | join | lower) }}
{% endmacro %}


{# Whether a SELECT reads the model's own table, by its name behind FROM or JOIN. A view over it does not show. #}
{% macro _reads_own_table(sql) %}
    {{ return(modules.re.search(floodmark._own_table_pattern(), floodmark._words_of(sql)) is not none) }}
{% endmacro %}


{% macro _own_table_pattern() %}
    {{ return('\\b(?:from|join)\\s+(?:spark_catalog\\.)?' ~ modules.re.escape(floodmark._model_id() | lower)
        ~ '(?![\\w.])') }}
{% endmacro %}


{# Whether all that a SELECT reads of its own table are values in its outermost list of columns, which surely leave out
   no row: subqueries before its FROM, and nothing that filters by their names. #}
{% macro _reads_values_alone(sql) %}
    {%- set words = floodmark._words_of(sql) -%}
    {%- if modules.re.search('\\b(?:having|qualify|except|minus|intersect)\\b|\\|>', words) -%}
        {{ return(false) }}
    {%- endif -%}
    {#- of each query around a word, from the outermost on: the clause that it stands in -#}
    {%- set ns = namespace(clauses=[''], are_values=true) -%}
    {%- set own = modules.re.compile(floodmark._own_table_pattern()) -%}
    {%- for token in modules.re.finditer('[()]|\\b(?:select|from|join)\\b', words) -%}
        {%- set word = token.group(0) -%}
        {%- if word == '(' -%}
            {%- set ns.clauses = ns.clauses + [''] -%}
        {%- elif word == ')' -%}
            {%- set ns.clauses = ns.clauses[:-1] -%}
        {%- else -%}
            {%- set ns.clauses = ns.clauses[:-1] + [word] -%}
        {%- endif -%}
        {%- if own.match(words, token.start()) -%}
            {%- set ns.are_values = ns.are_values and ns.clauses[0] == 'select'
                and ns.clauses[:-1] | reject('equalto', '') | list == ['select'] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(ns.are_values) }}
{% endmacro %}


{# Whether a column of this name may come from elsewhere than the upstream though no alias tells so: from a list of
   columns (`with x(id, ts) as (...)`), from a field of a struct, or from any relation of a join, where `x.*` gives it
   or the filter has no alias because it stands in a CTE. #}
{% macro _takes_from_another(sql, name) %}
    {%- set words, alias = floodmark._words_of(sql), floodmark._bounded_alias(sql) -%}
    {%- set column = modules.re.escape(name | lower) -%}
    {%- set listed = '\\([^()]*(?<![\\w.])' ~ column ~ '\\b[^()]*\\)' -%}
    {%- if modules.re.search('\\bas\\s+\\w+\\s*' ~ listed ~ '|\\w\\s*' ~ listed ~ '\\s*as\\s*\\(', words) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set joins = modules.re.search('\\bjoin\\b', words) is not none or floodmark._joins_by_comma(words) -%}
    {%- for other, what in modules.re.findall('(\\w+)\\.(' ~ column ~ '(?![\\w.(])|\\*)', words) | unique -%}
        {%- set is_joined = joins and (alias is none or floodmark._is_across_a_join(words, other, alias)) -%}
        {%- if is_joined or what != '*' and not floodmark._is_relation(words, other) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(joins and alias is none and modules.re.search('(?:\\bselect|,)\\s*\\*', words) is not none) }}
{% endmacro %}


{# Whether the words of a SELECT have a relation of this name, or under this alias. Before a comma or FROM an alias is
   one of a column. #}
{% macro _is_relation(words, name) %}
    {{ return(modules.re.search('(?:\\b(?:from|join)\\s+(?:[\\w.]+\\.)?'
        ~ '|(?:\\b(?:from|join)\\s+[\\w.]+\\s|[)]|,\\s*[\\w.]+\\s)\\s*(?:as\\s+)?)' ~ modules.re.escape(name)
        ~ '\\b(?!\\s*(?:[.(,]|from\\b))', words) is not none) }}
{% endmacro %}


{# The alias that watermark_filter() was given, in lower case; none where it has none. A guard takes it out of the SQL
   of a first load; of an operation the SQL is what the model's file has. #}
{% macro _bounded_alias(sql) %}
    {%- set found = modules.re.search('/\\*floodmark:bounds `?(\\w+)`?\\.', sql)
        or modules.re.search('watermark_filter\\(\\s*(?:alias\\s*=\\s*)?["\'](\\w+)["\']',
            ((model.raw_code if model is defined else none) or '') ~ sql) -%}
    {{ return(found.group(1) | lower if found else none) }}
{% endmacro %}


{# Whether the words of a SELECT join these two: one of them stands behind JOIN, or a comma. #}
{% macro _is_across_a_join(words, other, alias) %}
    {{ return(other != alias and (floodmark._is_joined(words, other) or floodmark._is_joined(words, alias))) }}
{% endmacro %}


{# Whether the words of a SELECT join a relation under this alias, or of this name. #}
{% macro _is_joined(words, alias) %}
    {%- set joined = '\\bjoin\\s+(?:lateral\\s+)?(?:(?:[\\w.]+|\\(.*\\))\\s+(?:as\\s+)?|(?:\\w+\\.)*)'
        ~ ('|,\\s*(?:[\\w.]+\\s+(?:as\\s+)?|(?:\\w+\\.)*)' if floodmark._joins_by_comma(words) else '') -%}
    {{ return(modules.re.search('(?:' ~ joined ~ ')' ~ alias ~ '\\b(?!\\s*[.(])', words, flags=modules.re.S)
        is not none) }}
{% endmacro %}


{# Whether the words of a SELECT join relations by a comma. #}
{% macro _joins_by_comma(words) %}
    {%- set first = '(?<!distinct )\\bfrom\\s+[\\w.]+(?:\\s+(?:as\\s+)?\\w+)?' -%}
    {{ return(modules.re.search(first ~ '\\s*,\\s*(?:lateral\\s+)?[\\w.(]', words) is not none) }}
{% endmacro %}


{# Words of SQL behind which a name is no alias. #}
{% macro _words_before_columns() %}
    {{ return(['select', 'distinct', 'all', 'where', 'and', 'or', 'not', 'by', 'on', 'when', 'then', 'else', 'case',
        'having', 'between', 'like', 'rlike', 'ilike', 'in', 'is', 'exists', 'interval', 'using', 'filter', 'limit',
        'offset', 'union', 'except', 'intersect', 'minus', 'from', 'join', 'with', 'div', 'for', 'qualify', 'placing',
        'zone', 'over', 'recursive', 'lateral']) }}
{% endmacro %}
