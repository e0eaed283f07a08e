{# Check all that can be checked without Spark, and refuse with every problem at once. #}
{% macro _validate_settings() %}
    {%- set problems = floodmark._strategy_problems() + floodmark._watermark_problems() + floodmark._files_problems() -%}
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
    {%- if strategy not in ['append', 'merge'] -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy, 'expected': "'append' or 'merge'",
            'todo': 'Choose one of them, or leave out floodmark\'s settings to load as dbt-spark does'}) -%}
    {%- endif -%}
    {%- for name in ['expectations', 'cdc', 'snapshot_diff'] if floodmark._setting(name) is not none -%}
        {%- do problems.append({'setting': name, 'expected': 'no such setting in this version',
            'todo': 'Leave it out'}) -%}
    {%- endfor -%}
    {%- if strategy == 'merge' and not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'merge needs the key that identifies a row'}) -%}
    {%- endif -%}
    {%- if config.get('merge_update_columns') and config.get('merge_exclude_columns') -%}
        {%- do problems.append({'setting': 'merge_update_columns', 'expected': 'merge_update_columns or merge_exclude_columns, not both', 'todo': 'Remove one'}) -%}
    {%- endif -%}
    {%- if config.get('file_format') not in [none, 'delta'] -%}
        {%- do problems.append({'setting': 'file_format', 'got': config.get('file_format'), 'expected': "'delta'",
            'todo': 'Remove the setting: floodmark\'s models are Delta tables'}) -%}
    {%- endif -%}
    {%- if watermark is not none and files is not none -%}
        {%- do problems.append({'setting': 'files', 'expected': 'either watermark or files',
            'todo': 'Remove one: files are new by their path, rows by their watermark'}) -%}
    {%- endif -%}
    {%- if watermark is none and files is none and strategy == 'append' -%}
        {%- do problems.append({'setting': 'watermark', 'got': none, 'expected': "a watermark for 'append'",
            'todo': 'Set one: without it every run would append all rows again'}) -%}
    {%- endif -%}
    {%- if (config.get('on_schema_change') or 'ignore') not in ['ignore', 'fail', 'append_new_columns', 'sync_all_columns'] -%}
        {%- do problems.append({'setting': 'on_schema_change', 'got': config.get('on_schema_change'),
            'expected': "'ignore', 'fail', 'append_new_columns' or 'sync_all_columns'", 'todo': 'Use one of them'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of `watermark={...}`: a list for _refuse. #}
{% macro _watermark_problems() %}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- if watermark is none -%}
        {{ return([]) }}
    {%- elif watermark is not mapping -%}
        {{ return([{'setting': 'watermark', 'got': watermark, 'expected': "a mapping such as {'column': 'created_at'}", 'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set known = ['column', 'kind', 'from', 'lookback', 'step', 'start', 'nulls', 'max_future', 'gaps'] -%}
    {%- for key in watermark if key not in known -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key], 'expected': 'one of ' ~ known | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- if not watermark.get('column') or watermark.column is not string -%}
        {%- do problems.append({'setting': 'watermark.column', 'got': watermark.get('column'), 'expected': 'the name of the column that grows', 'todo': 'Name a column of the upstream relation'}) -%}
    {%- endif -%}
    {%- set choices = {'kind': ['timestamp', 'sequence'], 'nulls': ['error', 'exclude', 'include'], 'gaps': ['ignore', 'warn', 'fail']} -%}
    {%- for key, allowed in choices.items() if watermark.get(key) is not none and watermark[key] not in allowed -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key], 'expected': 'one of ' ~ allowed | join(', '), 'todo': 'Use one of them'}) -%}
    {%- endfor -%}
    {%- set sequence = watermark.get('kind') == 'sequence' -%}
    {%- for key in ['lookback', 'step', 'max_future'] if watermark.get(key) is not none -%}
        {%- do problems.extend(floodmark._distance_problems('watermark.' ~ key, watermark[key], watermark.get('kind'), key)) -%}
    {%- endfor -%}
    {%- set start = watermark.get('start') -%}
    {%- set is_number = modules.re.fullmatch('-?\\d+', start | string) is not none -%}
    {%- if start is not none and not is_number and (sequence or floodmark._parse_timestamp(start) is none) -%}
        {%- do problems.append({'setting': 'watermark.start', 'got': start | string,
            'expected': 'a whole number' if sequence else "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00', or a whole number for a sequence",
            'todo': 'Write the first value to load'}) -%}
    {%- endif -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- if strategy == 'append' and watermark.get('lookback') is not none and not (watermark.lookback | string).startswith('0') -%}
        {%- do problems.append({'setting': 'watermark.lookback', 'got': watermark.lookback, 'expected': "no lookback with 'append'",
            'todo': "Use incremental_strategy='merge' with a unique_key: append would load the rows of the lookback twice"}) -%}
    {%- endif -%}
    {%- if watermark.get('nulls') == 'include' and strategy != 'merge' -%}
        {%- do problems.append({'setting': 'watermark.nulls', 'got': 'include', 'expected': "'error' or 'exclude' with '" ~ strategy ~ "'",
            'todo': "Use incremental_strategy='merge': rows without a value are read in every run"}) -%}
    {%- endif -%}
    {%- if (start is not none or watermark.get('step') is not none) and modules.re.search('is_incremental\\s*\\(', model.raw_code) -%}
        {%- do problems.append({'setting': 'watermark.' ~ ('start' if start is not none else 'step'), 'expected': 'the filter without the is_incremental() guard',
            'todo': 'Remove the guard: floodmark.watermark_filter() bounds the first load too'}) -%}
    {%- endif -%}
    {%- if not modules.re.search('is_incremental\\s*\\(', model.raw_code) and '/*floodmark:bounds' not in (model.get('compiled_code') or '/*floodmark:bounds') -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark, 'expected': 'floodmark.watermark_filter() in the SELECT',
            'todo': 'Add "where {{ floodmark.watermark_filter() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of a lookback, step or max_future: durations for timestamps, whole numbers for sequences. #}
{% macro _distance_problems(setting, value, kind, key) %}
    {%- set is_number = value is not string and value is number and value == value | int or modules.re.fullmatch('\\d+', value | string) is not none -%}
    {%- set is_duration = floodmark._parse_duration(value) is not none -%}
    {%- set expected = "a duration such as '2 hours'" -%}
    {%- if kind == 'sequence' and key != 'max_future' -%}
        {%- set valid, expected = is_number, 'a whole number, for a sequence' -%}
    {%- elif kind == 'timestamp' or key == 'max_future' -%}
        {%- set valid = is_duration -%}
    {%- else -%}
        {%- set valid, expected = is_number or is_duration, expected ~ ', or a whole number for a sequence' -%}
    {%- endif -%}
    {%- if valid and key == 'step' and (value | string).split(' ')[0] | int == 0 -%}
        {%- set valid = false -%}
    {%- endif -%}
    {{ return([] if valid else [{'setting': setting, 'got': value, 'expected': expected,
        'todo': 'Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks'}]) }}
{% endmacro %}


{# Problems of `files={...}`: a list for _refuse. #}
{% macro _files_problems() %}
    {%- set files = floodmark._setting('files') -%}
    {%- if files is none -%}
        {{ return([]) }}
    {%- elif files is not mapping -%}
        {{ return([{'setting': 'files', 'got': files, 'expected': "a mapping such as {'path': 'data/in', 'format': 'json'}", 'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- set known = ['path', 'format', 'schema', 'glob', 'recursive', 'max_files_per_batch'] -%}
    {%- for key in files if key not in known -%}
        {%- do problems.append({'setting': 'files.' ~ key, 'got': files[key], 'expected': 'one of ' ~ known | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- for key, what in {'path': 'the folder to load from', 'schema': "the columns as DDL, such as 'id bigint, name string'"}.items() if not files.get(key) -%}
        {%- do problems.append({'setting': 'files.' ~ key, 'got': files.get(key), 'expected': what, 'todo': 'Add it'}) -%}
    {%- endfor -%}
    {%- if files.get('format', 'json') != 'json' -%}
        {%- do problems.append({'setting': 'files.format', 'got': files.format, 'expected': "'json' (JSON lines)", 'todo': 'Land the files as JSON lines'}) -%}
    {%- endif -%}
    {%- set most = files.get('max_files_per_batch', 1000) -%}
    {%- if most is string or most is not number or most < 1 or most != most | int -%}
        {%- do problems.append({'setting': 'files.max_files_per_batch', 'got': most, 'expected': 'a whole number of at least 1', 'todo': 'Leave it out for 1000'}) -%}
    {%- endif -%}
    {%- if 'floodmark:files' not in (model.get('compiled_code') or 'floodmark:files') -%}
        {%- do problems.append({'setting': 'files', 'got': files, 'expected': 'floodmark.new_files() in the SELECT', 'todo': 'Read "from {{ floodmark.new_files() }}"'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
