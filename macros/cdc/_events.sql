{#
  The events of a batch: the SELECT's rows and what makes them events, evaluated before any column is selected away.
  `_floodmark_sequence` orders the events of a key; `_floodmark_delete` and `_floodmark_truncate` are true where the
  conditions are.
#}

{# The SELECT with these columns. A condition counts only where it is true: NULL is no delete; with `raw` it keeps its
   type. #}
{% macro _events_sql(cdc, select_sql, raw=false) %}
    {%- set conditions = [] -%}
    {%- for condition in [cdc.deletes, cdc.truncates] -%}
        {%- do conditions.append('false' if not condition
            else ('(' ~ condition ~ ')' if raw else 'coalesce((' ~ condition ~ '), false)')) -%}
    {%- endfor -%}
    {{ return('select *, (' ~ cdc.sequence ~ ') as _floodmark_sequence, ' ~ conditions[0] ~ ' as _floodmark_delete, '
        ~ conditions[1] ~ ' as _floodmark_truncate from (\n' ~ select_sql ~ '\n)') }}
{% endmacro %}


{# Events of a change feed: a commit that takes a row of a key away and adds another (an overwritten range) replaces
   it and ends nothing, though its delete may come behind its upsert in the sequence; and a stream reads what an update
   found as well. A SELECT that does not keep the feed's columns shows it by the sequence alone. #}
{% macro _without_replaced_sql(run, columns, select_sql) %}
    {%- set commits = floodmark._event_commits(run, columns, '_floodmark_sequence', '_floodmark_delete',
        '_floodmark_truncate') -%}
    {%- if commits is none -%}
        {{ return(select_sql) }}
    {%- endif -%}
    {{ return('select * except (_floodmark_added) from (select *, bool_or(' ~ commits.adds ~ ') over (partition by '
        ~ floodmark._quoted_csv(commits.key) ~ ', ' ~ commits.commit ~ ') as _floodmark_added from (\n' ~ select_sql
        ~ '\n)) where not coalesce(_floodmark_added and ' ~ commits.takes ~ ', false)') }}
{% endmacro %}


{# How events of a change feed tell that one commit takes a row of a key away and adds another, {takes, adds, commit,
   key} as SQL: by the feed's columns, or by the sequence and the conditions that are given; none where they do not.
   Of what is no feed, columns with those names are the analyst's. #}
{% macro _event_commits(run, columns, sequence, deletes, truncates) %}
    {%- set keys = run.settings.unique_key -%}
    {%- if run.settings.cdc.reads_feed and floodmark._find_column(columns, '_change_type')
        and floodmark._find_column(columns, '_commit_version') -%}
        {{ return({'takes': "coalesce(_change_type in ('delete', 'update_preimage'), false)",
            'adds': "_change_type in ('insert', 'update_postimage')", 'commit': '_commit_version', 'key': keys}) }}
    {%- elif floodmark._are_of_a_state(run, columns) -%}
        {{ return({'takes': deletes, 'adds': 'not ' ~ deletes ~ ' and not ' ~ truncates, 'commit': sequence,
            'key': keys}) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# Whether the events are the changes of a state, where a row that is deleted is a delete. Of a stream its text tells:
   there the feed says what a delete is, and no column of the upstream. #}
{% macro _are_of_a_state(run, columns) %}
    {%- if floodmark._reads_changes(run) -%}
        {{ return(floodmark._reads_state(run.sql)) }}
    {%- endif -%}
    {%- set cdc = run.settings.cdc -%}
    {{ return(cdc.reads_feed and cdc.deletes is not none and floodmark._tells_change(cdc)
        and floodmark._names_beyond(run, columns, [cdc.deletes])) }}
{% endmacro %}


{# The columns of the table that are the analyst's own: those of the SELECT, in its order, after column_list or
   except_column_list. #}
{% macro _own_columns(cdc, columns) %}
    {%- set only = cdc.column_list | map('lower') | list -%}
    {%- set without = cdc.except_column_list | map('lower') | list -%}
    {%- set found = [] -%}
    {#- columns of a change feed are Delta's; of what is none they are the analyst's -#}
    {%- set not_own = floodmark._change_columns() if cdc.reads_feed else [] -%}
    {%- for column in floodmark._without_columns(columns, not_own)
        if not (column.name | lower).startswith('_floodmark_') -%}
        {%- if (not only or column.name | lower in only) and column.name | lower not in without -%}
            {%- do found.append(column) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The own columns of the table as it stands since _align_cdc. #}
{% macro _table_own_columns(run) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set added = [floodmark._memory_column(cdc)] + ([cdc.start_at | lower, cdc.end_at | lower] if cdc.scd_type == 2
        else []) -%}
    {%- set columns = [] -%}
    {%- for column in floodmark._table_columns(run)
        if column.name | lower not in added + run.get('foreign_columns', []) -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# All columns of the table: the analyst's, start and end of a row's validity in SCD 2, and what a row remembers of
   its events. #}
{% macro _cdc_table_columns(cdc, columns) %}
    {%- set type = floodmark._find_column(columns, '_floodmark_sequence').type -%}
    {%- set added = [{'name': floodmark._memory_column(cdc),
        'type': floodmark._memory_type(type) if floodmark._ignores_nulls(cdc) else type}] -%}
    {%- if cdc.scd_type == 2 -%}
        {%- set added = [{'name': cdc.start_at, 'type': type}, {'name': cdc.end_at, 'type': type}] + added -%}
    {%- endif -%}
    {{ return(floodmark._own_columns(cdc, columns) + added) }}
{% endmacro %}


{# A SELECT of no rows with the columns of the table that these events would make. #}
{% macro _cdc_shape_sql(run, select_sql) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set events = floodmark._events_sql(cdc, select_sql) -%}
    {%- set columns = [] -%}
    {%- for column in floodmark._cdc_table_columns(cdc, floodmark._columns_of(query=events)) -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- set is_own = not column.name.startswith('_floodmark_') and column.name not in [cdc.start_at, cdc.end_at] -%}
        {%- do columns.append((quoted if is_own else 'cast(null as ' ~ column.type ~ ')') ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {{ return('select ' ~ columns | join(', ') ~ ' from (\n' ~ events ~ '\n) where false') }}
{% endmacro %}


{# The columns whose changes start a new row in SCD 2: by default all but the key, what sequence_by names, which
   differs in every event, and where an event was read. #}
{% macro _tracked_columns(run, own) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set only = cdc.tracked | map('lower') | list -%}
    {%- set without = (run.settings.unique_key + cdc.untracked + floodmark._origin_columns(run.settings)) | map('lower')
        | list -%}
    {%- set names = [] -%}
    {%- for column in own if (column.name | lower in only if only
        else column.name | lower not in without and not floodmark._is_named(column.name, cdc.sequence_by)) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# The columns of the events as they will be in the table. Where Spark cannot analyse the events, each setting that is
   wrong is refused. #}
{% macro _conformed_event_columns(run, batch, select_sql) %}
    {%- do floodmark._keep_sequence_names(run, batch) -%}
    {%- set tried = floodmark._tried(floodmark._select_columns, run,
        floodmark._events_sql(run.settings.cdc, select_sql, raw=true)) -%}
    {%- if tried.error is not none -%}
        {%- set given = floodmark._select_columns(run, select_sql) -%}
        {%- set problems = floodmark._event_clause_problems(run.settings.cdc, given, select_sql) -%}
        {%- do floodmark._check_event_columns(run, batch, given + floodmark._any_event_columns(), problems)
            if problems -%}
        {%- do adapter.floodmark_raise(tried.raised) -%}
    {%- endif -%}
    {{ return(floodmark._conformed_columns(run, batch, tried.value)) }}
{% endmacro %}


{# What Spark cannot analyse of what makes rows events, one by one: a list of problems. #}
{% macro _event_clause_problems(cdc, columns, select_sql) %}
    {%- set problems = [] -%}
    {%- for part in cdc.sequence_by -%}
        {%- set found = floodmark._tried(floodmark._condition_types, [{'sql': '(' ~ part ~ ')'}], select_sql) -%}
        {%- if found.error is not none -%}
            {%- do problems.append({'setting': 'cdc.sequence_by', 'got': part,
                'expected': "an expression of the SELECT's columns (" ~ columns | map(attribute='name') | join(', ')
                ~ ')', 'todo': (found.error | trim).split('\n')[0]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for setting, condition in {'apply_as_deletes': cdc.deletes, 'apply_as_truncates': cdc.truncates}.items()
        if condition -%}
        {%- do problems.extend(floodmark._condition_problems(
            {'setting': 'cdc.' ~ setting, 'sql': '(' ~ condition ~ ')'}, columns, select_sql)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The columns of _events_sql with types that nothing forbids, in place of those that Spark cannot tell. #}
{% macro _any_event_columns() %}
    {{ return([{'name': '_floodmark_sequence', 'type': 'bigint', 'ddl': 'bigint'},
        {'name': '_floodmark_delete', 'type': 'boolean', 'ddl': 'boolean'},
        {'name': '_floodmark_truncate', 'type': 'boolean', 'ddl': 'boolean'}]) }}
{% endmacro %}


{# The columns of the events as they will be in the table, checked before anything is written. #}
{% macro _checked_events(run, batch, select_sql) %}
    {%- set columns = floodmark._conformed_event_columns(run, batch, select_sql) -%}
    {%- do floodmark._check_event_columns(run, batch, columns) -%}
    {%- if config.get('contract').enforced and not floodmark._replays_rows(batch) -%}
        {%- do floodmark._assert_contract(floodmark._cdc_shape_sql(run, select_sql)) -%}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}


{# What the types of the events forbid, refused with all problems at once, also with those that are `known` already,
   before anything is written. #}
{% macro _check_event_columns(run, batch, columns, known=[]) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set own = floodmark._own_columns(cdc, columns) -%}
    {%- set given = columns[:-3] -%}
    {%- set problems = known | list -%}
    {%- set type = floodmark._find_column(columns, '_floodmark_sequence').type -%}
    {%- if floodmark._has_no_order(type) -%}
        {%- do problems.append({'setting': 'cdc.sequence_by', 'got': cdc.sequence ~ ' ' ~ type,
            'expected': 'a type that has an order', 'todo': 'Use a number, a time or text'}) -%}
    {%- endif -%}
    {%- for name in ['_floodmark_delete', '_floodmark_truncate']
        if floodmark._find_column(columns, name).type != 'boolean' -%}
        {%- do problems.append({'setting': 'cdc.apply_as_' ~ name[11:] ~ 's',
            'got': cdc[name[11:] ~ 's'] ~ ' ' ~ floodmark._find_column(columns, name).type, 'expected': 'a condition',
            'todo': "Write one, such as \"operation = 'DELETE'\""}) -%}
    {%- endfor -%}
    {%- do problems.extend(floodmark._key_problems(run, run.settings.unique_key, own, cdc)) -%}
    {%- for setting in ['column_list', 'except_column_list', 'track_history_column_list',
        'track_history_except_column_list', 'ignore_null_updates'] -%}
        {%- set listed = cdc[{'track_history_column_list': 'tracked',
            'track_history_except_column_list': 'untracked'}.get(setting, setting)] -%}
        {%- for name in ([] if listed is boolean else listed)
            if not floodmark._find_column(given if setting in ['column_list', 'except_column_list']
            else own + ([] if batch.replaces or not run.target.is_delta else floodmark._table_own_columns(run)),
            name) and not floodmark._is_untyped_column(run, name) -%}
            {%- do problems.append({'setting': 'cdc.' ~ setting, 'got': name,
                'expected': 'columns of the ' ~ ('SELECT' if setting in ['column_list', 'except_column_list']
                else 'table'), 'todo': 'Correct the name or remove it'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set kept = [cdc.start_at, cdc.end_at] if cdc.scd_type == 2 else [] -%}
    {%- do problems.extend(floodmark._own_name_problems(given, 'cdc', kept)
        + floodmark._doubled_problems(given, 'cdc') + floodmark._feed_sequence_problems(run, given)) -%}
    {%- if not problems and not batch.replaces and run.target.exists -%}
        {%- if batch.begins -%}
            {%- do problems.extend(floodmark._compared_type_problems(run, columns)) -%}
            {%- do floodmark._adopt_cdc_table(run, columns) if not problems -%}
        {%- endif -%}
        {%- do problems.extend(floodmark._key_type_problems(run, columns)) if not problems -%}
    {%- endif -%}
    {%- do floodmark._reject_columns(problems, 'the columns of the events do not fit') -%}
{% endmacro %}


{# Keys and the sequence must be of the table's own types: what they compare with does not change under them. So must
   start and end, into which a MERGE would cast the sequence without a word. What cdc has yet to add to a table that
   somebody made has no other type. #}
{% macro _compared_type_problems(run, columns) %}
    {%- set cdc, table = run.settings.cdc, floodmark._table_columns(run) -%}
    {%- set problems = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- do problems.extend(floodmark._type_problems('unique_key', key,
            floodmark._find_column(columns, key).type, floodmark._find_column(table, key))) -%}
    {%- endfor -%}
    {%- set type = floodmark._find_column(columns, '_floodmark_sequence').type -%}
    {%- set memory = floodmark._find_column(table, floodmark._memory_column(cdc)) -%}
    {%- set known = type if memory is none else (memory.type if memory.name == '_floodmark_sequence'
        else floodmark._struct_fields(memory.type)[0].type) -%}
    {%- set of_sequence = floodmark._type_problems('cdc.sequence_by', cdc.sequence, type, {'type': known}) -%}
    {%- for setting in ['start_at', 'end_at'] if cdc.scd_type == 2 and not of_sequence -%}
        {%- set column = floodmark._find_column(table, cdc[setting]) -%}
        {%- do problems.extend(floodmark._type_problems('cdc.' ~ setting, cdc.sequence, type, column)) if column -%}
    {%- endfor -%}
    {{ return(problems + of_sequence) }}
{% endmacro %}


{# What the table and the settings differ in: a list of problems. #}
{% macro _key_type_problems(run, columns) %}
    {%- set problems = [] -%}
    {%- set described = run_query('describe table extended ' ~ this).rows -%}
    {%- set table = floodmark._table_columns(run) -%}
    {%- set cdc = run.settings.cdc -%}
    {%- for name in [floodmark._memory_column(cdc)] + ([cdc.start_at, cdc.end_at] if cdc.scd_type == 2 else [])
        if not floodmark._find_column(table, name) -%}
        {%- do problems.append({'setting': 'incremental_strategy',
            'got': 'cdc on ' ~ this ~ ', which has no column ' ~ name,
            'expected': 'a table that cdc made with these settings', 'todo': 'Run it once with --full-refresh'}) -%}
    {%- endfor -%}
    {%- set made = {} -%}
    {%- for row in described if row[0] == 'Table Properties' -%}
        {%- for name, value in modules.re.findall('floodmark\\.(cdc|foreign|sequence)=([0-9a-f]*)', row[1]) -%}
            {%- do made.update({name: floodmark._from_property(value)}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set made_by = made.get('cdc') -%}
    {%- if not problems and made_by is not none
        and made_by not in [floodmark._cdc_made_by(cdc, run.settings.unique_key),
        floodmark._cdc_made_by(cdc, run.settings.unique_key | sort)] -%}
        {%- do problems.append({'setting': 'unique_key', 'got': floodmark._cdc_made_by(cdc, run.settings.unique_key),
            'expected': made_by ~ ', as ' ~ this ~ ' was made',
            'todo': 'Run it once with --full-refresh to change the key or the SCD type'}) -%}
    {%- endif -%}
    {%- if not problems -%}
        {%- do problems.extend(floodmark._compared_type_problems(run, columns)) -%}
        {%- if 'cdc.sequence_by' not in problems | map(attribute='setting') | list -%}
            {%- do problems.extend(floodmark._changed_sequence_problems(cdc, made.get('sequence'))) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if not problems -%}
        {%- do run.update({'foreign_columns': floodmark._still_foreign(fromjson(made.get('foreign') or '[]'),
            floodmark._own_columns(cdc, columns))}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Make an empty table that is there one of cdc: the columns that it writes beside the analyst's, and no memory of
   events that are gone. Columns that the SELECT lacks are not written at all: the table may generate them. #}
{% macro _adopt_cdc_table(run, columns) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set added = [floodmark._memory_column(cdc)] + ([cdc.start_at, cdc.end_at] if cdc.scd_type == 2 else []) -%}
    {%- set wanted = floodmark._columns_named(floodmark._cdc_table_columns(cdc, columns), added) -%}
    {%- set properties = floodmark._cdc_properties(run, columns + wanted) -%}
    {%- set missing = [] -%}
    {%- for column in wanted if not floodmark._find_column(floodmark._table_columns(run), column.name) -%}
        {%- do missing.append(column) -%}
    {%- endfor -%}
    {%- do floodmark._add_columns(this, {'new': missing, 'fields': []}) -%}
    {%- do floodmark._forget_state() -%}
    {%- do floodmark._set_properties(properties) -%}
    {%- do run.update({'table_columns': none, 'is_state_marked': none}) -%}
{% endmacro %}


{# What an empty table that somebody else made is marked with: the settings that its rows will depend on, and its
   columns that are not among `given` and that cdc must not write. #}
{% macro _cdc_properties(run, given) %}
    {%- set foreign = floodmark._foreign_names(floodmark._table_columns(run), given) -%}
    {%- do run.update({'foreign_columns': foreign}) -%}
    {%- set made_by = floodmark._cdc_made_by(run.settings.cdc, run.settings.unique_key | sort) -%}
    {{ return(dict(floodmark._foreign_property(foreign), **dict(floodmark._sequence_property(run.settings.cdc),
        **{'floodmark.cdc': floodmark._to_property(made_by)}))) }}
{% endmacro %}


{# Counts of a batch's events in one pass: {rows_read, keyless, unordered, same, deletes, truncates, rows_tied, min_i,
   max_i, least, greatest}. #}
{% macro _event_counts(run, stage, columns) %}
    {%- set keys = run.settings.unique_key -%}
    {%- set quoted = floodmark._quoted_csv(keys) -%}
    {%- set values = ["'rows_read', coalesce(sum(_floodmark_rows), 0)",
        "'deletes', coalesce(sum(_floodmark_deletes), 0)",
        "'truncates', coalesce(sum(if(_floodmark_truncate, _floodmark_rows, 0)), 0)",
        "'same', count_if(_floodmark_rows > 1 and not _floodmark_truncate)",
        "'unordered', coalesce(sum(if(" ~ floodmark._unordered_sql(columns) ~ ', _floodmark_rows, 0)), 0)'] -%}
    {%- do values.extend(floodmark._key_ranges(keys, columns)) -%}
    {%- do values.append("'keyless', coalesce(sum(if(" ~ floodmark._keyless_sql(run)
        ~ ', _floodmark_rows, 0)), 0)') -%}
    {%- set sequence = floodmark._find_column(columns, '_floodmark_sequence') -%}
    {%- if floodmark._has_range(sequence) -%}
        {%- do values.extend(floodmark._range_counts('least', 'greatest', sequence.type, '_floodmark_sequence',
            '_floodmark_sequence')) -%}
    {%- endif -%}
    {%- set counts = floodmark._query_json('select to_json(named_struct(' ~ values | join(', ') ~ ')) from (select '
        ~ quoted ~ ', _floodmark_sequence, _floodmark_truncate, count(*) as _floodmark_rows, '
        'count_if(_floodmark_delete) as _floodmark_deletes from ' ~ stage ~ ' group by ' ~ quoted
        ~ ', _floodmark_sequence, _floodmark_truncate)')[0] -%}
    {%- do counts.update({'rows_tied': 0, 'tied_keys': []}) -%}
    {%- if counts.same -%}
        {%- do counts.update(floodmark._event_ties(run, stage, columns)) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{# An event that needs a key and lacks a part of it. #}
{% macro _keyless_sql(run) %}
    {{ return('(not _floodmark_truncate and ' ~ floodmark._null_key_sql(run) ~ ')') }}
{% endmacro %}


{# Events that differ from another of their key and sequence, in more than where they were read: {rows_tied, tied_keys},
   the keys of five of them. #}
{% macro _event_ties(run, stage, columns) %}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set hash = floodmark._row_hash_sql(floodmark._without_columns(floodmark._own_columns(run.settings.cdc, columns),
        floodmark._origin_columns(run.settings)), rescued=floodmark._rescued_column(run.settings)) -%}
    {{ return(floodmark._query_json(
        "select to_json(named_struct('rows_tied', coalesce(sum(hashes - 1), 0), 'tied_keys', "
        "slice(array_sort(collect_list(named)), 1, 5))) from (" ~ 'select count(distinct if(_floodmark_delete, null, '
        ~ hash ~ ")) + max(if(_floodmark_delete, 1, 0)) as hashes, to_json(struct(" ~ keys
        ~ ', _floodmark_sequence as sequence)) as named from ' ~ stage ~ ' where not _floodmark_truncate group by '
        ~ keys ~ ', _floodmark_sequence) where hashes > 1')[0]) }}
{% endmacro %}


{# Events without a key or a sequence: the batch is rejected as a whole, the rows named. Ties are named in a warning
   once the batch is committed. #}
{% macro _check_events(run, batch, source) %}
    {%- set counts = source.counts -%}
    {%- set cdc = run.settings.cdc -%}
    {%- set found = [] -%}
    {%- if counts.keyless -%}
        {%- do found.append(floodmark._counted(counts.keyless, 'event') ~ (' has' if counts.keyless == 1 else ' have')
            ~ ' no ' ~ run.settings.unique_key | join(' or ')) -%}
    {%- endif -%}
    {%- if counts.unordered -%}
        {%- do found.append(floodmark._counted(counts.unordered, 'event')
            ~ (' has' if counts.unordered == 1 else ' have') ~ ' no sequence (' ~ cdc.sequence ~ ')') -%}
    {%- endif -%}
    {%- if found -%}
        {%- set names = floodmark._quoted_csv(floodmark._own_columns(dict(cdc, column_list=[], except_column_list=[]),
            source.columns) | map(attribute='name') | list) -%}
        {%- set shown = run_query('select left(to_json(struct(' ~ names ~ ')), 300) as event from ' ~ source.stage
            ~ ' where ' ~ floodmark._unordered_sql(source.columns) ~ ' or ' ~ floodmark._keyless_sql(run)
            ~ ' order by 1 limit 5').columns[0].values() -%}
        {%- do floodmark._stop(found | join(' and ') ~ ': ' ~ shown | join(', ')
            ~ '. Nothing was written: ' ~ (floodmark._way_out_of_replay() if floodmark._replays_rows(batch)
            else 'leave them out in the SELECT, or give them a value'),
            rejects=found | join(' and ')) -%}
    {%- endif -%}
    {%- if counts.rows_tied -%}
        {%- do floodmark._warn_once(run, floodmark._counted(counts.rows_tied, 'event')
            ~ (' has' if counts.rows_tied == 1 else ' have')
            ~ ' the key and the sequence of another event but other values: ' ~ counts.tied_keys | join(', ') ~ '. '
            ~ ('A delete' if cdc.scd_type == 2 else 'An upsert') ~ ' beats '
            ~ ('an upsert' if cdc.scd_type == 2 else 'a delete')
            ~ ', and of two upserts the one with the greater hash stays') -%}
    {%- endif -%}
{% endmacro %}
