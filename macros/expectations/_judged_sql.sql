{#
  What the SELECT of a batch gives is written down once, each row with the rules that it breaks: a bit a rule, in
  `_floodmark_broken_<n>`. All else is read from there: counts, samples, the rows of the quarantine, and the rows that
  the strategy gets. So a row is judged once, however often a batch is tried.
#}

{# How many rules a column of bits is of. #}
{% macro _rules_a_mask() %}
    {{ return(60) }}
{% endmacro %}


{# The table of what a batch read and how it was judged. #}
{% macro _judged_relation(batch) %}
    {{ return(floodmark._stage_relation(dict(batch, staged_by=batch.judged_by)) ~ '__judged') }}
{% endmacro %}


{# The rules of rows among the rules of a batch. #}
{% macro _row_rules(rules) %}
    {{ return(rules | selectattr('kind', 'equalto', 'row') | list) }}
{% endmacro %}


{# The rows of a SELECT, judged. `asked` is what the strategy says of whom rules are asked (_asked_terms). Where a rule
   has a `where` of its own, `_floodmark_asked_<n>` tells whether it was asked. #}
{% macro _judged_sql(rules, asked, select_sql) %}
    {%- set masks, conditions, rules = [], [], floodmark._row_rules(rules) -%}
    {%- for rule in rules if rule.where -%}
        {%- do conditions.append(floodmark._asked_terms(rule, asked) | join(' and ') ~ ' as '
            ~ floodmark._asked_column(rules, rule)) -%}
    {%- endfor -%}
    {%- for some in rules | batch(floodmark._rules_a_mask()) -%}
        {%- set bits = [] -%}
        {%- for rule in some -%}
            {%- set terms = [floodmark._asked_column(rules, rule)] if rule.where
                else floodmark._asked_terms(rule, asked) -%}
            {%- do bits.append('if(' ~ floodmark._violated_sql(rule, terms) ~ ', ' ~ 2 ** loop.index0 ~ 'L, 0L)') -%}
        {%- endfor -%}
        {%- do masks.append(bits | join('\n        + ') ~ ' as _floodmark_broken_' ~ loop.index0) -%}
    {%- endfor -%}
    {%- if conditions -%}
        {%- set select_sql = 'select *, ' ~ conditions | join(', ') ~ ' from (\n' ~ select_sql ~ '\n)' -%}
    {%- endif %}
    select *{{ (',\n        ' ~ masks | join(',\n        ')) if masks }}
    from (
        {{ select_sql }}
    )
{% endmacro %}


{# The column that tells of which rows a rule with a `where` was asked. #}
{% macro _asked_column(rules, rule) %}
    {{ return('_floodmark_asked_' ~ rules.index(rule)) }}
{% endmacro %}


{# Whether a row violates a rule: never NULL. It is asked of rows for which all `terms` are true, without them of those
   that its own `where` names. Spark may compute both sides of an AND, but not the branch that an IF does not take. #}
{% macro _violated_sql(rule, terms=none) %}
    {%- set terms = floodmark._asked_terms(rule, {'exempt': none, 'unsent': [], 'columns': []}) if terms is none
        else terms -%}
    {%- set holds = 'coalesce(' ~ rule.expect ~ ', ' ~ ('true' if rule.nulls == 'pass' else 'false') ~ ')' -%}
    {{ return('if(' ~ terms | join(' and ') ~ ', not ' ~ holds ~ ', false)' if terms else 'not ' ~ holds) }}
{% endmacro %}


{# The conditions under which a rule is asked of a row: a list, empty for all rows. `asked` is {exempt, unsent,
   columns}: SQL of rows that no rule is asked of, such as deletes; columns in which NULL means that nothing was sent;
   and all columns but the key. Where nothing was sent of what a rule names it is not asked; of a struct these are the
   fields that it names. #}
{% macro _asked_terms(rule, asked) %}
    {%- set terms = [] -%}
    {%- if asked.exempt and not rule.deletes -%}
        {%- do terms.append('not ' ~ asked.exempt) -%}
    {%- endif -%}
    {%- if rule.where -%}
        {%- do terms.append('coalesce(' ~ rule.where ~ ', false)') -%}
    {%- endif -%}
    {%- set named, nulls = [], [] -%}
    {%- set text = floodmark._named_text(rule) -%}
    {%- for name in asked.columns if floodmark._is_named(name, [text], fields=true) -%}
        {%- do named.append(name) -%}
        {%- for path in floodmark._named_paths(name, text) or [floodmark._quoted(name)] -%}
            {%- do nulls.append(path ~ ' is null') -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if named | select('in', asked.unsent) | list -%}
        {%- do terms.append('not (' ~ nulls | join(' and ') ~ ')') -%}
    {%- endif -%}
    {{ return(terms) }}
{% endmacro %}


{# The text in which the names of a rule's columns are looked for; a rule that was planned before rules had one is asked
   by its condition. #}
{% macro _named_text(rule) %}
    {{ return(rule.get('named') or rule.expect) }}
{% endmacro %}


{# What a text names of a column, as SQL: the column, or the fields of a struct. #}
{% macro _named_paths(name, text) %}
    {%- set words = floodmark._without_strings(text) -%}
    {%- set paths = [] -%}
    {%- for fields in modules.re.findall('(?i)(?<![\\w.`])`?' ~ modules.re.escape(name)
        ~ '`?((?:\\.(?:\\w+|`[^`]+`))*)(?![\\w`]|\\s*\\()', words) | unique -%}
        {%- do paths.append(floodmark._quoted(name) ~ fields) -%}
    {%- endfor -%}
    {{ return(paths) }}
{% endmacro %}


{# Whether a judged row breaks a rule with one of these actions, or the rules of these names. #}
{% macro _broken_sql(rules, actions=none, names=none) %}
    {%- set terms = [] -%}
    {%- for some in floodmark._row_rules(rules) | batch(floodmark._rules_a_mask()) -%}
        {%- set ns = namespace(mask=0) -%}
        {%- for rule in some if (actions is none or rule.on_violation in actions)
            and (names is none or rule.name in names) -%}
            {%- set ns.mask = ns.mask + 2 ** some.index(rule) -%}
        {%- endfor -%}
        {%- if ns.mask -%}
            {%- do terms.append('(_floodmark_broken_' ~ loop.index0 ~ ' & ' ~ ns.mask ~ 'L) <> 0') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('(' ~ terms | join(' or ') ~ ')' if terms else 'false') }}
{% endmacro %}


{# All rows that a batch judged, as its SELECT gave them. #}
{% macro _judged_rows_sql(batch) %}
    {{ return('select ' ~ floodmark._quoted_csv(batch.judged.columns | map(attribute='name') | list) ~ ' from '
        ~ floodmark._judged_relation(batch)) }}
{% endmacro %}


{# Whether there were any. #}
{% macro _has_judged_rows(batch) %}
    {{ return(batch.get('judged') and batch.judged.rows_read > 0) }}
{% endmacro %}


{# The rows that a batch keeps, as its SELECT gave them. `commits` is {takes, commit, key}, of a change feed:
   where a commit takes a row of a key away and adds another, and the one that it adds is held back, the older one
   stays. #}
{% macro _kept_rows_sql(batch, commits=none) %}
    {%- set held = floodmark._broken_sql(batch.rules, ['drop', 'quarantine', 'fail']) -%}
    {%- if held == 'false' -%}
        {{ return(floodmark._judged_rows_sql(batch)) }}
    {%- elif commits is none or batch.judged.rows_kept == batch.judged.rows_read -%}
        {{ return(floodmark._judged_rows_sql(batch) ~ ' where not ' ~ held) }}
    {%- endif %}
    select {{ floodmark._quoted_csv(batch.judged.columns | map(attribute='name') | list) }}
    from (
        select *, bool_or({{ held }} and not {{ commits.takes }}) over (
            partition by {{ floodmark._quoted_csv(commits.key) }}, {{ commits.commit }}
        ) as _floodmark_add_is_held
        from {{ floodmark._judged_relation(batch) }}
    )
    where not {{ held }} and not ({{ commits.takes }} and _floodmark_add_is_held)
{% endmacro %}


{# Keys of rows that a batch holds back, as often as they come: they are there, though they are not loaded. None where
   it holds none. #}
{% macro _held_keys_sql(batch, keys) %}
    {%- if not batch.get('judged') or not batch.judged.rows_dropped + batch.judged.rows_quarantined -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return('select ' ~ floodmark._quoted_csv(keys) ~ ' from ' ~ floodmark._judged_relation(batch)
        ~ ' where ' ~ floodmark._broken_sql(batch.rules, ['drop', 'quarantine'])) }}
{% endmacro %}


{# The rows of a batch that go to the quarantine, with the names of all rules that each breaks. #}
{% macro _rows_to_quarantine_sql(batch) %}
    {%- set rules = floodmark._row_rules(batch.rules) -%}
    {%- set names, reasons = [], [] -%}
    {%- for rule in rules -%}
        {%- set broken = floodmark._broken_sql(batch.rules, names=[rule.name]) -%}
        {%- do names.append('if(' ~ broken ~ ', ' ~ floodmark._string_literal(rule.name) ~ ', null)') -%}
        {%- do reasons.append('if(' ~ broken ~ ', ' ~ floodmark._string_literal(rule.message or rule.name ~ ': '
            ~ rule.given) ~ ', null)') -%}
    {%- endfor -%}
    {%- set path = floodmark._file_of_row_sql(batch) %}
    select {{ floodmark._quoted_csv(floodmark._storable(batch.judged.columns) | map(attribute='name') | list) }},
        array_compact(array({{ names | join(', ') }})) as _floodmark_rules,
        concat_ws('; ', {{ reasons | join(', ') }}) as _floodmark_reason,
        {{ path or 'cast(null as string)' }} as _floodmark_file
    from {{ floodmark._judged_relation(batch) }}
    where {{ floodmark._broken_sql(batch.rules, ['quarantine']) }}
{% endmacro %}


{# Columns that a Delta table takes, in types that it takes; `given` is the type in which each comes. #}
{% macro _storable(columns) %}
    {%- set kept = [] -%}
    {%- for column in columns -%}
        {%- set type = floodmark._typed_part(column.ddl)
            if modules.re.search('\\binterval\\b', floodmark._without_names(column.type)) is none -%}
        {%- do kept.append(dict(column, type=type | lower, ddl=type, given=column.type)) if type -%}
    {%- endfor -%}
    {{ return(kept) }}
{% endmacro %}


{# The file of a row, where the SELECT gives `_metadata`, or its path under another name; none where it does not. #}
{% macro _file_of_row_sql(batch) %}
    {%- set metadata = floodmark._find_column(batch.judged.columns, '_metadata') -%}
    {{ return('_metadata.file_path' if metadata and 'file_path:' in metadata.type
        else (floodmark._quoted(batch.judged.path) if batch.judged.path
        and floodmark._find_column(batch.judged.columns, batch.judged.path) else none)) }}
{% endmacro %}


{# The column of the model's SELECT that is the path of a row's file; none where it has none. The SQL of a stream's run
   reads micro-batches. #}
{% macro _path_of_rows(run) %}
    {{ return(floodmark._path_column(run.request.sql if run.request is defined else run.sql)) }}
{% endmacro %}


{# The columns of what was judged, without the bits. #}
{% macro _judged_columns(relation) %}
    {{ return(floodmark._without_own_names(floodmark._columns_of(relation=relation))) }}
{% endmacro %}
