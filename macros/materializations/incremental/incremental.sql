{#
  dbt's own word `incremental`: a model that uses a setting of floodmark's loads under the batch protocol
  (docs/flow/incremental.md), every other model goes to dbt-spark's materialization as if floodmark were not there.
#}
{% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}
    {%- if not floodmark._is_managed() -%}
        {%- set theirs = dbt.materialization_incremental_spark -%}
        {{ return(adapter.floodmark_on_top(theirs) if model.language == 'python' and adapter.floodmark_plugin is defined
            else theirs()) }}
    {%- endif -%}

    {%- set settings = floodmark._settings() -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- do floodmark._require_own_session() -%}

    {{ run_hooks(pre_hooks) }}

    {%- if floodmark._is_dry() -%}
        {%- set waits = floodmark._load_dry(settings, floodmark._select_text(sql)) -%}
    {%- else -%}
        {%- set run = floodmark._load(settings, floodmark._select_text(sql)) -%}
        {%- set waits = run.waits_for is not none -%}
        {%- if not waits -%}
            {%- do floodmark._persist_constraints(target_relation, run.properties) -%}
            {%- do apply_grants(target_relation, config.get('grants'),
                should_revoke=should_revoke(load_relation(this), should_full_refresh())) -%}
            {%- do floodmark._persist_docs(target_relation) -%}
        {%- endif -%}
        {%- do floodmark._tell_violations(run) -%}
    {%- endif -%}
    {%- if waits -%}
        {#- there is no table yet -#}
        {{ return({'relations': []}) }}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{# On a session profile every thread would share one Spark session, and so each other's transaction ids. #}
{% macro _require_own_session() %}
    {%- if target.threads | int > 1 and adapter.floodmark_plugin is not defined -%}
        {%- set command = run_query(
            "select java_method('java.lang.System', 'getProperty', 'sun.java.command') as command").rows[0][0] -%}
        {%- if 'pyspark-shell' in command | string -%}
            {%- do floodmark._stop('without the floodmark plugin all threads of a session profile share one Spark '
                'session. Run with --threads 1, or enable the plugin: pip install dbt-floodmark, and do not set '
                'FLOODMARK_PLUGIN=0') -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# --empty and --sample: create the table where there is none, else only analyse the SELECT; the ledger stays as it
   is. Returns whether there is nothing to create it from: before the first file nobody knows its columns, so the
   SELECT is not analysed either. #}
{% macro _load_dry(settings, sql) %}
    {%- if floodmark._has_mark('waits', sql) -%}
        {%- set waits_for = settings.files.path if floodmark._present_relation() is none else none -%}
        {%- do floodmark._report(settings.strategy | upper, {'batches': 0, 'rows_inserted': 0, 'rows_updated': 0,
            'rows_deleted': 0, 'waits_for': waits_for}) -%}
        {{ return(waits_for is not none) }}
    {%- endif -%}
    {%- set select_sql = floodmark._select_of({'family': 'timestamp', 'unbounded': true, 'low_position': none,
        'start_position': none, 'high_position': none, 'nulls': none}, sql) -%}
    {%- set strategy = floodmark._strategy(settings) -%}
    {%- set run = {'settings': settings, 'sql': sql, 'target': {'is_delta': false}} -%}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._check_doubled(columns) -%}
    {%- set shape_sql = strategy.shape(run, select_sql) -%}
    {%- set shape = floodmark._columns_of(query=shape_sql) -%}
    {%- if floodmark._present_relation() is none -%}
        {#- made as a first load makes it -#}
        {%- set made_sql = floodmark._conforming_sql(run, floodmark._conformed_columns(run, {'replaces': true}, shape),
            shape_sql) -%}
        {%- do floodmark._assert_contract(made_sql) -%}
        {%- do floodmark._execute([floodmark._replace_table_sql(made_sql,
            floodmark._made_properties(run, strategy.own_columns(run, columns)))]) -%}
        {%- do floodmark._tell_warnings(run) -%}
    {%- endif -%}
    {%- do store_raw_result(name='main', message='OK (ledger untouched)', code='OK', rows_affected='-1') -%}
    {{ return(false) }}
{% endmacro %}
