{#
  `<model>__quarantine`: rows that a batch does not load, with the reason (docs/guides/expectations.md#the-quarantine).
  They are written before the batch's own statement, under its transaction id, so the commit in the model's table says
  that they are there. A batch that fails takes them back.
#}

{# The quarantine of a model. #}
{% macro _quarantine_relation(relation) %}
    {{ return(api.Relation.create(schema=relation.schema, identifier=relation.identifier ~ '__quarantine')) }}
{% endmacro %}


{# The columns of a quarantine behind those of the model: {name: type}. #}
{% macro _quarantine_columns() %}
    {{ return({'_floodmark_rules': 'array<string>', '_floodmark_reason': 'string', '_floodmark_raw': 'string',
        '_floodmark_file': 'string', '_floodmark_line': 'bigint', '_floodmark_batch_id': 'bigint',
        '_floodmark_quarantined_at': 'timestamp', '_floodmark_state': 'string', '_floodmark_id': 'string'}) }}
{% endmacro %}


{# Write rows of a batch into the model's quarantine. `columns` are the model's; each of `parts` is a SELECT of some of
   them and of the quarantine's own, {sql, names}. Where a batch reads rows again (`is_again`), those that are open
   already stay out, also where they differ in columns of `unlike`, and, where it reads the whole source (`is_whole`),
   in the file of a record; of a backfill, with `sql` as in _range_again_sql, only those that it does not supersede. #}
{% macro _quarantine(batch, columns, parts, is_again=false, unlike=[], is_whole=false, sql=none) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set columns = floodmark._storable(columns) -%}
    {%- set known = floodmark._make_quarantine(quarantine, columns) -%}
    {%- set selects = [] -%}
    {%- for part in parts -%}
        {%- do selects.append(floodmark._quarantined_sql(part, columns, known)) -%}
    {%- endfor -%}
    {%- set rows = selects | join('\nunion all\n') -%}
    {%- if is_again -%}
        {%- set contents = floodmark._row_contents(batch, columns, known, unlike, is_whole) -%}
        {%- set superseded = floodmark._range_again_sql(batch, known, sql)
            if batch.kind == 'backfill' and not (batch.get('asked') or {}).get('restate') else none -%}
        {%- set rows = 'select * except (_floodmark_hash, _floodmark_text) from (select *, ' ~ contents.hash
            ~ ' as _floodmark_hash, ' ~ contents.text ~ ' as _floodmark_text from (\n' ~ rows
            ~ '\n)) left anti join (select ' ~ contents.hash ~ ' as _floodmark_open, ' ~ contents.text
            ~ ' as _floodmark_open_text from ' ~ quarantine
            ~ " where _floodmark_state = 'open'" ~ (' and not coalesce(' ~ superseded ~ ', false)' if superseded)
            ~ ') on _floodmark_hash = _floodmark_open and _floodmark_text = _floodmark_open_text' -%}
    {%- endif -%}
    {%- set once = dict(floodmark._once(batch), held_by=floodmark._judging_run(batch)) -%}
    {%- do floodmark._apply_once(quarantine, once, 'insert into ' ~ quarantine ~ ' by name select *, '
        ~ batch.batch_id ~ ' as _floodmark_batch_id, current_timestamp() as _floodmark_quarantined_at, '
        "'open' as _floodmark_state, uuid() as _floodmark_id from (\n" ~ rows ~ '\n)') -%}
    {%- do floodmark._require_own_judgement(quarantine, once) -%}
{% endmacro %}


{# What a row of the quarantine is known by, as SQL: {hash, text}. The hash is of the model's `columns` but those of
   `unlike`. A corrupt record is known by its text, and by its file where files do not say the same again
   (`is_whole`); a file that is corrupt as a whole has no text: it is another each time. Where a value does not fit its
   column, the row as it came tells it from another. #}
{% macro _row_contents(batch, columns, known, unlike, is_whole=false) %}
    {%- set kept = floodmark._columns_named(known,
        floodmark._without_columns(columns, unlike) | map(attribute='name') | list) -%}
    {{ return({'hash': floodmark._row_hash_sql(kept, rescued=floodmark._rescued_column(batch.settings)),
        'text': 'if(_floodmark_rules is null, _floodmark_raw' ~ (", ''" if is_whole
            else " || ' ' || _floodmark_file, coalesce(_floodmark_raw, '')") ~ ')'}) }}
{% endmacro %}


{# The run that judged the rows of a batch, as the name of their staging table has it; none where nobody does. #}
{% macro _judging_run(batch) %}
    {{ return((batch.judged_by or batch.stages_as or invocation_id[:8]) if floodmark._is_judged(batch) else none) }}
{% endmacro %}


{# Stop where the rows of a batch in the quarantine are those that another run judged: Delta has skipped this run's, and
   a row that was corrected in between would be open, and in the table as well. The next run reads that run's. #}
{% macro _require_own_judgement(quarantine, once) %}
    {%- set landed = floodmark._landed(quarantine, once) if once.held_by else none -%}
    {%- if landed and landed.writer is not none and landed.writer != once.held_by -%}
        {%- do floodmark._stop_for_now('another run has checked the rows of batch ' ~ once.batch_id ~ ' meanwhile') -%}
    {%- endif -%}
{% endmacro %}


{# Rows for the quarantine with all of its columns but those that each insert gives. A value of another type than the
   quarantine has is cast where it can be; the row as it came stands in `_floodmark_raw` then, unless its type is wider
   and each value fits all the same. #}
{% macro _quarantined_sql(part, columns, known) %}
    {%- set values, changed, came = [], [], [] -%}
    {%- for column in columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- set kept = floodmark._find_column(known, column.name) or column -%}
        {%- set tried = quoted if kept.type == column.given
            else floodmark._tried_sql(quoted, column.given, kept.ddl) -%}
        {#- fields in another order, or fewer of them, change no value -#}
        {%- set is_whole = floodmark._conformed_type(column.ddl, kept.ddl, true) | lower == kept.type -%}
        {%- if column.name not in part.names -%}
            {%- do values.append('cast(null as ' ~ kept.ddl ~ ') as ' ~ quoted) -%}
        {%- else -%}
            {%- do values.append(tried ~ (' as ' ~ quoted if tried != quoted else '')) -%}
            {%- set value, name = tried if is_whole else quoted, floodmark._quoted(kept.name) -%}
            {#- JSON tells cases apart: what is looked for there later has the quarantine's spelling -#}
            {%- do came.append(value ~ (' as ' ~ name if value != name else '')) -%}
            {#- of a time the text tells the position, too (_held_position_sql) -#}
            {%- set is_wider = floodmark._cast_effect(kept.type, column.type) == 'keeps'
                and 'timestamp' not in column.type -%}
            {%- do changed.append('not (cast(' ~ tried ~ ' as ' ~ column.type ~ ') <=> ' ~ quoted ~ ')' if is_wider
                else 'true') if not is_whole -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, type in floodmark._quarantine_columns().items() if name in ['_floodmark_rules', '_floodmark_reason',
        '_floodmark_raw', '_floodmark_file', '_floodmark_line'] -%}
        {%- if name == '_floodmark_raw' and changed -%}
            {%- set row = floodmark._to_json_sql('struct(' ~ came | join(', ') ~ ')') -%}
            {%- do values.append((row if 'true' in changed else 'if(' ~ changed | join(' or ') ~ ', ' ~ row ~ ', null)')
                ~ ' as _floodmark_raw') -%}
        {%- else -%}
            {%- do values.append(name if name in part.names else 'cast(null as ' ~ type ~ ') as ' ~ name) -%}
        {%- endif -%}
    {%- endfor %}
    select {{ values | join(', ') }} from (
        {{ part.sql }}
    )
{%- endmacro %}


{# A value as SQL of another type, NULL where it cannot be that. Fields of structs find theirs by name. #}
{% macro _tried_sql(value, given, wanted) %}
    {{ return(floodmark._conformed_sql(value, given, wanted, '', is_tried=true)) }}
{% endmacro %}


{# A batch as the quarantine knows it: its rows go in once, whichever attempt of a strategy's writes them. #}
{% macro _once(batch) %}
    {{ return({'model': floodmark._batch_model(batch), 'batch_id': batch.batch_id, 'generation': batch.generation}) }}
{% endmacro %}


{# Make a quarantine where there is none, and give it the columns that the model has got since. A column that has
   another type in the model now keeps its own. Returns the quarantine's columns. #}
{% macro _make_quarantine(quarantine, columns) %}
    {%- set own = [] -%}
    {%- for name, type in floodmark._quarantine_columns().items() -%}
        {%- do own.append({'name': name, 'type': type}) -%}
    {%- endfor -%}
    {%- set properties = floodmark._beside_properties(columns) -%}
    {%- do floodmark._execute(['create table if not exists ' ~ quarantine ~ ' (' ~ floodmark._as_ddl(columns + own)
        ~ ') using delta' ~ (' tblproperties ' ~ floodmark._properties_sql(properties) if properties else '')]) -%}
    {%- set known = floodmark._columns_of(relation=quarantine) -%}
    {%- if not floodmark._find_column(known, '_floodmark_id') -%}
        {%- do floodmark._stop('it keeps rows that it does not load in ' ~ quarantine ~ ', and another table has that '
            'name: rename the other table, or give the model an alias',
            rejects='another table has the name of its quarantine') -%}
    {%- endif -%}
    {%- set changes = floodmark._schema_changes(columns, known) -%}
    {%- if changes.new or changes.fields -%}
        {%- do floodmark._add_columns_beside(quarantine, changes) -%}
        {%- set known = floodmark._columns_of(relation=quarantine) -%}
    {%- endif -%}
    {{ return(known) }}
{% endmacro %}


{# Open rows of a quarantine that an operator names by a rule or a condition: `asked` is {rule, where}. `part` is
   `rows` that break rules, corrupt `records`, which have a text and no columns yet, or `all`, with files that are
   corrupt as a whole. #}
{% macro _open_rows_sql(quarantine, asked, part) %}
    {{ return('select * from ' ~ quarantine ~ ' where ' ~ floodmark._open_predicate(asked, part)) }}
{% endmacro %}


{% macro _open_predicate(asked, part) %}
    {%- set terms = {'rows': ['_floodmark_rules is not null'], 'all': [],
        'records': ['_floodmark_rules is null', '_floodmark_raw is not null']}[part]
        + ["_floodmark_state = 'open'"] -%}
    {%- if part == 'records' and '_floodmark_raw' not in (asked.set or {}) -%}
        {#- letters stand there for bytes that are no UTF-8 -#}
        {%- do terms.append("not contains(_floodmark_raw, '\ufffd')") -%}
    {%- endif -%}
    {%- if asked.rule -%}
        {%- do terms.append('array_contains(_floodmark_rules, ' ~ floodmark._string_literal(asked.rule) ~ ')') -%}
    {%- endif -%}
    {%- if asked.where -%}
        {%- do terms.append(floodmark._clause(asked.where)) -%}
    {%- endif -%}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{# How many open rows an operator names, in these parts of the quarantine. #}
{% macro _count_open(quarantine, asked, parts) %}
    {%- set ns = namespace(open=0) -%}
    {%- for part in parts -%}
        {%- set ns.open = ns.open + (run_query('select count(*) from ('
            ~ floodmark._open_rows_sql(quarantine, asked, part) ~ ')').rows[0][0] | int) -%}
    {%- endfor -%}
    {{ return(ns.open) }}
{% endmacro %}


{# What a replay takes: `rows` that break rules, and corrupt `records` where their files have such. `files` are the
   settings of the model, or none. What is corrupt has no columns yet that could be corrected, and rows have no text. #}
{% macro _replayed_parts(asked, files) %}
    {%- set corrected = asked.set or {} -%}
    {%- set has_records = files and (not files.format or floodmark._file_format(files).groups_again) -%}
    {{ return((['rows'] if '_floodmark_raw' not in corrected else [])
        + (['records'] if has_records and ('_floodmark_raw' in corrected or not corrected) else [])) }}
{% endmacro %}


{# What became of the rows that a batch has replayed: those that it kept are `replayed`, those that a rule drops now
   `discarded`; others stay open. A corrupt record is replayed once it could be read. Doing it again changes
   nothing. What an operator discarded while the batch loaded it is in the table, and no longer discarded. #}
{% macro _settle_replayed(batch) %}
    {%- set rows = 'select _floodmark_id, false as is_dropped from ' ~ floodmark._records_stage(batch)
        ~ ' where _floodmark_reason is null' if floodmark._replays_records(batch)
        else 'select _floodmark_id, ' ~ floodmark._broken_sql(batch.rules, ['drop']) ~ ' as is_dropped from '
        ~ floodmark._judged_relation(batch) ~ ' where not '
        ~ floodmark._broken_sql(batch.rules, ['quarantine', 'fail']) -%}
    {%- do floodmark._execute(['merge into ' ~ floodmark._quarantine_relation(this) ~ ' as q using (' ~ rows ~ ') as r '
        "on q._floodmark_id = r._floodmark_id and (q._floodmark_state = 'open' "
        "or q._floodmark_state = 'discarded' and not r.is_dropped) "
        "when matched then update set _floodmark_state = if(r.is_dropped, 'discarded', 'replayed')"]) -%}
{% endmacro %}


{# Take back what a batch that fails has in the quarantine; a run that still lives writes no more there. One commit of
   both is a fence, which tells a later run what was done: where the rows are there, Delta skips the first. #}
{% macro _take_back_quarantined(batch, relation=none) %}
    {%- set quarantine = floodmark._quarantine_relation(relation or this) -%}
    {%- if floodmark._has_quarantine(quarantine) -%}
        {%- set once = floodmark._once(batch) -%}
        {%- set conf = {floodmark._batch_conf()[2]: floodmark._fence_tag(once)} -%}
        {%- do floodmark._fence(once, quarantine) -%}
        {%- do floodmark._set_conf(conf) -%}
        {%- do floodmark._execute(['delete from ' ~ quarantine ~ ' where _floodmark_batch_id = ' ~ batch.batch_id]) -%}
        {%- do floodmark._reset_conf(conf) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a model has a quarantine. #}
{% macro _has_quarantine(quarantine) %}
    {{ return(floodmark._is_there(quarantine) and floodmark._is_quarantine(quarantine)) }}
{% endmacro %}


{# Whether a table that is called like a quarantine is one: not a node of the project, nor a table without a column
   that every quarantine has. A table that has lost its files shows no columns; the statement that reads it fails. #}
{% macro _is_quarantine(relation) %}
    {%- if floodmark._relation_name(relation) | lower in floodmark._owners_of_tables() -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set columns = floodmark._describe(relation).columns -%}
    {{ return(columns == [] or floodmark._find_column(columns, '_floodmark_id') is not none) }}
{% endmacro %}


{# Whether a batch has rows in the quarantine already, of a run before. #}
{% macro _is_quarantined(batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {{ return(floodmark._has_quarantine(quarantine) and floodmark._landed(quarantine, batch) is not none) }}
{% endmacro %}


{# Whether a batch may supersede open rows. Where rules are gone, dbt's cache tells whether there is a quarantine. #}
{% macro _may_supersede(run, batch) %}
    {{ return(run.settings.files or batch.get('rules') or batch.kind in ['first_load', 'full_refresh', 'backfill']
        or (floodmark._strategy(run.settings).replaced or floodmark._tells_changes(run, batch))
        and load_cached_relation(floodmark._quarantine_relation(this))) }}
{% endmacro %}


{# The number of a model's next batch. A ledger that knows none may be new, and its quarantine older: the numbers of its
   rows are not given again. dbt's cache tells that there is none. #}
{% macro _next_batch_id(id, relation, state) %}
    {%- if state.last_batch_id is not none -%}
        {{ return(state.last_batch_id + 1) }}
    {%- endif -%}
    {%- set quarantine = floodmark._quarantine_relation(relation) -%}
    {%- if not load_cached_relation(quarantine) or not floodmark._has_quarantine(quarantine) -%}
        {{ return(1) }}
    {%- endif -%}
    {%- set known = run_query('select max(_floodmark_batch_id) from ' ~ quarantine).rows[0][0] or 0 -%}
    {#- rows of a run that has begun since: its number is taken, and the event of this one is skipped -#}
    {{ return(floodmark._model_state(id).last_batch_id or known | int + 1) }}
{% endmacro %}


{# What was open before a batch that loads everything anew, or files, partitions or a range anew, is so no more: it came
   again with the batch. An empty table is loaded anew, too. #}
{% macro _supersede_quarantined(run, batch) %}
    {#- before the first batch there was no row (_next_batch_id): it may have its own -#}
    {%- set is_first = batch.batch_id | int == 1 -%}
    {%- do floodmark._supersede_changed(run, batch) if not is_first or batch.get('rules') -%}
    {%- do floodmark._supersede_readings(run, batch) if not is_first -%}
    {%- set rows = floodmark._came_again_sql(run, batch) if not is_first else none -%}
    {%- if rows is not none -%}
        {%- do floodmark._supersede(floodmark._quarantine_relation(this),
            '_floodmark_batch_id < ' ~ batch.batch_id ~ ' and ' ~ rows) -%}
    {%- endif -%}
{% endmacro %}


{# A change feed delivers each change once, and the table does not record the version of a row. So if a key changes
   again, its open rows become superseded. A row that is still open is the newest change of its key, and a replay may
   load it. If the SELECT omits the version, the later batch counts as the later change. The same holds for the groups
   that a stream updates. #}
{% macro _supersede_changed(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set is_judged = batch.get('judged') and batch.judged.get('columns') -%}
    {%- set changes = floodmark._judged_relation(batch) if is_judged else floodmark._stage_relation(batch) -%}
    {%- if not floodmark._tells_changes(run, batch) or not is_judged and not floodmark._has_stage(batch)
        or not floodmark._has_quarantine(quarantine)
        or floodmark._has_no_rows(quarantine ~ " where _floodmark_state = 'open'")
        or not floodmark._is_stage_whole(changes) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set held, came = floodmark._columns_of(relation=quarantine), floodmark._columns_of(relation=changes) -%}
    {%- set keys = run.settings.unique_key | map('lower') | list -%}
    {%- set is_told = floodmark._find_column(held, '_commit_version')
        and floodmark._find_column(came, '_commit_version') -%}
    {%- set terms = [] -%}
    {%- for key in run.settings.unique_key if floodmark._find_column(held, key) -%}
        {%- set value = floodmark._held_value_sql(floodmark._find_column(held, key),
            floodmark._find_column(came, key)) -%}
        {%- do terms.append(value ~ ' <=> j.' ~ floodmark._quoted(key)) -%}
    {%- endfor -%}
    {%- set is_before = 'q._floodmark_batch_id < ' ~ batch.batch_id -%}
    {#- a row of a time when the SELECT omitted the version has none -#}
    {%- set is_older = 'coalesce(q._commit_version < j._floodmark_newest, ' ~ is_before ~ ')' if is_told
        else is_before -%}
    {%- if terms | length == keys | length -%}
        {%- do floodmark._execute(['merge into ' ~ quarantine ~ ' as q using (select '
            ~ floodmark._quoted_csv(keys) ~ (', max(_commit_version) as _floodmark_newest' if is_told else '')
            ~ ' from ' ~ changes ~ ' group by ' ~ floodmark._quoted_csv(keys) ~ ') as j on '
            ~ terms | join(' and ') ~ ' and ' ~ is_older ~ " and "
            "q._floodmark_state = 'open' when matched then update set _floodmark_state = 'superseded'"]) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the staging table of a batch is there: this run has read it, or found it. The run that left the event of a
   committed batch for later has dropped it. #}
{% macro _has_stage(batch) %}
    {{ return(not batch.get('is_taken_over') or batch.staged_by or batch.get('counted')) }}
{% endmacro %}


{# Whether a batch has the changes of a feed, or the new values of groups that a stream updates: of a key the latest
   counts. Where an event time orders the rows of a stream, the later batch may have the older one. #}
{% macro _tells_changes(run, batch) %}
    {%- set is_update = run.settings.get('output_mode') == 'update' and not run.settings.get('event_time') -%}
    {{ return(is_update or batch.family == 'version' and floodmark._strategy(run.settings).orders_by_mark) }}
{% endmacro %}


{# A condition on the quarantine of the rows that came again with a batch; none where there are none. The batch says
   what it read, and not the run: one run may finish the batch of another. #}
{% macro _came_again_sql(run, batch) %}
    {%- set replaced = floodmark._strategy(run.settings).replaced -%}
    {%- if floodmark._begins_anew(batch) or floodmark._gives_whole_table(run, batch) -%}
        {{ return(floodmark._files_again_sql(run.settings.files, batch) if batch.kind == 'first_load' and batch.files
            else 'true') }}
    {%- elif batch.files and floodmark._goes_by_file(run, batch) -%}
        {{ return('_floodmark_file in (' ~ floodmark._path_literals(batch.files) ~ ')') }}
    {%- elif (batch.get('asked') or {}).get('restate') -%}
        {{ return(floodmark._strategy(run.settings).restated(run, batch)) }}
    {%- elif batch.kind == 'backfill' -%}
        {#- it reads and replaces its bounds alone, whatever the strategy replaces else -#}
        {%- set quarantine = floodmark._quarantine_relation(this) -%}
        {{ return(floodmark._range_again_sql(batch, floodmark._columns_of(relation=quarantine),
            floodmark._text_of_range(run)) if floodmark._has_quarantine(quarantine) else none) }}
    {%- elif replaced -%}
        {{ return(replaced(run, batch)) }}
    {%- elif batch.files and run.settings.files.allow_overwrites not in [false, 'replace']
        and floodmark._are_loaded(batch) -%}
        {{ return(floodmark._corrupt_files_again_sql(batch.files)) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# A condition on the quarantine of what comes again where the files of the folder are loaded anew: all but the rows of
   files that are gone, and of files that an earlier batch of the generation has read: of those only what this one
   reads. #}
{% macro _files_again_sql(settings, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set gone = floodmark._listed(settings.path, "select to_json(named_struct('path', _floodmark_file)) from "
        ~ quarantine ~ " where _floodmark_state = 'open' and _floodmark_file is not null and _floodmark_file not in "
        '(select path from (' ~ floodmark._folder_files_sql(settings) ~ ')) group by _floodmark_file')
        if floodmark._has_quarantine(quarantine) else [] -%}
    {%- set first = run_query('select min(batch_id) from ' ~ floodmark._log_of(floodmark._batch_model(batch))
        ~ " and event = 'committed' and generation = " ~ floodmark._string_literal(batch.generation)
        ~ ' and batch_id < ' ~ batch.batch_id).rows[0][0] -%}
    {%- set terms = ['(_floodmark_file is null or _floodmark_file not in (' ~ floodmark._path_literals(gone) ~ '))'
        if gone else 'true'] -%}
    {%- do terms.append('(_floodmark_batch_id < ' ~ first ~ ' or _floodmark_file in ('
        ~ floodmark._path_literals(batch.files) ~ '))') if first is not none -%}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{# Whether rows of earlier loads of a batch's files have gone with it. Of a batch whose commit a dead run made nobody
   has asked yet. #}
{% macro _goes_by_file(run, batch) %}
    {{ return(floodmark._replaces_files(run, batch) if batch.get('replaces_files') is none else batch.replaces_files) }}
{% endmacro %}


{# Have open rows of a quarantine, by a condition, be open no more: they came again. #}
{% macro _supersede(quarantine, rows) %}
    {%- if floodmark._has_quarantine(quarantine) -%}
        {%- do floodmark._execute(['update ' ~ quarantine
            ~ " set _floodmark_state = 'superseded' where _floodmark_state = 'open' and " ~ rows]) -%}
    {%- endif -%}
{% endmacro %}


{# A condition on the quarantine of files that were corrupt as a whole and are read again: nothing of them is in the
   table. #}
{% macro _corrupt_files_again_sql(files) %}
    {{ return('_floodmark_rules is null and _floodmark_raw is null and _floodmark_file in ('
        ~ floodmark._path_literals(files) ~ ')') }}
{% endmacro %}


{# The column that tells where rows stand along the watermark; none where they lack it, or where the SELECT, by its text
   `sql`, may give it other values than the upstream has. #}
{% macro _placing_column(batch, columns, sql) %}
    {%- set name = batch.watermark_column or '' -%}
    {%- set is_changed = sql is not none and name and floodmark._may_change_column(sql, name) -%}
    {{ return(none if is_changed else floodmark._find_column(columns, name)) }}
{% endmacro %}


{# The text of a SELECT that _placing_column asks of a backfill; none where the backfill deletes by the column: its
   values were compared then (_check_watermark_column). #}
{% macro _text_of_range(run) %}
    {{ return(run.sql if floodmark._strategy(run.settings).finds_by_key else none) }}
{% endmacro %}


{# A condition on the quarantine of the range that a backfill has read again; none where no column tells which rows
   these are (_placing_column). #}
{% macro _range_again_sql(batch, columns, sql=none) %}
    {%- set column = floodmark._placing_column(batch, columns, sql) -%}
    {%- set value = floodmark._held_position_sql(column, batch.family) if column else none -%}
    {%- set terms = [] -%}
    {%- for position, sign in [(batch.low_position, '>'), (batch.high_position, '<=')]
        if column and batch.low_position is not none and position is not none -%}
        {%- do terms.append(value ~ ' ' ~ sign ~ ' ' ~ floodmark._position_literal(position, batch.family)) -%}
    {%- endfor -%}
    {%- set reads_nulls = terms and batch.nulls == 'include' -%}
    {{ return('(' ~ terms | join(' and ') ~ (' or ' ~ value ~ ' is null' if reads_nulls) ~ ')' if terms
        else none) }}
{% endmacro %}


{# Where a row of the quarantine stands along a watermark of a family, as SQL. A column of a quarantine keeps the type
   in which it came first; what came in another stands in the text of its row. #}
{% macro _held_position_sql(column, family) %}
    {{ return(floodmark._quoted(column.name) if floodmark._position_family(column.type) == family
        else floodmark._value_of_text_sql(column.name, {'sequence': 'decimal(38,0)'}.get(family, family))) }}
{% endmacro %}


{# The value that a row of the quarantine (`q`) has in a column, in the type in which another has it now. #}
{% macro _held_value_sql(column, other) %}
    {%- set value = 'q.' ~ floodmark._quoted(column.name) -%}
    {%- if not other or column.type == other.type -%}
        {{ return(value) }}
    {%- endif -%}
    {{ return('coalesce(' ~ floodmark._tried_sql(value, column.type, other.type) ~ ', '
        ~ floodmark._value_of_text_sql(column.name, other.type) ~ ')') }}
{% endmacro %}


{# The value of a column in the text of a row that broke a rule; NULL where the row has no text. #}
{% macro _value_of_text_sql(name, type) %}
    {{ return('from_json(if(_floodmark_rules is null, null, _floodmark_raw), '
        ~ floodmark._string_literal('struct<' ~ floodmark._quoted_field(name) ~ ':' ~ type ~ '>') ~ ').'
        ~ floodmark._quoted(name)) }}
{% endmacro %}
