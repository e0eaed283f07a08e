{# Which files of the folder are new: those that no committed batch of this table has, and that nobody skipped. #}

{# The plan of the next batch: its files, oldest first, and the schema in which they are read. #}
{% macro _plan_files(run, begins) %}
    {%- set shows = floodmark._only_looks() or floodmark._is_dry() -%}
    {%- if run.get('unseen') is none -%}
        {%- do floodmark._keep_generation(run) if begins and run.state.committed -%}
        {%- do floodmark._check_archived(run.settings.files)
            if begins and run.full_refresh and run.target.exists and not shows -%}
        {%- set includes = run.settings.files.include_existing -%}
        {%- set skips = begins and not includes and not (floodmark._ledger_has('files') and floodmark._has_begun()) -%}
        {%- do floodmark._skip_existing(run.settings.files) if skips and not shows -%}
        {%- do run.update({'unseen': [] if skips and shows
            else floodmark._unseen_files(run, begins, begins and includes and not shows)}) -%}
    {%- endif -%}
    {%- set files = floodmark._taken_files(run.settings.files, run.unseen) -%}
    {%- set left = run.unseen[files | length:] -%}
    {#- a list that was cut is made anew once it is used up -#}
    {%- set is_cut = run.unseen_is_cut and not left -%}
    {%- do run.update({'unseen': none if is_cut else left}) -%}
    {%- set plan = floodmark._plan_whole(files, not left and not is_cut) -%}
    {%- do plan.update(floodmark._plan_schema(run, begins, files)) -%}
    {%- if plan.record is not none and not shows -%}
        {%- do floodmark._judge_files(run, plan) -%}
    {%- endif -%}
    {{ return(plan) }}
{% endmacro %}


{# A first load goes on with the generation of a table that its own batches left empty: none of their files had a
   record, and these files are not new. Otherwise it begins one, in which all files are. #}
{% macro _keep_generation(run) %}
    {%- set committed, landed = run.state.committed, run.state.landed -%}
    {%- set is_own = not run.full_refresh and run.target.is_delta and run.target.newest and landed
        and committed.generation == landed.generation
        and floodmark._is_as_left(run.state, this, run.target.id, run.target.newest) -%}
    {%- if is_own or floodmark._keeps_generation(run) -%}
        {%- do run.update({'generation': committed.generation if is_own else none}) -%}
    {%- endif -%}
{% endmacro %}


{# Whether the next first load goes on with the generation of the table. #}
{% macro _keeps_generation(run) %}
    {{ return(run.get('generation') is not none and run.state.committed is not none
        and run.generation == run.state.committed.generation) }}
{% endmacro %}


{# The files that a batch takes of a list: `max_files_per_batch` at most, and up to the one with which their sizes
   reach `max_bytes_per_batch`. #}
{% macro _taken_files(settings, files) %}
    {%- set most = floodmark._bytes(settings.max_bytes_per_batch) -%}
    {%- set ns = namespace(bytes=0) -%}
    {%- set taken = [] -%}
    {%- for file in files[:settings.max_files_per_batch] if most is none or ns.bytes < most -%}
        {%- set ns.bytes = ns.bytes + file.size -%}
        {%- do taken.append(file) -%}
    {%- endfor -%}
    {{ return(taken) }}
{% endmacro %}


{# The new files, oldest first: a list of {path, size, modified_at}. A long list is cut. With `includes`, those that
   were skipped before the first load are forgotten: the statement that lists the files tells of them, too. #}
{% macro _unseen_files(run, begins, includes=false) %}
    {%- set most = [20000, run.settings.files.max_files_per_batch] | max -%}
    {%- set listed = floodmark._listed(run.settings.files.path, 'select to_json(struct(*)) from ('
        ~ floodmark._unseen_of_run_sql(run, begins) ~ ' order by modified_at, path limit ' ~ most ~ ')'
        ~ (' union all ' ~ floodmark._skipped_before_sql() if includes else '')) -%}
    {%- if includes -%}
        {#- of a folder that is not there the statement tells nothing -#}
        {%- do floodmark._include_skipped(listed | rejectattr('path', 'defined') | first
            or floodmark._query_json(floodmark._skipped_before_sql())[0]) -%}
        {%- set listed = listed | selectattr('path', 'defined') | list -%}
    {%- endif -%}
    {%- do run.update({'unseen_is_cut': listed | length == most}) -%}
    {{ return(listed) }}
{% endmacro %}


{# How many files are new, and their bytes: {files, bytes}, for a list that was cut. #}
{% macro _count_unseen_files(run, begins) %}
    {{ return(floodmark._listed(run.settings.files.path, "select to_json(named_struct('files', count(*), 'bytes', "
        'sum(size))) from (' ~ floodmark._unseen_of_run_sql(run, begins) ~ ')')[0]) }}
{% endmacro %}


{# The files that are new to the model of a run. #}
{% macro _unseen_of_run_sql(run, begins) %}
    {{ return(floodmark._unseen_files_sql(run.settings.files, floodmark._model_id(),
        none if not run.state.committed or begins and not floodmark._keeps_generation(run)
        else run.state.committed.generation, begins and run.settings.files.include_existing)) }}
{% endmacro %}


{# The rows of a query that lists the folder of a path; none where it is not there. Listing opens no file: Spark would
   make a task of every 32 small ones. #}
{% macro _listed(path, sql) %}
    {%- set conf = {'spark.sql.files.maxPartitionBytes': '1099511627776', 'spark.sql.files.openCostInBytes': '1024'} -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- set listed = floodmark._tried(floodmark._query_json, sql) -%}
    {%- do floodmark._reset_conf(conf) -%}
    {%- if listed.error is none -%}
        {{ return(listed.value) }}
    {%- elif listed.condition == 'PATH_NOT_FOUND' -%}
        {{ return([]) }}
    {%- endif -%}
    {%- do floodmark._stop('the folder ' ~ path ~ ' cannot be listed: ' ~ listed.error) -%}
{% endmacro %}


{# Files of the folder that are new: path, size in bytes, modified_at in microseconds. With `allow_overwrites` a file is
   another one where its size or time is. What was forgotten counts as new from there on. `generation` is that of the
   table's last batch, none where it has none. `includes`: what was skipped before the first load is new, too. #}
{% macro _unseen_files_sql(settings, id, generation, includes=false) %}
    {%- if not floodmark._ledger_has('files') -%}
        {{ return(floodmark._folder_files_sql(settings)) }}
    {%- endif -%}
    {%- set same = 'found.path = loaded.path' ~ (' and found.size = loaded.size and found.modified_at = '
        'loaded.modified_at' if settings.allow_overwrites else '') -%}
    with events as (
        select file.path, file.size, file.modified_at, event, struct(batch_id, at) as place
        from (
            select explode(files) as file, event, batch_id, at
            from {{ floodmark._log_of(id) }} and files is not null
                and (event in ('skipped', 'forgotten')
                {{ 'and not (batch_id = 0 and recorded_by is null)' if includes }}
                {{ "or event = 'committed' and generation = " ~ floodmark._string_literal(generation) if generation }})
        )
    )
    select found.path, found.size, found.modified_at
    from (
        {{ floodmark._folder_files_sql(settings) }}
    ) as found
    left anti join (
        select known.path, known.size, known.modified_at
        from (select * from events where event <> 'forgotten') as known
        left anti join (select * from events where event = 'forgotten') as forgotten
            on forgotten.path = known.path and forgotten.place > known.place
    ) as loaded
        on {{ same }}
{% endmacro %}


{# All files of the folder that the settings take. Of Spark's formats `image` alone gives a row for each file without a
   question about it: `binaryFile` asks for the status of each, which on S3 is a request. #}
{% macro _folder_files_sql(settings) %}
    {%- set time = '_metadata.file_modification_time' -%}
    {%- set terms = floodmark._time_terms(settings, time) + floodmark._place_terms(settings) -%}
    select _metadata.file_path as path, _metadata.file_size as size, unix_micros({{ time }}) as modified_at
    from image.`{{ floodmark._files_path(settings) }}` {{ floodmark._files_options(settings) }}
    {{ 'where ' ~ terms | join(' and ') if terms }}
{% endmacro %}


{# Conditions on the times of files; `time` is SQL of it. #}
{% macro _time_terms(settings, time) %}
    {%- set terms = [] -%}
    {%- for key, comparison in {'modified_after': ' > ', 'modified_before': ' < '}.items() if settings[key] -%}
        {%- do terms.append('unix_micros(' ~ time ~ ')' ~ comparison
            ~ floodmark._position_parse(settings[key], 'timestamp')) -%}
    {%- endfor -%}
    {{ return(terms) }}
{% endmacro %}


{# A path as Spark's `_metadata` prints it, as it is: SQL. #}
{% macro _decoded_path_sql(path) %}
    {{ return('coalesce(try_url_decode(replace(' ~ path ~ ", '+', '%2B')), " ~ path ~ ')') }}
{% endmacro %}


{# Conditions on the places of files, where Spark's own listing gives more. Without folders below, the file lies in the
   folder itself, or in one that the pattern matches: Spark would list folders of names `k=v` all the same, and nothing
   beside them. No pattern matches a hidden name (_hidden_regex). #}
{% macro _place_terms(settings) %}
    {%- set path = floodmark._decoded_path_sql('_metadata.file_path') -%}
    {%- set terms, hidden = [], floodmark._hidden_regex(settings) -%}
    {%- do terms.append(path ~ ' rlike ' ~ floodmark._string_literal(floodmark._folder_regex(settings)))
        if not settings.recursive -%}
    {%- do terms.append('not ' ~ path ~ ' rlike ' ~ floodmark._string_literal(hidden)) if hidden -%}
    {{ return(terms) }}
{% endmacro %}


{# A regular expression of the decoded paths of files that have a hidden name where the pattern stands; none where the
   path is no pattern, or names a hidden folder itself. What a pattern matches Spark takes for a path that somebody has
   named, and reads whatever its name. #}
{% macro _hidden_regex(settings) %}
    {%- set path = floodmark._normal_path(floodmark._path_pattern(floodmark._absolute_path(settings.path | string))) -%}
    {%- set pattern = modules.re.search('/(?:\\\\.|[^/\\\\*?\\[{])*[*?\\[{]', path) -%}
    {%- if not pattern or modules.re.search('[/{,\\[][_.]', path[pattern.start():]) -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(floodmark._printed_regex(path[:pattern.start()]) ~ '/(?:[\\s\\S]*/)?(?:\\.|_(?![^/]*=))[^/]*(?:/|$)') }}
{% endmacro %}


{# A regular expression of the decoded paths of files that lie in the folder, or in one that the pattern matches. #}
{% macro _folder_regex(settings) %}
    {%- set path = floodmark._normal_path(floodmark._path_pattern(floodmark._absolute_path(settings.path | string))) -%}
    {{ return(floodmark._printed_regex(path) ~ ('(?:/[\\s\\S]+)?$' if settings.recursive else '(?:/[^/]+)?$')) }}
{% endmacro %}


{# A normal path or pattern as a regular expression of how the paths begin that Spark prints: with a scheme and a
   server, also where the path has none. #}
{% macro _printed_regex(path) %}
    {%- set scheme = modules.re.match('([\\w+.-]+:)?(?=/(?!/)|$)', path) -%}
    {%- set server = '(?://[^/]*|(?!//))' -%}
    {{ return('^' ~ ('' if not scheme else modules.re.escape(scheme.group(1)) ~ server if scheme.group(1)
        else '(?:[\\w+.-]+:' ~ server ~ ')?') ~ floodmark._glob_regex(path[scheme.end() if scheme else 0:])) }}
{% endmacro %}


{# Whether the folder has a file. #}
{% macro _has_files(settings) %}
    {{ return(floodmark._listed(settings.path, 'select to_json(struct(1)) from ('
        ~ floodmark._folder_files_sql(settings) ~ ') limit 1') != []) }}
{% endmacro %}


{# Whether files of the model were loaded, or those that were there before its first load were skipped. This is done
   once, even if that load fails or the table is loaded again. #}
{% macro _has_begun() %}
    {{ return(not floodmark._has_no_rows(floodmark._log_of() ~ " and (event = 'skipped' and batch_id = 0 and "
        "recorded_by is null or event = 'committed' and size(files) > 0)")) }}
{% endmacro %}


{# What the log has of files that were skipped before the first batch: a SELECT of {event, at, by_hand} as JSON. #}
{% macro _skipped_before_sql() %}
    {{ return("select to_json(named_struct('event', max_by(event, at) filter (where recorded_by is null), 'at', "
        "unix_micros(max(at) filter (where recorded_by is null)), 'by_hand', flatten(collect_list(files.path) filter "
        "(where event = 'skipped' and recorded_by is not null)))) from " ~ floodmark._log_of()
        ~ " and event in ('skipped', 'forgotten') and batch_id = 0") }}
{% endmacro %}


{# Where files were skipped before the first load, as the log has `told`, and a table begins that includes them: forget
   it, once. What somebody skipped by hand before the first batch stays so. #}
{% macro _include_skipped(told) %}
    {%- set id = floodmark._model_id() -%}
    {%- do floodmark._execute(['insert into ' ~ floodmark.ledger_schema() ~ ".batch_log with (txnAppId = "
        ~ floodmark._string_literal('floodmark/include/' ~ id) ~ ", txnVersion = '1') "
        "(model, batch_id, event, at, kind, invocation_id, files, reason) select model, 0, 'forgotten', "
        ~ floodmark._time_behind_sql(told.at) ~ ', kind, ' ~ floodmark._string_literal(invocation_id)
        ~ ', filter(files, file -> not array_contains(from_json(' ~ floodmark._string_literal(tojson(told.by_hand))
        ~ ", 'array<string>'), file.path)), 'include_existing is true' from " ~ floodmark._log_of()
        ~ " and event = 'skipped' and batch_id = 0 and recorded_by is null"]) if told.event == 'skipped' -%}
{% endmacro %}


{# Record all files that are in the folder as skipped, in one commit that only one run makes. Where there are none, that
   is recorded too: what lands from now on is new. #}
{% macro _skip_existing(settings) %}
    {%- set model = floodmark._string_literal(floodmark._model_id()) -%}
    {%- set file = "named_struct('path', path, 'size', size, 'modified_at', modified_at, 'rows', bigint(null), "
        "'rows_rescued', bigint(null), 'rows_quarantined', bigint(null), 'reason', string(null))" -%}
    {%- set is_empty = not floodmark._has_files(settings) -%}
    {%- set found = '(select 1)' if is_empty else '(' ~ floodmark._folder_files_sql(settings)
        ~ ') group by pmod(hash(path), 1 + (select count(*) div 1000 from ('
        ~ floodmark._folder_files_sql(settings) ~ ')))' -%}
    {%- do floodmark._execute(['insert into ' ~ floodmark.ledger_schema() ~ ".batch_log with (txnAppId = "
        ~ floodmark._string_literal('floodmark/skip/' ~ floodmark._model_id()) ~ ", txnVersion = '1') "
        '(model, batch_id, event, at, kind, invocation_id, files, reason) select ' ~ model
        ~ ", 0, 'skipped', current_timestamp(), 'files', " ~ floodmark._string_literal(invocation_id) ~ ', '
        ~ (floodmark._files_literal([]) if is_empty else 'collect_list(' ~ file ~ ')')
        ~ ", 'it was there before the first load' from " ~ found]) -%}
{% endmacro %}
