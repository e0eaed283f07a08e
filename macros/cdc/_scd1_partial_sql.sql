{#
  SCD 1 with ignore_null_updates: what the table holds of a key is folded again with the batch's events, leaf by leaf:
  of each leaf the value that was set last, none that was set below the key's last delete. The row lives where its last
  upsert is not below that delete.
#}

{# The rows of the batch's keys as they shall be: the table's columns, and _floodmark_delete where there shall be
   none; only those that change. #}
{% macro _partial_rows_sql(run, source, is_first=false) %}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set known = floodmark._own_columns(run.settings.cdc, source.columns) -%}
    {%- set own = known if is_first else floodmark._table_own_columns(run) -%}
    {%- set parts = floodmark._leaves_of(run, own, known) -%}
    {%- set type = floodmark._find_column(source.columns, '_floodmark_sequence').type -%}
    {%- set plain = parts.plain | map(attribute='name') | list -%}
    {%- set remembered = own + [{'name': '_floodmark_columns', 'type': floodmark._memory_type(type)}] -%}
    {%- set truncated = floodmark._truncated_sql(source, not is_first) -%}
    {%- set values, ats, folded = {}, {}, [] -%}
    {%- for leaf in parts.leaves -%}
        {%- set i = loop.index0 | string -%}
        {%- set value, at = '_floodmark_leaf_' ~ i, '_floodmark_at_' ~ i -%}
        {%- set counted = ' filter (where ' ~ value ~ ' is not null and not _floodmark_delete and coalesce(' ~ at
            ~ ' >= _floodmark_floor, true)) as ' -%}
        {%- do folded.append('max_by(' ~ value ~ ', struct(' ~ at ~ ', ' ~ floodmark._leaf_hash_sql(leaf, value)
            ~ '))' ~ counted ~ value) -%}
        {%- do folded.append('max(' ~ at ~ ')' ~ counted ~ at) -%}
        {%- do values.update({leaf.path: value}) -%}
        {%- do ats.update({leaf.path: at}) -%}
    {%- endfor -%}
    {%- if plain -%}
        {%- do folded.append('max_by(struct(' ~ floodmark._quoted_csv(plain) ~ '), struct(_floodmark_sequence, '
            ~ floodmark._row_hash_sql(parts.plain) ~ ')) filter (where not _floodmark_delete) as _floodmark_row') -%}
    {%- endif -%}
    {%- set written = [] -%}
    {%- for column in own -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- if floodmark._find_column(parts.ignoring, column.name) -%}
            {%- do written.append(floodmark._from_leaves_sql(floodmark._path_part(column.name), column.ddl, values)
                ~ ' as ' ~ quoted) -%}
        {%- else -%}
            {%- do written.append(('_floodmark_row.' if column.name in plain else '') ~ quoted) -%}
        {%- endif -%}
    {%- endfor %}
    with members as (
        select {{ keys }}, _floodmark_sequence, _floodmark_delete, cast(null as {{ type }}) as _floodmark_deleted_at,
            cast(null as string) as _floodmark_before
            {{- floodmark._member_columns(parts.plain, parts.leaves, known, '', '_floodmark_sequence') }}
        from {{ source.stage }}
        where not _floodmark_truncate {{'and coalesce(_floodmark_sequence >= (' ~ truncated ~ '), true)'
            if truncated }}
        {%- if not is_first %}
        {%- set touched = '(select distinct ' ~ keys ~ ', true as _floodmark_touched from ' ~ source.stage
            ~ ' where not _floodmark_truncate)' %}
        union all
        select {{ floodmark._quoted_csv(run.settings.unique_key, 'DBT_INTERNAL_DEST.') }},
            DBT_INTERNAL_DEST._floodmark_columns.sequence, false, DBT_INTERNAL_DEST._floodmark_columns.deleted_at,
            {{ floodmark._hash_text_sql(floodmark._row_hash_sql(remembered, 'DBT_INTERNAL_DEST.')) }}
            {{- floodmark._member_columns(parts.plain, parts.leaves, own, 'DBT_INTERNAL_DEST.',
                'DBT_INTERNAL_DEST._floodmark_columns.sequence', 'DBT_INTERNAL_DEST._floodmark_columns.set') }}
        from {{ this }} as DBT_INTERNAL_DEST left join {{ touched }} as DBT_INTERNAL_SOURCE
            on {{ floodmark._same_key(run, 'DBT_INTERNAL_SOURCE', 'DBT_INTERNAL_DEST') }}
        where {{ floodmark._partial_reach(run, source, truncated) }}
        {%- endif %}
        {%- if source.has_state and not is_first %}
        union all
        select {{ floodmark._quoted_csv(run.settings.unique_key, 'd.') }}, d._floodmark_sequence, true, null,
            null{{', null' * (plain | length + 2 * (parts.leaves | length)) }}
        from (select * from {{ floodmark._state_relation() }} as DBT_INTERNAL_DEST
            where {{ floodmark._tombstone_sql(run, source) }}) as d left semi join {{ touched }} as e
            on {{ floodmark._same_key(run, 'e', 'd') }}
        {%- endif %}
    ),
    deleted as (
        select * except (_floodmark_deleted_at),
            max(if(_floodmark_delete, _floodmark_sequence, _floodmark_deleted_at)) over (partition by {{ keys }})
            as _floodmark_deleted_at
        from members
    ),
    floored as (
        select *, {{'greatest(_floodmark_deleted_at, (' ~ truncated ~ '))' if truncated else '_floodmark_deleted_at' }}
            as _floodmark_floor from deleted
    ),
    folded as (
        select {{ keys }}, max(_floodmark_sequence) filter (where not _floodmark_delete) as _floodmark_last,
            max(_floodmark_floor) as _floodmark_floor,
            max(_floodmark_deleted_at) as _floodmark_deleted_at,
                max(_floodmark_before) as _floodmark_before{{', ' if folded }}{{ folded | join(', ') }}
        from floored group by {{ keys }}
    ),
    formed as (
        select {{ written | join(', ') }},
            named_struct('sequence', _floodmark_last, 'deleted_at', _floodmark_deleted_at, 'set',
            {{ floodmark._set_sql(parts.leaves, ats, type) }}) as _floodmark_columns,
            coalesce(_floodmark_last < _floodmark_floor, _floodmark_last is null) as _floodmark_delete,
                _floodmark_before
        from folded
    )
    select * except (_floodmark_before) from formed
    where if(_floodmark_delete, _floodmark_before is not null,
        not _floodmark_before <=> {{ floodmark._hash_text_sql(floodmark._row_hash_sql(remembered)) }})
{% endmacro %}


{# Columns of a member behind its key: those that are written as they come, and of each leaf its value and the
   sequence that set it, that of the member where `set`, the map of what is known, does not say; what the relation
   lacks is NULL. #}
{% macro _member_columns(plain, leaves, columns, prefix, sequence, set=none) %}
    {%- set parts = ['', floodmark._given_sql(plain, columns, prefix)] if plain else [''] -%}
    {%- set paths = floodmark._leaf_paths(columns) -%}
    {%- for leaf in leaves -%}
        {%- set value = prefix ~ leaf.sql if leaf.path | lower in paths else 'cast(null as ' ~ leaf.type ~ ')' -%}
        {%- set at = 'coalesce(try_element_at(' ~ set ~ ', ' ~ floodmark._string_literal(leaf.path) ~ '), ' ~ sequence
            ~ ')' if set else sequence -%}
        {%- do parts.append(value ~ ' as _floodmark_leaf_' ~ loop.index0) -%}
        {%- do parts.append('if(' ~ value ~ ' is null, null, ' ~ at ~ ') as _floodmark_at_' ~ loop.index0) -%}
    {%- endfor -%}
    {{ return(parts | join(', ')) }}
{% endmacro %}


{# The rows of the table that a batch may change: those of its keys, and with a truncate all that are older or hold a
   value that is. #}
{% macro _partial_reach(run, source, truncated) %}
    {%- if not source.counts.truncates -%}
        {{ return((['DBT_INTERNAL_SOURCE._floodmark_touched'] + floodmark._key_predicates(run, source))
            | join(' and ')) }}
    {%- endif -%}
    {{ return('DBT_INTERNAL_SOURCE._floodmark_touched or DBT_INTERNAL_DEST._floodmark_columns.sequence < (' ~ truncated
        ~ ') or array_min(map_values(DBT_INTERNAL_DEST._floodmark_columns.set)) < (' ~ truncated ~ ')') }}
{% endmacro %}


{% macro _partial_merge_sql(run, source) %}
    {%- set names = floodmark._table_own_columns(run) | map(attribute='name') | list + ['_floodmark_columns'] %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        {{ floodmark._partial_rows_sql(run, source) }}
    ) as DBT_INTERNAL_SOURCE
    on {{ floodmark._key_predicates(run, dict(source, counts={}) if source.counts.truncates else source)
        | join('\n        and ') }}
    {{- floodmark._write_matches_sql(names, 'DBT_INTERNAL_SOURCE._floodmark_delete') }}
{% endmacro %}
