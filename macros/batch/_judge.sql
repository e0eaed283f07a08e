{# Evaluate the rules of a batch: write its rows to a staging table, each with the rules that it breaks, and reject the
   batch if a rule requires it. Returns a SELECT of the rows that are kept, and sets batch.judged. #}
{% macro _judge(run, batch, select_sql) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- if strategy.reads and batch.kind != 'replay' -%}
        {%- set select_sql = strategy.reads(run, batch, select_sql) -%}
    {%- endif -%}
    {%- set columns = floodmark._select_columns(run, select_sql) | rejectattr('name', 'equalto', '_floodmark_id')
        | list -%}
    {%- do floodmark._reject_columns(floodmark._own_name_problems(columns)) -%}
    {%- set asked = floodmark._asked(run, columns) -%}
    {%- do floodmark._leave_unfit_judgement(run, batch, columns) -%}
    {%- if not batch.judged_by -%}
        {%- do floodmark._check_rules(run, batch, columns, select_sql) -%}
        {%- do floodmark._execute([floodmark._create_stage_sql(floodmark._judged_relation(batch),
            run.settings.strategy) ~ '\n' ~ floodmark._judged_sql(batch.rules, asked, select_sql)]) -%}
    {%- endif -%}
    {%- do floodmark._count_judged(batch, columns, floodmark._path_of_rows(run), asked, run.settings.unique_key) -%}
    {%- do floodmark._check_violations(batch) -%}
    {{ return(strategy.replayed(run, batch) if strategy.replayed and floodmark._replays_rows(batch)
        else floodmark._kept_rows_sql(batch, asked.commits)) }}
{% endmacro %}


{# Whether the statement that loads a batch judges its rows, so that no staging table stands between: no row broke a
   rule in the batch before it, and the statement's commit tells all that is counted. #}
{% macro _may_judge_straight(run, batch) %}
    {{ return(batch.kind == 'incremental' and batch.get('rules') and (run.state.committed or {}).get('held_rules')
        and not batch.files and not batch.get('is_taken_over') and batch.family != 'version'
        and not floodmark._needs_stage(run) and adapter.floodmark_plugin is defined
        and batch.rules | rejectattr('kind', 'equalto', 'row') | list == []
        and batch.rules | selectattr('where') | list == []) }}
{% endmacro %}


{# Whether a SELECT has columns or fields that the table lacks. #}
{% macro _adds_columns(run, select_sql) %}
    {%- set changes = floodmark._schema_changes(floodmark._select_columns(run, select_sql),
        floodmark._table_columns(run)) -%}
    {{ return(changes.new + changes.fields != []) }}
{% endmacro %}


{# The rows of a batch as a SELECT that fails where one breaks a rule. The condition is kept apart, since Spark could
   ask it of rows that the model's own conditions leave out. #}
{% macro _judge_straight(run, batch, select_sql) %}
    {%- set columns = floodmark._select_columns(run, select_sql) -%}
    {%- do floodmark._reject_columns(floodmark._own_name_problems(columns)) -%}
    {%- do floodmark._check_rules(run, batch, columns, select_sql) -%}
    select {{ floodmark._quoted_csv(columns | map(attribute='name') | list) }}
    from (
        {{ floodmark._judged_sql(batch.rules, floodmark._asked(run, columns), select_sql) }}
    )
    where case
        when not {{ floodmark._kept_apart_sql() }} then false
        when {{ floodmark._broken_sql(batch.rules) }} then
            raise_error({{ floodmark._string_literal(floodmark._broken_rules()) }})
        else true
    end
{% endmacro %}


{# What the statement says of a row that breaks a rule. #}
{% macro _broken_rules() %}
    {{ return('floodmark: a row of the batch breaks a rule') }}
{% endmacro %}


{# Whether a statement failed because of such a row. #}
{% macro _is_of_broken_rules(told) %}
    {{ return(told.condition == 'USER_RAISED_EXCEPTION' and floodmark._broken_rules() in told.error) }}
{% endmacro %}


{# Use the rows that another run judged, if that table is complete, is of the same strategy and has the same columns. If
   it does not fit and rows of the batch are in the quarantine already, the batch fails, because they must not be judged
   twice. #}
{% macro _leave_unfit_judgement(run, batch, columns) %}
    {%- if not batch.get('is_taken_over') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set judged = floodmark._judged_relation(batch) -%}
    {%- set is_fit = batch.judged_by and floodmark._is_stage_whole(judged, run.settings.strategy) -%}
    {%- set changes = floodmark._schema_changes(columns, floodmark._judged_columns(judged)) if is_fit else {} -%}
    {%- if not is_fit or changes.new or changes.fields or changes.gone or changes.retyped -%}
        {%- do batch.update({'judged_by': none}) -%}
        {%- if floodmark._is_quarantined(batch) -%}
            {%- do floodmark._stop('the staging table of batch ' ~ batch.batch_id ~ ', with the rows that an earlier '
                'run has checked, is gone: run again, and they are read from the source again', is_passing=true,
                rejects='the rows that were judged are gone') -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
