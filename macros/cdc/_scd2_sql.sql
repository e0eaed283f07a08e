{#
  SCD 2: the events of a key, one a sequence, in their order. A longest run of upserts with equal tracked columns and no
  delete between is one row: the values of its last event, from the sequence of its first up to the next event that is
  not of the run, open where there is none. Of two events of one sequence a delete beats an upsert, and of two upserts
  the greater row hash wins.

  The table shows of each run its last event, the sequence of its first and where it ends; the events between, and
  deletes that end no row, are remembered beside it. So every event of a key can be told from the two, and a batch lines
  up again what it may change: of each of its keys the rows that end at or after the batch's first event. Where all its
  events are later than all that is known (the table's peak), those are the open rows, the state table stays as
  it is, and a row goes on from the start that it has.
#}

{# A SELECT with one row for each event of the batch's keys that changes the table or the state table: the table's
   columns as of this event, _floodmark_sequence, _floodmark_delete, and four flags. table_write: write the row whose
   last event this is. table_remove: no row starts here any more. state_write and state_remove: put the event into the
   state table, or take it out. #}
{% macro _scd2_sql(run, batch, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set known = floodmark._own_columns(cdc, source.columns) -%}
    {%- set own = known if batch.replaces else floodmark._table_own_columns(run) -%}
    {%- set names = own | map(attribute='name') | list -%}
    {#- a column that the events lack is not theirs to decide by -#}
    {%- set given, missing = [], [] -%}
    {%- for name in names -%}
        {%- do (given if floodmark._find_column(known, name) else missing).append(name) -%}
    {%- endfor -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set partial = floodmark._ignores_nulls(cdc) -%}
    {%- set restates = floodmark._restates_from(batch) is not none -%}
    {#- marks of what goes are no events -#}
    {%- set live = " and _floodmark_what not in ('start', 'gone')" if restates else '' -%}
    {%- set parts = floodmark._leaves_of(run, own, known) if partial else none -%}
    {%- set carried = floodmark._carried_columns(run, parts, known, '', '_floodmark_sequence') if partial
        else floodmark._given_sql(own, known) -%}
    {%- set as_were = parts.plain | map(attribute='name') | select('in', missing) | list if partial else missing -%}
    {%- set one_each = source.get('is_ahead') and not source.counts.same %}
    with members as (
        select {{ carried }}, _floodmark_sequence, _floodmark_delete, 'event' as _floodmark_what,
            cast(null as {{ type }}) as _floodmark_old_start,
            cast(null as {{ type }}) as _floodmark_old_end{{', cast(null as string) as _floodmark_before' if partial }}
        from {{ source.stage }}
        {%- if not batch.replaces %}
        union all
        {{ floodmark._scd2_marked_sql(run, batch, source, own, parts, type) if restates
            else (floodmark._scd2_open_sql if source.get('is_ahead') else floodmark._scd2_known_sql)(run, source, own,
            parts, type) }}
        {%- endif %}
        {#- every window below is within a key: one shuffle #}
        distribute by {{ keys }}
    ),
    ranked as (
        {%- if one_each %}
        {#- one event a sequence #}
        select *, 1 as _floodmark_rank, coalesce(_floodmark_old_start = _floodmark_sequence, false)
            as _floodmark_started, false as _floodmark_hidden,
            _floodmark_sequence as _floodmark_lowest{{ floodmark._known_values_sql(as_were) }}
        from members
        {%- else %}
        select *,
            row_number() over (partition by {{ keys }}, _floodmark_sequence
                order by _floodmark_what in ('start', 'gone'), _floodmark_delete desc,
                {{ floodmark._row_hash_sql(floodmark._columns_named(own,
                    (parts.plain | map(attribute='name') | select('in', given) | list) + run.settings.unique_key
                    if partial else given)) }} desc,
                array_position(array('row', 'hidden', 'end', 'event'), _floodmark_what)) as _floodmark_rank,
            bool_or(_floodmark_what = 'start' or _floodmark_what = 'row' and _floodmark_old_start = _floodmark_sequence)
                over (partition by {{ keys }}, _floodmark_sequence) as _floodmark_started,
            bool_or(_floodmark_what in ('hidden', 'gone')) over (partition by {{ keys }}, _floodmark_sequence)
                as _floodmark_hidden,
            min(if(_floodmark_what = 'hidden', null, _floodmark_sequence)) over (partition by {{ keys }})
                as _floodmark_lowest{{ floodmark._known_values_sql(as_were, keys) }}
        from members
        {%- endif %}
    ),
    {%- if partial %}
    {{ floodmark._filled_sql(own, parts, as_were, keys, type, live) }}
    {%- else %}
    formed as (
        select *{{ floodmark._kept_columns_sql(as_were, own, keys) }}
        from ranked where _floodmark_rank = 1 and _floodmark_sequence >= _floodmark_lowest{{ live }}
    ),
    {%- endif %}
    hashed as (
        select *, {{ floodmark._fingerprint_sql(own, floodmark._tracked_columns(run, own),
            floodmark._rescued_column(run.settings)) }} as _floodmark_tracked
            from formed
    ),
    lined as (
        select *,
            lead(_floodmark_sequence) over (partition by {{ keys }} order by _floodmark_sequence) as _floodmark_next,
            coalesce(lead(_floodmark_delete) over (partition by {{ keys }} order by _floodmark_sequence), true)
                as _floodmark_next_deletes,
            lead(_floodmark_tracked) over (partition by {{ keys }} order by _floodmark_sequence)
                as _floodmark_next_tracked,
            coalesce(lag(_floodmark_delete) over (partition by {{ keys }} order by _floodmark_sequence), true)
                as _floodmark_begins_anew,
            lag(_floodmark_tracked) over (partition by {{ keys }} order by _floodmark_sequence)
                as _floodmark_before_tracked
        from hashed
    ),
    flagged as (
        select *,
            not _floodmark_delete and (_floodmark_begins_anew or _floodmark_before_tracked <> _floodmark_tracked)
                as _floodmark_begins,
            not _floodmark_delete and (_floodmark_next_deletes or _floodmark_next_tracked <> _floodmark_tracked)
                as _floodmark_ends
        from lined
    ),
    bounded as (
        select *, if(_floodmark_delete, _floodmark_begins_anew, not _floodmark_ends) as _floodmark_remembered,
            last_value(if(_floodmark_begins,
                {{'coalesce(_floodmark_old_start, _floodmark_sequence)' if source.get('is_ahead')
                    else '_floodmark_sequence' }}, null), true)
                over (partition by {{ keys }} order by _floodmark_sequence rows between unbounded preceding
                    and current row) as _floodmark_start
        from flagged
    ),
    resolved as (
        select {{ floodmark._quoted_csv(names) }}, {{'_floodmark_columns, ' if partial }}_floodmark_sequence,
            _floodmark_delete,
            _floodmark_start as {{ floodmark._quoted(cdc.start_at) }},
                _floodmark_next as {{ floodmark._quoted(cdc.end_at) }},
            _floodmark_ends and not (_floodmark_what = 'row' and _floodmark_old_start <=> _floodmark_start
                and _floodmark_old_end <=> _floodmark_next{{' and _floodmark_same' if partial }})
                as _floodmark_table_write,
            _floodmark_started and not _floodmark_begins as _floodmark_table_remove,
            _floodmark_remembered and not (_floodmark_what = 'hidden'{{' and _floodmark_same' if partial }})
                as _floodmark_state_write,
            _floodmark_hidden and not _floodmark_remembered as _floodmark_state_remove
        from bounded
    )
    select * from resolved where _floodmark_table_write or _floodmark_table_remove or _floodmark_state_write
        or _floodmark_state_remove
    {%- if restates %}
    {%- set gone = [] %}
    {%- for column in own %}
        {%- set quoted = floodmark._quoted(column.name) %}
        {%- do gone.append(quoted if column.name | lower in run.settings.unique_key | map('lower') | list
            else 'cast(null as ' ~ column.ddl ~ ')') %}
    {%- endfor %}
    union all
    select {{ gone | join(', ') }}, {{'null, ' if partial }}_floodmark_sequence, false, null, null, false,
        _floodmark_started, false, _floodmark_hidden
    from ranked where _floodmark_rank = 1 and _floodmark_what in ('start', 'gone')
    {%- endif %}
{% endmacro %}


{# Of columns that the events lack the value of what is known of a sequence, whichever of its members ranks first:
   `_floodmark_known_<n>`, a struct; NULL where only the batch has the sequence. Without `keys` a sequence has one
   member. #}
{% macro _known_values_sql(missing, keys=none) %}
    {%- set columns = [''] -%}
    {%- for name in missing -%}
        {%- set value = "if(_floodmark_what in ('event', 'start', 'gone'), null, struct(" ~ floodmark._quoted(name)
            ~ ' as v))' -%}
        {%- do columns.append((value if keys is none else 'first_value(' ~ value ~ ', true) over (partition by ' ~ keys
            ~ ', _floodmark_sequence)') ~ ' as _floodmark_known_' ~ loop.index0) -%}
    {%- endfor -%}
    {{ return(columns | join(', ')) }}
{% endmacro %}


{# Columns that the events lack (_known_values_sql), behind a star: as the event before had them, NULL after a
   delete. #}
{% macro _kept_columns_sql(missing, own, keys) %}
    {%- set columns = [' except (' ~ floodmark._quoted_csv(missing) ~ ')' if missing else ''] -%}
    {%- for name in missing -%}
        {%- set nothing = 'cast(null as ' ~ floodmark._find_column(own, name).ddl ~ ')' -%}
        {%- do columns.append('last_value(if(_floodmark_delete, struct(' ~ nothing ~ ' as v), _floodmark_known_'
            ~ loop.index0 ~ '), true) over (partition by ' ~ keys
            ~ ' order by _floodmark_sequence rows between unbounded preceding and current row).v as '
            ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {{ return(columns | join(', ')) }}
{% endmacro %}


{# Columns by name; NULL where the relation lacks one. #}
{% macro _given_sql(columns, known, prefix='') %}
    {%- set values = [] -%}
    {%- for column in columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- do values.append((prefix ~ quoted if floodmark._find_column(known, column.name)
            else 'cast(null as ' ~ column.ddl ~ ')') ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {{ return(values | join(', ')) }}
{% endmacro %}


{# The columns of a row or an event with ignore_null_updates: keys, columns that are written as they come, and leaves
   with the sequences that set them. #}
{% macro _carried_columns(run, parts, known, prefix, sequence, set=none) %}
    {%- set columns = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- do columns.append(prefix ~ floodmark._quoted(key)) -%}
    {%- endfor -%}
    {{ return(columns | join(', ') ~ floodmark._member_columns(parts.plain, parts.leaves, known, prefix, sequence,
        set)) }}
{% endmacro %}


{# What a batch above the peak may change of its keys: the last event of the open row. #}
{% macro _scd2_open_sql(run, source, own, parts, type) %}
    {%- set known = 'DBT_INTERNAL_DEST.' -%}
    {%- set cdc = run.settings.cdc -%}
    {%- set start, end = known ~ floodmark._quoted(cdc.start_at), known ~ floodmark._quoted(cdc.end_at) %}
        select {{ floodmark._known_columns(run, own, parts, known) }}, {{ floodmark._row_sequence(cdc, known) }}, false,
            'row', {{ start }}, {{ end }}{{', ' ~ floodmark._row_before_sql(own, type, known) if parts }}
        from {{ this }} as DBT_INTERNAL_DEST left semi join {{ source.stage }} as DBT_INTERNAL_SOURCE
            on {{ floodmark._key_predicates(run, source) | join(' and ') }} and {{ end }} is null
{% endmacro %}


{# The columns of the table's rows, or of the events beside them (_remembered), as members of what is lined up. #}
{% macro _known_columns(run, own, parts, prefix, remembered=none) %}
    {%- set known = remembered.columns if remembered else own -%}
    {%- set sequence = prefix ~ ('_floodmark_sequence' if remembered else '_floodmark_columns.sequence') -%}
    {{ return(floodmark._carried_columns(run, parts, known, prefix, sequence, prefix ~ '_floodmark_columns.set')
        if parts else floodmark._given_sql(own, known, prefix)) }}
{% endmacro %}


{# ignore_null_updates: how a row or an event stands now. #}
{% macro _row_before_sql(own, type, prefix) %}
    {{ return(floodmark._hash_text_sql(floodmark._row_hash_sql(own + [{'name': '_floodmark_columns',
        'type': floodmark._memory_type(type)}], prefix))) }}
{% endmacro %}


{# What is known of the batch's keys, as events: of each row that may change its last event ('row'), its start where
   that is another event, and the delete that ended it ('end'); and the events of the state table ('hidden'). #}
{% macro _scd2_known_sql(run, source, own, parts, type) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set start = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(cdc.start_at) -%}
    {%- set end = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(cdc.end_at) -%}
    {%- set last = floodmark._row_sequence(cdc, 'k.') -%}
    {%- set touched = '(select ' ~ keys ~ ', min(_floodmark_sequence) as _floodmark_least from ' ~ source.stage
        ~ ' group by ' ~ keys ~ ')' %}
        select {{ floodmark._known_columns(run, own, parts, 'k.') }},
            m._floodmark_at, m._floodmark_delete, m._floodmark_what, k._floodmark_start,
                k._floodmark_end{{', ' ~ floodmark._row_before_sql(own, type, 'k.') if parts }}
        from (
            select DBT_INTERNAL_DEST.*, {{ start }} as _floodmark_start, {{ end }} as _floodmark_end,
                lead({{ start }}) over (partition by {{ floodmark._quoted_csv(run.settings.unique_key,
                    'DBT_INTERNAL_DEST.') }} order by {{ start }}) as _floodmark_next
            from {{ this }} as DBT_INTERNAL_DEST join {{ touched }} as DBT_INTERNAL_SOURCE
                on {{ (floodmark._key_predicates(run, source) + floodmark._scd2_reach(run, source)) | join(' and ') }}
                and ({{ end }} is null or {{ end }} >= DBT_INTERNAL_SOURCE._floodmark_least)
        ) as k lateral view inline(array(
            named_struct('at', {{ last }}, 'deletes', false, 'what', 'row'),
            named_struct('at', if(k._floodmark_start = {{ last }}, null, k._floodmark_start), 'deletes', false, 'what',
                'start'),
            named_struct('at', if(k._floodmark_next <=> k._floodmark_end, null, k._floodmark_end), 'deletes', true,
                'what', 'end')
        )) m as _floodmark_at, _floodmark_delete, _floodmark_what
        where m._floodmark_at is not null
        {%- if source.has_state %}
        {%- set remembered = floodmark._remembered(own) %}
        union all
        select {{ floodmark._known_columns(run, own, parts, 'h.', remembered) }},
            h._floodmark_sequence, h._floodmark_kind = 'delete', 'hidden', null,
                null{{', ' ~ floodmark._row_before_sql(own, type, 'h.') if parts }}
        from {{ remembered.from }} as h left semi join {{ touched }} as e
            on {{ floodmark._same_key(run, 'h', 'e') }}
        {%- endif %}
{% endmacro %}


{# ignore_null_updates: one event a sequence, leaf by leaf, and each leaf filled with what was set last since the last
   delete. #}
{% macro _filled_sql(own, parts, as_were, keys, type, live) %}
    {%- set so_far = 'over (partition by ' ~ keys
        ~ ' order by _floodmark_sequence rows between unbounded preceding and current row)' -%}
    {%- set same = 'over (partition by ' ~ keys ~ ', _floodmark_sequence)' -%}
    {%- set collapsed, filled, kept, values, ats = [], [], [], {}, {} -%}
    {%- for leaf in parts.leaves -%}
        {%- set i = loop.index0 | string -%}
        {%- set value, at, set_at = '_floodmark_leaf_' ~ i, '_floodmark_at_' ~ i, '_floodmark_set_' ~ i -%}
        {%- set unset = 'if(' ~ value ~ " is null or _floodmark_delete or _floodmark_what in ('start', 'gone'), null, "
            -%}
        {%- do collapsed.append('max_by(' ~ value ~ ', ' ~ unset ~ 'struct(' ~ at ~ ', '
            ~ floodmark._leaf_hash_sql(leaf, value) ~ '))) ' ~ same ~ ' as _floodmark_value_' ~ i) -%}
        {%- do collapsed.append('max(' ~ unset ~ at ~ ')) ' ~ same ~ ' as ' ~ set_at) -%}
        {%- do filled.append('max_by(_floodmark_value_' ~ i ~ ', if(' ~ set_at ~ ' is null, null, struct(' ~ set_at
            ~ ', ' ~ floodmark._leaf_hash_sql(leaf, '_floodmark_value_' ~ i) ~ '))) ' ~ so_far
            ~ ' as _floodmark_filled_' ~ i) -%}
        {%- do filled.append('max(' ~ set_at ~ ') ' ~ so_far ~ ' as _floodmark_filled_at_' ~ i) -%}
        {%- set counts = 'not _floodmark_delete and coalesce(_floodmark_filled_at_' ~ i
            ~ ' > _floodmark_deleted, _floodmark_filled_at_' ~ i ~ ' is not null)' -%}
        {%- do kept.append('if(' ~ counts ~ ', _floodmark_filled_' ~ i ~ ', null) as _floodmark_new_' ~ i) -%}
        {%- do kept.append('if(' ~ counts ~ ', _floodmark_filled_at_' ~ i ~ ', null) as _floodmark_new_at_' ~ i) -%}
        {%- do values.update({leaf.path: '_floodmark_new_' ~ i}) -%}
        {%- do ats.update({leaf.path: '_floodmark_new_at_' ~ i}) -%}
    {%- endfor -%}
    {%- set written = [] -%}
    {%- for column in own -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- do written.append(floodmark._from_leaves_sql(floodmark._path_part(column.name), column.ddl, values) ~ ' as '
            ~ quoted if floodmark._find_column(parts.ignoring, column.name) else quoted) -%}
    {%- endfor -%}
    {%- set flags = ['sequence', 'delete', 'what', 'old_start', 'old_end', 'before', 'started', 'hidden'] -%}
    {%- set carried = '_floodmark_' ~ flags | join(', _floodmark_') %}
    collapsed as (select *{{', ' if collapsed }}{{ collapsed | join(', ') }} from ranked
        where _floodmark_sequence >= _floodmark_lowest),
    filled as (
        select *{{ floodmark._kept_columns_sql(as_were, own, keys) }},
            max(if(_floodmark_delete, _floodmark_sequence, null)) {{ so_far }}
                as _floodmark_deleted{{', ' if filled }}{{ filled | join(', ') }}
        from collapsed where _floodmark_rank = 1{{ live }}
    ),
    kept as (select *{{', ' if kept }}{{ kept | join(', ') }} from filled),
    rebuilt as (
        select {{ written | join(', ') }},
            named_struct('sequence', _floodmark_sequence, 'deleted_at', cast(null
            as {{ type }}), 'set', {{ floodmark._set_sql(parts.leaves, ats, type) }}) as _floodmark_columns,
            {{ carried }}
        from kept
    ),
    formed as (select *, _floodmark_before <=> {{ floodmark._row_before_sql(own, type, '') }} as _floodmark_same
        from rebuilt),
{% endmacro %}


{# Columns as one value that is equal where they are, NULL-safe: 128 bits, as snapshot_diff knows a row again
   (_row_hash). `own` has their types; `rescued` as in _hashed_values. #}
{% macro _fingerprint_sql(own, names, rescued=none) %}
    {%- set values = floodmark._hashed_values(own, names, '', rescued) | join(', ') -%}
    {{ return("named_struct('a', xxhash64(0, " ~ values ~ "), 'b', xxhash64(1, " ~ values ~ '))' if names else "''") }}
{% endmacro %}


{# The rows of the table that a batch can reach, as literals: those that end at or after its first event. #}
{% macro _scd2_reach(run, source) %}
    {%- set least = source.counts.get('least') -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set end = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(run.settings.cdc.end_at) -%}
    {{ return(['(' ~ end ~ ' is null or ' ~ end ~ ' >= ' ~ floodmark._range_literal(least, type) ~ ')']
        if least is not none and least | length < floodmark._longest_range_literal() else []) }}
{% endmacro %}


{# Rows are known by their key and start: rewritten where their last event or their end is another, removed where none
   starts there any more. #}
{% macro _scd2_merge_sql(run, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set start = floodmark._quoted(cdc.start_at) -%}
    {%- set own = [] -%}
    {%- for column in floodmark._table_own_columns(run)
        if not source.get('resolved_columns') or floodmark._find_column(source.resolved_columns, column.name) -%}
        {%- do own.append(column.name) -%}
    {%- endfor -%}
    {%- set written = own + [cdc.start_at, cdc.end_at, floodmark._memory_column(cdc)] -%}
    {%- set removes = source.changes.table_remove > 0 -%}
    {%- set removed = [] -%}
    {%- for name in written -%}
        {%- do removed.append(floodmark._quoted(name) if name != cdc.start_at else '_floodmark_sequence') -%}
    {%- endfor %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        select {{ floodmark._quoted_csv(written) }}{{', false as _floodmark_removes' if removes }}
            from {{ source.resolved }} where _floodmark_table_write
        {%- if removes %}
        union all
        select {{ removed | join(', ') }}, true from {{ source.resolved }} where _floodmark_table_remove
        {%- endif %}
    ) as DBT_INTERNAL_SOURCE
    on {{ (floodmark._key_predicates(run, source) + floodmark._scd2_reach(run, source)) | join('\n        and ') }}
        and DBT_INTERNAL_DEST.{{ start }} = DBT_INTERNAL_SOURCE.{{ start }}
    {{- floodmark._write_matches_sql(written, 'DBT_INTERNAL_SOURCE._floodmark_removes' if removes else none) }}
{% endmacro %}


{# The clauses of a MERGE whose source says of each row whether it is to be removed; `removes` is none where no row
   is. #}
{% macro _write_matches_sql(names, removes) %}
    {{- '\n    when matched and ' ~ removes ~ ' then delete' if removes }}
    when matched then update set
        {{ floodmark._assignments(names) | join(',\n        ') }}
    when not matched {{'and not ' ~ removes ~ ' ' if removes }}then insert ({{ floodmark._quoted_csv(names) }})
        values ({{ floodmark._quoted_csv(names, 'DBT_INTERNAL_SOURCE.') }})
{% endmacro %}


{# What a batch remembers: events that are not the last of their row, and deletes that end none. `table` are columns
   that may come in another type than these have. #}
{% macro _scd2_state_rows_sql(source, columns, condition='_floodmark_state_write', table=[]) %}
    {%- set values = [] -%}
    {%- for column in columns -%}
        {%- set given = floodmark._find_column(table, column.name) -%}
        {%- set differs = given and floodmark._plain_type(given.type) != floodmark._plain_type(column.type) -%}
        {%- do values.append({'_floodmark_kind': "if(_floodmark_delete, 'delete', 'upsert') as _floodmark_kind",
            '_floodmark_at': 'current_timestamp() as _floodmark_at'}.get(column.name,
            floodmark._conformed_column_sql(dict(column, given=given.ddl)) if differs
            else floodmark._quoted(column.name))) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ', not _floodmark_state_write as _floodmark_removes from '
        ~ source.resolved ~ ' where ' ~ condition) }}
{% endmacro %}


{% macro _scd2_state_sql(run, source) %}
    {%- set columns = [] -%}
    {%- set table = floodmark._table_own_columns(run) -%}
    {%- for column in floodmark._columns_of(relation=floodmark._state_relation())
        if column.name.startswith('_floodmark_') or floodmark._find_column(table, column.name) -%}
        {%- do columns.append(column) -%}
    {%- endfor %}
    merge into {{ floodmark._state_relation() }} as DBT_INTERNAL_DEST
    using (
        {{ floodmark._scd2_state_rows_sql(source, columns, '_floodmark_state_write or _floodmark_state_remove',
            table) }}
    ) as DBT_INTERNAL_SOURCE
    on {{ floodmark._key_predicates(run, source) | join('\n        and ') }}
        and DBT_INTERNAL_DEST._floodmark_sequence = DBT_INTERNAL_SOURCE._floodmark_sequence
    {{- floodmark._write_matches_sql(columns | map(attribute='name') | list,
        'DBT_INTERNAL_SOURCE._floodmark_removes') }}
{% endmacro %}
