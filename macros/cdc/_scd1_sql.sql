{#
  SCD 1: per key the event with the greatest sequence decides; if it is a delete, the key is absent. Of two events of
  one sequence an upsert beats a delete, and of two upserts the greater row hash wins. Deletes are remembered, so that
  an older upsert which comes later changes nothing; a truncate at T takes every row and event below T away.
#}

{# The event that decides, one for each key. Events below a truncate do not count. With `remembers`, the deletes and
   truncates in the state table count too: an upsert below them decides nothing. #}
{% macro _winners_sql(run, source, remembers=true) %}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set own = floodmark._own_columns(run.settings.cdc, source.columns) -%}
    {%- set own = floodmark._columns_named(own, source.written) if source.written else own -%}
    {%- set tie = ', ' ~ floodmark._row_hash_sql(own) ~ ' desc' if source.counts.same else '' -%}
    {%- set floor = floodmark._truncated_sql(source, remembers) -%}
    {%- set events = 'select *, false as _floodmark_known from ' ~ source.stage ~ ' where not _floodmark_truncate'
        ~ (' and coalesce(_floodmark_sequence >= (' ~ floor ~ '), true)' if floor else '') -%}
    {%- if remembers and source.has_state -%}
        {%- set values = [] -%}
        {%- for column in source.columns -%}
            {%- set quoted = floodmark._quoted(column.name) -%}
            {%- set is_kept = column.name == '_floodmark_sequence'
                or column.name | lower in run.settings.unique_key | map('lower') | list -%}
            {%- do values.append(quoted if is_kept
                else {'_floodmark_delete': 'true', '_floodmark_truncate': 'false'}.get(column.name, 'null')) -%}
        {%- endfor -%}
        {%- set events = events ~ ' union all select ' ~ values | join(', ') ~ ', true from '
            ~ floodmark._state_relation() ~ ' as DBT_INTERNAL_DEST where ' ~ floodmark._tombstone_sql(run, source) -%}
    {%- endif -%}
    {#- a delete before the event that decides takes away what the events lack, too -#}
    {%- set deleted = 'max(if(_floodmark_delete, _floodmark_sequence, null)) over (partition by ' ~ keys ~ ')' -%}
    {%- set deleted = ', ' ~ ('greatest(' ~ deleted ~ ', (' ~ floor ~ '))' if floor else deleted)
        ~ ' as _floodmark_deleted' if source.get('lacking') else '' -%}
    {{ return('select * except (_floodmark_known, _floodmark_rank) from (select *, row_number() over (partition by '
        ~ keys ~ ' order by _floodmark_sequence desc, _floodmark_delete, _floodmark_known' ~ tie
        ~ ') as _floodmark_rank' ~ deleted ~ ' from (' ~ events
        ~ ')) where _floodmark_rank = 1 and not _floodmark_known') }}
{% endmacro %}


{# SQL of the greatest sequence of a truncate; none where there can be none. #}
{% macro _truncated_sql(source, remembers=true) %}
    {%- set parts = [] -%}
    {%- if source.counts.truncates -%}
        {%- do parts.append('select _floodmark_sequence from ' ~ source.stage ~ ' where _floodmark_truncate') -%}
    {%- endif -%}
    {%- if remembers and source.has_state -%}
        {%- do parts.append('select _floodmark_sequence from ' ~ floodmark._state_relation()
            ~ " where _floodmark_kind = 'truncate'") -%}
    {%- endif -%}
    {{ return('select max(_floodmark_sequence) from (' ~ parts | join(' union all ') ~ ')' if parts else none) }}
{% endmacro %}


{# The condition of a tombstone that still counts, of a key in the range of the batch's. #}
{% macro _tombstone_sql(run, source) %}
    {{ return((["_floodmark_kind = 'delete'", floodmark._alive_sql(run)] + floodmark._range_predicates(run, source))
        | reject('equalto', 'true') | join(' and ')) }}
{% endmacro %}


{# What the table takes from a batch: its deciding events, and the rows that a truncate takes away. #}
{% macro _scd1_source_sql(run, source) %}
    {%- set sql = floodmark._winners_sql(run, source, remembers=not source.get('is_ahead')) -%}
    {%- if not source.counts.truncates -%}
        {{ return(sql) }}
    {%- endif -%}
    {%- set floor = '(' ~ floodmark._truncated_sql(source) ~ ')' -%}
    {%- set names = [] -%}
    {%- for column in source.columns -%}
        {%- set quoted = floodmark._quoted(column.name) -%}
        {%- set value = {'_floodmark_sequence': floor, '_floodmark_delete': 'true',
            '_floodmark_truncate': 'false'}.get(column.name,
            't.' ~ quoted if column.name | lower in run.settings.unique_key | map('lower') | list
            else 'cast(null as ' ~ column.ddl ~ ')') -%}
        {%- do names.append(value ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {%- set all = floodmark._quoted_csv(source.columns | map(attribute='name')
        | list + (['_floodmark_deleted'] if source.get('lacking') else [])) -%}
    {%- do names.extend([floor] if source.get('lacking') else []) -%}
    {{ return('select ' ~ all ~ ' from (\n' ~ sql ~ '\n) union all select ' ~ names | join(', ') ~ ' from ' ~ this
        ~ ' as t left anti join (' ~ floodmark._winners_sql(run, source) ~ ') as e on '
        ~ floodmark._same_key(run, 'e', 't') ~ ' where t._floodmark_sequence < ' ~ floor) }}
{% endmacro %}


{# Whether an event beats the row of its key: a delete needs a greater sequence, an upsert an equal one and the
   greater hash. #}
{% macro _scd1_wins(run, source) %}
    {%- set own = floodmark._columns_named(floodmark._own_columns(run.settings.cdc, source.columns), source.written) -%}
    {%- set s = 'DBT_INTERNAL_SOURCE._floodmark_sequence' -%}
    {%- set t = 'DBT_INTERNAL_DEST._floodmark_sequence' -%}
    {{ return('coalesce(' ~ s ~ ' > ' ~ t ~ ' or ' ~ s ~ ' = ' ~ t
        ~ ' and not DBT_INTERNAL_SOURCE._floodmark_delete and ' ~ floodmark._row_hash_sql(own, 'DBT_INTERNAL_SOURCE.')
        ~ ' > ' ~ floodmark._row_hash_sql(own, 'DBT_INTERNAL_DEST.') ~ ', true)') }}
{% endmacro %}


{% macro _scd1_merge_sql(run, source) %}
    {#- a truncate reaches beyond the keys of the batch -#}
    {%- set met = floodmark._key_predicates(run, dict(source, counts={}) if source.counts.truncates else source) -%}
    {%- set wins = 'and ' ~ floodmark._scd1_wins(run, source) if not source.get('is_ahead') else '' %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        {{ floodmark._scd1_source_sql(run, source) }}
    ) as DBT_INTERNAL_SOURCE
    on {{ met | join('\n        and ') }}
    when matched and DBT_INTERNAL_SOURCE._floodmark_delete {{ wins }} then delete
    when matched and not DBT_INTERNAL_SOURCE._floodmark_delete {{ wins }} then update set
        {{ (floodmark._assignments(source.written) + floodmark._lacking_assignments(source.lacking))
            | join(',\n        ') }}
    when not matched and not DBT_INTERNAL_SOURCE._floodmark_delete
        then insert ({{ floodmark._quoted_csv(source.written) }})
        values ({{ floodmark._quoted_csv(source.written, 'DBT_INTERNAL_SOURCE.') }})
{% endmacro %}


{# What the events lack stays as it is, and is gone where the row was deleted in between. #}
{% macro _lacking_assignments(names) %}
    {%- set assignments = [] -%}
    {%- for name in names -%}
        {%- set quoted = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(name) -%}
        {%- do assignments.append(quoted ~ ' = if(coalesce(DBT_INTERNAL_SOURCE._floodmark_deleted > '
            'DBT_INTERNAL_DEST._floodmark_sequence, false), null, ' ~ quoted ~ ')') -%}
    {%- endfor -%}
    {{ return(assignments) }}
{% endmacro %}


{# How many rows of the table the batch would change. #}
{% macro _count_scd1_changes(run, source) %}
    {%- set met = floodmark._key_predicates(run, dict(source, counts={}) if source.counts.truncates else source) -%}
    {{ return(run_query('select count(*) as changes from (' ~ floodmark._scd1_source_sql(run, source)
        ~ ') as DBT_INTERNAL_SOURCE left join (select *, true as _floodmark_matched from ' ~ this
        ~ ') as DBT_INTERNAL_DEST on ' ~ met | join(' and ')
        ~ ' where if(DBT_INTERNAL_DEST._floodmark_matched is null, not DBT_INTERNAL_SOURCE._floodmark_delete, '
        ~ floodmark._scd1_wins(run, source) ~ ')').rows[0][0] | int) }}
{% endmacro %}


{# The rows of a batch for the state table: the greatest delete of each key that no upsert of the batch lifts, and its
   truncate. It reads the stage alone; what earlier batches make needless goes when the table is cleared. With
   ignore_null_updates a delete below an upsert counts too: it takes away what was set before it. #}
{% macro _scd1_state_rows_sql(run, source) %}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set deleted = 'max(_floodmark_sequence) filter (where _floodmark_delete)' -%}
    {%- set lifted = 'false' if floodmark._ignores_nulls(run.settings.cdc)
        else 'coalesce(max(_floodmark_sequence) filter (where not _floodmark_delete) >= ' ~ deleted ~ ', false)' -%}
    {%- set parts = ['select ' ~ keys ~ ', ' ~ deleted
        ~ " as _floodmark_sequence, 'delete' as _floodmark_kind, current_timestamp() as _floodmark_at from "
        ~ source.stage ~ ' where not _floodmark_truncate group by ' ~ keys ~ ' having ' ~ deleted
        ~ ' is not null and not ' ~ lifted] -%}
    {%- if source.counts.truncates -%}
        {%- set nulls = [] -%}
        {%- for key in run.settings.unique_key -%}
            {%- do nulls.append('cast(null as ' ~ floodmark._find_column(source.columns, key).type ~ ')') -%}
        {%- endfor -%}
        {%- do parts.append('select ' ~ nulls | join(', ')
            ~ ", max(_floodmark_sequence), 'truncate', current_timestamp() from " ~ source.stage
            ~ ' where _floodmark_truncate') -%}
    {%- endif -%}
    {{ return(parts | join('\nunion all\n')) }}
{% endmacro %}


{# The rows of _scd1_state_rows_sql that are not covered yet, for batches that read events again. A remembered row of
   the same key and kind covers a row if it has its sequence, or without tombstone_ttl a greater one. #}
{% macro _scd1_added_state_sql(run, source) %}
    {%- set covers = '=' if run.settings.cdc.tombstone_ttl else '>=' -%}
    {{ return('select n.* from (\n' ~ floodmark._scd1_state_rows_sql(run, source)
        ~ '\n) as n left anti join (select * from ' ~ floodmark._state_relation() ~ ' as DBT_INTERNAL_DEST where ('
        ~ floodmark._tombstone_sql(run, source) ~ ") or _floodmark_kind = 'truncate') as s on "
        ~ floodmark._same_key(run, 's', 'n') ~ ' and s._floodmark_kind = n._floodmark_kind and s._floodmark_sequence '
        ~ covers ~ ' n._floodmark_sequence') }}
{% endmacro %}


{% macro _scd1_state_sql(run, source) %}
    insert into {{ floodmark._state_relation() }} ({{ floodmark._quoted_csv(run.settings.unique_key) }},
        _floodmark_sequence, _floodmark_kind, _floodmark_at)
    {{ floodmark._scd1_added_state_sql(run, source) if source.get('adds_unknown')
        else floodmark._scd1_state_rows_sql(run, source) }}
{% endmacro %}
