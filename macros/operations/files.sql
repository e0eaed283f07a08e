{# What operators do with files by hand. Each is an event of the ledger, with who did it and why. #}

{# Leave files out: the next runs do not load them. `paths` are those of files in the folder, whole or from any `/` on.
   #}
{% macro skip_files(model, paths, reason=none) %}
    {%- do floodmark._check_arguments('skip_files',
        {'model': [model, 'name'], 'paths': [paths, 'names'], 'reason': [reason, 'text']}) -%}
    {%- set node = floodmark._files_node(model) -%}
    {%- set settings = floodmark._node_files(node) -%}
    {%- set listed = floodmark._listed(settings.path, 'select to_json(struct(*)) from ('
        ~ floodmark._folder_files_sql(settings) ~ ')') -%}
    {%- set files = floodmark._named_files(node, listed, paths, 'in the folder ' ~ settings.path) -%}
    {%- do floodmark._record_files_event(node, 'skipped', {'files': floodmark._files_literal(files)}, reason) -%}
    {%- do print(floodmark._counted(files | length, 'file') ~ ' will be left out by ' ~ floodmark._node_id(node)
        ~ '.') -%}
{% endmacro %}


{# Forget that files were loaded or skipped: where they are in the folder, the next run loads them, beside the rows that
   the table has of them. A file that was corrupt as a whole is so no more. #}
{% macro forget_files(model, paths, reason=none) %}
    {%- do floodmark._check_arguments('forget_files',
        {'model': [model, 'name'], 'paths': [paths, 'names'], 'reason': [reason, 'text']}) -%}
    {%- set node = floodmark._files_node(model) -%}
    {%- set known = floodmark._query_json("select to_json(named_struct('path', path, 'size', size, 'modified_at', "
        "unix_micros(modified_at), 'is_archived', archived_at is not null)) from " ~ floodmark.ledger_schema()
        ~ '.files where model = ' ~ floodmark._string_literal(floodmark._node_id(node))) -%}
    {%- set files = floodmark._named_files(node, known, paths, 'among the files that the ledger knows') -%}
    {%- do floodmark._record_files_event(node, 'forgotten', {'files': floodmark._files_literal(files)}, reason) -%}
    {%- do floodmark._supersede(floodmark._quarantine_of(node), floodmark._corrupt_files_again_sql(files)) -%}
    {%- set archived = files | selectattr('is_archived') | list | length -%}
    {%- do print(floodmark._counted(files | length, 'file') ~ ' will be new to ' ~ floodmark._node_id(node) ~ '.'
        ~ (' Of these, ' ~ archived ~ (' was archived or deleted: it loads once a file of its name is' if archived == 1
        else ' were archived or deleted: they load once files of their names are') ~ ' in the folder.'
        if archived else '')) -%}
{% endmacro %}


{# Return to an earlier version of the schema of a model's files: the next batch knows no other columns. The table keeps
   those that it has, and one that comes again is of the type that it had (`former`). #}
{% macro reset_file_schema(model, version, reason=none) %}
    {%- do floodmark._check_arguments('reset_file_schema',
        {'model': [model, 'name'], 'version': [version, 'some'], 'reason': [reason, 'text']}) -%}
    {%- set node = floodmark._files_node(model) -%}
    {%- if not floodmark._node_files(node).infers -%}
        {%- do floodmark._stop('its columns are those that its settings name (`schema`, or the format), so no earlier '
            'schema can be restored. Change them there', floodmark._node_id(node)) -%}
    {%- endif -%}
    {%- set schemas = floodmark._query_json('select file_schema from ('
        ~ floodmark._counted_schemas_sql(floodmark._node_id(node)) ~ ') order by batch_id, at') -%}
    {%- set found = schemas | selectattr('version', 'equalto', version | int) | list -%}
    {%- if not found -%}
        {%- do floodmark._stop('its files have no schema of version ' ~ version ~ ': they have '
            ~ (schemas | map(attribute='version') | unique | join(', ') or 'none'), floodmark._node_id(node)) -%}
    {%- endif -%}
    {%- set schema = dict(found[-1], version=schemas | map(attribute='version') | max + 1, added=[],
        former=floodmark._former_columns(schemas[-1])) -%}
    {%- do floodmark._record_files_event(node, 'schema',
        {'file_schema': floodmark._string_literal(tojson(schema))}, reason) -%}
    {%- do print('The files of ' ~ floodmark._node_id(node) ~ ' have the schema of version ' ~ version
        ~ ' again, as version ' ~ schema.version ~ '.') -%}
{% endmacro %}


{# A model that loads files; another one is refused. #}
{% macro _files_node(model) %}
    {%- set node = floodmark._managed_node(model) -%}
    {%- if floodmark._node_setting(node, 'files') is not mapping or node.config.materialized != 'incremental' -%}
        {%- do floodmark._stop('it loads no files as batches', floodmark._node_id(node)) -%}
    {%- endif -%}
    {{ return(node) }}
{% endmacro %}


{# The files that people name: a list of {path, size, modified_at}; `where` says where each must be. #}
{% macro _named_files(node, files, paths, where) %}
    {%- set found = [] -%}
    {%- for name in floodmark._as_list(paths) -%}
        {%- set whole, ending = {}, {} -%}
        {%- for file in files -%}
            {%- for path in [file.path, floodmark._decoded_path(file.path)] -%}
                {%- do whole.update({file.path: file}) if path == name -%}
                {%- do ending.update({file.path: file}) if path.endswith('/' ~ name) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- set named = (whole or ending).values() | list -%}
        {%- if not named -%}
            {%- do floodmark._stop("'" ~ name ~ "' is not " ~ where
                ~ ': `floodmark files <model>` lists the files', floodmark._node_id(node)) -%}
        {%- elif named | length > 1 -%}
            {%- do floodmark._stop(named | length ~ " files are called '" ~ name ~ "', such as " ~ named[0].path
                ~ ' and ' ~ named[1].path ~ ': name more of the path', floodmark._node_id(node)) -%}
        {%- endif -%}
        {%- do found.append(named[0]) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Record such an event behind the last batch, which must have ended, and behind all that the ledger has of the model:
   of two events of a file the later counts, also where a clock was set back. #}
{% macro _record_files_event(node, event, values, reason) %}
    {%- set id = floodmark._node_id(node) -%}
    {%- set state = floodmark._model_state(id) -%}
    {%- if state.last_batch_id != state.finished_id -%}
        {%- do floodmark._stop('batch ' ~ state.last_batch_id
            ~ ' is unfinished: run the model first, which finishes it',
            id) -%}
    {%- endif -%}
    {%- set latest = run_query('select unix_micros(max(at)) as latest from ' ~ floodmark._log_of(id)).rows[0][0] -%}
    {%- set at = floodmark._time_behind_sql(latest | int if latest is not none else none) -%}
    {%- do floodmark._record(event, {'model': id, 'batch_id': state.last_batch_id or 0, 'kind': 'files',
        'generation': state.committed.generation if state.committed else none, 'family': none, 'low': none,
        'reason': reason}, dict(values, at=at, recorded_by='current_user()')) -%}
{% endmacro %}


{# A SELECT of a model's files, the newest first. #}
{% macro _model_files_sql(model, limit=1000) %}
    select path, size,
        {{ floodmark._utc_text_sql('modified_at') }} as modified_at,
        {{ floodmark._utc_text_sql('discovered_at') }} as discovered_at,
        batch_id, state, rows, rows_rescued, rows_quarantined, reason,
        {{ floodmark._utc_text_sql('archived_at') }} as archived_at, archived_to
    from {{ floodmark.ledger_schema() }}.files
    where model = {{ floodmark._string_literal(floodmark._node_id(floodmark._files_node(model))) }}
    order by batch_id desc, path limit {{ limit }}
{% endmacro %}


{# A SELECT of the schemas that a model's files have had, the newest first. #}
{% macro _model_schemas_sql(model) %}
    select version, min(batch_id) as batch_id, {{ floodmark._utc_text_sql('min(at)') }} as decided_at,
        get_json_object(min_by(file_schema, at), '$.record') as schema,
        get_json_object(min_by(file_schema, at), '$.added') as added, max(reason) as reason,
        max(recorded_by) as recorded_by
    from (
        select *, cast(get_json_object(file_schema, '$.version') as bigint) as version
        from ({{ floodmark._counted_schemas_sql(floodmark._node_id(floodmark._files_node(model))) }})
    )
    group by version order by version desc
{% endmacro %}
