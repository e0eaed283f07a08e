{# Check all that can be checked without Spark, and refuse with every problem at once. #}
{% macro _validate_settings() %}
    {%- if model.language == 'python' -%}
        {%- do floodmark._refuse([{'setting': 'language', 'got': 'python',
            'expected': "a model in SQL for floodmark's settings",
            'todo': "Write it in SQL, or leave out floodmark's settings: a Python model loads as dbt-spark does"}]) -%}
    {%- endif -%}
    {%- set problems = floodmark._variable_problems() + floodmark._strategy_problems() + floodmark._watermark_problems()
        + floodmark._files_problems() + floodmark._cdc_problems() + floodmark._snapshot_problems() -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# Problems of the strategy and of how the settings go together: a list for _refuse. #}
{% macro _strategy_problems() %}
    {%- set problems = [] -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- set files = floodmark._setting('files') -%}
    {%- if strategy not in ['append', 'merge', 'insert_overwrite', 'cdc', 'snapshot_diff'] -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy,
            'expected': "'append', 'merge', 'insert_overwrite', 'cdc' or 'snapshot_diff'",
            'todo': 'Choose one of them, or leave out floodmark\'s settings to load as dbt-spark does'}) -%}
    {%- endif -%}
    {%- for name in ['expectations'] if floodmark._setting(name) is not none -%}
        {%- do problems.append({'setting': name, 'expected': 'no such setting in this version',
            'todo': 'Leave it out'}) -%}
    {%- endfor -%}
    {%- if strategy == 'merge' and not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'merge needs the key that identifies a row'}) -%}
    {%- endif -%}
    {%- if strategy == 'insert_overwrite' -%}
        {%- do problems.extend(floodmark._overwrite_problems(watermark)) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._user_clause_problems()) -%}
    {%- if config.get('merge_update_columns') and config.get('merge_exclude_columns') -%}
        {%- do problems.append({'setting': 'merge_update_columns',
            'expected': 'merge_update_columns or merge_exclude_columns, not both', 'todo': 'Remove one'}) -%}
    {%- endif -%}
    {%- if watermark is not none and files is not none -%}
        {%- do problems.append({'setting': 'files', 'expected': 'either watermark or files',
            'todo': 'Remove one: files are new by their path, rows by their watermark'}) -%}
    {%- endif -%}
    {%- if watermark is none and files is none and strategy == 'append' -%}
        {%- do problems.append({'setting': 'watermark', 'got': none, 'expected': "a watermark for 'append'",
            'todo': 'Set one: without it every run would append all rows again'}) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._table_problems()) -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the texts of SQL that settings hold: each stands in parentheses within a statement of ours. #}
{% macro _user_clause_problems() %}
    {%- set clauses = [] -%}
    {%- for name in ['incremental_predicates', 'predicates'] -%}
        {%- for text in floodmark._as_list(config.get(name)) if text is string -%}
            {%- do clauses.append([name, text]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for setting, keys in {'watermark': ['sql'], 'snapshot_diff': ['scope'],
        'cdc': ['apply_as_deletes', 'apply_as_truncates', 'sequence_by']}.items() -%}
        {%- set given = floodmark._setting(setting) -%}
        {%- for key in keys if given is mapping -%}
            {%- for text in floodmark._as_list(given.get(key)) if text is string -%}
                {%- do clauses.append([setting ~ '.' ~ key, text]) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for name, expression in floodmark._contract_constraints().items() -%}
        {%- do clauses.append(['constraint ' ~ name, expression]) -%}
    {%- endfor -%}
    {%- set problems = [] -%}
    {%- for setting, text in clauses -%}
        {%- do problems.extend(floodmark._clause_problems(setting, text)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the settings that every table of floodmark's has: a list for _refuse. #}
{% macro _table_problems() %}
    {%- set problems = [] -%}
    {%- do problems.extend(floodmark._secret_problems('location_root', config.get('location_root'))) -%}
    {%- do problems.extend(floodmark._setting_type_problems()) -%}
    {%- if config.get('file_format') not in [none, 'delta'] -%}
        {%- do problems.append({'setting': 'file_format', 'got': config.get('file_format'), 'expected': "'delta'",
            'todo': 'Remove the setting: floodmark\'s models are Delta tables'}) -%}
    {%- endif -%}
    {%- if (config.get('on_schema_change') or 'ignore') not in ['ignore', 'fail', 'append_new_columns',
        'sync_all_columns'] -%}
        {%- do problems.append({'setting': 'on_schema_change', 'got': config.get('on_schema_change'),
            'expected': "'ignore', 'fail', 'append_new_columns' or 'sync_all_columns'", 'todo': 'Use one of them'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of settings of dbt's own that are of another type than a list of texts, and of `meta`: a list for _refuse.
   #}
{% macro _setting_type_problems() %}
    {%- set columns = {'expected': 'a column or a list of columns', 'todo': 'Write their names'} -%}
    {%- set conditions = {'expected': 'a condition or a list of conditions', 'todo': 'Put each in quotes'} -%}
    {%- set lists = {
        'unique_key': columns, 'partition_by': columns,
        'merge_update_columns': columns, 'merge_exclude_columns': columns,
        'incremental_predicates': conditions, 'predicates': conditions,
    } -%}
    {%- set problems = [] -%}
    {%- for name, what in lists.items() -%}
        {%- set value = config.get(name) -%}
        {%- if value is not none and value not in ['', []] and not floodmark._is_names(value) -%}
            {%- do problems.append(dict(what, setting=name, got=value)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set in_meta = floodmark._meta_settings(config) -%}
    {%- if in_meta is not none and in_meta is not mapping -%}
        {%- do problems.append({'setting': 'meta.floodmark', 'got': in_meta,
            'expected': "a mapping such as {'watermark': {'column': 'created_at'}}",
            'todo': 'Write it as a mapping, or leave it out'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of `watermark={...}`: a list for _refuse. #}
{% macro _watermark_problems() %}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- if watermark is none -%}
        {{ return([]) }}
    {%- elif watermark is not mapping -%}
        {{ return([{'setting': 'watermark', 'got': watermark, 'expected': "a mapping such as {'column': 'created_at'}",
            'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- if watermark.get('kind') == 'version' -%}
        {{ return(floodmark._version_problems(watermark)) }}
    {%- endif -%}
    {%- set known = ['column', 'kind', 'from', 'lookback', 'step', 'start', 'nulls', 'max_future', 'gaps',
        'gap_timeout', 'sql'] -%}
    {%- for key in watermark if key not in known -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key],
            'expected': 'one of ' ~ known | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- if not watermark.get('column') or watermark.column is not string -%}
        {%- do problems.append({'setting': 'watermark.column', 'got': watermark.get('column'),
            'expected': 'the name of the column that grows', 'todo': 'Name a column of the upstream relation'}) -%}
    {%- endif -%}
    {%- set choices = {'kind': ['timestamp', 'sequence', 'version'], 'nulls': ['error', 'exclude', 'include'],
        'gaps': ['ignore', 'warn', 'wait', 'fail']} -%}
    {%- for key, allowed in choices.items() if watermark.get(key) is not none and watermark[key] not in allowed -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key],
            'expected': 'one of ' ~ allowed | join(', '), 'todo': 'Use one of them'}) -%}
    {%- endfor -%}
    {%- set sequence = watermark.get('kind') == 'sequence' -%}
    {%- for key in ['lookback', 'step', 'max_future', 'gap_timeout'] if watermark.get(key) is not none -%}
        {%- do problems.extend(floodmark._distance_problems('watermark.' ~ key, watermark[key], watermark.get('kind'),
            key)) -%}
    {%- endfor -%}
    {%- set start = watermark.get('start') -%}
    {%- set is_number = modules.re.fullmatch('-?\\d+', start | string) is not none -%}
    {%- if start is not none and not is_number and (sequence or floodmark._parse_timestamp(start) is none) -%}
        {%- do problems.append({'setting': 'watermark.start', 'got': start | string,
            'expected': 'a whole number' if sequence
            else "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00', or a whole number for a sequence",
            'todo': 'Write the first value to load'}) -%}
    {%- endif -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- if strategy == 'append' and watermark.get('lookback') is not none
        and floodmark._distance(watermark.lookback) != 0 -%}
        {%- do problems.append({'setting': 'watermark.lookback', 'got': watermark.lookback,
            'expected': "no lookback with 'append'",
            'todo': "Use incremental_strategy='merge' with a unique_key: append would load the rows of the "
            "lookback twice"}) -%}
    {%- endif -%}
    {%- if watermark.get('nulls') == 'include' and strategy != 'merge' -%}
        {%- do problems.append({'setting': 'watermark.nulls', 'got': 'include',
            'expected': "'error' or 'exclude' with '" ~ strategy ~ "'",
            'todo': "Use incremental_strategy='merge': rows without a value are read in every run"}) -%}
    {%- endif -%}
    {%- set bounded = [] -%}
    {%- for key in ['start', 'step', 'sql'] if watermark.get(key) is not none -%}
        {%- do bounded.append(key) -%}
    {%- endfor -%}
    {%- if watermark.get('gaps') == 'wait' -%}
        {%- do bounded.append('gaps') -%}
    {%- endif -%}
    {%- if bounded and modules.re.search('is_incremental\\s*\\(', model.raw_code) -%}
        {%- do problems.append({'setting': 'watermark.' ~ bounded[0],
            'expected': 'the filter without the is_incremental() guard',
            'todo': 'Remove the guard: floodmark.watermark_filter() bounds the first load too'}) -%}
    {%- endif -%}
    {%- if not modules.re.search('is_incremental\\s*\\(', model.raw_code)
        and '/*floodmark:bounds' not in (model.get('compiled_code') or '/*floodmark:bounds') -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark,
            'expected': 'floodmark.watermark_filter() in the SELECT',
            'todo': 'Add "where {{ floodmark.watermark_filter() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of a watermark of kind `version`: it has no column, and so nothing that belongs to one. #}
{% macro _version_problems(watermark) %}
    {%- set problems = [] -%}
    {%- for key in watermark if key not in ['kind', 'from', 'step', 'start'] -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key],
            'expected': "one of kind, from, step, start with kind 'version'",
            'todo': 'Remove it: the versions of the upstream table have no such thing'}) -%}
    {%- endfor -%}
    {%- for key, least in {'step': 1, 'start': 0}.items() if watermark.get(key) is not none -%}
        {%- if not modules.re.fullmatch('\\d+', watermark[key] | string) or watermark[key] | int < least -%}
            {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key],
                'expected': 'a whole number of versions',
                'todo': 'A batch reads at least 1' if watermark[key] | string == '0' else 'Versions count from 0'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if config.get('incremental_strategy') == 'insert_overwrite' -%}
        {%- do problems.append({'setting': 'watermark.kind', 'got': 'version',
            'expected': "'append' or 'merge' with kind 'version'", 'todo': 'merge applies updates and deletes'}) -%}
    {%- endif -%}
    {%- if not floodmark._is_dry() and '/*floodmark:changes' not in (model.get('compiled_code')
        or '/*floodmark:changes') -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark,
            'expected': 'floodmark.changes(ref(...)) in the SELECT, without an is_incremental() guard',
            'todo': 'Read "from {{ floodmark.changes(ref(\'x\')) }}": the first load is a snapshot by itself'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# insert_overwrite replaces the partitions that the bounds touch. #}
{% macro _overwrite_problems(watermark) %}
    {%- set problems = [] -%}
    {%- set partition_by = floodmark._name_list(config.get('partition_by')) -%}
    {%- if watermark is not mapping -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark,
            'expected': "a watermark for 'insert_overwrite'",
            'todo': 'It says which partitions are new: set one, or use merge'}) -%}
    {%- elif watermark.get('kind') == 'sequence' or watermark.get('nulls') == 'include' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': 'insert_overwrite',
            'expected': 'a timestamp or date watermark, every row with a value',
            'todo': 'Use merge for sequences and for rows without a value'}) -%}
    {%- endif -%}
    {%- if partition_by | length != 1 -%}
        {%- do problems.append({'setting': 'partition_by', 'got': partition_by,
            'expected': 'one column, derived from the watermark column',
            'todo': 'insert_overwrite replaces whole partitions: add cast(<watermark column> as date) to the '
            'SELECT and name it here'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of a lookback, step, max_future or gap_timeout: durations for timestamps, whole numbers for sequences. #}
{% macro _distance_problems(setting, value, kind, key) %}
    {%- set is_number = floodmark._is_whole(value) -%}
    {%- set is_duration = floodmark._parse_duration(value) is not none -%}
    {%- set expected = "a duration such as '2 hours'" -%}
    {%- if kind == 'sequence' and key not in ['max_future', 'gap_timeout'] -%}
        {%- set valid, expected = is_number, 'a whole number, for a sequence' -%}
    {%- elif kind == 'timestamp' or key in ['max_future', 'gap_timeout'] -%}
        {%- set valid = is_duration -%}
    {%- else -%}
        {%- set valid, expected = is_number or is_duration, expected ~ ', or a whole number for a sequence' -%}
    {%- endif -%}
    {%- set is_nothing = floodmark._distance(value) == 0 -%}
    {%- if key == 'step' and is_nothing -%}
        {%- set valid = false -%}
    {%- endif -%}
    {{ return([] if valid or key == 'lookback' and is_nothing
        else [{'setting': setting, 'got': value, 'expected': expected,
        'todo': 'Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks'}]) }}
{% endmacro %}


{# Problems of `files={...}`: a list for _refuse. #}
{% macro _files_problems() %}
    {%- set files = floodmark._setting('files') -%}
    {%- if files is none -%}
        {{ return([]) }}
    {%- elif files is not mapping -%}
        {{ return([{'setting': 'files', 'got': files,
            'expected': "a mapping such as {'path': 'data/in', 'format': 'json'}", 'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set known = ['path', 'format', 'schema', 'glob', 'recursive', 'max_files_per_batch'] -%}
    {%- for key in files if key not in known -%}
        {%- do problems.append({'setting': 'files.' ~ key, 'got': files[key],
            'expected': 'one of ' ~ known | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- do problems.extend(floodmark._secret_problems('files.path', files.get('path'))) -%}
    {%- set format = files.get('format', 'json') -%}
    {%- set required = {'path': 'the folder to load from',
        'schema': "the columns as DDL, such as 'id bigint, name string'"} -%}
    {%- for key, what in required.items() if not files.get(key) and (key == 'path' or format != 'text') -%}
        {%- do problems.append({'setting': 'files.' ~ key, 'got': files.get(key), 'expected': what,
            'todo': 'Add it'}) -%}
    {%- endfor -%}
    {%- if format not in ['json', 'text'] -%}
        {%- do problems.append({'setting': 'files.format', 'got': files.format,
            'expected': "'json' (JSON lines) or 'text'",
            'todo': "Land the files as JSON lines, or read their lines with 'text' and take them apart in "
            "the SELECT"}) -%}
    {%- elif format == 'text' and files.get('schema') is not none -%}
        {%- do problems.append({'setting': 'files.schema', 'got': files.schema,
            'expected': "no schema with format 'text'",
            'todo': 'Remove it: each line is a row with one column, value'}) -%}
    {%- endif -%}
    {%- set most = files.get('max_files_per_batch', 1000) -%}
    {%- if most is string or most is not number or most < 1 or most != most | int -%}
        {%- do problems.append({'setting': 'files.max_files_per_batch', 'got': most,
            'expected': 'a whole number of at least 1', 'todo': 'Leave it out for 1000'}) -%}
    {%- endif -%}
    {%- set marker = 'floodmark:stream' if floodmark._is_stream() else 'floodmark:files' -%}
    {%- if marker not in (model.get('compiled_code') or marker) -%}
        {%- do problems.append({'setting': 'files', 'got': files, 'expected': 'floodmark.new_files() in the SELECT',
            'todo': 'Read "from {{ floodmark.new_files() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
