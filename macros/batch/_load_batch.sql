{# Load one planned batch and return its counts. If a check rejects it, it fails with the text that the check passes as
   `rejects` (_refuse, _stop). If Spark rejects its statement and nothing was committed, it fails with Spark's error. #}
{% macro _load_batch(run, batch) %}
    {%- if adapter.floodmark_plugin is not defined -%}
        {%- set counts = floodmark._load_planned(run, batch) -%}
    {%- else -%}
        {%- set counts = adapter.floodmark_attempt(floodmark._load_planned, floodmark._note_refused,
            floodmark._note_rejected, run, batch) -%}
    {%- endif -%}
    {%- do floodmark._note_violations(run, batch) -%}
    {{ return(counts) }}
{% endmacro %}


{# Read a planned batch, check it, apply it and commit it. Returns its counts. #}
{% macro _load_planned(run, batch) %}
    {%- if batch.files is not none -%}
        {#- files that were read straight have no such table, and what was judged of them tells as much -#}
        {%- if batch.get('is_taken_over') and not floodmark._has_records(batch)
            and not (batch.judged_by and floodmark._is_stage_whole(floodmark._judged_relation(batch)))
            and floodmark._is_quarantined(batch) -%}
            {%- do floodmark._stop('the staging table of batch ' ~ batch.batch_id ~ ', with the records that an '
                'earlier run has read, is gone: run again, and the files are read again', is_passing=true,
                rejects='the records that were read are gone') -%}
        {%- endif -%}
        {%- do floodmark._read_files(run, batch) -%}
    {%- elif floodmark._replays_records(batch) -%}
        {%- do floodmark._read_again(run, batch, floodmark._texts_again_sql(batch)) -%}
    {%- endif -%}
    {%- do batch.update({'judges_straight': floodmark._may_judge_straight(run, batch)}) -%}
    {{ return(floodmark._load_straight(run, batch) if batch.get('windows') or batch.judges_straight
        else floodmark._load_read(run, batch)) }}
{% endmacro %}


{# Load a batch whose files are read, or whose rows are judged, by the statement that loads it; through a staging table
   where they turn out not to be clean. #}
{% macro _load_straight(run, batch) %}
    {%- set loaded = floodmark._tried(floodmark._load_read, run, batch) -%}
    {%- do floodmark._end_straight(batch) if batch.files -%}
    {%- if loaded.error is none -%}
        {{ return(loaded.value) }}
    {#- of a failed task a server elsewhere tells no more than this condition -#}
    {%- elif loaded.condition != 'TASK_WRITE_FAILED' and not floodmark._is_of_unclean_files(loaded)
        and not floodmark._is_of_broken_rules(loaded) -%}
        {%- do adapter.floodmark_raise(loaded.raised) -%}
    {%- endif -%}
    {%- do floodmark._reset_batch_conf(run, batch) -%}
    {#- a task of the statement that failed may still write into the folder of the staging table -#}
    {%- do batch.update({'judges_straight': false, 'looks_clean': false, 'gives_rows': false,
        'stages_as': invocation_id[-8:]}) -%}
    {%- if batch.files -%}
        {%- do floodmark._look_at_changed(run, batch) -%}
        {%- do floodmark._read_files(run, batch) -%}
    {%- endif -%}
    {{ return(floodmark._load_read(run, batch)) }}
{% endmacro %}


{# Load a batch whose files, where it has any, are read: the SELECT stands. #}
{% macro _load_read(run, batch) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- do run.update({'table_columns': none,
        'partitions': floodmark._planned_partitions() if batch.replaces else none}) -%}
    {%- set select_sql = floodmark._replayed_select(run, batch) if floodmark._replays_rows(batch)
        else floodmark._bounded_select(run, batch) -%}
    {%- do floodmark._check_doubled(floodmark._select_columns(run, select_sql)) -%}
    {#- it is of the model's SELECT: rows that are replayed come in the table's types -#}
    {%- if config.get('contract').enforced and strategy.contracted and not floodmark._replays_rows(batch) -%}
        {%- do floodmark._assert_contract(strategy.contracted(run, select_sql)) -%}
    {%- endif -%}
    {%- if floodmark._is_judged(batch) -%}
        {%- if batch.get('judges_straight') and floodmark._adds_columns(run, select_sql) -%}
            {#- a batch that its rules reject leaves the table as it is -#}
            {%- do batch.update({'judges_straight': false}) -%}
        {%- endif -%}
        {%- set select_sql = floodmark._judge_straight(run, batch, select_sql) if batch.get('judges_straight')
            else floodmark._judge(run, batch, select_sql) -%}
    {%- endif -%}
    {%- if run.settings.files and run.settings.files.schema_evolution == 'widen' and not batch.replaces -%}
        {%- do floodmark._widen_table(run, floodmark._select_columns(run, select_sql)) -%}
    {%- endif -%}
    {%- if strategy.conforms -%}
        {%- do run.update({'given_sql': select_sql}) -%}
        {%- set select_sql = floodmark._conformed_select(run, batch, select_sql) -%}
        {%- do floodmark._check_table_columns(run, batch, floodmark._select_columns(run, select_sql)) -%}
    {%- endif -%}
    {#- somebody else may have made the table, or altered it since -#}
    {%- if not batch.replaces and (batch.kind == 'first_load'
        or not run.get('chars_checked') and not run.target.is_known) -%}
        {%- do floodmark._check_char_columns(run) -%}
        {%- do run.update({'chars_checked': true}) -%}
    {%- endif -%}
    {%- do floodmark._quarantine_held(run, batch, select_sql) -%}
    {%- if strategy.load -%}
        {{ return(strategy.load(run, batch, select_sql)) }}
    {%- endif -%}
    {%- set source = floodmark._read(run, batch, select_sql) -%}
    {{ return(strategy.apply(run, batch, source) if strategy.apply else floodmark._apply(run, batch, source)) }}
{% endmacro %}


{# What a batch reads, staged or not: {sql, stage, columns, counts}. #}
{% macro _read(run, batch, select_sql) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- if batch.get('judged') and not strategy.apply -%}
        {#- what was judged is written down already -#}
        {%- set staged = strategy.staged(run, batch, select_sql) -%}
        {%- set source = floodmark._checked_source(run, batch, {'sql': staged.sql, 'stage': '(' ~ staged.sql ~ ')',
            'columns': staged.columns, 'counts': {}, 'only_later': batch.kind == 'replay',
            'is_newest': floodmark._replays_newest(run, batch)}) -%}
    {%- elif not floodmark._needs_stage(run) -%}
        {%- set source = {'sql': select_sql, 'stage': none, 'columns': floodmark._select_columns(run, select_sql),
            'counts': {}} -%}
        {%- do strategy.check_columns(run, batch, source.columns) -%}
        {%- if batch.family == 'version' -%}
            {%- do floodmark._check_change_columns(run, source.columns) -%}
        {%- endif -%}
    {%- else -%}
        {%- do floodmark._leave_unfit_stage(run, batch, select_sql) -%}
        {%- set source = floodmark._stage(run, batch, select_sql) -%}
    {%- endif -%}
    {%- if source.stage and strategy.finds_by_key -%}
        {%- do floodmark._add_key_filter(run, batch, source, source.counts.rows_read) -%}
    {%- endif -%}
    {{ return(source) }}
{% endmacro %}


{# Apply a batch in one statement, and commit it. An empty one moves the mark in the ledger alone. Returns its
   counts. #}
{% macro _apply(run, batch, source) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set held = {'rows_read': batch.judged.rows_kept, 'rows_dropped': batch.judged.rows_dropped,
        'rows_quarantined': batch.judged.rows_quarantined} if batch.get('judged') else {} -%}
    {%- do batch.update({'counted': dict(source.counts, **held) if source.stage else none}) -%}
    {%- if batch.replaces -%}
        {%- if strategy.before_replace -%}
            {%- do strategy.before_replace(run, batch, source) -%}
        {%- endif -%}
        {%- do floodmark._drop_what_is_not_delta(run) -%}
        {%- do floodmark._write_moments_as_utc(run, batch, source) -%}
        {%- do run.update({'zone': floodmark._made_partitions(run, batch, source)}) -%}
        {%- do floodmark._apply_once(this, batch,
            floodmark._replace_table_sql(floodmark._kept_sql(run, source),
            dict(floodmark._made_properties(run, source.columns),
            **floodmark._partition_properties(run.zone)))) -%}
    {%- elif strategy.changes(run, batch, source) -%}
        {%- do floodmark._keep_partitions(run, batch, source) -%}
        {%- set columns = floodmark._align_columns(run, source) -%}
        {%- do floodmark._write_moments_as_utc(run, batch, source) -%}
        {%- do floodmark._apply_once(this, batch, strategy.statement(run, batch, source, columns)) -%}
    {%- else -%}
        {{ return(floodmark._finish(run, batch, floodmark._landed_if_read(run, batch, source, source.columns),
            source)) }}
    {%- endif -%}
    {%- set landed = floodmark._require_landed(batch) -%}
    {%- do floodmark._take_counts(batch, source, landed) -%}
    {{ return(floodmark._finish(run, batch, landed, source)) }}
{% endmacro %}


{# What the commit of a batch says of its rows counts. Another run may have made it: then Delta has skipped this run's,
   whose rows were read, or judged, at another time. #}
{% macro _take_counts(batch, source, landed) %}
    {%- set told = landed.counted -%}
    {%- if told and told != floodmark._counted_from_tag(floodmark._counted_tag(batch.counted)) -%}
        {%- do source.update({'counts': dict(source.counts, **told)}) -%}
        {%- if batch.get('judged') -%}
            {%- do batch.update({'judged': dict(batch.judged, rows_kept=told.rows_read, results=none,
                rows_dropped=told.rows_dropped, rows_quarantined=told.rows_quarantined)}) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The SELECT with this batch's bounds; behind an is_incremental() guard a first load has none, and what must wait is
   held back here. #}
{% macro _bounded_select(run, batch) %}
    {%- set select_sql = floodmark._select_of(batch, run.sql) -%}
    {%- if not run.guarded -%}
        {%- if batch.kind == 'backfill' and not floodmark._strategy(run.settings).finds_by_key -%}
            {%- do floodmark._check_watermark_column(run, select_sql) -%}
        {%- endif -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {%- set watermark = run.settings.watermark -%}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._check_doubled(columns) -%}
    {%- set name = floodmark._quoted(floodmark._marking_column(run, batch, columns).name) -%}
    {%- set terms = [] -%}
    {%- if batch.cap_position is not none -%}
        {%- do terms.append(name ~ ' <= ' ~ floodmark._position_literal(batch.cap_position, batch.family)) -%}
    {%- endif -%}
    {%- if watermark.nulls == 'exclude' -%}
        {%- do terms.append(name ~ ' is not null') -%}
    {%- endif -%}
    {%- set keeps_nulls = ' or ' ~ name ~ ' is null' if watermark.nulls != 'exclude' else '' -%}
    {%- set due_sql = 'select * from (\n' ~ select_sql ~ '\n) where ' ~ terms | join(' and ') ~ keeps_nulls if terms
        else select_sql -%}
    {%- do floodmark._check_watermark_column(run, select_sql, due_sql) -%}
    {%- do floodmark._check_held_back(run, batch) if terms -%}
    {{ return(due_sql) }}
{% endmacro %}


{# The column of such a SELECT from which the mark is read: of the type that it has upstream, also in a table that is
   there. Without a mark append would add its first load again, so there the table must have the column. #}
{% macro _marking_column(run, batch, columns) %}
    {%- set name = run.settings.watermark.column -%}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set reads_table = not batch.replaces and not strategy.reads_mark_in_stage -%}
    {%- set column = floodmark._find_column(columns, name) -%}
    {%- set held = floodmark._find_column(floodmark._table_columns(run), name) if reads_table else none -%}
    {%- set why = 'With the is_incremental() guard, the mark of a first load is read from the rows it loaded: ' -%}
    {%- if column is none -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': name, 'expected': 'a column of the SELECT',
            'todo': why ~ 'add the column, or remove the guard'}],
            rejects='the watermark column is not in the SELECT') -%}
    {%- elif floodmark._position_family(column.type) != batch.family -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column',
            'got': column.name ~ ' ' ~ column.type ~ ' in the SELECT',
            'expected': 'a ' ~ batch.family ~ ', as in ' ~ batch.upstream,
            'todo': why ~ 'give the changed column another name, or remove the guard'}],
            rejects='the watermark column has another type in the SELECT') -%}
    {%- elif held and floodmark._position_family(held.type) != batch.family -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': held.name ~ ' ' ~ held.type ~ ' in ' ~ this,
            'expected': 'a ' ~ batch.family ~ ', as in ' ~ batch.upstream,
            'todo': why ~ 'make the table with this type, or remove the guard'}],
            rejects='the watermark column has another type in the table') -%}
    {%- elif held is none and reads_table and strategy.adds_blindly
        and run.settings.on_schema_change not in ['append_new_columns', 'sync_all_columns'] -%}
        {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': name, 'expected': 'a column of ' ~ this,
            'todo': why ~ "run again, since dbt knows the table now, or add the column to it, set on_schema_change to "
            "'append_new_columns', or remove the guard"}], rejects='the watermark column is not in the table') -%}
    {%- endif -%}
    {{ return(column) }}
{% endmacro %}


{# Rows are held back from what such a SELECT gives: where it puts rows together or chooses between them, one that must
   wait, or be left out, would take others with it. #}
{% macro _check_held_back(run, batch) %}
    {%- set is_held = batch.rows_future or batch.rows_null and run.settings.watermark.nulls == 'exclude' -%}
    {%- set aggregates = 'max|min|max_by|min_by|count|sum|avg|first|last|any_value|collect_list|collect_set' -%}
    {%- set depends = '\\b(?:group\\s+by|having|qualify|limit\\s+\\d|over\\s+\\w|'
        'exists\\s*\\[\\s*(?:select|with)\\b|(?:over|' ~ aggregates ~ ')\\s*\\[)' -%}
    {%- if is_held and modules.re.search(depends, floodmark._words_on_upstream(run.sql, batch.upstream)) -%}
        {%- do floodmark._stop('rows of ' ~ batch.upstream ~ ' must wait (max_future) or be left out (nulls), and the '
            'SELECT groups, ranks or compares rows: behind an is_incremental() guard a first load cannot hold them '
            'back before that. Remove the guard',
            rejects='rows that must wait cannot be held back behind the guard') -%}
    {%- endif -%}
{% endmacro %}


{# The words of a SELECT without the subqueries that read other relations alone; brackets stand for parentheses. A name
   without a schema is one of a CTE. #}
{% macro _words_on_upstream(sql, upstream) %}
    {%- set ns = namespace(words=floodmark._words_of(sql)) -%}
    {%- for _ in range(ns.words.count('(')) -%}
        {%- for group in modules.re.findall('\\(([^()]*)\\)', ns.words) | unique -%}
            {%- set others = modules.re.findall('\\b(?:from|join)\\s+(\\w+\\.[\\w.]+)', group)
                | reject('equalto', upstream | lower) | list -%}
            {%- set reads_others = others | length > 0
                and others | length == modules.re.findall('\\b(?:from|join)\\s', group) | length -%}
            {%- set ns.words = ns.words | replace('(' ~ group ~ ')', '[' ~ ('' if reads_others else group) ~ ']') -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(ns.words) }}
{% endmacro %}
