{# Check all of a streaming model that can be checked without Spark, and refuse with every problem at once. Whoever only
   looks at the model may have another profile. #}
{% macro _validate_stream_settings() %}
    {%- set problems = ([] if floodmark._only_looks() else floodmark._stream_profile_problems())
        + floodmark._variable_problems() + floodmark._stream_problems() + floodmark._cdc_problems()
        + floodmark._expectations_problems() -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}


{# Problems of a streaming model's own settings: a list for _refuse. #}
{% macro _stream_problems() %}
    {%- set problems = floodmark._trigger_problems() + floodmark._output_problems() + floodmark._table_problems()
        + floodmark._user_clause_problems() + floodmark._merge_problems(floodmark._stream_strategy()) -%}
    {%- for name in ['watermark', 'snapshot_diff'] if floodmark._setting(name) is not none -%}
        {%- do problems.append({'setting': name, 'got': floodmark._setting(name),
            'expected': 'no such setting on a streaming_table',
            'todo': 'Write it after the stream: from stream(...) watermark ts delay of interval 1 hour'
            if name == 'watermark' else 'Leave it out'}) -%}
    {%- endfor -%}
    {%- if floodmark._is_guarded() -%}
        {%- do problems.append({'setting': 'is_incremental()', 'expected': 'a SELECT without it on a streaming_table',
            'todo': 'Remove it: a stream reads each row once'}) -%}
    {%- endif -%}
    {%- if floodmark._setting('files') is not none -%}
        {%- do problems.extend(floodmark._files_problems()) -%}
    {%- endif -%}
    {%- set checkpoint = floodmark._setting('checkpoint_location') -%}
    {%- do problems.extend(floodmark._secret_problems('checkpoint_location', checkpoint)) -%}
    {%- set row = floodmark._stream_schema().checkpoint_location -%}
    {%- if checkpoint is not none and not floodmark._is_of_type(checkpoint, row) -%}
        {%- do problems.append(floodmark._type_problem('checkpoint_location', checkpoint, row)) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# A query lives in the process that starts it: a Thrift server takes statements only. #}
{% macro _stream_profile_problems() %}
    {%- if adapter.floodmark_streams is not defined -%}
        {{ return([{'setting': 'materialized', 'got': 'streaming_table', 'expected': 'the floodmark plugin',
            'todo': 'Install dbt-floodmark in this environment, and do not set FLOODMARK_PLUGIN=0'}]) }}
    {%- elif adapter.floodmark_method() == 'warm' -%}
        {{ return([{'setting': 'materialized', 'got': 'streaming_table',
            'expected': 'Spark inside the dbt process, and this run is on the warm server',
            'todo': 'Stop that server with `floodmark serve stop`, and run with --no-warm, or with FLOODMARK_WARM=0 in '
            'the environment'}]) }}
    {%- elif adapter.floodmark_method() != 'session' -%}
        {{ return([{'setting': 'materialized', 'got': 'streaming_table',
            'expected': "a target with method: session, and '" ~ target.name ~ "' has method: "
            ~ adapter.floodmark_method(),
            'todo': 'Run it with a target whose Spark lives in the dbt process, such as -t session; over a '
            'shared metastore its tables are the same'}]) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{% macro _trigger_problems() %}
    {%- set trigger = floodmark._setting('trigger') -%}
    {%- set expected = "'available_now' or {'processing_time': '30 seconds'}" -%}
    {%- if trigger is none or trigger in ['available_now', 'once'] -%}
        {{ return([]) }}
    {%- elif trigger is not mapping or trigger | list != ['processing_time'] -%}
        {{ return([{'setting': 'trigger', 'got': trigger, 'expected': expected,
            'todo': 'Use one of them: under dbt build both run to the end of what is there'}]) }}
    {%- elif trigger.processing_time is not string or floodmark._parse_duration(trigger.processing_time) is none -%}
        {{ return([{'setting': 'trigger.processing_time', 'got': trigger.processing_time,
            'expected': "a duration such as '30 seconds'",
            'todo': 'Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks'}]) }}
    {%- endif -%}
    {{ return([]) }}
{% endmacro %}


{# How output mode, strategy and key go together. #}
{% macro _output_problems() %}
    {%- set problems = [] -%}
    {%- set mode = floodmark._output_mode() -%}
    {%- set schema = floodmark._stream_schema() -%}
    {%- set strategy = floodmark._stream_strategy() -%}
    {%- if not floodmark._is_of_type(mode, schema.output_mode) -%}
        {%- do problems.append(floodmark._type_problem('output_mode', mode, schema.output_mode)) -%}
    {%- endif -%}
    {%- if not floodmark._is_of_type(strategy, schema.incremental_strategy) -%}
        {%- do problems.append(floodmark._type_problem('incremental_strategy', strategy,
            schema.incremental_strategy)) -%}
    {%- elif mode == 'update' and strategy != 'merge' or mode == 'complete' and strategy != 'append' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy,
            'expected': ("'merge'" if mode == 'update' else "'append'") ~ " with output_mode '" ~ mode ~ "'",
            'todo': 'Leave it out: ' ~ ('rows that change are merged by unique_key' if mode == 'update'
            else 'each batch writes the whole table')}) -%}
    {%- endif -%}
    {%- if strategy == 'merge' and not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': ('output_mode \'update\'' if mode == 'update' else 'merge')
            ~ ' needs the key that identifies a row'}) -%}
    {%- elif mode == 'complete' and config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': config.get('unique_key'),
            'expected': "no key with output_mode 'complete'",
            'todo': 'Remove it: each batch writes the whole table'}) -%}
    {%- elif strategy == 'append' and config.get('unique_key') -%}
        {%- do problems.extend(floodmark._kept_key_problems()) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# A stream with `append` and a key keeps the first row of each key, before the rules judge it: where they hold that row
   back, a corrected one would be dropped. #}
{% macro _kept_key_problems() %}
    {%- set given, names = floodmark._setting('expectations'), [] -%}
    {%- for rule in (given if given is iterable else [])
        if rule is mapping and rule.get('on_violation') in ['drop', 'quarantine'] -%}
        {%- do names.append(rule.get('name') | string) -%}
    {%- endfor -%}
    {{ return([{'setting': 'unique_key', 'got': config.get('unique_key'),
        'expected': "no key with 'append' where rules drop or quarantine rows (" ~ names | join(', ') ~ ')',
        'todo': 'The first row of a key counts, before the rules judge it, so a corrected row would be lost behind a '
        "bad one. Use incremental_strategy='merge' and run a model that is loaded once with --full-refresh, or set "
        "on_violation to 'warn' or 'fail'"}] if names else []) }}
{% endmacro %}
