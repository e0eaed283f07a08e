{# The settings that a statement of a batch runs with: its transaction, in two parts, what its commit says, and
   whether MERGE writes its source down. #}
{% macro _batch_conf() %}
    {{ return(['spark.databricks.delta.write.txnAppId', 'spark.databricks.delta.write.txnVersion',
        'spark.databricks.delta.commitInfo.userMetadata', 'spark.databricks.delta.merge.materializeSource']) }}
{% endmacro %}


{# Settings that a statement runs with leave the session with it. #}
{% macro _reset_conf(keys) %}
    {%- for key in keys -%}
        {%- do floodmark._execute(['reset ' ~ key]) -%}
    {%- endfor -%}
{% endmacro %}


{# The version of the commit that this session made since _forget_commit; none where it made none, as under a
   transaction id that was used before. Delta keeps it in the session, for a tenth of what a look at a table's history
   costs. #}
{% macro _committed_version() %}
    {%- set value = run_query('set spark.databricks.delta.lastCommitVersionInSession').rows[0][1] | string -%}
    {{ return(value | int if modules.re.fullmatch('\\d+', value) else none) }}
{% endmacro %}


{% macro _forget_commit() %}
    {%- do floodmark._execute(['reset spark.databricks.delta.lastCommitVersionInSession']) -%}
{% endmacro %}
