{# `watermark={...}`: docs/guides/watermarks.md. #}
{% macro _watermark_schema() %}
    {{ return({
        'column': {'type': 'column', 'required': true, 'without': 'required, except with kind `version`',
            'expected': 'the name of the column that grows', 'todo': 'Name a column of the upstream relation',
            'meaning': 'the column that grows, in the upstream relation: timestamp, date or whole number'},
        'kind': {'type': 'choice', 'choices': ['timestamp', 'sequence', 'version'],
            'without': "from the column's type",
            'meaning': '`timestamp`, `sequence`, or `version`: the Delta version of the upstream, no column needed '
            '([guide](../guides/versions.md))'},
        'from': {'type': 'any', 'without': "the model's only upstream",
            'meaning': 'the name of the ref or source that holds the column'},
        'lookback': {'type': 'distance', 'without': 'none',
            'meaning': "how far below the mark to read again for late rows: `'2 hours'`, or a number; not with "
            '`append`, `snapshot_diff` or kind `version`'},
        'step': {'type': 'distance', 'without': 'all',
            'meaning': "at most this much a batch: `'1 day'`, `100000`; a catch-up becomes several committed batches "
            'in one run'},
        'start': {'type': 'any', 'without': 'none', 'meaning': 'the lower bound of the first load, inclusive'},
        'nulls': {'type': 'choice', 'choices': ['error', 'exclude', 'include'], 'default': 'error',
            'meaning': 'rows without a value: `error`, `exclude` (counted), `include` (`merge` only, every run)'},
        'max_future': {'type': 'distance', 'default': '1 day',
            'meaning': 'rows further ahead of now wait above the mark, counted'},
        'gaps': {'type': 'choice', 'choices': ['ignore', 'warn', 'wait', 'fail'], 'default': 'warn',
            'meaning': 'missing numbers of a sequence: `ignore`, `warn`, `wait` (at most `gap_timeout`), `fail`'},
        'gap_timeout': {'type': 'distance', 'default': '1 hour', 'meaning': 'how long `gaps: wait` waits'},
        'sql': {'type': 'text', 'without': 'none',
            'meaning': 'a scalar aggregate over the upstream: the upper bound of what a run loads'},
    }) }}
{% endmacro %}


{# The settings with their defaults; none where the model has none. #}
{% macro _watermark_settings() %}
    {%- set given = floodmark._setting('watermark') -%}
    {%- if given is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set watermark = floodmark._with_defaults(given, floodmark._watermark_schema()) -%}
    {%- do watermark.update({'sql': floodmark._clause(watermark.sql)[1:-1] if watermark.sql is not none else none}) -%}
    {{ return(watermark) }}
{% endmacro %}


{# Problems of `watermark={...}`: a list for _refuse. #}
{% macro _watermark_problems() %}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- if watermark is none -%}
        {{ return([]) }}
    {%- elif watermark is not mapping -%}
        {{ return([{'setting': 'watermark', 'got': watermark, 'expected': "a mapping such as {'column': 'created_at'}",
            'todo': 'Write it as a mapping'}]) }}
    {%- elif watermark.get('kind') == 'version' -%}
        {{ return(floodmark._version_problems(watermark)) }}
    {%- endif -%}
    {%- set schema = floodmark._watermark_schema() -%}
    {%- set problems = floodmark._schema_problems('watermark', watermark, schema) -%}
    {%- for key, row in schema.items() if row.type == 'distance' and watermark.get(key) is not none -%}
        {%- do problems.extend(floodmark._distance_problems('watermark.' ~ key, watermark[key], watermark.get('kind'),
            key)) -%}
    {%- endfor -%}
    {{ return(problems + floodmark._start_problems(watermark) + floodmark._watermark_strategy_problems(watermark)
        + floodmark._filter_problems(watermark)) }}
{% endmacro %}


{# Problems of watermark.start: a time, or a whole number for a sequence. #}
{% macro _start_problems(watermark) %}
    {%- set start = watermark.get('start') -%}
    {%- set is_sequence = watermark.get('kind') == 'sequence' -%}
    {%- set is_number = modules.re.fullmatch('-?\\d+', start | string) is not none -%}
    {%- if start is none or is_number or not is_sequence and floodmark._parse_timestamp(start) is not none -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': 'watermark.start', 'got': start | string,
        'expected': 'a whole number' if is_sequence
        else "a UTC time such as '2026-01-31' or '2026-01-31 06:00:00', or a whole number for a sequence",
        'todo': 'Write the first value to load'}]) }}
{% endmacro %}


{# What the strategy must be for a watermark of this kind. #}
{% macro _watermark_strategy_problems(watermark) %}
    {%- set problems = [] -%}
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
    {{ return(problems) }}
{% endmacro %}


{# The filter must be in the SELECT, and without a guard where it bounds the first load too. A guard shows in the SQL
   of a first load, which lacks the filter: the model may call is_incremental() for something else, or a macro that
   does. #}
{% macro _filter_problems(watermark) %}
    {%- if floodmark._has_mark('bounds', model.get('compiled_code') or '/*floodmark:bounds*/') -%}
        {{ return([]) }}
    {%- elif not floodmark._is_guarded() and (is_incremental() or not floodmark._calls_own_macros()) -%}
        {{ return([{'setting': 'watermark', 'got': watermark,
            'expected': 'floodmark.watermark_filter() in the SELECT',
            'todo': 'Add "where {{ floodmark.watermark_filter() }}"'}]) }}
    {%- endif -%}
    {%- for key in ['start', 'step', 'sql', 'gaps']
        if watermark.get(key) is not none and (key != 'gaps' or watermark.gaps == 'wait') -%}
        {{ return([{'setting': 'watermark.' ~ key, 'expected': 'the filter without the is_incremental() guard',
            'todo': 'Remove the guard: floodmark.watermark_filter() bounds the first load too'}]) }}
    {%- endfor -%}
    {{ return([]) }}
{% endmacro %}


{# Problems of a watermark of kind `version`: it has no column, and so nothing that belongs to one. #}
{% macro _version_problems(watermark) %}
    {%- set problems = [] -%}
    {%- for key in watermark if key not in ['kind', 'from', 'step', 'start'] -%}
        {%- do problems.append({'setting': 'watermark.' ~ key, 'got': watermark[key],
            'expected': "one of kind, from, step, start with kind 'version'",
            'todo': 'Remove it: it has no meaning for the versions of a table'}) -%}
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
            'expected': "'append', 'merge' or 'cdc' with kind 'version'",
            'todo': 'merge applies updates and deletes'}) -%}
    {%- endif -%}
    {%- if not floodmark._is_dry() and not floodmark._has_mark('changes', model.get('compiled_code')
        or '/*floodmark:changes*/') -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark,
            'expected': 'floodmark.changes(ref(...)) in the SELECT, without an is_incremental() guard',
            'todo': 'Read "from {{ floodmark.changes(ref(\'x\')) }}": the first load reads the whole table'}) -%}
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
