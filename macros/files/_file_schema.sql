{#
  The schema of a batch of files. It is decided before the batch reads, from its files alone and from what is known, and
  stands in the batch's plan (batch_log.file_schema, a view of which is `file_schemas`). What it is:

  version     a number that grows when the schema does
  format      the format of the files
  record      the columns of a record, a struct as DDL text
  partitions  columns that the folders give: a list of {name, type}
  added       paths of what the batch has added, such as ['amount'] and ['address', 'zip']
  former      the record, with the columns of folders, that somebody left by a reset, or that files without a record
              gave: what comes again of it has its types, as in the table
  told        the columns of the setting `schema`, where folders give some of them: their places count in CSV without a
              header
#}

{# What the plan of a batch says of its files: {file_schema, record, look}; nothing for a batch without files. #}
{% macro _plan_schema(run, begins, files) %}
    {%- set kept = floodmark._known_schema(run) if not begins or floodmark._keeps_generation(run) else none -%}
    {%- set known = none if begins else kept -%}
    {%- do floodmark._settle_format(run, known, files) -%}
    {%- set settings = run.settings.files -%}
    {%- do floodmark._check_format(settings) if settings.format and settings.get('is_named') -%}
    {%- set format = floodmark._file_format(settings) if settings.format else floodmark._file_format_defaults() -%}
    {%- do floodmark._check_hints(settings.schema_hints) if run.first -%}
    {%- set record = format.columns or (floodmark._told_record(settings.schema) if settings.schema
        else (known.record if known else none)) -%}
    {%- if not files and (record is none or not known and not settings.schema and not format.columns) -%}
        {{ return({'record': none}) }}
    {%- endif -%}
    {%- do run.update({'known_record': record}) -%}
    {#- what only shows the columns needs to know no more where they are given -#}
    {%- set needs_look = files and not (floodmark._only_looks() and settings.schema
        and settings.schema_evolution in ['none', 'rescue']) -%}
    {%- set look = floodmark._look_at_files(run, files) if needs_look else {'files': {}, 'seen': none} -%}
    {%- set exact = none -%}
    {%- if settings.schema_evolution == 'widen' -%}
        {%- set exact = floodmark._seen_columns(run, format.unmixed(settings,
            floodmark._files_to_read(files, look), record, look.seen)
            if format.unmixed and record else look.seen, record, is_exact=true) -%}
    {%- endif -%}
    {%- set former = kept.get('former') if kept -%}
    {%- set hints = floodmark._former_hints(record, former) if known and former else [] -%}
    {%- set evolved = floodmark._evolved(record, floodmark._seen_columns(run, look.kept or look.seen, record),
        hints + (floodmark._hints(settings.schema_hints, settings.format != 'json') or []),
        settings.schema_evolution in ['add_new_columns', 'widen'], exact,
        [] if format.columns else floodmark._told_columns(settings, known)) -%}
    {%- if begins and kept -%}
        {#- the first files with a record decide which columns there are, and the table which types these have -#}
        {%- set former = floodmark._former_columns(kept) -%}
        {%- do evolved.update({'record': floodmark._in_former_types(evolved.record, former, exact)})
            if record is none and evolved.record -%}
    {%- endif -%}
    {%- do floodmark._check_json_keys(settings, evolved.record) -%}
    {%- set partitions = floodmark._partitions(run, known.partitions if known else none, files, record, former) -%}
    {%- set folders = partitions | map(attribute='name') | map('lower') | list -%}
    {%- do floodmark._check_new_columns(run, floodmark._struct_of(floodmark._struct_fields(evolved.record) + partitions)
        if evolved.record else none, look) -%}
    {%- do floodmark._warn_of_names(run, look.seen, evolved.record) -%}
    {%- set schema = {'format': settings.format, 'partitions': partitions,
        'added': floodmark._added_columns(evolved.added, partitions, known, record),
        'record': floodmark._without_fields(evolved.record or 'struct<>', folders)} -%}
    {%- do floodmark._begin_columns(run, begins, schema, look) -%}
    {%- do floodmark._warn_of_hints(run, schema) -%}
    {%- set is_same = kept and kept.record == schema.record and kept.partitions == partitions -%}
    {%- do schema.update({'version': kept.version + (0 if is_same else 1) if kept else 1}) -%}
    {%- do schema.update({'former': former}) if former -%}
    {%- do schema.update({'told': record}) if settings.schema and record != schema.record -%}
    {{ return({'file_schema': schema, 'record': schema.record, 'look': look}) }}
{% endmacro %}


{# The columns that a table has by a schema of its files, those of folders too: a record. #}
{% macro _former_columns(schema) %}
    {{ return(floodmark._joined_records(schema.get('former'), floodmark._joined_records(
        floodmark._struct_of(schema.partitions), schema.record))) }}
{% endmacro %}


{# A record in the types that its columns had before; with `exact` these may grow. #}
{% macro _in_former_types(record, former, exact) %}
    {%- set exact_types, fields = floodmark._types_of(exact) if exact else {}, [] -%}
    {%- for field in floodmark._struct_fields(record) -%}
        {%- set own = floodmark._find_column(floodmark._struct_fields(former), field.name) -%}
        {%- do fields.append(dict(field, type=floodmark._grown(own.type, field.type, [], [field.name], [],
            exact_types.get(field.name))) if own else field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The hints of the settings but for those that type the folders of files. #}
{% macro _told_columns(settings, known) %}
    {%- set folders = known.partitions | map(attribute='name') | map('lower') | list if known else [] -%}
    {%- set told = [] -%}
    {%- for hint in floodmark._hints(settings.schema_hints) or [] if hint.path[0] | lower not in folders -%}
        {%- do told.append(hint) -%}
    {%- endfor -%}
    {{ return(told) }}
{% endmacro %}


{# Before a table's first batch: files that give no column cannot make a table that has no other. #}
{% macro _begin_columns(run, begins, schema, look) %}
    {%- set settings = run.settings.files -%}
    {%- if not begins or not settings.infers -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set reasons = look.files.values() | map(attribute='reason') | select | list -%}
    {%- if schema.record == 'struct<>' and not schema.partitions and not settings.rescued_data_column
        and not run.target.exists and not floodmark._only_looks() -%}
        {%- do floodmark._stop('no file in ' ~ settings.path ~ ' has a column that can be read, so there is none to '
            'make the table of' ~ (' (' ~ reasons[0] ~ ')' if reasons else '')
            ~ '. Correct or remove the files, or set a rescued_data_column') -%}
    {%- endif -%}
{% endmacro %}


{# Paths of the columns that a batch adds: of those that its records add but what the folders give, and of folders that
   neither the known schema nor the known record has. #}
{% macro _added_columns(paths, partitions, known, record) %}
    {%- set folders = partitions | map(attribute='name') | map('lower') | list -%}
    {%- set had = known.partitions + floodmark._struct_fields(record) if known else partitions -%}
    {%- set added = [] -%}
    {%- for path in paths if path[0] | lower not in folders -%}
        {%- do added.append(path) -%}
    {%- endfor -%}
    {%- for column in floodmark._without_columns(partitions, had | map(attribute='name')) -%}
        {%- do added.append([column.name]) -%}
    {%- endfor -%}
    {{ return(added) }}
{% endmacro %}


{# A record without the fields of these names in lower case: what the path says counts. #}
{% macro _without_fields(record, names) %}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(record) if field.name | lower not in names -%}
        {%- do fields.append(field) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# The schema that the last batch of this table had, or to which somebody returned since; none where it has none. #}
{% macro _known_schema(run) %}
    {%- set committed = run.state.committed -%}
    {%- if committed is none or not floodmark._ledger_has('file_schema') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set found = floodmark._query_json('select file_schema from ' ~ floodmark._log_of()
        ~ " and file_schema is not null and (event = 'planned' and batch_id = " ~ committed.batch_id
        ~ " or event = 'schema' and batch_id >= " ~ committed.batch_id
        ~ ') order by batch_id desc, event desc, at desc limit 1') -%}
    {{ return(found[0] if found else none) }}
{% endmacro %}


{# A SELECT of what the log has of schemas that count: of committed batches of the table that a model has now, and those
   to which somebody returned. The versions of failed batches, and of tables before, are given anew. #}
{% macro _counted_schemas_sql(id) %}
    {%- set events = floodmark._log_of(id) -%}
    with committed as (
        select batch_id, generation, max_by(generation, batch_id) over () as newest
        from {{ events }} and event = 'committed'
    )
    select batch_id, at, file_schema, reason, recorded_by
    from {{ events }} and file_schema is not null
        and (batch_id in (select batch_id from committed where generation = newest)
            or event = 'schema' and generation in (select newest from committed))
{% endmacro %}


{# Columns as people write them, as one struct in floodmark's own spelling: Spark reads them. from_json knows no map
   whose keys are no strings. #}
{% macro _record_of(ddl) %}
    {%- set read = floodmark._tried(floodmark._columns_of, "select r.* from (select from_json(cast(null as string), "
        ~ floodmark._string_literal(ddl) ~ ') as r)') -%}
    {%- if 'INVALID_JSON_MAP_KEY_TYPE' in (read.condition or '') -%}
        {{ return(floodmark._struct_of_columns(floodmark._columns_of(query='select r.* from (select cast(null as '
            'struct<' ~ ddl ~ '>) as r)'))) }}
    {%- elif read.error is not none -%}
        {%- do adapter.floodmark_raise(read.raised) -%}
    {%- endif -%}
    {{ return(floodmark._struct_of_columns(read.value)) }}
{% endmacro %}


{# Refuse maps whose keys are no strings where the files are JSON: Spark's reader leaves texts in them. #}
{% macro _check_json_keys(settings, record) %}
    {%- if settings.format == 'json' and record and floodmark._has_other_keys(record) -%}
        {%- set name = 'schema' if settings.schema else 'schema_hints' -%}
        {%- do floodmark._refuse([{'setting': 'files.' ~ name, 'got': settings[name],
            'expected': "string keys with format 'json'",
            'todo': 'Write string for the keys of the map, and cast them in the SELECT with transform_keys'}]) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a type has a map whose keys are no strings. #}
{% macro _has_other_keys(type) %}
    {{ return(modules.re.search('\\bmap<(?!string\\b)', floodmark._without_names(type)) is not none) }}
{% endmacro %}


{# The columns of the setting `schema` as one struct; refused where one of them is of no type of Spark's. #}
{% macro _told_record(ddl) %}
    {%- set read = floodmark._tried(floodmark._record_of, ddl) -%}
    {%- if read.error is not none -%}
        {%- do floodmark._refuse_types('files.schema', floodmark._type_parts(ddl), read.error) -%}
    {%- endif -%}
    {{ return(read.value) }}
{% endmacro %}


{# Refuse hints whose type Spark does not have. Most types are known here, and cost no statement. #}
{% macro _check_hints(text) %}
    {%- set plain = ['string', 'boolean', 'float', 'double', 'date', 'timestamp', 'timestamp_ntz', 'binary'] -%}
    {%- set columns = [] -%}
    {%- for hint in floodmark._hints(text) or [] -%}
        {%- set digits = floodmark._digits(hint.type) -%}
        {%- if hint.type not in plain and not (digits and digits[1] <= digits[0] <= 38) -%}
            {%- do columns.append(floodmark._quoted(hint.path | join('.')) ~ ' ' ~ hint.type) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set read = floodmark._tried(floodmark._record_of, columns | join(', ')) if columns else {'error': none} -%}
    {%- if read.error is not none -%}
        {%- do floodmark._refuse_types('files.schema_hints', columns, read.error) -%}
    {%- endif -%}
{% endmacro %}


{# Refuse those of some columns, each as DDL, that Spark does not take; `error` is what it says of all. #}
{% macro _refuse_types(setting, columns, error) %}
    {%- set problems = [] -%}
    {%- for column in columns if floodmark._tried(floodmark._record_of, column).error is not none -%}
        {%- do problems.append({'setting': setting, 'got': column | trim, 'expected': 'a column with a type of Spark',
            'todo': 'Write one such as bigint or decimal(10, 2), and string in place of char and varchar'}) -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems or [{'setting': setting, 'got': columns | join(','),
        'expected': 'columns with types of Spark', 'todo': floodmark._first_line(error)}]) -%}
{% endmacro %}


{# What was seen as columns of a table: without names that are floodmark's own or that Delta does not take, in the types
   in which they are kept; `is_exact`, with the digits that numbers have. Where case does not matter names that differ
   in it alone are one, spelt as in the known record. #}
{% macro _seen_columns(run, seen, known=none, is_exact=false) %}
    {%- set settings = run.settings.files -%}
    {%- if seen is none -%}
        {{ return(none) }}
    {%- elif not settings.case_sensitive -%}
        {%- set seen = floodmark._spelt_as(known or 'struct<>', seen,
            'string' if floodmark._file_format(settings).has_types else 'variant') -%}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(seen) -%}
        {%- set type = field.type if floodmark._file_format(settings).has_types
            else floodmark._kept_type(field.type, settings.infer_column_types or is_exact, is_exact) -%}
        {%- if type is not none and not floodmark._is_own_column(settings, field.name) -%}
            {%- do fields.append({'name': field.name, 'type': type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(floodmark._nameable(run, floodmark._struct_of(fields)) or 'struct<>') }}
{% endmacro %}


{# A type without fields whose names the table of a run does not take; none where nothing is left. #}
{% macro _nameable(run, type) %}
    {%- if type.startswith('map<') -%}
        {#- its values come as a whole, so a part of them is none -#}
        {%- set key, value = floodmark._map_types(type) -%}
        {{ return(type if floodmark._nameable(run, key) == key and floodmark._nameable(run, value) == value
            else none) }}
    {%- endif -%}
    {%- if type.startswith('array<') -%}
        {%- set element = floodmark._nameable(run, type[6:-1]) -%}
        {{ return('array<' ~ element ~ '>' if element else none) }}
    {%- elif not type.startswith('struct<') -%}
        {{ return(type) }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- set kept = floodmark._nameable(run, field.type) if floodmark._is_nameable(run, field.name) -%}
        {%- if kept -%}
            {%- do fields.append(dict(field, type=kept)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields) if fields else none) }}
{% endmacro %}


{% macro _is_nameable(run, name) %}
    {{ return(name | trim != '' and (not floodmark._needs_mapping_for(name) or floodmark._is_mapped(run))) }}
{% endmacro %}


{# Warn of columns that cannot be read, and of those that a table without column mapping cannot have. #}
{% macro _warn_of_names(run, seen, record) %}
    {%- set settings = run.settings.files -%}
    {%- set names, hidden, kept = [], [], floodmark._types_of(record or 'struct<>') -%}
    {%- set separator = floodmark._missed_separator(settings, seen) -%}
    {%- if separator -%}
        {%- do floodmark._warn_once(run, 'each header of the CSV files is one column, such as '
            ~ floodmark._struct_fields(seen)[0].name ~ ". If its fields are separated by " ~ tojson(separator)
            ~ ", set files.options={'sep': " ~ tojson(separator) ~ '} and run once with --full-refresh') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set are_kept = seen and (settings.infers or settings.rescued_data_column) -%}
    {%- for field in (floodmark._struct_fields(seen) if are_kept else []) if field.name not in kept -%}
        {%- if not floodmark._is_readable_field(field.name) -%}
            {%- do hidden.append("'" ~ field.name ~ "'") -%}
        {%- elif settings.infers and not floodmark._is_nameable(run, field.name) -%}
            {%- do names.append(field.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if hidden -%}
        {%- do floodmark._warn_once(run, 'files have columns that cannot be read: ' ~ hidden | join(', ')
            ~ '. Their values are neither loaded nor rescued. Give them other names where the files are written') -%}
    {%- endif -%}
    {%- if names -%}
        {%- do floodmark._warn_once(run, floodmark._names_sentence('column', names,
            'in ' ~ settings.rescued_data_column if settings.rescued_data_column else 'left out')) -%}
    {%- endif -%}
{% endmacro %}


{# What is said of columns, or of levels of folders, whose names Delta refuses; `where` they are. #}
{% macro _names_sentence(noun, names, where) %}
    {{ return(floodmark._counted(names | length, noun) ~ (' has a name' if names | length == 1 else ' have names')
        ~ ' that Delta takes with column mapping alone: ' ~ names[:5] | join(', ')
        ~ (', ...' if names | length > 5 else '') ~ ' (' ~ where
        ~ "). Set tblproperties={'delta.columnMapping.mode': 'name'} and run once with --full-refresh, or name them "
        'in schema_hints and give them other names in the SELECT') }}
{% endmacro %}


{# Stop where files have new columns and may not: `schema_evolution` is `fail`. #}
{% macro _check_new_columns(run, record, look) %}
    {%- if run.settings.files.schema_evolution != 'fail' or record is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set shown = {} -%}
    {%- for path, file in look.files.items() if file.seen -%}
        {%- do floodmark._note_new_columns(run, record, file.seen, path, shown) -%}
    {%- endfor -%}
    {%- do shown.update(floodmark._files_with_columns(run, record, shown, look.get('groups') or [])) -%}
    {%- if shown -%}
        {%- set named = [] -%}
        {%- for column, path in shown.items() -%}
            {%- do named.append(column ~ ' in ' ~ path) -%}
        {%- endfor -%}
        {%- do floodmark._stop(floodmark._counted(shown | length, 'new column') ~ ': ' ~ named | join(', ')
            ~ ". files.schema_evolution is 'fail', so nothing was loaded. Add " ~ ('it to schema'
            if run.settings.files.schema else "it by a run with schema_evolution 'add_new_columns'")
            ~ ', or correct the file') -%}
    {%- endif -%}
{% endmacro %}


{# Note in `found`, {column: path}, the columns that a file has and the record has not; `seen` is a struct of them. #}
{% macro _note_new_columns(run, record, seen, path, found) %}
    {%- set added = [] -%}
    {%- do floodmark._grown(record, floodmark._seen_columns(run, seen, record) or 'struct<>', [], [], added,
        none, true) -%}
    {%- for column in added -%}
        {%- do found.setdefault(column | join('.'), path) -%}
    {%- endfor -%}
{% endmacro %}


{# The format of the files, where the settings leave it to their names (`is_named` from then on): what is known already,
   or what all names tell. Once it is known, names that tell none say nothing against it. #}
{% macro _settle_format(run, known, files) %}
    {%- set settings = run.settings.files -%}
    {%- if settings.format and not settings.get('is_named') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set known = settings.format or (known.format if known) -%}
    {%- set by_ending = {known: 'what was loaded before'} if known else {} -%}
    {%- for file in files -%}
        {%- set format = floodmark._format_by_name(file.path) -%}
        {%- do by_ending.setdefault(format, file.path) if format or not known -%}
    {%- endfor -%}
    {%- if by_ending | length > 1 or none in by_ending -%}
        {%- set names = [] -%}
        {%- for format, path in by_ending.items() -%}
            {%- do names.append(path.rpartition('/')[2] ~ (' is ' ~ format if format else ' may be anything')) -%}
        {%- endfor -%}
        {%- do floodmark._refuse([{'setting': 'files.format', 'got': none, 'expected': "one of "
            ~ floodmark._files_schema().format.choices | join(', ') ~ ', since the names of the files do not agree ('
            ~ names | join(', ') ~ ')', 'todo': 'Add it, or leave files of another format out with files.glob'}]) -%}
    {%- endif -%}
    {%- do run.settings.update({'files': floodmark._completed_files(dict(settings, is_named=true,
        format=by_ending | first | default(none)))}) if not settings.format -%}
{% endmacro %}


{# Refuse settings that a format does not have, where the names of the files have told it. #}
{% macro _check_format(settings) %}
    {%- set files = dict(floodmark._setting('files'), format=settings.format) -%}
    {%- do floodmark._refuse(floodmark._format_problems(files) + floodmark._reader_option_problems(files)
        + floodmark._corrupt_problems(files)) -%}
{% endmacro %}


{# The format that a file's name tells; none where it tells none. #}
{% macro _format_by_name(path) %}
    {%- set name = (path | lower).rpartition('/')[2] -%}
    {%- set _, dot, ending = (name.rpartition('.')[0] if floodmark._packed_ending(name) else name).rpartition('.') -%}
    {{ return({'json': 'json', 'jsonl': 'json', 'ndjson': 'json', 'csv': 'csv', 'tsv': 'csv', 'parquet': 'parquet',
        'avro': 'avro', 'orc': 'orc', 'xml': 'xml', 'txt': 'text', 'log': 'text'}.get(ending if dot)) }}
{% endmacro %}
