{#
  A snapshot against the table: of each of its rows a hash, against the hash that the table's row carries. Keys and
  hashes alone meet first (the difference); then the rows that changed are fetched and staged. All checks come before
  anything is written.
#}

{# Stage what a snapshot changes. Returns {stage, columns, compared, table, counts, changes}; `changes` is 0 where it
   changes nothing. #}
{% macro _read_snapshot(run, batch, select_sql) %}
    {%- set source = floodmark._snapshot_columns(run, batch, select_sql) -%}
    {%- set select_sql = floodmark._partition_values_sql(run, source.columns, select_sql) -%}
    {%- do source.update({'counts': floodmark._snapshot_counts(run, batch, source, select_sql)}) -%}
    {%- if source.counts.is_known -%}
        {{ return(dict(source, changes=0)) }}
    {%- endif -%}
    {%- set version = floodmark._snapshot_version_sql(run, batch, source) -%}
    {%- if batch.replaces -%}
        {%- do floodmark._stage_first_snapshot(run, batch, source, select_sql, version) -%}
    {%- else -%}
        {%- do floodmark._count_unknown_keys(run, batch, source) -%}
        {%- do floodmark._stage_difference(run, batch, source, select_sql, version) -%}
    {%- endif -%}
    {%- if source.changes -%}
        {%- do floodmark._check_still(run, batch, source, select_sql) -%}
    {%- endif -%}
    {{ return(source) }}
{% endmacro %}


{# The SELECT is read several times: what it gave at first it must give at last. #}
{% macro _check_still(run, batch, source, select_sql) %}
    {%- set again = floodmark._read_counts(run, source,
        'select * from ' ~ source.stage if batch.replaces else select_sql) -%}
    {#- rows that are all held back have no version here -#}
    {%- for name, value in again.items() if value is not none and source.counts[name] != value -%}
        {%- do floodmark._refuse_moving(batch) -%}
    {%- endfor -%}
{% endmacro %}


{# Rows, versions and rows out of scope of a snapshot, in one pass. #}
{% macro _read_counts(run, source, select_sql) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set values = ["'rows_read', count(*)"] -%}
    {%- if snapshot.version is not none -%}
        {%- set column = floodmark._quoted(snapshot.version) -%}
        {%- do values.extend(["'least', " ~ floodmark._position_text_sql('min(' ~ column ~ ')', source.family),
            "'greatest', " ~ floodmark._position_text_sql('max(' ~ column ~ ')', source.family),
            "'unversioned', count_if(" ~ column ~ ' is null)']) -%}
    {%- endif -%}
    {%- if snapshot.scope is not none -%}
        {%- do values.append("'outside', count_if(not coalesce((" ~ snapshot.scope ~ '), false))') -%}
    {%- endif -%}
    {{ return(floodmark._query_json('select to_json(named_struct(' ~ values | join(', ')
        ~ "), map('ignoreNullFields', 'false')) from (\n" ~ select_sql ~ '\n)')[0]) }}
{% endmacro %}


{# The counts of _read_counts for the rows that a batch keeps, and `is_held`: whether rows came and all of them are
   corrupt, or held back by its rules. If so, the snapshot does not count as empty, and its version is read from the
   rows as they came; corrupt records give none. #}
{% macro _kept_counts(run, batch, source, select_sql) %}
    {%- set counts = floodmark._read_counts(run, source, select_sql) -%}
    {%- set has_judged = floodmark._has_judged_rows(batch) -%}
    {%- do counts.update({'is_held': not counts.rows_read and (has_judged or (batch.get('rows_corrupt') or 0) > 0),
        'is_known': false, 'rows_tied': 0}) -%}
    {%- if counts.is_held and has_judged -%}
        {%- set came = floodmark._read_counts(run, source, floodmark._conforming_sql(run, source.columns,
            floodmark._judged_rows_sql(batch))) -%}
        {%- do counts.update(dict(came, rows_read=0, unversioned=0, outside=0)) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{# The snapshot's rows and version, counted, and refused where it is empty, of several versions, or older than what
   was loaded: {rows_read, is_known, version}; `is_known` where its version was loaded already, with no row
   held back: those that were may have been corrected since. #}
{% macro _snapshot_counts(run, batch, source, select_sql) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set counts = floodmark._kept_counts(run, batch, source, select_sql) -%}
    {%- if counts.outside -%}
        {%- do floodmark._refuse_snapshot(batch,
            floodmark._counted(counts.outside, 'row') ~ ' of the snapshot ' ~ ('lies' if counts.outside == 1 else 'lie')
            ~ ' outside of its scope (' ~ snapshot.scope ~ ')',
            'Nothing was written: correct snapshot_diff.scope, or leave the rows out') -%}
    {%- elif not counts.rows_read and not counts.is_held and not snapshot.allow_empty -%}
        {%- do floodmark._refuse_snapshot(batch, 'the snapshot is empty',
            'Nothing was written: if all rows are really gone, set snapshot_diff.allow_empty') -%}
    {%- elif snapshot.version is none or not counts.rows_read and counts.greatest is none -%}
        {%- if snapshot.version is not none and not run.settings.watermark and not batch.get('rows_corrupt')
            and (snapshot.scd_type == 2 or snapshot.on_missing == 'mark' or snapshot.output == 'changes')
            and not batch.begins -%}
            {%- do floodmark._refuse_snapshot(batch, 'the snapshot is empty and so has no ' ~ snapshot.version,
                'Nothing was written: leave out snapshot_diff.version to take the time of the load') -%}
        {%- endif -%}
        {{ return(counts) }}
    {%- endif -%}
    {%- set least, greatest = floodmark._position_from_text(counts.least, source.family),
        floodmark._position_from_text(counts.greatest, source.family) -%}
    {%- if counts.unversioned -%}
        {%- do floodmark._refuse_snapshot(batch,
            floodmark._counted(counts.unversioned, 'row') ~ (' has no ' if counts.unversioned == 1 else ' have no ')
            ~ snapshot.version, 'Nothing was written: give each row the version of its snapshot') -%}
    {%- endif -%}
    {%- set shown = floodmark._version_print(greatest, source.family) -%}
    {%- if least != greatest -%}
        {%- do floodmark._refuse_snapshot(batch,
            'the SELECT gives more than one ' ~ snapshot.version ~ ', from '
            ~ floodmark._version_print(least, source.family) ~ ' to ' ~ shown,
            'Nothing was written: a snapshot has one'
            ~ ('. Set watermark.step so that each batch is one snapshot' if run.settings.watermark
            else ('' if run.settings.files else '. Select one'))) -%}
    {%- endif -%}
    {%- do counts.update({'version': greatest}) -%}
    {%- set committed = run.state.committed -%}
    {%- if not run.settings.watermark -%}
        {%- if not batch.begins and committed and committed.mark is not none and committed.family == source.family -%}
            {%- set before = floodmark._position_parse(committed.mark, source.family) -%}
            {%- if greatest < before -%}
                {%- do floodmark._refuse_snapshot(batch,
                    'the snapshot is of ' ~ snapshot.version ~ ' ' ~ shown ~ ', but '
                    ~ floodmark._version_print(before, source.family) ~ ' is loaded already',
                    'Nothing was written: versions must ascend' ~ ('' if run.settings.files
                    else '. Run with --full-refresh to start again from this one')) -%}
            {%- endif -%}
            {%- do counts.update({'is_known': greatest == before and committed.get('rows_read') != 0
                and committed.get('rows_kept') in [none, committed.get('rows_read')]
                and floodmark._has_scope_of(run, before, source.family)}) -%}
        {%- endif -%}
        {%- do batch.update({'family': source.family, 'watermark_column': snapshot.version,
            'high': floodmark._position_print(greatest, source.family)}) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{# The scopes that were loaded of a version, as the table has them: [version, [scope, ...]], none where its model
   never had one. #}
{% macro _loaded_scopes(relation) %}
    {%- set text = floodmark._properties_of(relation).get('floodmark.scopes') -%}
    {{ return(fromjson(floodmark._from_property(text)) if text else none) }}
{% endmacro %}


{# Whether a version that is loaded was loaded in this scope: another scope of it is another snapshot, and so is the
   whole in a table that knows scopes. #}
{% macro _has_scope_of(run, version, family) %}
    {%- set loaded = floodmark._loaded_scopes(this) -%}
    {%- set scope = run.settings.snapshot.scope -%}
    {%- if scope is none and loaded is none -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(loaded is not none and loaded[0] == floodmark._position_print(version, family) and scope in loaded[1]) }}
{% endmacro %}


{# Put down that a version is loaded in this scope (none: as a whole), once it is. A snapshot that is empty, or of which
   rows are held back, takes its scope out again. A run that dies before it compares this scope again, and finds it as
   it is. #}
{% macro _add_scope(run, source, counts) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- if snapshot.version is none or run.settings.watermark -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set loaded = floodmark._loaded_scopes(this) -%}
    {%- if loaded is none and (snapshot.scope is none or source.counts.version is not defined) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set before = [loaded[0] if loaded else none, loaded[1] if loaded else []] -%}
    {%- if source.counts.version is not defined -%}
        {%- set scopes = [before[0], before[1] | reject('equalto', snapshot.scope) | list] -%}
    {%- else -%}
        {%- set version = floodmark._position_print(source.counts.version, source.family) -%}
        {%- set known = before[1] if before[0] == version else [] -%}
        {%- set scopes = [version, (known + [snapshot.scope]) | unique(case_sensitive=true) | list
            if counts.rows_kept == counts.rows_read else known | reject('equalto', snapshot.scope) | list] -%}
    {%- endif -%}
    {%- if scopes != before -%}
        {%- do floodmark._set_properties({'floodmark.scopes': floodmark._to_property(tojson(scopes))}) -%}
    {%- endif -%}
{% endmacro %}


{# What helps where a batch of files is refused, as a sentence behind others: several extracts that wait would be one
   snapshot, and one that cannot be loaded comes first in each run. #}
{% macro _files_todo(batch) %}
    {%- set files = batch.get('files') or [] -%}
    {%- set name = floodmark._decoded_path(files[0].path).split('/')[-1] if files | length == 1 else 'NAME' -%}
    {%- set skipped = '`floodmark files <model> --skip ' ~ (name if modules.re.search('[^\\w.=-]', name) is none
        else '"' ~ name ~ '"') ~ '`' -%}
    {%- if files | length > 1 -%}
        {{ return('. If each file is a snapshot, set files.max_files_per_batch to 1. To leave a file out: '
            ~ skipped) }}
    {%- endif -%}
    {{ return('. Later files wait until this one is corrected, or left out: ' ~ skipped if files else '') }}
{% endmacro %}


{# A version as a person writes it. #}
{% macro _version_print(position, family) %}
    {{ return(floodmark._position_print(position, family).split(' ')[0] if family == 'date'
        else floodmark._position_print(position, family)) }}
{% endmacro %}


{# Refuse a snapshot before anything is written. #}
{% macro _refuse_snapshot(batch, what, todo) %}
    {%- do floodmark._drop_staging_tables([floodmark._difference_relation(batch)]) -%}
    {%- do floodmark._stop(what ~ '. ' ~ todo ~ floodmark._files_todo(batch), rejects=what) -%}
{% endmacro %}


{# Refuse one whose source gives something else than at first. #}
{% macro _refuse_moving(batch) %}
    {%- set what = 'the source changed while its snapshot was read' -%}
    {%- do floodmark._drop_staging_tables([floodmark._difference_relation(batch)]) -%}
    {%- do floodmark._stop(what ~ '. Nothing was written: run again when the source no longer changes',
        rejects=what) -%}
{% endmacro %}


{# SQL of what stands for the snapshot in start and end: its version, or the time of the load. That is Spark's time, as
   in the ledger, and behind that of the batch before (_finish). #}
{% macro _snapshot_version_sql(run, batch, source) %}
    {%- if run.settings.snapshot.version is none -%}
        {{ return(floodmark._time_behind_sql((run.state.landed or {}).get('at') if not batch.replaces else none)) }}
    {%- endif -%}
    {%- set version = source.counts.version if source.counts.version is defined
        else (batch.high_position if run.settings.watermark else none) -%}
    {{ return('cast(' ~ ('null' if version is none else floodmark._position_literal(version, source.family)) ~ ' as '
        ~ source.version_type ~ ')') }}
{% endmacro %}


{# Columns that every staged row has behind the SELECT's. #}
{% macro _staged_extras_sql(source, version, hash, old_hash, change) %}
    {{ return(hash ~ ' as _floodmark_hash, ' ~ old_hash ~ ' as _floodmark_old_hash, ' ~ change
        ~ ' as _floodmark_change, ' ~ version ~ ' as _floodmark_version, ' ~ 'cast(' ~ source.counts.rows_read
        ~ ' as bigint) as _floodmark_rows_read') }}
{% endmacro %}


{# The whole snapshot, as inserts. #}
{% macro _stage_first_snapshot(run, batch, source, select_sql, version) %}
    {%- do floodmark._execute([floodmark._create_stage_sql(source.stage) ~ '\nselect *, '
        ~ floodmark._staged_extras_sql(source, version, floodmark._snapshot_hash_sql(source, source.columns),
        'cast(null as ' ~ floodmark._snapshot_hash_type(source.scd_type) ~ ')', "'insert'") ~ ' from (\n' ~ select_sql
        ~ '\n)']) -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set counts = floodmark._query_json(
        "select to_json(named_struct('repeated', count_if(_floodmark_rows > 1), 'keyless', coalesce(sum(if("
        ~ floodmark._null_key_sql(run) ~ ", _floodmark_rows, 0)), 0))) from (select " ~ keys
        ~ ', count(*) as _floodmark_rows from ' ~ source.stage ~ ' group by ' ~ keys ~ ')')[0] -%}
    {%- do floodmark._check_snapshot_keys(run, batch, counts,
        'select ' ~ keys ~ ', count(*) as _floodmark_copies from ' ~ source.stage ~ ' group by ' ~ keys) -%}
    {%- do floodmark._check_new_rows(run, batch, source) -%}
    {%- do source.update({'changes': source.counts.rows_read}) -%}
{% endmacro %}


{# Keys and hashes of snapshot and table side by side, those that differ kept; checked; then their rows fetched and
   staged. #}
{% macro _stage_difference(run, batch, source, select_sql, version) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set difference = floodmark._difference_relation(batch) -%}
    {%- do floodmark._execute([floodmark._create_stage_sql(difference) ~ '\n'
        ~ floodmark._without_held_sql(run, batch, floodmark._difference_sql(run, source, select_sql, version))]) -%}
    {%- set values = ["'repeated', count_if(_floodmark_copies > 1)", "'key_hash', bit_xor(xxhash64(" ~ keys ~ '))',
        "'keyless', count_if(" ~ floodmark._null_key_sql(run)
        ~ " and _floodmark_change <> 'missing')", "'missing', count_if(_floodmark_change = 'missing')",
        "'again', count_if(_floodmark_change = 'again')", "'changes', count_if(_floodmark_change <> 'same')"] -%}
    {%- set found = floodmark._query_json('select to_json(named_struct('
        ~ (values + floodmark._key_ranges(run.settings.unique_key, source.columns)) | join(', ') ~ ')) from '
        ~ difference)[0] -%}
    {%- do floodmark._check_snapshot_keys(run, batch, found, 'select * from ' ~ difference) -%}
    {%- do floodmark._check_missing_share(run, batch, source, found, difference) -%}
    {%- if found.again -%}
        {%- set is_scoped = snapshot.scope is not none or floodmark._loaded_scopes(this) is not none -%}
        {%- do floodmark._refuse_snapshot(batch,
            floodmark._counted(found.again, 'key') ~ (' has' if found.again == 1 else ' have')
            ~ ' a change of this ' ~ snapshot.version ~ ' in the list already, from '
            ~ ('another scope: ' if is_scoped else 'an earlier load: ')
            ~ floodmark._shown_keys(run, difference ~ " where _floodmark_change = 'again'"),
            'Nothing was written: nobody could tell which of two changes at one time came last. '
            ~ ('Give the scopes no key in common, or different versions' if is_scoped
            else 'Give the next load another version')) -%}
    {%- endif -%}
    {%- do source.counts.update(found) -%}
    {%- do source.update({'changes': found.changes}) -%}
    {%- if found.changes -%}
        {%- set nulls = [] -%}
        {%- for column in source.columns -%}
            {%- set is_key = column.name | lower in run.settings.unique_key | map('lower') | list -%}
            {%- do nulls.append(floodmark._quoted(column.name) if is_key
                else (version if snapshot.version is not none and column.name | lower == snapshot.version | lower
                else 'null') ~ ' as ' ~ floodmark._quoted(column.name)) -%}
        {%- endfor -%}
        {%- do floodmark._execute([floodmark._create_stage_sql(source.stage) ~ '\nselect '
            ~ floodmark._quoted_csv(source.columns | map(attribute='name') | list, 's.') ~ ', '
            ~ floodmark._staged_extras_sql(source, version, floodmark._snapshot_hash_sql(source, source.columns, 's.'),
            'd._floodmark_old_hash', 'd._floodmark_change') ~ '\nfrom (\n' ~ select_sql ~ '\n) as s join ' ~ difference
            ~ ' as d on ' ~ floodmark._equal_keys(run, 's', 'd')
            ~ " and d._floodmark_change in ('insert', 'update', 'touch')" ~ '\nunion all select ' ~ nulls | join(', ')
            ~ ', ' ~ floodmark._staged_extras_sql(source, version,
            'cast(null as ' ~ floodmark._snapshot_hash_type(source.scd_type) ~ ')', '_floodmark_old_hash',
            '_floodmark_change') ~ ' from ' ~ difference ~ " where _floodmark_change = 'missing'"]) -%}
        {%- do floodmark._check_new_rows(run, batch, source) -%}
        {%- set staged = floodmark._query_json(
            "select to_json(named_struct('n', count(*), 'key_hash', bit_xor(xxhash64(" ~ keys ~ ')))) from '
            ~ source.stage)[0] -%}
        {%- if staged.n != found.changes or staged.key_hash != found.key_hash -%}
            {%- do floodmark._refuse_moving(batch) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do floodmark._drop_staging_tables([difference]) -%}
{% endmacro %}


{# Keys with what became of them: insert, update, touch (a column beside the compared ones, a row that is back, or one
   that began in this very version, by another scope), missing, same where a key comes twice, or again where the list
   of changes has a change of this version already. #}
{% macro _difference_sql(run, source, select_sql, version) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set merged = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- set quoted = floodmark._quoted(key) -%}
        {%- do merged.append('coalesce(n.' ~ quoted ~ ', o.' ~ quoted ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
    {%- set differs = 'n._floodmark_hash.a <> o._floodmark_hash.a or n._floodmark_hash.b <> o._floodmark_hash.b' -%}
    {%- set touched = ['n._floodmark_hash.c <> o._floodmark_hash.c', 'n._floodmark_hash.d <> o._floodmark_hash.d']
        if source.beside else [] -%}
    {%- set expected = [] -%}
    {%- set is_list = snapshot.output == 'changes' -%}
    {%- set has_start = snapshot.version is not none and (is_list or snapshot.scd_type == 2) -%}
    {%- set gone = 'if(o._floodmark_start >= ' ~ version ~ ", 'again', 'missing')" if has_start and is_list
        else "'missing'" -%}
    {%- if snapshot.on_missing == 'mark' -%}
        {%- do touched.append('o._floodmark_was_missing') -%}
        {%- do expected.append('not o._floodmark_was_missing') -%}
    {%- endif -%}
    {%- if snapshot.scope is not none -%}
        {%- do expected.append('o._floodmark_in_scope') -%}
    {%- endif -%}
    {%- set missing = (['n._floodmark_copies is null'] + expected) | join(' and ') %}
    select * from (
        select {{ merged | join(', ') }}, n._floodmark_copies, o._floodmark_hash as _floodmark_old_hash,
            case when n._floodmark_copies is null
                then {{ gone if not expected else "if(" ~ expected | join(' and ') ~ ', ' ~ gone ~ ", 'none')" }}
                when o._floodmark_hash is null then 'insert'
                when {{ differs }} then {{ "if(o._floodmark_start >= " ~ version ~ ", '"
                    ~ ('again' if is_list else 'touch') ~ "', 'update')" if has_start else "'update'" }}
                {{ "when " ~ touched | join(' or ') ~ " then 'touch'" if touched }}
                else 'same' end as _floodmark_change
        from (
            select {{ keys }}, _floodmark_hash, count(*) over (partition by {{ keys }}) as _floodmark_copies
            from (select {{ keys }}, {{ floodmark._snapshot_hash_sql(source, source.columns) }} as _floodmark_hash
                from (
                {{ select_sql }}
            ))
        ) as n {{'full' if floodmark._has_missing(run, source) else 'left' }} outer join (
            {{ floodmark._known_hashes_sql(run, source) }}
        ) as o on {{ floodmark._equal_keys(run, 'n', 'o') }}
    ) where _floodmark_change not in ('none', 'same') or _floodmark_copies > 1
{% endmacro %}


{# Whether a key that did not come counts as missing. Not where nobody can tell which keys came. #}
{% macro _has_missing(run, source) %}
    {{ return(run.settings.snapshot.on_missing != 'ignore' and not source.counts.get('unknown_keys')) }}
{% endmacro %}


{# Count what came and has no key that anybody knows, corrupt records and rows that rules hold back, and say so once the
   batch is committed. #}
{% macro _count_unknown_keys(run, batch, source) %}
    {%- set held = floodmark._held_keys_sql(batch, run.settings.unique_key)
        if run.settings.snapshot.on_missing != 'ignore' else none -%}
    {%- set keyless = run_query('select count(*) as n from (' ~ held ~ ') where '
        ~ floodmark._null_key_sql(run)).rows[0][0] | int if held is not none else 0 -%}
    {%- set corrupt = batch.get('rows_corrupt') or 0 -%}
    {%- do source.counts.update({'unknown_keys': corrupt + keyless}) -%}
    {%- set found = [] -%}
    {%- if corrupt -%}
        {%- do found.append(floodmark._counted(corrupt, 'record') ~ (' is' if corrupt == 1 else ' are')
            ~ ' corrupt') -%}
    {%- endif -%}
    {%- if keyless -%}
        {%- do found.append(floodmark._counted(keyless, 'row') ~ (' that a rule holds back has no '
            if keyless == 1 else ' that rules hold back have no ') ~ run.settings.unique_key | join(' or ')) -%}
    {%- endif -%}
    {%- if found and run.settings.snapshot.on_missing != 'ignore' -%}
        {%- do floodmark._warn_once(run, found | join(', and ') ~ ', and nobody can tell which key '
            ~ ('it has' if corrupt + keyless == 1 else 'they have')
            ~ ', so no key of this snapshot counts as missing: the rows of keys that did not come stay as they are') -%}
    {%- endif -%}
{% endmacro %}


{# The difference without keys that rules hold back: they are there, so they are not missing. #}
{% macro _without_held_sql(run, batch, difference_sql) %}
    {%- set held = floodmark._held_keys_sql(batch, run.settings.unique_key) -%}
    {%- if held is none -%}
        {{ return(difference_sql) }}
    {%- endif %}
    select d.* from ({{ difference_sql }}) as d
    left join (select distinct *, true as _floodmark_held from ({{ floodmark._partition_values_sql(run,
        floodmark._columns_named(batch.judged.columns, run.settings.unique_key), held) }})) as h
        on {{ floodmark._equal_keys(run, 'd', 'h') }}
    where d._floodmark_copies is not null or h._floodmark_held is null
{% endmacro %}


{# Keys and hashes that the table has now: of a list of changes the last of each key. Of one version a delete is the
   first: the key left one scope for another. #}
{% macro _known_hashes_sql(run, source) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set scope = ', coalesce((' ~ snapshot.scope ~ '), false) as _floodmark_in_scope' if snapshot.scope is not none
        else '' -%}
    {%- set stored = floodmark._snapshot_hash_sql(source, source.table) if source.rehash
        else (floodmark._hash_from_text_sql('_new_hash') if snapshot.output == 'changes' else '_floodmark_hash') -%}
    {%- if snapshot.output == 'changes' -%}
        {{ return('select ' ~ keys ~ ', ' ~ stored ~ ' as _floodmark_hash, _changed_at as _floodmark_start' ~ scope
            ~ ' from (select *, row_number() over (partition by ' ~ keys
            ~ " order by _changed_at desc, _change_type = 'delete') as _floodmark_rank from " ~ this
            ~ ") where _floodmark_rank = 1 and _change_type <> 'delete'") }}
    {%- endif -%}
    {{ return('select ' ~ keys ~ ', ' ~ stored ~ ' as _floodmark_hash'
        ~ (', __start_at as _floodmark_start' if snapshot.scd_type == 2 else '')
        ~ (', __is_missing as _floodmark_was_missing' if snapshot.on_missing == 'mark' else '') ~ scope ~ ' from '
        ~ this ~ (' where __end_at is null' if snapshot.scd_type == 2 else '')) }}
{% endmacro %}


{# Keys of two relations that are equal; a snapshot has no NULL key. #}
{% macro _equal_keys(run, one, other) %}
    {{ return(floodmark._same_key(run, one, other, '=')) }}
{% endmacro %}


{# Keys that come twice, or are NULL: refused, keys named; one of several columns also where one of them is NULL.
   `counted` is a query of the keys and _floodmark_copies, which a key that is missing does not have; `counts.repeated`
   is 0 where no key comes twice. #}
{% macro _check_snapshot_keys(run, batch, counts, counted) %}
    {%- set named = 'to_json(struct(' ~ floodmark._quoted_csv(run.settings.unique_key)
        ~ "), map('ignoreNullFields', 'false'))" -%}
    {%- set problems = [] -%}
    {%- if counts.keyless -%}
        {%- set shown = run_query('select distinct ' ~ named ~ ' as named from (' ~ counted ~ ') where '
            '_floodmark_copies is not null and ' ~ floodmark._null_key_sql(run) ~ ' order by 1 limit 5')
            if run.settings.unique_key | length > 1 else none -%}
        {%- do problems.append(floodmark._counted(counts.keyless, 'row') ~ (' has' if counts.keyless == 1 else ' have')
            ~ ' no ' ~ run.settings.unique_key | join(' or ')
            ~ (': ' ~ shown.columns['named'].values() | join(', ') if shown is not none else '')) -%}
    {%- endif -%}
    {%- if counts.repeated -%}
        {%- set shown = run_query('select named, count(*) over () as n from (select distinct ' ~ named
            ~ ' as named from (' ~ counted ~ ') where _floodmark_copies > 1) order by 1 limit 5') -%}
        {%- set number = shown.rows[0]['n'] | int -%}
        {%- do problems.append(floodmark._counted(number, 'key') ~ (' comes' if number == 1 else ' come')
            ~ ' more than once in the snapshot: ' ~ shown.columns['named'].values() | join(', ')) -%}
    {%- endif -%}
    {%- if problems -%}
        {%- do floodmark._refuse_snapshot(batch, problems | join('; '),
            'Nothing was written: correct the SELECT, so that it gives each key once') -%}
    {%- endif -%}
{% endmacro %}


{# Five of the keys of a relation, as a list for a sentence. #}
{% macro _shown_keys(run, relation) %}
    {{ return(run_query('select to_json(struct(' ~ floodmark._quoted_csv(run.settings.unique_key) ~ ')) as named from '
        ~ relation ~ ' order by 1 limit 5').columns[0].values() | join(', ')) }}
{% endmacro %}


{# More keys missing than max_delete_fraction allows: refused, with the number and a sample. #}
{% macro _check_missing_share(run, batch, source, counts, difference) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- if snapshot.max_delete_fraction is none or snapshot.on_missing == 'ignore' or not counts.missing -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set there = 'true' ~ (' and not _floodmark_was_missing' if snapshot.on_missing == 'mark' else '')
        ~ (' and _floodmark_in_scope' if snapshot.scope is not none else '') -%}
    {%- set total = run_query('select count(*) as n from (' ~ floodmark._known_hashes_sql(run, source) ~ ') where '
        ~ there).rows[0][0] | int -%}
    {%- if total and counts.missing / total > snapshot.max_delete_fraction -%}
        {%- do floodmark._refuse_snapshot(batch,
            '{:,} of {:,} keys are missing from the snapshot: '.format(counts.missing, total)
            ~ floodmark._shown_keys(run, difference ~ " where _floodmark_change = 'missing'")
            ~ (', ...' if counts.missing > 5 else ''),
            'Nothing was written: snapshot_diff.max_delete_fraction allows ' ~ snapshot.max_delete_fraction
            ~ '. If they are really gone, raise it for one run') -%}
    {%- endif -%}
{% endmacro %}


{# Where the keys and hashes that differ are put down, until their rows are staged. #}
{% macro _difference_relation(batch) %}
    {{ return(floodmark._stage_relation(batch) ~ '__' ~ invocation_id[:8]) }}
{% endmacro %}


{# The mark of a model that has no watermark: the version of its snapshot, which a batch that another run staged has
   in its stage. The ledger names its column, so that nobody takes it for the mark of another. #}
{% macro _version_after(run, batch) %}
    {%- if run.settings.snapshot.version is none -%}
        {{ return(none) }}
    {%- elif batch.high is none and batch.staged_by -%}
        {%- set stage = floodmark._stage_relation(batch) -%}
        {#- that of a batch of another strategy has none -#}
        {%- set version = floodmark._find_column(floodmark._columns_of(relation=stage), '_floodmark_version') -%}
        {%- set family = floodmark._position_family(version.type) if version else none -%}
        {%- set text = run_query('select ' ~ floodmark._position_text_sql('max(_floodmark_version)', family)
            ~ ' as version from ' ~ stage).rows[0][0] if family else none -%}
        {%- do batch.update({'family': family, 'high': floodmark._position_print(floodmark._position_from_text(text,
            family), family)}) -%}
    {%- endif -%}
    {%- if batch.high is none and run.state.committed and not batch.begins -%}
        {%- do batch.update({'family': run.state.committed.family,
            'watermark_column': run.state.committed.watermark_column}) -%}
        {{ return(run.state.committed.mark) }}
    {%- endif -%}
    {%- do batch.update({'watermark_column': run.settings.snapshot.version}) if batch.high is not none -%}
    {{ return(batch.high) }}
{% endmacro %}


{# The rows that would be new in the table, against the contract's constraints. #}
{% macro _check_new_rows(run, batch, source) %}
    {%- if floodmark._has_constraints() -%}
        {%- do floodmark._check_constraints(batch, '(select ' ~ floodmark._new_rows_sql(run, source) ~ ' from '
            ~ source.stage ~ " where _floodmark_change <> 'missing')", floodmark._constraints()) -%}
    {%- endif -%}
{% endmacro %}
