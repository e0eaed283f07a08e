{# The records of Kafka topics as a stream: key and value (binary), topic, partition, offset, timestamp,
   timestampType. Stands in a FROM and may be followed by a watermark clause. `options` go to Spark's Kafka source as
   they are. #}
{% macro kafka_stream(bootstrap_servers, topic=none, starting_offsets='earliest', max_offsets_per_trigger=none,
    options={}) %}
    {%- if not execute -%}
        {{ return('(select 1)') }}
    {%- endif -%}
    {%- if not floodmark._is_stream() -%}
        {%- do floodmark._refuse([{'setting': 'materialized', 'got': config.get('materialized'),
            'expected': "'streaming_table'", 'todo': 'floodmark.kafka_stream() reads a stream'}]) -%}
    {%- endif -%}
    {%- set given = {'kafka.bootstrap.servers': bootstrap_servers, 'startingOffsets': starting_offsets} -%}
    {%- if topic is not none -%}
        {%- do given.update({'subscribe': topic}) -%}
    {%- endif -%}
    {%- if max_offsets_per_trigger is not none -%}
        {%- do given.update({'maxOffsetsPerTrigger': max_offsets_per_trigger | string}) -%}
    {%- endif -%}
    {%- do floodmark._check_kafka(given, options) -%}
    {%- do given.update(options) -%}
    {{ return(floodmark._stream_source('kafka', given)) }}
{% endmacro %}


{# The options of a Kafka stream stand in the compiled SQL, so that no secret may be among them: of JAAS a password,
   of SSL one of a keystore. #}
{% macro _check_kafka(given, options) %}
    {%- if options is not mapping -%}
        {%- do floodmark._refuse([{'setting': 'kafka_stream.options', 'got': options,
            'expected': "a mapping such as {'failOnDataLoss': 'false'}",
            'todo': 'Write it as a mapping'}]) -%}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- for name, value in dict(given, **options).items() -%}
        {%- set is_named = modules.re.search('(?i)(password|secret|token|[.]ssl[.]keystore[.]key)$', name) -%}
        {%- set is_secret = is_named and not (value | string).startswith('${') -%}
        {%- if is_secret or floodmark._has_secret(value) -%}
            {%- do problems.append({'setting': 'kafka_stream.options.' ~ name, 'got': '***',
                'expected': 'no credentials, which would appear in logs and in target/',
                'todo': 'Put them in a JAAS file that -Djava.security.auth.login.config names in the profile, in '
                ~ 'spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, '
                ~ "or in a file that Kafka's config.providers reads (${file:/path:key})"}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}
