{#
  What becomes of files that are loaded (`on_loaded`). Spark's LOAD DATA moves them, into a Hive table over the folder
  of the archive, or into one that is dropped with all that it holds. So no program has to run beside Spark, and the
  files may lie on any file system that Spark reads.

  A file is moved first and recorded then. A file that is missing without a record was moved by a dead run or by
  somebody else. If it is in the archive, it is recorded as archived; otherwise as gone.
#}

{# Archive or delete the files of a model that are due: how many. Whatever goes wrong is a warning, since the model is
   loaded; with `dry_run` nothing is done. #}
{% macro _tidy_files(id, settings, dry_run=false) %}
    {%- if settings.on_loaded == 'keep' or not floodmark._ledger_exists() -%}
        {{ return(0) }}
    {%- endif -%}
    {%- set tried = floodmark._outlasted(floodmark._tidy_due_files, id, settings, dry_run) -%}
    {%- if tried.error is not none -%}
        {%- do exceptions.warn("floodmark, model '" ~ id ~ "': loaded files cannot be " ~ settings.on_loaded
            ~ 'd, and stay where they are: ' ~ modules.re.sub("^floodmark, model '[^']*': ", '', tried.error)) -%}
    {%- endif -%}
    {{ return(tried.value or 0) }}
{% endmacro %}


{% macro _tidy_due_files(id, settings, dry_run) %}
    {%- set due = floodmark._due_files(id, settings) -%}
    {%- set unread = floodmark._unread_elsewhere(id, due) if due else {} -%}
    {%- set there = floodmark._present_files(settings, due) if due else [] -%}
    {%- set versions = floodmark._versions_of(there) -%}
    {%- set moved, gone = [], [] -%}
    {%- for file in due if file.path not in unread -%}
        {%- if versions[file.path] == [file.size, file.modified_at] -%}
            {%- do moved.append(file) -%}
        {%- elif file.path in versions or file.is_taken -%}
            {%- do gone.append(file) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set moved = floodmark._movable_files(id, moved) -%}
    {%- if not dry_run -%}
        {%- if gone and settings.on_loaded == 'delete' -%}
            {#- a dead run may have moved them there, and nothing more may be due -#}
            {%- do floodmark._execute(['drop database if exists ' ~ floodmark._deleting_database(id) ~ ' cascade']) -%}
        {%- endif -%}
        {%- do floodmark._record_gone(id, settings, gone, there != []) -%}
        {%- for files in floodmark._files_by_folder(moved) -%}
            {%- do floodmark._move_files(id, settings, files) -%}
            {%- do floodmark._record_archived(id, files, none) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(moved | length) }}
{% endmacro %}


{# Record files that are not in the folder any more, those that lie in the archive with their place there. A folder
   without any file may be away for a while: then nothing is recorded of files that are not in the archive either.
   `has_files` says that the folder is known to have some. #}
{% macro _record_gone(id, settings, gone, has_files) %}
    {%- set is_there = not gone or has_files or floodmark._has_files(settings) -%}
    {%- set left = [] -%}
    {%- for files in floodmark._files_by_folder(gone) -%}
        {%- set found = floodmark._in_archive(settings, files) if settings.on_loaded == 'archive' else {} -%}
        {%- set told = [] -%}
        {%- for file in files -%}
            {%- set is_archived = file.path in found and found[file.path].size == file.size -%}
            {%- do file.update({'reason': floodmark._archived_path(settings, file)}) if is_archived -%}
            {%- do (told if is_archived or is_there else left).append(file) -%}
        {%- endfor -%}
        {%- do floodmark._record_archived(id, told, 'it was not in the folder any more') if told -%}
    {%- endfor -%}
    {%- if left -%}
        {%- do exceptions.warn("floodmark, model '" ~ id ~ "': the folder " ~ settings.path ~ ' has no file now, so '
            ~ floodmark._counted(left | length, 'loaded file') ~ ' that should be in it '
            ~ ('is' if left | length == 1 else 'are') ~ ' not recorded as gone') -%}
    {%- endif -%}
{% endmacro %}


{# The files of a list that LOAD DATA can move. #}
{% macro _movable_files(id, files) %}
    {%- set found, others = [], [] -%}
    {%- for file in files -%}
        {%- do (others if floodmark._has_colon(file.path) else found).append(file) -%}
    {%- endfor -%}
    {%- if others -%}
        {%- do exceptions.warn("floodmark, model '" ~ id ~ "': " ~ floodmark._counted(others | length, 'loaded file')
            ~ (' has' if others | length == 1 else ' have') ~ ' a colon in the path, which Hadoop cannot move, and stay'
            ~ ('s' if others | length == 1 else '') ~ ' where ' ~ ('it is' if others | length == 1 else 'they are')
            ~ ', such as ' ~ others[0].path) -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}


{# Files that were committed at least `after` ago and are neither archived nor deleted: a list of {path, size,
   modified_at, batch_id, is_taken, ...}, 10,000 at most. Those that stay due come last, so that others have their turn:
   the settings of today do not take them, or their path has a colon (_movable_files). #}
{% macro _due_files(id, settings) %}
    {%- set is_taken = floodmark._is_taken_sql(settings) -%}
    {{ return(floodmark._query_json("select to_json(named_struct('path', f.path, 'size', f.size, 'modified_at', "
        "unix_micros(f.modified_at), 'batch_id', f.batch_id, 'rows', f.rows, 'rows_rescued', f.rows_rescued, "
        "'rows_quarantined', f.rows_quarantined, 'is_taken', " ~ is_taken ~ ')) from ' ~ floodmark.ledger_schema()
        ~ '.files as f join ' ~ floodmark.ledger_schema()
        ~ '.batches as b on b.model = f.model and b.batch_id = f.batch_id where f.model = '
        ~ floodmark._string_literal(id) ~ " and f.state = 'committed' and f.archived_at is null and b.finished_at <= "
        'timestampadd(microsecond, -' ~ floodmark._parse_duration(settings.after) ~ ', current_timestamp()) '
        'order by ' ~ is_taken ~ ' and ' ~ floodmark._decoded_path_sql('f.path') ~ ' rlike '
        ~ floodmark._string_literal('^(?:[\\w+.-]+:(?://[^/]*)?)?[^:]*$') ~ ' desc, f.batch_id, f.path limit 10000')) }}
{% endmacro %}


{# SQL of whether the settings, as they are now, take a loaded file. One that they leave out may lie where it was,
   though the folder does not list it. #}
{% macro _is_taken_sql(settings) %}
    {%- set path, hidden = floodmark._decoded_path_sql('f.path'), floodmark._hidden_regex(settings) -%}
    {%- set terms = floodmark._time_terms(settings, 'f.modified_at') -%}
    {%- for regex in [floodmark._folder_regex(settings), '/' ~ floodmark._glob_regex(settings.glob) ~ '$'] -%}
        {%- do terms.append(path ~ ' rlike ' ~ floodmark._string_literal(regex)) -%}
    {%- endfor -%}
    {%- do terms.append('not ' ~ path ~ ' rlike ' ~ floodmark._string_literal(hidden)) if hidden -%}
    {{ return('(' ~ terms | join(' and ') ~ ')') }}
{% endmacro %}


{# The files of a list that another model of the project has not loaded yet: {path: that model}. Only its checkpoint
   knows what a stream has read, so every file that a stream can see counts as not read. #}
{% macro _unread_elsewhere(id, files) %}
    {%- set unread = {} -%}
    {%- for name, patterns in floodmark._streamed_patterns().items() -%}
        {%- for file in files
            if modules.re.search(patterns, floodmark._without_file_scheme(floodmark._decoded_path(file.path))) -%}
            {%- do unread.update({file.path: name}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for node in floodmark._managed_nodes().values() -%}
        {%- set other, given = floodmark._node_id(node), floodmark._node_setting(node, 'files') -%}
        {%- if other != id and given is mapping -%}
            {%- set settings = floodmark._node_files(node) -%}
            {%- set committed = floodmark._model_state(other).committed -%}
            {%- set sql = floodmark._folder_files_sql(settings) if node.config.materialized == 'streaming_table'
                else floodmark._unseen_files_sql(settings, other, committed.generation if committed else none) -%}
            {%- for file in floodmark._listed(settings.path, 'select to_json(struct(path)) from (' ~ sql ~ ') where '
                ~ floodmark._files_predicate(files) | replace('_metadata.file_path', 'path')) -%}
                {%- do unread.update({file.path: other}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(unread) }}
{% endmacro %}


{# The files that models stream by their own SQL, without `files`: {model: a regular expression of their paths}. A
   stream whose source cannot be told reads any file. Ephemeral models stand in the streams of others. #}
{% macro _streamed_patterns() %}
    {%- set found = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
        {%- set sql, patterns = node.raw_code or '', [] -%}
        {%- for format, path in modules.re.findall('(?i)\\bstream\\s*\\(?\\s*(\\w+)\\s*[.]\\s*`((?:[^`]|``)+)`', sql)
            if format | lower != 'delta' -%}
            {%- do patterns.append(floodmark._streamed_pattern(path | replace('``', '`'))) -%}
        {%- endfor -%}
        {%- if modules.re.search('(?i)\\bstream\\s*\\(?\\s*[{][{](?!\\s*(ref|source)\\b)', sql)
            or node.config.materialized == 'streaming_table' and not floodmark._names_its_stream(node, sql) -%}
            {%- do patterns.append('') -%}
        {%- endif -%}
        {%- do found.update({floodmark._node_id(node): patterns | join('|')}) if patterns -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Whether the code of a streaming model shows what it streams, or an ephemeral model does. #}
{% macro _names_its_stream(node, sql) %}
    {%- set ephemeral = [] -%}
    {%- for id in node.depends_on.nodes if (graph.nodes.get(id) or {}).config.materialized == 'ephemeral' -%}
        {%- do ephemeral.append(id) -%}
    {%- endfor -%}
    {{ return(ephemeral != [] or modules.re.search('(?i)\\bstream\\s*\\(\\s*[\\w`{]|\\b(from|join)\\s+stream\\b'
        '|\\b(kafka_stream|new_files)\\s*\\(', sql) is not none) }}
{% endmacro %}


{# The path of a stream, and what lies below it, as a regular expression. Of one that Jinja makes only what stands
   behind the Jinja is known. #}
{% macro _streamed_pattern(path) %}
    {%- set known = modules.re.split('[{][{].*?[}][}]|[{]%.*?%[}]', path, flags=modules.re.S) -%}
    {%- if known | length == 1 -%}
        {%- set whole = floodmark._normal_path(floodmark._path_pattern(floodmark._absolute_path(path))) -%}
        {{ return(floodmark._printed_regex(whole) ~ '(?:/|$)') }}
    {%- elif known[-1].startswith('/') and '..' not in known[-1] -%}
        {{ return(floodmark._glob_regex(floodmark._normal_path(known[-1])) ~ '(?:/|$)') }}
    {%- endif -%}
    {{ return('') }}
{% endmacro %}


{# A node's settings of files, whole. #}
{% macro _node_files(node) %}
    {{ return(floodmark._completed_files(floodmark._with_defaults(floodmark._node_setting(node, 'files'),
        floodmark._files_schema()))) }}
{% endmacro %}


{# Lists of files that lie in one folder, 100 at most each. #}
{% macro _files_by_folder(files) %}
    {%- set folders = {} -%}
    {%- for file in files -%}
        {%- do folders.setdefault(file.path.rpartition('/')[0], []).append(file) -%}
    {%- endfor -%}
    {%- set lists = [] -%}
    {%- for found in folders.values() -%}
        {%- do lists.extend(found | batch(100)) -%}
    {%- endfor -%}
    {{ return(lists) }}
{% endmacro %}


{# Move files of one folder. Those that are archived have their place in `reason` then. A name that is taken in the
   archive is left to the file that has it: what comes later goes below a folder of its model and batch. #}
{% macro _move_files(id, settings, files) %}
    {%- if settings.on_loaded == 'delete' -%}
        {%- do floodmark._delete_files(id, settings, files) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set taken = floodmark._in_archive(settings, files) -%}
    {%- set places = {} -%}
    {%- for file in files -%}
        {%- do file.update({'reason': floodmark._archived_path(settings, file,
            [id ~ '_' ~ file.batch_id] if file.path in taken else [])}) -%}
        {%- do places.setdefault(file.reason.rpartition('/')[0], []).append(file) -%}
    {%- endfor -%}
    {%- set table = floodmark.ledger_schema() ~ '.archive__' ~ local_md5(id) -%}
    {%- for place, group in places.items() -%}
        {%- do floodmark._execute(['drop table if exists ' ~ table,
            'create external table ' ~ table ~ ' (value string) stored as textfile location '
            ~ floodmark._string_literal(place)]) -%}
        {%- do floodmark._load_data(group, table) -%}
        {%- do floodmark._execute(['drop table ' ~ table]) -%}
    {%- endfor -%}
{% endmacro %}


{# Delete files of one folder: a table that holds them is dropped. It lies in their own folder, so that no byte is
   copied, under a name that no reader sees. #}
{% macro _delete_files(id, settings, files) %}
    {%- set name = floodmark._deleting_database(id) -%}
    {%- set folder = floodmark._decoded_path(files[0].path).split('/')[:floodmark._fixed_depth(settings,
        files[0].path)] | join('/') -%}
    {%- do floodmark._execute(['create database if not exists ' ~ name ~ ' location '
        ~ floodmark._string_literal(folder ~ '/_' ~ name),
        'create table if not exists ' ~ name ~ '.files (value string) stored as textfile']) -%}
    {%- do floodmark._load_data(files, name ~ '.files') -%}
    {%- do floodmark._execute(['drop table ' ~ name ~ '.files purge', 'drop database ' ~ name]) -%}
{% endmacro %}


{# The database of the table with which files of a model are deleted. #}
{% macro _deleting_database(id) %}
    {{ return('floodmark_deleted_' ~ local_md5(id)) }}
{% endmacro %}


{# Move files of one folder below that of a table. By a pattern Hadoop lists the folder, and cannot where a name in it
   has a colon: then they go one by one. #}
{% macro _load_data(files, table) %}
    {%- set together = floodmark._tried(floodmark._execute, [floodmark._load_data_sql(files, table)])
        if files | length > 1 else {'error': 'one'} -%}
    {%- for file in files if together.error is not none -%}
        {%- do floodmark._execute([floodmark._load_data_sql([file], table)]) -%}
    {%- endfor -%}
{% endmacro %}


{% macro _load_data_sql(files, table) %}
    {{ return('load data inpath ' ~ floodmark._string_literal(floodmark._pattern_of(files)) ~ ' into table '
        ~ table) }}
{% endmacro %}


{# Where a file is archived: below `archive_to` as it was below the source; `parts` are folders between. Spark lists it
   without `.`, `..` and doubled slashes in its path. #}
{% macro _archived_path(settings, file, parts=[]) %}
    {%- set below = floodmark._decoded_path(file.path).split('/')[floodmark._fixed_depth(settings, file.path):] -%}
    {%- set path = ([floodmark._absolute_path(settings.archive_to).rstrip('/')] + parts + below) | join('/') -%}
    {{ return(('file:' if path.startswith('file:') else '') ~ floodmark._normal_path(path)) }}
{% endmacro %}


{# What lies in the archive at the places of these files: {path: {path, size}}, without files whose place is free. The
   place of a file is `archived_to`, or else where it would go. #}
{% macro _in_archive(settings, files) %}
    {%- set places, found = {}, {} -%}
    {%- for file in files -%}
        {%- do places.update({floodmark._normal_path(file.get('archived_to')
            or floodmark._archived_path(settings, file)): file}) -%}
    {%- endfor -%}
    {%- set pattern = floodmark._pattern_of_paths(places.keys() | list) -%}
    {%- set listed = floodmark._listed(settings.archive_to, "select to_json(struct(_metadata.file_path as path, "
        '_metadata.file_size as size)) from binaryFile.`' ~ pattern | replace('`', '``') ~ '` with ('
        ~ "recursiveFileLookup = 'true'" ~ floodmark._reading_options_sql(settings.archive_to) ~ ')') -%}
    {%- for one in listed -%}
        {%- set file = places.get(floodmark._without_file_scheme(floodmark._decoded_path(one.path))) -%}
        {%- do found.update({file.path: one}) if file else none -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Record that files of batches are archived or deleted, each batch's in an event of its own. #}
{% macro _record_archived(id, files, reason) %}
    {%- set events = [] -%}
    {%- for batch_id, group in files | groupby('batch_id') -%}
        {%- do events.append(floodmark._event_columns('archived', {'model': id, 'batch_id': batch_id, 'kind': 'files',
            'generation': none, 'family': none, 'low': none, 'reason': reason},
            {'files': floodmark._files_literal(group), 'recorded_by': 'current_user()'})) -%}
    {%- endfor -%}
    {%- for some in events | batch(200) -%}
        {%- do floodmark._insert_events(some, 'userMetadata = '
            ~ floodmark._string_literal('floodmark/archived/' ~ id)) -%}
    {%- endfor -%}
{% endmacro %}


{# Stop before a table is loaded anew from a folder that no longer has all that it was loaded from. #}
{% macro _check_archived(settings) %}
    {%- set archived = floodmark._archived_files_sql(settings) -%}
    {%- set count = run_query('select count(*) as files from (' ~ archived ~ ')').rows[0][0] -%}
    {%- set there = floodmark._listed(settings.path, floodmark._archived_there_sql(settings, archived))
        if count else [] -%}
    {%- set lost = count - (there[0].files if there else 0) -%}
    {%- if lost -%}
        {%- do floodmark._stop(floodmark._counted(lost, 'file') ~ ' that it was loaded from '
            ~ ('is' if lost == 1 else 'are') ~ ' archived or deleted, so --full-refresh would lose their rows. '
            "To keep the table, set full_refresh=false on the model; to load all again, put the files back with their "
            'times, or let files.path name the archive too, without on_loaded and archive_to; to load only what is in '
            'the folder now, drop the table first') -%}
    {%- endif -%}
{% endmacro %}


{# The files that a table was loaded from, and that are archived or deleted: path, size, batch_id, archived_to, and
   is_taken where the table has a later file of that path. Another model that reads the folder may have archived a file.
   Where files replace their rows, nothing is lost with an earlier load. The rows of what was forgotten are in the
   table all the same. #}
{% macro _archived_files_sql(settings) %}
    {%- set version = 'path' if settings.allow_overwrites == 'replace' else 'path, size, modified_at' -%}
    {%- set model = floodmark._string_literal(floodmark._model_id()) -%}
    {%- set schema = floodmark.ledger_schema() -%}
    select * from (
        select own.path, own.size, unix_micros(own.modified_at) as modified_at, own.batch_id, own.counts,
            own.archived_at is not null or own.state = 'committed' and others.path is not null as is_archived,
            coalesce(own.archived_to, others.archived_to) as archived_to,
            max_by(own.archived_at is null and others.path is null, own.batch_id)
                over (partition by own.path) as is_taken
        from (
            select *, row_number() over (partition by {{ version }} order by batch_id desc) = 1 as counts
            from ({{ floodmark._files_view_sql(schema ~ '.batch_log', has_forgotten=true) }})
            where model = {{ model }} and state in ('committed', 'quarantined')
        ) as own
        left join (
            select file.path, file.size, timestamp_micros(file.modified_at) as modified_at,
                max(file.reason) as archived_to
            from (
                select explode(files) as file from {{ schema }}.batch_log
                where event = 'archived' and model <> {{ model }}
            )
            group by 1, 2, 3
        ) as others
            on others.path = own.path and others.size = own.size and others.modified_at = own.modified_at
    )
    where counts and is_archived
{% endmacro %}


{# How many of these files the folder of the settings has again: where they were, with their time, or in the archive.
   A later file of that path may have the same size. #}
{% macro _archived_there_sql(settings, archived) %}
    {%- set scheme = floodmark._string_literal('^file:(?://(?=/))?') -%}
    select to_json(named_struct('files', least(count(distinct own.path, own.batch_id), count(distinct found.path))))
    from (
        select path, size, batch_id, inline(array(
            named_struct('place', if(is_taken, null, {{ floodmark._decoded_path_sql('path') }}), 'at', modified_at),
            named_struct('place', archived_to, 'at', cast(null as bigint))))
        from ({{ archived }})
    ) as own
    join (
        select path, size, modified_at, {{ floodmark._decoded_path_sql('path') }} as place
        from ({{ floodmark._folder_files_sql(settings) }})
    ) as found
        on found.size = own.size and found.modified_at = coalesce(own.at, found.modified_at)
            and regexp_replace(found.place, {{ scheme }}, '') = regexp_replace(own.place, {{ scheme }}, '')
{% endmacro %}
