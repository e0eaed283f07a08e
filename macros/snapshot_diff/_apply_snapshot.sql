{#
  What a staged difference does to the table, in one MERGE (or one append, where the model is the list of changes): rows
  that came are inserted, rows that changed are updated (SCD 1) or closed and begun anew (SCD 2), rows that are missing
  go by on_missing.
#}

{# Load one planned snapshot: compare, check, stage, apply, commit. Returns its counts. #}
{% macro _load_snapshot(run, batch, select_sql) %}
    {%- set source = floodmark._read_snapshot(run, batch, select_sql) -%}
    {%- if batch.replaces -%}
        {%- do floodmark._drop_what_is_not_delta(run) -%}
        {%- do floodmark._apply_once(this, batch,
            floodmark._replace_table_sql(floodmark._first_snapshot_sql(run, source),
            dict(floodmark._made_properties(run, source.columns),
            **floodmark._snapshot_properties(run, source)))) -%}
    {%- elif source.changes -%}
        {%- do floodmark._align_snapshot(run, source) -%}
        {%- set statement = floodmark._append_changes_sql if run.settings.snapshot.output == 'changes'
            else (floodmark._snapshot_scd2_sql if run.settings.snapshot.scd_type == 2
            else floodmark._snapshot_scd1_sql) -%}
        {%- if run.settings.snapshot.output != 'changes' -%}
            {%- do floodmark._add_key_filter(run, batch, source, source.changes) -%}
        {%- endif -%}
        {#- a source that reads the table too is written down by Delta, as any other that could change between two
           reads -#}
        {%- set reads_stage = run.settings.snapshot.output != 'changes'
            and not floodmark._snapshot_carries(run, source) -%}
        {%- do floodmark._apply_once(this, batch, statement(run, source), reads_stage=reads_stage) -%}
    {%- else -%}
        {%- if source.rehash or source.added != source.get('hashed', {}).added -%}
            {%- do floodmark._align_snapshot(run, source) -%}
        {%- endif -%}
        {%- set counts = floodmark._finish(run, batch,
            floodmark._landed_if_read(run, batch, source, floodmark._snapshot_shape(run, source)), source) -%}
        {%- do floodmark._add_scope(run, source, counts) -%}
        {{ return(counts) }}
    {%- endif -%}
    {%- set counts = floodmark._finish(run, batch, floodmark._require_landed(batch), source) -%}
    {%- do floodmark._add_scope(run, source, counts) -%}
    {{ return(counts) }}
{% endmacro %}


{# The properties by which the next snapshot knows what the table's rows and hashes mean. #}
{% macro _snapshot_properties(run, source) %}
    {{ return({'floodmark.snapshot_diff': floodmark._to_property(floodmark._snapshot_made_by(run.settings.snapshot,
        run.settings.unique_key | sort)),
        'floodmark.compared': floodmark._to_property(tojson({'compared': source.compared, 'beside': source.beside,
        'added': source.added, 'scoped': source.scoped, 'nested': floodmark._nested_hash_version(),
        'rescued': floodmark._hashed_rescued(source), 'types': floodmark._hashed_types(source)}))}) }}
{% endmacro %}


{# The rows of a first load. #}
{% macro _first_snapshot_sql(run, source) %}
    {{ return('select ' ~ floodmark._new_rows_sql(run, source) ~ ' from ' ~ source.stage) }}
{% endmacro %}


{# A staged row as a new row of the table: the SELECT's columns, then those that the table adds. #}
{% macro _new_rows_sql(run, source) %}
    {%- set written = [] -%}
    {%- for column in source.columns if source.written is not defined or column.name in source.written -%}
        {%- do written.append(floodmark._quoted(column.name)) -%}
    {%- endfor -%}
    {%- for name, value in floodmark._added_values(run, source).items() -%}
        {%- do written.append(value ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return(written | join(', ')) }}
{% endmacro %}


{# The columns that the table adds, in their order, with their SQL in a new row. #}
{% macro _added_values(run, source, prefix='') %}
    {%- set null = 'cast(null as ' ~ source.version_type ~ ')' -%}
    {%- set version = prefix ~ '_floodmark_version' -%}
    {%- set hash = prefix ~ '_floodmark_hash' -%}
    {%- set values = {'__start_at': version, '__end_at': null, '__is_missing': 'false', '__missing_at': null,
        '_floodmark_hash': hash, '_changed_at': version,
        '_old_hash': floodmark._hash_text_sql(prefix ~ '_floodmark_old_hash'),
        '_new_hash': floodmark._hash_text_sql(hash),
        '_change_type': 'case ' ~ prefix
        ~ "_floodmark_change when 'missing' then 'delete' when 'touch' then 'update' else " ~ prefix
        ~ '_floodmark_change end'} -%}
    {%- set added = {} -%}
    {%- for column in floodmark._snapshot_added(run, source.version_type) -%}
        {%- do added.update({column.name: values[column.name]}) -%}
    {%- endfor -%}
    {{ return(added) }}
{% endmacro %}


{# A SELECT of no rows with the columns of the table that this SELECT would make. #}
{% macro _snapshot_shape_sql(run, source, select_sql) %}
    {%- set columns = [] -%}
    {%- for column in floodmark._snapshot_added(run, source.version_type) -%}
        {%- do columns.append('cast(null as ' ~ column.ddl ~ ') as ' ~ column.name) -%}
    {%- endfor -%}
    {{ return('select *, ' ~ columns | join(', ') ~ ' from (\n' ~ select_sql ~ '\n) where false') }}
{% endmacro %}


{# The columns of the table that this SELECT would make. #}
{% macro _snapshot_shape(run, source) %}
    {%- set shape = source.columns | list -%}
    {%- for column in floodmark._snapshot_added(run, source.version_type) -%}
        {%- do shape.append(dict(column, type=column.ddl)) -%}
    {%- endfor -%}
    {{ return(shape) }}
{% endmacro %}


{# After the checks: the columns to write, by on_schema_change, and hashes over what is compared now. Hashes are made
   anew from the table's own values, so that doing it twice changes nothing. #}
{% macro _align_snapshot(run, source) %}
    {%- set shaped = dict(source, columns=floodmark._snapshot_shape(run, source)) -%}
    {#- what is refused leaves the property as it is -#}
    {%- do floodmark._accepted_changes(run, shaped) -%}
    {#- a column is known as added before it is there; while hashes are made anew the property names none, so that a
       run which finds it so makes them again -#}
    {%- if source.rehash or source.added != source.hashed.added or source.hashed.types is not defined -%}
        {%- do floodmark._set_properties(floodmark._snapshot_properties(run,
            dict(source, compared=[] if source.rehash else source.hashed.compared,
            beside=[] if source.rehash else source.hashed.beside))) -%}
    {%- endif -%}
    {%- set written = floodmark._align_columns(run, shaped) -%}
    {%- set names = [] -%}
    {%- for column in source.columns if column.name | lower in written | map('lower') | list -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {%- do source.update({'written': names}) -%}
    {%- if source.rehash -%}
        {%- set hash = floodmark._snapshot_hash_sql(source, source.table) -%}
        {%- if run.settings.snapshot.output == 'changes' -%}
            {%- do floodmark._execute(['update ' ~ this ~ ' set _new_hash = ' ~ floodmark._hash_text_sql(hash)
                ~ " where _change_type <> 'delete'"]) -%}
        {%- else -%}
            {%- do floodmark._execute(['update ' ~ this ~ ' set _floodmark_hash = ' ~ hash
                ~ (' where __end_at is null' if run.settings.snapshot.scd_type == 2 else '')]) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if source.rehash -%}
        {%- do floodmark._set_properties(floodmark._snapshot_properties(run, source)) -%}
    {%- endif -%}
{% endmacro %}


{# Assignments of a matched row: the SELECT's columns and the hash; a row that is there is not missing. #}
{% macro _snapshot_assignments(run, source) %}
    {%- set assignments = floodmark._assignments(source.written)
        + ['DBT_INTERNAL_DEST._floodmark_hash = DBT_INTERNAL_SOURCE._floodmark_hash'] -%}
    {%- if run.settings.snapshot.on_missing == 'mark' -%}
        {%- do assignments.extend(['DBT_INTERNAL_DEST.__is_missing = false',
            'DBT_INTERNAL_DEST.__missing_at = null']) -%}
    {%- endif -%}
    {{ return(assignments | join(',\n        ')) }}
{% endmacro %}


{# What happens to a row that is missing from the snapshot. #}
{% macro _missing_clause(run) %}
    {%- set on_missing = run.settings.snapshot.on_missing -%}
    {%- if on_missing == 'mark' -%}
        {{ return("when matched and DBT_INTERNAL_SOURCE._floodmark_change = 'missing' then update set "
            "DBT_INTERNAL_DEST.__is_missing = true, DBT_INTERNAL_DEST.__missing_at = "
            "DBT_INTERNAL_SOURCE._floodmark_version") }}
    {%- elif on_missing == 'delete' and run.settings.snapshot.scd_type == 1 -%}
        {{ return("when matched and DBT_INTERNAL_SOURCE._floodmark_change = 'missing' then delete") }}
    {%- elif on_missing == 'delete' and run.settings.snapshot.version is not none -%}
        {#- a row that another scope of this version began would be empty -#}
        {{ return("when matched and DBT_INTERNAL_SOURCE._floodmark_change = 'missing' and "
            "DBT_INTERNAL_DEST.__start_at >= DBT_INTERNAL_SOURCE._floodmark_version then delete") }}
    {%- endif -%}
    {{ return('') }}
{% endmacro %}


{# The columns of an insert, and the values of a MERGE's. #}
{% macro _insert_names(run, source) %}
    {{ return(floodmark._quoted_csv(source.written + (floodmark._added_values(run, source) | list))) }}
{% endmacro %}


{% macro _inserted_values(run, source) %}
    {{ return(floodmark._quoted_csv(source.written, 'DBT_INTERNAL_SOURCE.') ~ ', '
        ~ floodmark._added_values(run, source, 'DBT_INTERNAL_SOURCE.').values() | join(', ')) }}
{% endmacro %}


{% macro _snapshot_scd1_sql(run, source) %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using {{ source.stage }} as DBT_INTERNAL_SOURCE
    on {{ floodmark._key_predicates(run, source) | join('\n        and ') }}
    {{ floodmark._missing_clause(run) }}
    when matched and DBT_INTERNAL_SOURCE._floodmark_change <> 'missing' then update set
        {{ floodmark._snapshot_assignments(run, source) }}
    when not matched and DBT_INTERNAL_SOURCE._floodmark_change <> 'missing'
        then insert ({{ floodmark._insert_names(run, source) }})
        values ({{ floodmark._inserted_values(run, source) }})
{% endmacro %}


{# SCD 2: names of the table's columns that have left the SELECT. A row that begins takes over what its key's open
   row has there. Columns that a table made by hand had beside the SELECT are not among them. #}
{% macro _snapshot_kept_columns(run, source) %}
    {%- set written = source.columns + floodmark._snapshot_added(run, source.version_type) -%}
    {%- set others = source.foreign + written | map(attribute='name') | map('lower') | list -%}
    {%- set kept = [] -%}
    {%- for column in source.table if column.name | lower not in others and column.type != 'void' -%}
        {%- do kept.append(column.name) -%}
    {%- endfor -%}
    {{ return(kept) }}
{% endmacro %}


{# Whether rows that begin take values over from the table. #}
{% macro _snapshot_carries(run, source) %}
    {{ return(source.scd_type == 2 and floodmark._snapshot_kept_columns(run, source) | length > 0) }}
{% endmacro %}


{# Staged rows that begin a row of the table, each with the values of its key's open row in columns that have left the
   SELECT: NULL where there is none. In a MERGE, Delta reads one version of the table for this and for the rest. #}
{% macro _snapshot_begun_sql(run, source, kept) %}
        select DBT_INTERNAL_SOURCE.*, {{ floodmark._quoted_csv(kept, 'DBT_INTERNAL_DEST.') }}, false
        from {{ source.stage }} as DBT_INTERNAL_SOURCE left join {{ this }} as DBT_INTERNAL_DEST
            on {{ floodmark._key_predicates(run, source) | join('\n            and ') }}
            and DBT_INTERNAL_DEST.__end_at is null
        where DBT_INTERNAL_SOURCE._floodmark_change in ('insert', 'update')
{%- endmacro %}


{# The open row of a key is met by what ends or touches it; what begins a row meets none. #}
{% macro _snapshot_scd2_sql(run, source) %}
    {%- set kept = floodmark._snapshot_kept_columns(run, source) -%}
    {%- set begun = dict(source, written=source.written + kept) -%}
    {%- set nulls = [] -%}
    {%- for name in kept -%}
        {%- do nulls.append('null as ' ~ floodmark._quoted(name) ~ ', ') -%}
    {%- endfor %}
    merge into {{ this }} as DBT_INTERNAL_DEST
    using (
        select *, {{ nulls | join }}true as _floodmark_meets
        from {{ source.stage }} where _floodmark_change in ('update', 'touch', 'missing')
        union all
        {%- if kept %}{{ floodmark._snapshot_begun_sql(run, source, kept) }}{% else %}
        select *, false from {{ source.stage }} where _floodmark_change in ('insert', 'update')
        {%- endif %}
    ) as DBT_INTERNAL_SOURCE
    on {{ floodmark._key_predicates(run, source) | join('\n        and ') }}
        and DBT_INTERNAL_SOURCE._floodmark_meets and DBT_INTERNAL_DEST.__end_at is null
    when matched and DBT_INTERNAL_SOURCE._floodmark_change = 'touch' then update set
        {{ floodmark._snapshot_assignments(run, source) }}
    {{ floodmark._missing_clause(run) }}
    when matched then update set DBT_INTERNAL_DEST.__end_at = DBT_INTERNAL_SOURCE._floodmark_version
        {{- ', DBT_INTERNAL_DEST.__is_missing = false, DBT_INTERNAL_DEST.__missing_at = null'
            if run.settings.snapshot.on_missing == 'mark' }}
    when not matched and not DBT_INTERNAL_SOURCE._floodmark_meets
        then insert ({{ floodmark._insert_names(run, begun) }})
        values ({{ floodmark._inserted_values(run, begun) }})
{% endmacro %}


{# output 'changes': the changes are appended. #}
{% macro _append_changes_sql(run, source) %}
    insert into {{ this }} ({{ floodmark._insert_names(run, source) }})
    select {{ floodmark._new_rows_sql(run, source) }} from {{ source.stage }}
{% endmacro %}
