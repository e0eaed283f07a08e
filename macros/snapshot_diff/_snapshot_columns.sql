{#
  Which columns a snapshot has, which of them are compared, and what the table knows of it. A hash is of the columns
  and types that the table's property `floodmark.compared` names, so that a column which comes, goes or gets another
  type is not a change of every row.
#}

{# What is known of a snapshot before a row of it is read: its columns, those of the table, and which of them are
   compared. #}
{% macro _snapshot_columns(run, batch, select_sql) %}
    {%- set stage = floodmark._stage_relation(batch) -%}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._check_snapshot_columns(run, columns, select_sql) -%}
    {%- set version = floodmark._find_column(columns, snapshot.version) if snapshot.version is not none -%}
    {%- set source = {'sql': 'select * from ' ~ stage, 'stage': stage, 'columns': columns, 'table': [],
        'scd_type': run.settings.snapshot.scd_type, 'version_type': version.type if version else 'timestamp',
        'changes': 0, 'family': floodmark._position_family(version.type) if version else none, 'rehash': false,
        'rescued': floodmark._rescued_column(run.settings)} -%}
    {%- if config.get('contract').enforced -%}
        {%- do floodmark._assert_contract(floodmark._snapshot_shape_sql(run, source, run.given_sql)) -%}
    {%- endif -%}
    {%- if not batch.replaces -%}
        {%- do source.update({'table': floodmark._table_columns(run)}) -%}
        {%- if batch.begins -%}
            {%- do floodmark._reject_columns(floodmark._snapshot_type_problems(run, source),
                'the table and the settings differ') -%}
            {%- do floodmark._adopt_snapshot_table(run, source) -%}
        {%- endif -%}
        {%- do floodmark._check_snapshot_table(run, source) -%}
        {#- where other fields are refused, they are before a struct is hashed as the table's -#}
        {%- for column in floodmark._schema_changes(columns, source.table).retyped
            if run.settings.on_schema_change in ['fail', 'sync_all_columns'] and 'struct<' in column.type -%}
            {%- do floodmark._align_columns(run,
                dict(source, columns=floodmark._snapshot_shape(run, source))) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do floodmark._choose_compared(run, batch, source) -%}
    {{ return(source) }}
{% endmacro %}


{# What the columns forbid, refused with all problems at once. #}
{% macro _check_snapshot_columns(run, columns, select_sql) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set problems = floodmark._key_problems(run, run.settings.unique_key, columns) -%}
    {%- for setting, names in {'compare_columns': snapshot.compared, 'except_columns': snapshot.excepted}.items() -%}
        {%- for name in names
            if not floodmark._find_column(columns, name) and not floodmark._is_untyped_column(run, name)
            or name | lower in run.settings.unique_key | map('lower') | list -%}
            {%- do problems.append({'setting': 'snapshot_diff.' ~ setting, 'got': name,
                'expected': 'columns of the SELECT other than the key', 'todo': 'Correct the name or remove it'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if snapshot.version is not none -%}
        {%- set version = floodmark._find_column(columns, snapshot.version) -%}
        {%- if version is none and floodmark._is_untyped_column(run, snapshot.version) -%}
            {%- do problems.append(floodmark._untyped_problem('snapshot_diff.version', snapshot.version)) -%}
        {%- elif version is none -%}
            {%- do problems.append({'setting': 'snapshot_diff.version', 'got': snapshot.version,
                'expected': 'a column of the SELECT', 'todo': 'Add it to the SELECT, or correct the name'}) -%}
        {%- elif floodmark._position_family(version.type) is none -%}
            {%- do problems.append({'setting': 'snapshot_diff.version', 'got': version.name ~ ' ' ~ version.type,
                'expected': 'a timestamp, a date or a whole number', 'todo': 'Cast it in the SELECT'}) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if snapshot.scope is not none -%}
        {%- do problems.extend(floodmark._condition_problems({'setting': 'snapshot_diff.scope',
            'sql': '(' ~ snapshot.scope ~ ')'}, columns, select_sql)) -%}
    {%- endif -%}
    {%- set kept = floodmark._snapshot_added(run, 'timestamp') | map(attribute='name') | list -%}
    {%- do floodmark._reject_columns(problems + floodmark._own_name_problems(columns, 'snapshot_diff', kept),
        'the columns of the snapshot do not fit') -%}
{% endmacro %}


{# Keys and the version must be of the table's own types, also where the version is a start or an end: a MERGE would
   cast it without a word. A column that is yet to be added to a table that somebody made has no other type. #}
{% macro _snapshot_type_problems(run, source) %}
    {%- set problems = [] -%}
    {%- for key in run.settings.unique_key -%}
        {%- do problems.extend(floodmark._type_problems('unique_key', key,
            floodmark._find_column(source.columns, key).type, floodmark._find_column(source.table, key))) -%}
    {%- endfor -%}
    {%- for name in floodmark._snapshot_added(run, source.version_type) | map(attribute='name')
        if name in ['__start_at', '__end_at', '__missing_at', '_changed_at']
        and floodmark._find_column(source.table, name) -%}
        {%- do problems.extend(floodmark._type_problems('snapshot_diff.version',
            (run.settings.snapshot.version or 'the time of the load') ~ ' as ' ~ name, source.version_type,
            floodmark._find_column(source.table, name))) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The columns that a scope names. #}
{% macro _scope_columns(scope, columns) %}
    {%- set names = [] -%}
    {%- for column in columns if scope and floodmark._is_named(column.name, [scope], fields=true) -%}
        {%- do names.append(column.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# The scope is asked of the table's rows, too, before columns are added to it. #}
{% macro _scope_problems(scope, source) %}
    {%- set problems = [] -%}
    {%- for name in floodmark._scope_columns(scope, source.columns)
        if not floodmark._find_column(source.table, name) -%}
        {%- do problems.append({'setting': 'snapshot_diff.scope', 'got': scope,
            'expected': 'columns of ' ~ this ~ ', which has no ' ~ name,
            'todo': "Run it once without scope under on_schema_change 'sync_all_columns', which fills the column, or "
            'with --full-refresh'}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The table must be one that snapshot_diff made with the same key and SCD type, and key and version of its types. #}
{% macro _check_snapshot_table(run, source) %}
    {%- set problems = [] -%}
    {%- set properties = floodmark._properties_of(this) -%}
    {%- set made_by = floodmark._from_property(properties.get('floodmark.snapshot_diff')) -%}
    {%- set wanted = floodmark._snapshot_made_by(run.settings.snapshot, run.settings.unique_key) -%}
    {%- if made_by not in [wanted, floodmark._snapshot_made_by(run.settings.snapshot,
        run.settings.unique_key | sort)] -%}
        {%- do problems.append({'setting': 'snapshot_diff', 'got': wanted,
            'expected': (made_by or 'a table that snapshot_diff made') ~ ', as ' ~ this ~ ' was made',
            'todo': 'Run it once with --full-refresh to change the key, the SCD type, the output, the '
            'version or on_missing mark'}) -%}
    {%- else -%}
        {%- do problems.extend(floodmark._snapshot_type_problems(run, source)
            + floodmark._scope_problems(run.settings.snapshot.scope, source)) -%}
    {%- endif -%}
    {%- do floodmark._reject_columns(problems, 'the table and the settings differ') -%}
    {%- do source.update({
        'hashed': fromjson(floodmark._from_property(properties.get('floodmark.compared')) or 'null')
            or {'compared': [], 'beside': [], 'added': []},
        'foreign': floodmark._still_foreign(
            fromjson(floodmark._from_property(properties.get('floodmark.foreign')) or '[]'), source.columns),
    }) -%}
{% endmacro %}


{# Make an empty table that is there one of snapshot_diff: the columns that it writes beside the analyst's. Its hashes
   are of nothing yet. The properties are set first, so that a table with these columns has them. #}
{% macro _adopt_snapshot_table(run, source) %}
    {%- set missing = [] -%}
    {%- for column in floodmark._snapshot_added(run, source.version_type)
        if not floodmark._find_column(source.table, column.name) -%}
        {%- do missing.append(dict(column, type=column.ddl)) -%}
    {%- endfor -%}
    {%- set made_here = floodmark._find_column(source.table, '_floodmark_hash') is not none -%}
    {%- set properties = floodmark._snapshot_properties(run, dict(source, compared=[], beside=[], added=[],
        scoped=[])) -%}
    {%- set foreign = floodmark._foreign_property(floodmark._foreign_names(source.table, source.columns)) -%}
    {#- a table that was emptied has no scope of any version -#}
    {%- do floodmark._execute(['alter table ' ~ this ~ " unset tblproperties if exists ('floodmark.scopes')"]) -%}
    {%- do floodmark._set_properties(dict(properties, **({} if made_here else foreign))) -%}
    {%- do floodmark._add_columns(this, {'new': missing, 'fields': []}) -%}
    {%- do run.update({'table_columns': none}) -%}
    {%- do source.update({'table': floodmark._table_columns(run)}) -%}
{% endmacro %}


{# What a table of snapshot_diff keeps of its settings, as a table property: its rows have no other meaning. #}
{% macro _snapshot_made_by(snapshot, unique_key) %}
    {{ return(('changes' if snapshot.output == 'changes'
        else 'SCD ' ~ snapshot.scd_type ~ (' with marks' if snapshot.on_missing == 'mark' else '')) ~ ' by '
        ~ unique_key | map('lower') | join(' and ')
        ~ (', in the order of ' ~ snapshot.version | lower if snapshot.version is not none else '')) }}
{% endmacro %}


{# The column of rescued data, where the hashes are of it. #}
{% macro _hashed_rescued(source) %}
    {{ return(source.rescued if (source.rescued or '') | lower in source.compared + source.beside else none) }}
{% endmacro %}


{# Whether the table's hashes are of nested values, or of rescued data, as an earlier version of the hash took them. #}
{% macro _has_older_hash(source) %}
    {%- set ns = namespace(nested=false) -%}
    {%- for column in floodmark._columns_named(source.table, source.compared + source.beside) -%}
        {%- set ns.nested = ns.nested or floodmark._nesting(column.type) is not none or column.type == 'variant' -%}
    {%- endfor -%}
    {{ return(ns.nested and source.hashed.get('nested') != floodmark._nested_hash_version()
        or source.hashed.get('rescued') != floodmark._hashed_rescued(source)) }}
{% endmacro %}


{# The types of the columns that the hashes are of. #}
{% macro _hashed_types(source) %}
    {%- set types = {} -%}
    {%- for column in floodmark._columns_named(source.columns, source.compared + source.beside) -%}
        {%- do types.update({column.name | lower: column.ddl or column.type}) -%}
    {%- endfor -%}
    {{ return(types) }}
{% endmacro %}


{# Whether a column has another type than the table's hashes are of: the same value has another hash then. A field that
   a struct has got behind the others is NULL in the rows before it, and tells nothing. A table of earlier code keeps no
   types. #}
{% macro _has_retyped_hash(source) %}
    {%- set known = source.hashed.get('types') or {} -%}
    {%- for name, type in floodmark._hashed_types(source).items() if name in known -%}
        {%- set as_before = [floodmark._conformed_type(known[name], type, true),
            floodmark._conformed_type(type, known[name], true)] | map('lower') | unique | list -%}
        {%- if as_before != [type | lower] -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Which columns are compared, and which beside them are kept up in the open row (SCD 2): `compared` and `beside`,
   names in lower case. A column that came since is not compared until it is asked for, by compare_columns or
   on_schema_change sync_all_columns; one that had no type before is, as if it had been NULL. What the scope names, or
   that of an earlier run, is always kept up: a key that moved would lie in its old scope for ever. Where a row was read
   is compared only if compare_columns names it. Where the table's hashes are of other columns, `rehash` is true. #}
{% macro _choose_compared(run, batch, source) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set listed = snapshot.compared | map('lower') | list -%}
    {%- set scoped = (floodmark._scope_columns(snapshot.scope, source.columns) | map('lower') | list
        + source.get('hashed', {}).get('scoped', [])) | unique | list -%}
    {%- set apart = (run.settings.unique_key + ([snapshot.version] if snapshot.version is not none else []))
        | map('lower') | list + floodmark._origin_columns(run.settings) | reject('in', listed) | list -%}
    {%- set given = source.columns | map(attribute='name') | map('lower') | reject('in', apart) | list -%}
    {%- set added = [] -%}
    {%- set within = given -%}
    {%- if not batch.replaces -%}
        {%- set table = source.table | map(attribute='name') | map('lower') | list + (run.get('awaited') or []) -%}
        {%- set within = given if run.settings.on_schema_change in ['append_new_columns', 'sync_all_columns']
            else given | select('in', table) | list -%}
        {%- for name in (within + source.hashed.added) | unique
            if (name in source.hashed.added or name not in table) and name not in listed + scoped
            and run.settings.on_schema_change != 'sync_all_columns' -%}
            {%- do added.append(name) -%}
        {%- endfor -%}
    {%- endif -%}
    {#- SCD 2 keeps up what is not compared, too -#}
    {%- set always = scoped if snapshot.scd_type == 1 else [] -%}
    {%- set compared = within | select('in', listed + always) | list if listed
        else within | reject('in', added + snapshot.excepted | map('lower') | reject('in', always) | list) | list -%}
    {%- set beside = within | reject('in', added + compared) | list if snapshot.scd_type == 2 else [] -%}
    {%- do source.update({'compared': compared | sort, 'beside': beside | sort, 'added': added | sort,
        'scoped': scoped | sort}) -%}
    {%- if not batch.replaces -%}
        {%- for name in scoped if snapshot.scope and name in source.hashed.added -%}
            {%- do floodmark._warn_once(run, 'rows that have not changed since ' ~ name ~ ' came are NULL there, so '
                'the scope may not find them before they come again. Run once without scope to find keys that are '
                'gone') -%}
        {%- endfor -%}
        {%- set gone = (source.hashed.compared + source.hashed.beside) | reject('in', given + apart) | sort -%}
        {%- if gone -%}
            {%- set begun = ", new rows take the value of their key's open row" if snapshot.scd_type == 2
                else (', changes have NULL there' if snapshot.output == 'changes' else '') -%}
            {%- do floodmark._warn_once(run, 'the SELECT no longer has ' ~ gone | join(', ')
                ~ ': rows keep the value they have' ~ begun ~ ', and all are compared without it') -%}
        {%- endif -%}
        {%- do source.update({'rehash': source.compared != source.hashed.compared
            or source.beside != source.hashed.beside or floodmark._has_older_hash(source)
            or floodmark._has_retyped_hash(source)}) -%}
    {%- endif -%}
    {%- for name in listed if name in given and name not in within and run.settings.on_schema_change == 'ignore' -%}
        {%- do floodmark._refuse([{'setting': 'snapshot_diff.compare_columns', 'got': name,
            'expected': 'columns of ' ~ this,
            'todo': "It is new: set on_schema_change to 'append_new_columns', or run once with --full-refresh"}],
            rejects='a column of compare_columns is not in the table') -%}
    {%- endfor -%}
    {%- if not source.compared -%}
        {%- do floodmark._refuse([{'setting': 'snapshot_diff', 'got': 'no column to compare',
            'expected': 'a column of the SELECT other than key and version', 'todo': 'Add one, or use merge'}],
            rejects='there is no column to compare') -%}
    {%- endif -%}
{% endmacro %}


{# The columns that the table has beside the analyst's: {name, ddl}, in their order. #}
{% macro _snapshot_added(run, version_type) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set added = [] -%}
    {%- if snapshot.output == 'changes' -%}
        {{ return([{'name': '_change_type', 'ddl': 'string'}, {'name': '_old_hash', 'ddl': 'string'},
            {'name': '_new_hash', 'ddl': 'string'}, {'name': '_changed_at', 'ddl': version_type}]) }}
    {%- endif -%}
    {%- if snapshot.scd_type == 2 -%}
        {%- do added.extend([{'name': '__start_at', 'ddl': version_type},
            {'name': '__end_at', 'ddl': version_type}]) -%}
    {%- endif -%}
    {%- if snapshot.on_missing == 'mark' -%}
        {%- do added.extend([{'name': '__is_missing', 'ddl': 'boolean'},
            {'name': '__missing_at', 'ddl': version_type}]) -%}
    {%- endif -%}
    {{ return(added + [{'name': '_floodmark_hash', 'ddl': floodmark._snapshot_hash_type(snapshot.scd_type)}]) }}
{% endmacro %}
