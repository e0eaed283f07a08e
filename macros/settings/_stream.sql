{# The validated settings of a streaming model as one mapping, in the form that the batch strategies take: `seconds`
   between two triggers, none for a model that always runs to the end of what is there. #}
{% macro _stream_settings() %}
    {%- do floodmark._validate_stream_settings() -%}
    {%- set trigger = floodmark._setting('trigger') or 'available_now' -%}
    {%- if trigger == 'once' -%}
        {%- do floodmark._warn("trigger 'once' is Spark's deprecated name for 'available_now': use that") -%}
    {%- endif -%}
    {{ return({
        'strategy': floodmark._stream_strategy(),
        'output_mode': floodmark._output_mode(),
        'seconds': floodmark._parse_duration(trigger.processing_time) / floodmark._micros_in().second
            if trigger is mapping else none,
        'unique_key': floodmark._distinct_names(config.get('unique_key')),
        'on_schema_change': floodmark._on_schema_change(),
        'files': floodmark._files_settings(),
        'expectations': floodmark._expectations(),
        'cdc': floodmark._cdc_settings(),
        'snapshot': none,
        'partition_by': floodmark._distinct_names(config.get('partition_by')),
        'watermark': none,
        'event_time': none,
    }) }}
{% endmacro %}


{# The settings of `materialized='streaming_table'`: docs/guides/streams.md. #}
{% macro _stream_schema() %}
    {{ return({
        'trigger': {'type': 'any', 'default': 'available_now',
            'meaning': "`'available_now'`, or `{'processing_time': '30 seconds'}`"},
        'output_mode': {'type': 'choice', 'choices': ['append', 'complete', 'update'], 'default': 'append',
            'expected': "'append', 'complete' or 'update'", 'meaning': '`append`, `update` or `complete`'},
        'incremental_strategy': {'type': 'choice', 'choices': ['append', 'merge', 'cdc'],
            'without': '`append`, with `update` `merge`', 'expected': "'append', 'merge' or 'cdc' on a streaming_table",
            'meaning': '`append`, `merge` or `cdc`'},
        'unique_key': {'type': 'names', 'without': '–',
            'meaning': 'the key of `merge` and `cdc`; with `append` what comes again within the event-time watermark '
            'is dropped'},
        'checkpoint_location': {'type': 'text', 'without': 'beside the ledger', 'expected': 'a folder',
            'todo': 'Leave it out, and floodmark keeps it beside the ledger',
            'meaning': 'a folder for the checkpoints'},
    }) }}
{% endmacro %}


{# append, merge or cdc, of this model or of another's config: rows that an aggregation updates are merged. #}
{% macro _stream_strategy(given=none) %}
    {{ return((given or config).get('incremental_strategy')
        or ('merge' if floodmark._output_mode(given) == 'update' else 'append')) }}
{% endmacro %}


{% macro _output_mode(given=none) %}
    {{ return(floodmark._configured(given or config, 'output_mode')
        or floodmark._stream_schema().output_mode.default) }}
{% endmacro %}


{# Whether this model is a stream. #}
{% macro _is_stream() %}
    {{ return(config.get('materialized') == 'streaming_table') }}
{% endmacro %}
