{# snapshot_diff, as the protocol sees it (macros/protocol/_strategy.sql). #}
{% macro _snapshot_diff_strategy() %}
    {{ return(dict(floodmark._strategy_defaults(), load=floodmark._load_snapshot, contracted=none,
        shape=floodmark._snapshot_shape_of, counts=floodmark._difference_counts,
        mark=floodmark._version_after, reads_anew=true, replays=false, backfills=false,
        whole=true, unlike=floodmark._snapshot_reading, compares_all=true,
        lost_mark_problem=floodmark._snapshot_lost_mark)) }}
{% endmacro %}


{% macro _snapshot_shape_of(run, select_sql) %}
    {%- set version = floodmark._find_column(floodmark._select_columns(run, select_sql),
        run.settings.snapshot.version or '') -%}
    {{ return(floodmark._snapshot_shape_sql(run, {'version_type': version.type if version else 'timestamp'},
        select_sql)) }}
{% endmacro %}


{# A row of the next snapshot is the same row where only its version differs, or what is not compared. #}
{% macro _snapshot_reading(run, columns) %}
    {%- set snapshot = run.settings.snapshot -%}
    {%- set kept = snapshot.compared + run.settings.unique_key -%}
    {{ return(([snapshot.version] if snapshot.version is not none else [])
        + (floodmark._without_columns(columns, kept) | map(attribute='name') | list if snapshot.compared
        else snapshot.excepted)) }}
{% endmacro %}


{# A difference tells in each row how many rows the snapshot had. #}
{% macro _difference_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._query_json(
        "select to_json(named_struct('rows_read', coalesce(max(_floodmark_rows_read), 0))) from " ~ stage)[0]) }}
{% endmacro %}


{# Why a snapshot cannot go on: without a mark an older version would be taken for the next one. #}
{% macro _snapshot_lost_mark(run) %}
    {%- set is_ordered = run.settings.watermark or run.settings.snapshot.version is not none -%}
    {{ return('snapshot_diff cannot tell which versions are loaded: name the ledger that it was loaded with '
        '(variable floodmark_schema), or ' if floodmark._has_lost_mark(run.state.committed) and is_ordered else none) }}
{% endmacro %}
