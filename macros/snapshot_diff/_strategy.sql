{# snapshot_diff, as the protocol sees it (macros/protocol/_strategy.sql). #}
{% macro _snapshot_diff_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), counts=floodmark._difference_counts,
        mark=floodmark._version_after)) }}
{% endmacro %}


{# A difference tells in each row how many rows the snapshot had. #}
{% macro _difference_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._query_json(
        "select to_json(named_struct('rows_read', coalesce(max(_floodmark_rows_read), 0))) from " ~ stage)[0]) }}
{% endmacro %}
