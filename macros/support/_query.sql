{# The rows of a query that yields one JSON text a row, parsed: exact on session and Thrift alike, where types differ. #}
{% macro _query_json(sql) %}
    {%- set rows = [] -%}
    {%- for value in run_query(sql).columns[0].values() -%}
        {%- do rows.append(fromjson(value)) -%}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}


{# The version of the commit that this session made since _forget_commit; none where it made none, as under a transaction id that was used
   before. Delta keeps it in the session, for a tenth of what a look at a table's history costs. #}
{% macro _committed_version() %}
    {%- set value = run_query('set spark.databricks.delta.lastCommitVersionInSession').rows[0][1] | string -%}
    {{ return(value | int if modules.re.fullmatch('\\d+', value) else none) }}
{% endmacro %}


{% macro _forget_commit() %}
    {%- do floodmark._execute(['reset spark.databricks.delta.lastCommitVersionInSession']) -%}
{% endmacro %}


{# Execute statements in order, without results. #}
{% macro _execute(statements) %}
    {%- for sql in statements -%}
        {%- call statement('floodmark', auto_begin=false) -%}{{ sql }}{%- endcall -%}
    {%- endfor -%}
{% endmacro %}
