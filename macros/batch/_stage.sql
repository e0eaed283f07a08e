{# Write the SELECT's output once, and take every check and count from there. Returns {sql, stage, columns, counts}. Parquet takes
   every name and type, and Spark lists such a table only once it is whole; a new Delta table costs it twice the time, since
   its state has to be put together before the first read. #}
{% macro _stage(run, batch, select_sql) %}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- if batch.staged_by -%}
        {%- set columns = floodmark._columns_of(relation=stage) -%}
        {#- settings may have changed since the run that staged it -#}
        {%- if run.settings.strategy == 'cdc' -%}
            {%- do floodmark._check_event_columns(run, batch, columns) -%}
        {%- else -%}
            {%- do floodmark._check_stage_columns(run, batch, columns) -%}
        {%- endif -%}
    {%- else -%}
        {%- if run.settings.strategy == 'cdc' -%}
            {%- set columns = floodmark._checked_events(run, batch, select_sql) -%}
            {%- set select_sql = floodmark._staged_events_sql(run, batch, columns, select_sql) -%}
        {%- else -%}
            {%- if floodmark._replaces_partitions(run, batch) -%}
                {%- set select_sql = floodmark._conformed_select(run, batch, floodmark._whole_partitions_select(run, batch, select_sql)) -%}
            {%- endif -%}
            {%- set columns = floodmark._select_columns(run, select_sql) -%}
            {%- do floodmark._check_stage_columns(run, batch, columns) -%}
            {%- if run.settings.strategy == 'merge' -%}
                {%- set select_sql = floodmark._partition_values_sql(columns, select_sql) -%}
            {%- endif -%}
        {%- endif -%}
        {%- do floodmark._execute([floodmark._create_stage_sql(stage) ~ '\nselect * from (\n' ~ select_sql ~ '\n)']) -%}
    {%- endif -%}
    {%- set source = {'sql': 'select * from ' ~ stage, 'stage': stage, 'columns': columns, 'counts': {}} -%}
    {%- if batch.family == 'version' -%}
        {%- do floodmark._check_change_columns(run, batch, source.columns) -%}
    {%- endif -%}
    {%- do source.update({'counts': floodmark._stage_counts(run, stage, batch, source)}) -%}
    {%- do floodmark._check_constraints(batch, source) -%}
    {%- do floodmark._check_keys(run, batch, source) -%}
    {%- if run.settings.strategy == 'cdc' -%}
        {%- do floodmark._check_events(run, batch, source) -%}
        {%- if floodmark._restates_from(batch) is not none -%}
            {%- do floodmark._check_restated(run, batch, source) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(source) }}
{% endmacro %}


{# The events of a batch as they are staged. #}
{% macro _staged_events_sql(run, batch, columns, select_sql) %}
    {%- set sql = floodmark._conforming_sql(run, columns, floodmark._events_sql(run.settings.cdc, select_sql)) -%}
    {%- set sql = floodmark._without_replaced_sql(run, batch, columns, floodmark._partition_values_sql(columns, sql)) -%}
    {%- if floodmark._restates_from(batch) is not none -%}
        {%- set sql = floodmark._restated_events_sql(run, batch, sql, floodmark._find_column(columns, '_floodmark_sequence').type) -%}
    {%- endif -%}
    {{ return(sql) }}
{% endmacro %}


{# How many bytes a stage has by its making, and how many its files hold now: {noted, found}. The metastore notes the size with CREATE TABLE AS;
   `noted` is none where it did not, `found` where the files cannot be listed. Spark itself reads what is there: what has gone from a folder looks
   like rows that never were. #}
{% macro _stage_bytes(stage) %}
    {%- set ns = namespace(noted=none, location='') -%}
    {%- for row in run_query('describe table extended ' ~ stage).rows -%}
        {%- if row[0] == 'Statistics' -%}
            {%- set ns.noted = (modules.re.match('\\d+', row[1]) or [none])[0] -%}
        {%- elif row[0] == 'Location' -%}
            {%- set ns.location = row[1] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'noted': ns.noted | int if ns.noted is not none else none, 'found': floodmark._tried(floodmark._listed_bytes, ns.location).value}) }}
{% endmacro %}


{# The size of the files in a folder. #}
{% macro _listed_bytes(location) %}
    {{ return(run_query('select coalesce(sum(length), 0) as bytes from binaryFile.`' ~ location | replace('`', '``') ~ "` with (`__globPaths__` = 'false')").rows[0][0] | int) }}
{% endmacro %}


{# What a macro returns, {value, error}: `error` is the sentence of a statement that failed in it. Without the plugin nothing can be tried. #}
{% macro _tried(macro) %}
    {%- if adapter.floodmark_plugin is not defined -%}
        {{ return({'value': macro(*varargs), 'error': none}) }}
    {%- endif -%}
    {{ return(adapter.floodmark_try(macro, *varargs)) }}
{% endmacro %}


{# Stop where a stage that half of a batch is written from is not what it was: nothing else can give the other half. #}
{% macro _require_whole(batch, stage) %}
    {%- set bytes = floodmark._stage_bytes(stage) -%}
    {%- if bytes.found is none or bytes.noted is not none and bytes.found != bytes.noted -%}
        {%- do floodmark._stop('half of batch ' ~ batch.batch_id ~ ' is written, and its staging table ' ~ stage ~ ' has lost rows ('
            ~ ('its files cannot be listed' if bytes.found is none else '{:,} of {:,} bytes are there'.format(bytes.found, bytes.noted)) ~ '), so the other half cannot be: run it once with --full-refresh') -%}
    {%- endif -%}
{% endmacro %}


{# A SELECT with NULL for '' in the columns that partition the table, as Delta keeps it: what is compared with the table must be what the table
   will hold, or a row that is read again is another one. #}
{% macro _partition_values_sql(columns, select_sql) %}
    {%- set partitions = floodmark._name_list(config.get('partition_by')) | map('lower') | list -%}
    {%- set values, texts = [], [] -%}
    {%- for column in columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- if column.name | lower in partitions and floodmark._plain_type(column.type) == 'string' -%}
            {%- do texts.append(column.name) -%}
            {%- set quoted = 'nullif(' ~ quoted ~ ", '') as " ~ quoted -%}
        {%- endif -%}
        {%- do values.append(quoted) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ' from (\n' ~ select_sql ~ '\n)' if texts else select_sql) }}
{% endmacro %}


{# What a stage is made with, before its SELECT. A statement may read it more than once, and what cannot be read must not look like rows that are
   gone, whatever the session's spark.sql.files.ignoreMissingFiles and ignoreCorruptFiles say. Its folder is no pattern,
   whatever the warehouse's path has in it: [, { and * there too. #}
{% macro _create_stage_sql(relation) %}
    {{ return('create table ' ~ relation
        ~ " using parquet options (ignoreMissingFiles = 'false', ignoreCorruptFiles = 'false', `__globPaths__` = 'false') as") }}
{% endmacro %}


{# The stage of a batch, named after the run that writes it: nobody else does, so its rows never change. #}
{% macro _stage_relation(batch) %}
    {{ return(floodmark.ledger_schema() ~ '.' ~ floodmark._stage_prefix(this) ~ batch.batch_id ~ '__' ~ (batch.staged_by or invocation_id[:8])) }}
{% endmacro %}


{# What the names of a model's stages begin with. Six hex digits tell names apart that read the same: `a__b`.`c` and `a`.`b__c`. #}
{% macro _stage_prefix(relation) %}
    {%- set name = (relation.schema ~ '__' ~ relation.identifier) | lower -%}
    {%- set is_clear = modules.re.fullmatch('_?(?:[^_]+_)*[^_]+__(?:[^_]+_)*[^_]+', name) -%}
    {{ return('stage__' ~ name ~ '__' ~ ('' if is_clear else local_md5((relation.schema ~ '.' ~ relation.identifier) | lower)[:6] ~ '__')) }}
{% endmacro %}


{# The stages that runs of a model left: a list of {relation, batch_id, staged_by, resolved_by}; the last is the run that resolved
   a batch of cdc (_resolve), none for the stage itself. #}
{% macro _stages(relation) %}
    {%- set prefix = floodmark._stage_prefix(relation) -%}
    {%- set stages = [] -%}
    {%- for row in run_query("show tables in " ~ floodmark.ledger_schema() ~ " like '" ~ prefix ~ "*'").rows -%}
        {%- set found = modules.re.fullmatch(modules.re.escape(prefix) ~ '(\\d+)__([0-9a-f]{8})(?:__([0-9a-f]{8}))?', row['tableName']) -%}
        {%- if found -%}
            {%- do stages.append({'relation': floodmark.ledger_schema() ~ '.' ~ row['tableName'], 'batch_id': found.group(1) | int, 'staged_by': found.group(2), 'resolved_by': found.group(3)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(stages) }}
{% endmacro %}


{# Drop those of them whose batches are finished. #}
{% macro _drop_stages(stages, finished_id) %}
    {%- for stage in stages if finished_id is not none and stage.batch_id <= finished_id -%}
        {%- do floodmark._execute(['drop table if exists ' ~ stage.relation]) -%}
    {%- endfor -%}
{% endmacro %}


{# Counts of a stage in one pass: rows_read, keys that come more than once, NULL keys, the range of each key column,
   least and greatest value of the column that says which row is the latest, and the rows without one. #}
{% macro _stage_counts(run, stage, batch, source=none) %}
    {%- set keys = run.settings.unique_key -%}
    {%- if source and run.settings.strategy == 'insert_overwrite' and batch.kind != 'backfill' -%}
        {{ return(floodmark._partition_counts(run, batch, source)) }}
    {%- elif run.settings.strategy == 'cdc' -%}
        {{ return(floodmark._event_counts(run, stage, source.columns if source else floodmark._columns_of(relation=stage))) }}
    {%- elif run.settings.strategy == 'snapshot_diff' -%}
        {{ return(floodmark._query_json("select to_json(named_struct('rows_read', coalesce(max(_floodmark_rows_read), 0))) from " ~ stage)[0]) }}
    {%- elif run.settings.strategy != 'merge' -%}
        {{ return(floodmark._query_json("select to_json(named_struct('rows_read', count(*))) from " ~ stage)[0]) }}
    {%- endif -%}
    {%- set columns = source.columns if source else floodmark._columns_of(relation=stage) -%}
    {%- set ranges = [] -%}
    {%- for key in keys -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- do ranges.append("'null_" ~ loop.index0 ~ "', count_if(" ~ quoted ~ " is null)") -%}
    {%- endfor -%}
    {%- do ranges.extend(floodmark._key_ranges(keys, columns)) -%}
    {%- set order = floodmark._find_column(columns, floodmark._order_column(run, columns) or '') -%}
    {%- set ordered = '' -%}
    {%- if order and floodmark._position_family(order.type) -%}
        {%- set ordered = ', min(@) as _floodmark_least, max(@) as _floodmark_greatest, count_if(@ is null) as _floodmark_unordered' | replace('@', floodmark._quoted(order.name)) -%}
        {%- do ranges.extend(floodmark._range_counts('least', 'greatest', order.type, '_floodmark_least', '_floodmark_greatest') + ["'unordered', coalesce(sum(_floodmark_unordered), 0)"]) -%}
    {%- endif -%}
    {%- set counts = floodmark._query_json(
        "select to_json(named_struct('rows_read', coalesce(sum(_floodmark_rows), 0), 'repeated', count_if(_floodmark_rows > 1), " ~ ranges | join(', ') ~ ")) "
        ~ "from (select " ~ floodmark._quoted_csv(keys) ~ ", count(*) as _floodmark_rows" ~ ordered ~ " from " ~ stage ~ " group by " ~ floodmark._quoted_csv(keys) ~ ")"
    )[0] -%}
    {%- do counts.update({'rows_tied': floodmark._count_ties(run, stage, columns) if counts.repeated else 0}) -%}
    {{ return(counts) }}
{% endmacro %}


{# The least and the greatest of each key column whose range can be written as literals: entries min_i and max_i of a named_struct. #}
{% macro _key_ranges(keys, columns) %}
    {%- set ranges = [] -%}
    {%- for key in keys if floodmark._has_range(floodmark._find_column(columns, key)) -%}
        {%- set i = keys.index(key) -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- do ranges.extend(floodmark._range_counts('min_' ~ i, 'max_' ~ i, floodmark._find_column(columns, key).type, quoted, quoted)) -%}
    {%- endfor -%}
    {{ return(ranges) }}
{% endmacro %}


{# Entries of a named_struct, a list: the least of one SQL and the greatest of another, as text. #}
{% macro _range_counts(low, high, type, least, greatest) %}
    {{ return(["'" ~ low ~ "', " ~ floodmark._range_text_sql(least, type) | replace('@(', 'min('), "'" ~ high ~ "', " ~ floodmark._range_text_sql(greatest, type) | replace('@(', 'max(')]) }}
{% endmacro %}


{# What the columns of a batch forbid, refused before anything is written: merge needs the columns that its settings name, and keys that can be
   compared; names with our prefix are ours. #}
{% macro _check_stage_columns(run, batch, columns) %}
    {%- set is_merge = run.settings.strategy == 'merge' -%}
    {%- set problems = floodmark._key_problems(run.settings.unique_key, columns) if is_merge else [] -%}
    {%- for setting in ['merge_update_columns', 'merge_exclude_columns'] if is_merge -%}
        {%- for name in floodmark._name_list(config.get(setting)) if not floodmark._find_column(columns + ([] if batch.replaces else floodmark._table_columns(run)), name) -%}
            {%- do problems.append({'setting': setting, 'got': name, 'expected': 'columns of the SELECT', 'todo': 'Correct the name or remove it'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in columns if (column.name | lower).startswith('_floodmark_') -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': 'a column ' ~ column.name ~ ' in the SELECT', 'expected': 'no column that floodmark writes itself',
            'todo': 'Leave it out or give it another name'}) -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, problems[0].setting ~ ': ' ~ problems[0].got) -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
    {#- what was not cast to the table's type: a contract is of the SELECT, and a struct with other fields is another key -#}
    {%- for key in run.settings.unique_key if is_merge and not batch.replaces and run.settings.on_schema_change in ['ignore', 'append_new_columns'] -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), key) -%}
        {%- if known is not none and (config.get('contract').enforced or 'struct<' in known.type) -%}
            {%- do problems.extend(floodmark._type_problems('unique_key', key, floodmark._find_column(columns, key).type, known)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, 'a key of another type') -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# Problems of a key that is no column of the SELECT, or cannot be compared: a list for _refuse. #}
{% macro _key_problems(keys, columns) %}
    {%- set problems = [] -%}
    {%- for key in keys -%}
        {%- set column = floodmark._find_column(columns, key) -%}
        {%- if column is none -%}
            {%- do problems.append({'setting': 'unique_key', 'got': key, 'expected': 'a column of the SELECT',
                'todo': 'Add it to the SELECT, or correct the name'}) -%}
        {%- elif floodmark._has_no_order(column.type) -%}
            {%- do problems.append({'setting': 'unique_key', 'got': key ~ ' ' ~ column.type,
                'expected': 'a type that can be compared', 'todo': 'Use another key'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The columns of the SELECT by which a statement finds rows of the table must be in the table, too: one that
   somebody made may lack them. cdc and snapshot_diff have a check of their own. #}
{% macro _check_table_columns(run, batch, columns) %}
    {%- set settings = run.settings -%}
    {%- if batch.replaces or settings.on_schema_change in ['append_new_columns', 'sync_all_columns'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set needed = [] -%}
    {%- for key in settings.unique_key if settings.strategy == 'merge' -%}
        {%- do needed.append({'setting': 'unique_key', 'name': key}) -%}
    {%- endfor -%}
    {%- if floodmark._replaces_partitions(run, batch) -%}
        {%- do needed.append({'setting': 'partition_by', 'name': settings.partition_by[0]}) -%}
        {#- rows of the first partition that lie below `start` are looked for -#}
        {%- if settings.watermark.start is not none -%}
            {%- do needed.append({'setting': 'watermark.column', 'name': settings.watermark.column}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set problems, awaited = [], run.get('awaited') or [] -%}
    {%- for need in needed -%}
        {%- set column = floodmark._find_column(columns, need.name) -%}
        {%- set known = floodmark._find_column(floodmark._table_columns(run), need.name) -%}
        {%- if column and not known and need.name | lower not in awaited -%}
            {%- do problems.append({'setting': need.setting, 'got': need.name, 'expected': 'a column of ' ~ this,
                'todo': 'Add it: alter table ' ~ this ~ ' add columns (' ~ floodmark._quoted(column.name) ~ ' '
                    ~ column.ddl ~ "), set on_schema_change to 'append_new_columns', or run with --full-refresh"}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if problems -%}
        {%- do floodmark._fail(batch, problems[0].setting ~ ': ' ~ this ~ ' has no column ' ~ problems[0].got) -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# Where no column says which row is the latest, a key may come once in a batch: refused, the keys named. #}
{% macro _check_keys(run, batch, source) %}
    {%- if run.settings.strategy == 'merge' and source.counts.repeated and not floodmark._order_column(run, source.columns) -%}
        {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
        {%- set named = floodmark._query_json('select to_json(struct(' ~ keys ~ "), map('ignoreNullFields', 'false')) from " ~ source.stage ~ ' group by ' ~ keys ~ ' having count(*) > 1 order by 1 limit 5') -%}
        {%- set shown = [] -%}
        {%- for key in named -%}
            {%- do shown.append(tojson(key)) -%}
        {%- endfor -%}
        {%- set repeated = floodmark._counted(source.counts.repeated, 'key') ~ (' comes' if source.counts.repeated == 1 else ' come') ~ ' more than once' -%}
        {%- do floodmark._fail(batch, repeated) -%}
        {%- do floodmark._stop(repeated ~ ' in the batch and no watermark column in the SELECT says which row is the latest: '
            ~ shown | join(', ') ~ '. Add the watermark column to the SELECT, or make the key unique') -%}
    {%- endif -%}
{% endmacro %}


{# Note the error of a statement of ours that was refused, in a batch of which nothing is committed: the next run plans anew. What cdc wrote beside the
   table is taken back. Returns what is left to do where a part of the batch is committed, else none. #}
{% macro _note_refused(error, run, batch) %}
    {%- do floodmark._reset_conf(floodmark._batch_conf() + ['spark.sql.constraintPropagation.enabled']) -%}
    {%- if batch.get('writes_utc') -%}
        {%- do floodmark._execute(['set spark.sql.session.timeZone = ' ~ batch.writes_utc]) -%}
    {%- endif -%}
    {#- one that changes nothing in the target leaves no commit there: the ledger has it all the same -#}
    {%- if batch.get('is_failed') or batch.get('is_committed') or floodmark._has_landed(batch) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if run.settings.strategy == 'cdc' and not batch.replaces -%}
        {%- do floodmark._take_back_state(run, batch) -%}
    {%- endif -%}
    {%- do floodmark._fail(batch, error) -%}
    {%- do run.state.update({'last_batch_id': batch.batch_id, 'finished_id': batch.batch_id}) -%}
{% endmacro %}


{# Whether the batch is, or may be, in the model's table, which may not be there. #}
{% macro _has_landed(batch) %}
    {%- if not run_query("show tables in " ~ this.schema ~ " like '" ~ this.identifier | lower ~ "'").rows | length -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set landed = floodmark._tried(floodmark._landed, this, batch) -%}
    {{ return(landed.error is not none or landed.value is not none) }}
{% endmacro %}


{# Record a batch as failed before the node stops; its stage goes, so that the next run plans and reads anew. The run that planned a batch
   taken over may still live: it must not apply it behind this (cdc has seen to that, _take_over; what it wrote beside the table goes). #}
{% macro _fail(batch, error) %}
    {%- if batch.get('is_taken_over') and batch.settings.strategy != 'cdc' -%}
        {%- do floodmark._fence(batch) -%}
        {%- if floodmark._landed(this, batch) is not none -%}
            {%- do floodmark._stop_for_now('another run has finished batch ' ~ batch.batch_id ~ ' meanwhile') -%}
        {%- endif -%}
    {%- elif batch.get('state_is_written') -%}
        {%- do floodmark._undo_state(floodmark._state_relation(), batch.state_is_written) -%}
    {%- endif -%}
    {%- do floodmark._record('failed', batch, {'error': floodmark._string_literal(error)}) -%}
    {%- do batch.update({'is_failed': true}) -%}
    {%- do floodmark._execute(['drop table if exists ' ~ floodmark._stage_relation(batch)]) -%}
{% endmacro %}
