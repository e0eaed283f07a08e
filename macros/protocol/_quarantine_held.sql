{# The rows of a batch that go to the quarantine: those that a rule sends there, and corrupt records of files. #}
{% macro _quarantine_held(run, batch, select_sql) %}
    {%- set parts = [] -%}
    {%- if batch.get('judged') and batch.judged.rows_quarantined and not floodmark._replays_rows(batch) -%}
        {%- do parts.append(floodmark._held_part(batch)) -%}
    {%- endif -%}
    {%- if batch.get('rows_corrupt') -%}
        {%- do parts.append({'sql': floodmark._corrupt_rows_sql(run, batch),
            'names': ['_floodmark_reason', '_floodmark_raw', '_floodmark_file', '_floodmark_line']}) -%}
    {%- endif -%}
    {%- if parts -%}
        {%- set columns = batch.judged.columns if batch.get('judged')
            else floodmark._select_columns(run, select_sql) -%}
        {%- set strategy = floodmark._strategy(run.settings) -%}
        {%- if strategy.finds_by_key or strategy.whole -%}
            {%- do floodmark._check_held_keys(run, floodmark._select_columns(run, select_sql) if strategy.conforms
                else columns) -%}
        {%- endif -%}
        {%- set unlike = floodmark._origin_columns(run.settings) + (strategy.unlike(run, columns)
            if strategy.unlike else []) -%}
        {%- do floodmark._quarantine(batch, columns, parts, floodmark._leaves_open(run, batch, columns),
            unlike=unlike, is_whole=strategy.whole, sql=floodmark._text_of_range(run)) -%}
    {%- endif -%}
{% endmacro %}


{# A quarantine keeps the type in which a column came first, so a key of a type that will be refused must not be its
   first row's. One that has no type yet is left out of it, and may have one in the table. #}
{% macro _check_held_keys(run, columns) %}
    {%- set typed = [] -%}
    {%- for column in floodmark._columns_named(columns, run.settings.unique_key)
        if not floodmark._is_untyped(column.type) -%}
        {%- do typed.append(column) -%}
    {%- endfor -%}
    {%- do floodmark._reject_columns(floodmark._key_problems(run, typed | map(attribute='name') | list, typed)) -%}
{% endmacro %}


{# The rows of a batch that a rule sends to the quarantine, as _quarantine takes them. #}
{% macro _held_part(batch) %}
    {{ return({'sql': floodmark._rows_to_quarantine_sql(batch),
        'names': floodmark._storable(batch.judged.columns) | map(attribute='name') | list
            + ['_floodmark_rules', '_floodmark_reason', '_floodmark_file']}) }}
{% endmacro %}


{# Whether a batch may read rows again that an earlier batch has quarantined, and leaves them open. A batch that loads
   everything, a range or its files anew marks them as superseded instead. Without the watermark column, or where the
   SELECT changes it, floodmark cannot tell which rows lie in the range, so they stay open. A file that comes again
   brings rows of the same keys. #}
{% macro _leaves_open(run, batch, columns) %}
    {%- if (batch.get('asked') or {}).get('restate') -%}
        {#- it judges the whole feed, and loads some of its keys -#}
        {{ return(true) }}
    {%- elif batch.kind == 'backfill'
        and not floodmark._placing_column(batch, columns, floodmark._text_of_range(run)) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set supersedes = batch.kind in ['first_load', 'full_refresh', 'backfill', 'replay'] or strategy.replaced
        or batch.files and floodmark._goes_by_file(run, batch) -%}
    {%- set reads_all = not run.settings.watermark and batch.kind != 'stream' if batch.files is none
        else strategy.finds_by_key -%}
    {{ return(not supersedes and (strategy.whole or batch.lookback or batch.nulls == 'include' or reads_all)) }}
{% endmacro %}


{# Of the readings of one row (`reading`), only those of the last batch that holds any stay open: the row was corrected
   in place, and what it said first may come again. A column that has another type in the quarantine tells nothing, so
   all of them stay open there. #}
{% macro _supersede_readings(run, batch) %}
    {%- set reading = floodmark._strategy(run.settings).reading -%}
    {%- set judged = batch.get('judged') or {} -%}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- if not reading or not judged.get('columns') or not judged.get('rows_quarantined')
        or not floodmark._leaves_open(run, batch, judged.columns) or not floodmark._has_quarantine(quarantine) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set columns, known = floodmark._storable(judged.columns), floodmark._columns_of(relation=quarantine) -%}
    {%- set names, terms = reading(run, judged.columns), [] -%}
    {%- for name in names -%}
        {%- set came, kept = floodmark._find_column(columns, name), floodmark._find_column(known, name) -%}
        {%- do terms.append('o.' ~ floodmark._quoted(kept.name) ~ ' <=> h.' ~ floodmark._quoted(came.name))
            if came and kept and came.given == kept.type and not floodmark._has_no_order(kept.type) -%}
    {%- endfor -%}
    {%- if terms | length == names | length -%}
        {%- set older = floodmark._older_readings_sql(run, batch, terms, floodmark._row_contents(batch, columns, known,
            floodmark._origin_columns(run.settings)), floodmark._quarantined_sql(floodmark._held_part(batch), columns,
            known)) -%}
        {%- do floodmark._execute(['merge into ' ~ quarantine ~ ' as q using (' ~ older ~ ') as r on q._floodmark_id = '
            "r._floodmark_id and q._floodmark_state = 'open' when matched then update set "
            "_floodmark_state = 'superseded'"]) if not floodmark._has_no_rows('(' ~ older ~ ')') -%}
    {%- endif -%}
{% endmacro %}


{# The open rows of earlier batches that are readings, by `terms`, of rows that the batch holds back with other
   contents. NULL is no key: nobody can tell which row such a one has become. #}
{% macro _older_readings_sql(run, batch, terms, contents, held_sql) %}
    select o._floodmark_id
    from (
        select *, {{ contents.hash }} as _floodmark_hash, {{ contents.text }} as _floodmark_text
        from {{ floodmark._quarantine_relation(this) }}
        where _floodmark_state = 'open' and _floodmark_rules is not null
            and _floodmark_batch_id < {{ batch.batch_id }} and not {{ floodmark._null_key_sql(run) }}
    ) as o
    join (
        select *, {{ contents.hash }} as _floodmark_hash, {{ contents.text }} as _floodmark_text
        from ({{ held_sql }})
    ) as h on {{ terms | join(' and ') }}
    group by o._floodmark_id
    having not bool_or(o._floodmark_hash = h._floodmark_hash and o._floodmark_text = h._floodmark_text)
{% endmacro %}
