{# How to go on where mark and table disagree: never guessed, always one of these two; the second where there is a
   mark that can be set, and the table still fits what lies beside it. #}
{% macro _ways_out(is_restored=false, is_replaced=false) %}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- set can_reset = floodmark._setting('watermark') is mapping and strategy != 'snapshot_diff'
        and not floodmark._misfits_state(this, strategy, is_restored, is_replaced) -%}
    {{ return('run it once with --full-refresh to load everything again'
        ~ (' (take full_refresh=false out for that run)' if config.get('full_refresh') is sameas false else '')
        ~ (', or set the mark with `floodmark reset ' ~ floodmark._node_name(model) ~ ' --to <value>`' if can_reset
        else '')) }}
{% endmacro %}


{# Whether a table that was restored, or replaced by another, does not fit its state table: what cdc remembers there is
   of the rows that were there before, so no mark helps. #}
{% macro _misfits_state(relation, strategy, is_restored, is_replaced) %}
    {{ return(strategy == 'cdc' and (is_restored or is_replaced and adapter.get_relation(none, relation.schema,
        relation.identifier ~ '__cdc_state') is not none)) }}
{% endmacro %}


{# How a stream goes on whose rows are refused: a micro-batch that was planned reads the same versions again. `change`
   is what refuses them. #}
{% macro _ways_out_of_rows(change) %}
    {{ return('The stream reads the same rows again, even if you correct them upstream: change ' ~ change ~ ', correct '
        'or leave out the rows in the SELECT, or correct them upstream and run once with --full-refresh') }}
{% endmacro %}


{# How a replay goes on whose rows are refused: what is wrong with them is corrected in the quarantine. #}
{% macro _way_out_of_replay() %}
    {{ return('leave these rows out with where, or give them other values with set when you replay') }}
{% endmacro %}
