{#
  SCD 2: the events of a key, one a sequence, in their order. A longest run of upserts with equal tracked columns and no delete between
  is one row: the values of its last event, from the sequence of its first up to the next event that is not of the run, open where there
  is none. Of two events of one sequence a delete beats an upsert, and of two upserts the greater row hash wins.

  The table shows of each run its last event, the sequence of its first and where it ends; the events between, and deletes that end no
  row, are remembered beside it. So every event of a key can be told from the two, and a batch lines up again what it may change: of
  each of its keys the rows that end at or behind the batch's first event.
#}

{# What becomes of every event of the batch's keys: own columns, _floodmark_sequence, _floodmark_delete, start and end of the row that it is
   the last event of, and four flags: table_write and table_remove (a row that starts here), state_write and state_remove. #}
{% macro _scd2_sql(run, batch, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set own = floodmark._own_columns(cdc, source.columns) if batch.replaces else floodmark._scd2_own(run, source) -%}
    {%- set names = own | map(attribute='name') | list -%}
    {%- set tracked = floodmark._tracked_columns(run, own) -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set events = [] -%}
    {%- for column in own -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- do events.append(quoted if floodmark._find_column(source.columns, column.name) else 'cast(null as ' ~ column.type ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
    with members as (
        select {{ events | join(', ') }}, _floodmark_sequence, _floodmark_delete, 'event' as _floodmark_what,
            cast(null as {{ type }}) as _floodmark_start, cast(null as {{ type }}) as _floodmark_end
        from {{ source.stage }}
        {%- if not batch.replaces %}
        union all
        {{ floodmark._scd2_known_sql(run, source, names, type) }}
        {%- endif %}
    ),
    hashed as (
        select *, {{ floodmark._fingerprint_sql(tracked) }} as _floodmark_tracked from members
    ),
    ranked as (
        select *,
            row_number() over (partition by {{ keys }}, _floodmark_sequence order by _floodmark_what = 'start', _floodmark_delete desc,
                {{ floodmark._row_hash_sql(names) }} desc, array_position(array('row', 'hidden', 'end', 'event'), _floodmark_what)) as _floodmark_rank,
            bool_or(_floodmark_what = 'start' or _floodmark_what = 'row' and _floodmark_start = _floodmark_sequence)
                over (partition by {{ keys }}, _floodmark_sequence) as _floodmark_started,
            bool_or(_floodmark_what = 'hidden') over (partition by {{ keys }}, _floodmark_sequence) as _floodmark_hidden,
            min(if(_floodmark_what = 'hidden', null, _floodmark_sequence)) over (partition by {{ keys }}) as _floodmark_lowest
        from hashed
    ),
    lined as (
        select *,
            lead(_floodmark_sequence) over (partition by {{ keys }} order by _floodmark_sequence) as _floodmark_next,
            coalesce(lead(_floodmark_delete) over (partition by {{ keys }} order by _floodmark_sequence), true) as _floodmark_next_deletes,
            lead(_floodmark_tracked) over (partition by {{ keys }} order by _floodmark_sequence) as _floodmark_next_tracked,
            coalesce(lag(_floodmark_delete) over (partition by {{ keys }} order by _floodmark_sequence), true) as _floodmark_begins_anew,
            lag(_floodmark_tracked) over (partition by {{ keys }} order by _floodmark_sequence) as _floodmark_before_tracked
        from ranked where _floodmark_rank = 1 and _floodmark_sequence >= _floodmark_lowest
    ),
    flagged as (
        select *,
            not _floodmark_delete and (_floodmark_begins_anew or _floodmark_before_tracked <> _floodmark_tracked) as _floodmark_begins,
            not _floodmark_delete and (_floodmark_next_deletes or _floodmark_next_tracked <> _floodmark_tracked) as _floodmark_ends,
            not _floodmark_delete and not (_floodmark_next_deletes or _floodmark_next_tracked <> _floodmark_tracked)
                or _floodmark_delete and _floodmark_begins_anew as _floodmark_remembered
        from lined
    ),
    bounded as (
        select * except (_floodmark_start, _floodmark_end), _floodmark_start as _floodmark_old_start, _floodmark_end as _floodmark_old_end,
            last_value(if(_floodmark_begins, _floodmark_sequence, null), true)
                over (partition by {{ keys }} order by _floodmark_sequence rows between unbounded preceding and current row) as _floodmark_start,
            _floodmark_next as _floodmark_end
        from flagged
    ),
    resolved as (
        select {{ floodmark._quoted_csv(names) }}, _floodmark_sequence, _floodmark_delete, _floodmark_start, _floodmark_end,
            _floodmark_ends and not (_floodmark_what = 'row' and _floodmark_old_start <=> _floodmark_start and _floodmark_old_end <=> _floodmark_end) as _floodmark_table_write,
            _floodmark_started and not _floodmark_begins as _floodmark_table_remove,
            _floodmark_remembered and _floodmark_what <> 'hidden' as _floodmark_state_write,
            _floodmark_hidden and not _floodmark_remembered as _floodmark_state_remove
        from bounded
    )
    select *{{ ', _floodmark_start as ' ~ floodmark._quoted(cdc.start_at) ~ ', _floodmark_end as ' ~ floodmark._quoted(cdc.end_at) }} from resolved
    where _floodmark_table_write or _floodmark_table_remove or _floodmark_state_write or _floodmark_state_remove
{% endmacro %}


{# The table's own columns that the batch writes or keeps: those of the table, with its types. #}
{% macro _scd2_own(run, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set columns = [] -%}
    {%- for column in floodmark._columns_of(relation=this) if column.name | lower not in ['_floodmark_sequence', cdc.start_at | lower, cdc.end_at | lower] -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# What is known of the batch's keys, as events: of each row that may change its last event ('row'), its start where that is another
   event, and the delete that ended it; and what is remembered beside the table ('hidden'). #}
{% macro _scd2_known_sql(run, source, names, type) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set start = floodmark._quoted(cdc.start_at) -%}
    {%- set end = floodmark._quoted(cdc.end_at) -%}
    {%- set touched = '(select ' ~ keys ~ ', min(_floodmark_sequence) as _floodmark_least from ' ~ source.stage ~ ' group by ' ~ keys ~ ')' %}
        select {{ floodmark._quoted_csv(names, 'k.') }}, m._floodmark_sequence, m._floodmark_delete, m._floodmark_what, k._floodmark_start, k._floodmark_end
        from (
            select DBT_INTERNAL_DEST.*, DBT_INTERNAL_DEST.{{ start }} as _floodmark_start, DBT_INTERNAL_DEST.{{ end }} as _floodmark_end,
                lead(DBT_INTERNAL_DEST.{{ start }}) over (partition by {{ floodmark._quoted_csv(run.settings.unique_key, 'DBT_INTERNAL_DEST.') }} order by DBT_INTERNAL_DEST.{{ start }}) as _floodmark_next
            from {{ this }} as DBT_INTERNAL_DEST join {{ touched }} as DBT_INTERNAL_SOURCE
                on {{ (floodmark._key_predicates(run, source) + floodmark._scd2_reach(run, source)) | join(' and ') }}
                and (DBT_INTERNAL_DEST.{{ end }} is null or DBT_INTERNAL_DEST.{{ end }} >= DBT_INTERNAL_SOURCE._floodmark_least)
        ) as k lateral view inline(array(
            named_struct('_floodmark_sequence', k._floodmark_sequence, '_floodmark_delete', false, '_floodmark_what', 'row'),
            named_struct('_floodmark_sequence', if(k._floodmark_start = k._floodmark_sequence, null, k._floodmark_start), '_floodmark_delete', false, '_floodmark_what', 'start'),
            named_struct('_floodmark_sequence', if(k._floodmark_next <=> k._floodmark_end, null, k._floodmark_end), '_floodmark_delete', true, '_floodmark_what', 'end')
        )) m as _floodmark_sequence, _floodmark_delete, _floodmark_what
        where m._floodmark_sequence is not null
        {%- if source.has_state %}
        {%- set state_columns = floodmark._columns_of(relation=floodmark._state_relation()) %}
        {%- set values = [] %}
        {%- for name in names %}
            {%- do values.append('h.' ~ floodmark._quoted(name) if floodmark._find_column(state_columns, name) else 'null') %}
        {%- endfor %}
        union all
        select {{ values | join(', ') }}, h._floodmark_sequence, h._floodmark_kind = 'delete', 'hidden', cast(null as {{ type }}), cast(null as {{ type }})
        from {{ floodmark._state_relation() }} as h left semi join {{ touched }} as e on {{ floodmark._same_key(run, 'h', 'e') }}
        {%- endif %}
{% endmacro %}


{# Columns as one text that is equal where they are, NULL-safe. #}
{% macro _fingerprint_sql(names) %}
    {{ return(floodmark._row_hash_sql(names) if names else "''") }}
{% endmacro %}


{# The rows of the table that a batch can reach, as literals: those that end at or behind its first event. #}
{% macro _scd2_reach(run, source) %}
    {%- set least = source.counts.get('least') -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set end = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(run.settings.cdc.end_at) -%}
    {{ return(['(' ~ end ~ ' is null or ' ~ end ~ ' >= ' ~ floodmark._range_literal(least, type) ~ ')'] if least is not none and least | length < 200 else []) }}
{% endmacro %}


{# Rows are known by their key and start: rewritten where their last event or their end is another, removed where none starts there any more. #}
{% macro _scd2_merge_sql(run, source) %}
    {%- set cdc = run.settings.cdc -%}
    {%- set start = floodmark._quoted(cdc.start_at) -%}
    {%- set written = floodmark._scd2_own(run, source) | map(attribute='name') | list + [cdc.start_at, cdc.end_at, '_floodmark_sequence'] -%}
    {%- set assignments = [] -%}
    {%- set removed = [] -%}
    {%- for name in written -%}
        {%- do removed.append(floodmark._quoted(name) if name != cdc.start_at else '_floodmark_sequence') -%}
        {%- do assignments.append(floodmark._quoted(name) ~ ' = DBT_INTERNAL_SOURCE.' ~ floodmark._quoted(name)) -%}
    {%- endfor %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        select {{ floodmark._quoted_csv(written) }}, false as _floodmark_removes from {{ source.resolved }} where _floodmark_table_write
        union all
        select {{ removed | join(', ') }}, true from {{ source.resolved }} where _floodmark_table_remove
    ) as DBT_INTERNAL_SOURCE
    on {{ (floodmark._key_predicates(run, source) + floodmark._scd2_reach(run, source)) | join('\n        and ') }}
        and DBT_INTERNAL_DEST.{{ start }} = DBT_INTERNAL_SOURCE.{{ start }}
    when matched and DBT_INTERNAL_SOURCE._floodmark_removes then delete
    when matched then update set
        {{ assignments | join(',\n        ') }}
    when not matched and not DBT_INTERNAL_SOURCE._floodmark_removes then insert ({{ floodmark._quoted_csv(written) }})
        values ({{ floodmark._quoted_csv(written, 'DBT_INTERNAL_SOURCE.') }})
{% endmacro %}


{# What a batch remembers: events that are not the last of their row, and deletes that end none. #}
{% macro _scd2_state_rows_sql(source, columns, condition='_floodmark_state_write') %}
    {%- set values = [] -%}
    {%- for column in columns -%}
        {%- do values.append({'_floodmark_kind': "if(_floodmark_delete, 'delete', 'upsert') as _floodmark_kind", '_floodmark_at': 'current_timestamp() as _floodmark_at'}.get(column.name, floodmark._quoted(column.name))) -%}
    {%- endfor -%}
    {{ return('select ' ~ values | join(', ') ~ ', not _floodmark_state_write as _floodmark_removes from ' ~ source.resolved ~ ' where ' ~ condition) }}
{% endmacro %}


{% macro _scd2_state_sql(run, source) %}
    {%- set columns = [] -%}
    {%- set known = floodmark._columns_of(relation=floodmark._state_relation()) -%}
    {%- set table = floodmark._columns_of(relation=this) -%}
    {%- for column in known if column.name in ['_floodmark_kind', '_floodmark_at'] or floodmark._find_column(table, column.name) -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- set assignments = [] -%}
    {%- for name in names -%}
        {%- do assignments.append(floodmark._quoted(name) ~ ' = DBT_INTERNAL_SOURCE.' ~ floodmark._quoted(name)) -%}
    {%- endfor %}
    merge into {{ floodmark._state_relation() }} as DBT_INTERNAL_DEST
    using (
        {{ floodmark._scd2_state_rows_sql(source, columns, '_floodmark_state_write or _floodmark_state_remove') }}
    ) as DBT_INTERNAL_SOURCE
    on {{ floodmark._key_predicates(run, source) | join('\n        and ') }}
        and DBT_INTERNAL_DEST._floodmark_sequence = DBT_INTERNAL_SOURCE._floodmark_sequence
    when matched and DBT_INTERNAL_SOURCE._floodmark_removes then delete
    when matched then update set
        {{ assignments | join(',\n        ') }}
    when not matched and not DBT_INTERNAL_SOURCE._floodmark_removes then insert ({{ floodmark._quoted_csv(names) }})
        values ({{ floodmark._quoted_csv(names, 'DBT_INTERNAL_SOURCE.') }})
{% endmacro %}
