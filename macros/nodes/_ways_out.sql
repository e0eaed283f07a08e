{# How to go on where mark and table disagree: never guessed, always one of these two; the second where there is a
   mark that can be set. A restored cdc table does not fit its state table, so no mark helps. #}
{% macro _ways_out(is_restored=false) %}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- set can_reset = floodmark._setting('watermark') is mapping and strategy != 'snapshot_diff'
        and not (is_restored and strategy == 'cdc') -%}
    {{ return('run it once with --full-refresh to load everything again'
        ~ (' (take full_refresh=false out for that run)' if config.get('full_refresh') is sameas false else '')
        ~ (', or set the mark with `floodmark reset ' ~ floodmark._node_name(model) ~ ' --to <value>`' if can_reset
        else '')) }}
{% endmacro %}


{# How a stream goes on whose rows are refused: a micro-batch that was planned reads the same versions again. `change`
   is what refuses them. #}
{% macro _ways_out_of_rows(change=none) %}
    {{ return('The stream reads the same rows again, even if you correct them upstream: '
        ~ ('change ' ~ change ~ ', ' if change else '') ~ 'correct or leave out the rows in the SELECT, or correct '
        'them upstream and run once with --full-refresh') }}
{% endmacro %}
