{# The settings that a statement of a batch runs with: its transaction, in two parts, what its commit says, and
   whether MERGE writes its source down. #}
{% macro _batch_conf() %}
    {{ return(['spark.databricks.delta.write.txnAppId', 'spark.databricks.delta.write.txnVersion',
        'spark.databricks.delta.commitInfo.userMetadata', 'spark.databricks.delta.merge.materializeSource']) }}
{% endmacro %}


{# What sets and reads the settings of this node's session without a statement each; none where only statements do. #}
{% macro _session_conf() %}
    {{ return(adapter.floodmark_conf() if adapter.floodmark_plugin is defined else none) }}
{% endmacro %}


{# Set what the next statement runs with. #}
{% macro _set_conf(values) %}
    {%- set session = floodmark._session_conf() -%}
    {%- for key, value in values.items() -%}
        {%- if session -%}
            {%- do session.set(key, value) -%}
        {%- else -%}
            {%- do floodmark._execute(['set ' ~ key ~ ' = ' ~ value]) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Settings that a statement runs with leave the session with it. #}
{% macro _reset_conf(keys) %}
    {%- set session = floodmark._session_conf() -%}
    {%- for key in keys -%}
        {%- if session -%}
            {%- do session.reset(key) -%}
        {%- else -%}
            {%- do floodmark._execute(['reset ' ~ key]) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# The version of the commit that this session made since _forget_commit; none where it made none, as under a
   transaction id that was used before. Delta keeps it in the session, for a tenth of what a look at a table's history
   costs. #}
{% macro _committed_version() %}
    {%- set key = 'spark.databricks.delta.lastCommitVersionInSession' -%}
    {%- set session = floodmark._session_conf() -%}
    {%- set value = (session.get(key) if session else run_query('set ' ~ key).rows[0][1]) | string -%}
    {{ return(value | int if modules.re.fullmatch('\\d+', value) else none) }}
{% endmacro %}


{% macro _forget_commit() %}
    {%- do floodmark._reset_conf(['spark.databricks.delta.lastCommitVersionInSession']) -%}
{% endmacro %}
