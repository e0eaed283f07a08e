{# The column of the SELECT that says which row of a key is the latest: the watermark column, of a stream the one of
   its event-time watermark, or none. #}
{% macro _order_column(run, columns) %}
    {%- set watermark = run.settings.watermark -%}
    {%- if run.settings.get('event_time') -%}
        {{ return(run.settings.event_time) }}
    {%- elif watermark -%}
        {%- set column = floodmark._find_column(columns,
            '_commit_version' if watermark.kind == 'version' else watermark.column) -%}
        {{ return(column.name if column else none) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{# The column that says which row is the latest, {name, type}, if it is among the written ones; else none. #}
{% macro _written_order(run, source, written) %}
    {%- set name = floodmark._order_column(run, source.columns) -%}
    {{ return(floodmark._find_column(source.columns, name)
        if name is not none and name | lower in written | map('lower') | list else none) }}
{% endmacro %}


{# What a first load writes, and what constraints are asked of: the latest row of each key, without those that a change
   took away. #}
{% macro _kept_sql(run, source) %}
    {%- set latest = floodmark._latest_sql(run, source) -%}
    {%- if source.columns is none or floodmark._target_columns(run, source.columns) | length == source.columns
        | length -%}
        {{ return(latest) }}
    {%- endif -%}
    {%- set deletes = floodmark._deletes_predicate(run, source.columns) -%}
    {{ return('select ' ~ floodmark._quoted_csv(floodmark._target_columns(run, source.columns) | map(attribute='name')
        | list) ~ ' from (\n' ~ latest ~ '\n)' ~ (' where not ' ~ deletes if deletes else '')) }}
{% endmacro %}


{# The staged rows, one a key: the greatest watermark value wins, ties by the greater row hash. #}
{% macro _latest_sql(run, source) %}
    {%- if source.stage is none or not source.counts.get('repeated') -%}
        {{ return(source.sql) }}
    {%- endif -%}
    {%- set keys = floodmark._quoted_csv(run.settings.unique_key) -%}
    {%- set deletes = floodmark._deletes_predicate(run, source.columns) -%}
    {#- a commit that takes a row of a key away and adds another leaves the other -#}
    {%- set order = floodmark._quoted(floodmark._order_column(run, source.columns)) ~ ' desc nulls last'
        ~ (', ' ~ deletes if deletes else '') -%}
    {%- set names = floodmark._quoted_csv(source.columns | map(attribute='name') | list) -%}
    {#- what a match updates decides first; what else differs decides of a row that is inserted -#}
    {%- set all = floodmark._target_columns(run, source.columns) -%}
    {%- set updated = floodmark._columns_named(all,
        floodmark._updated_columns(source.get('written') or all | map(attribute='name') | list)) -%}
    {%- set ties = ([floodmark._row_hash_sql(updated) ~ ' desc'] if updated
        else []) + ([floodmark._row_hash_sql(all) ~ ' desc'] if updated | length < all | length else []) -%}
    {{ return('select ' ~ names ~ ' from (\n            select *, row_number() over (partition by ' ~ keys
        ~ ' order by ' ~ order ~ ', ' ~ ties | join(', ') ~ ') as _floodmark_rank\n            from '
        ~ source.stage ~ '\n        ) where _floodmark_rank = 1') }}
{% endmacro %}


{# What readings of one row are alike in: the key, and the watermark value. Without such a value all rows of a key are
   readings of one. #}
{% macro _reading_names(run, columns) %}
    {%- set order = floodmark._order_column(run, columns) -%}
    {{ return(run.settings.unique_key + ([order] if order is not none else [])) }}
{% endmacro %}


{# The rows that a replay keeps, one reading of each: those that the latest batch has held back, since it read them
   later. Where `set` gives the watermark value, the rows follow each other by the value that they came with. Most older
   readings are open no more (_supersede_readings). #}
{% macro _last_readings_sql(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set columns = batch.judged.columns -%}
    {%- set order = floodmark._order_column(run, columns) or '' -%}
    {%- set told = floodmark._columns_named(columns, floodmark._reading_names(run, columns)) -%}
    {%- set came = floodmark._find_column(floodmark._columns_of(relation=quarantine), order)
        if order | lower in (batch.asked.replay.set or {}) | map('lower') | list else none %}
    select {{ floodmark._quoted_csv(columns | map(attribute='name') | list) }}
    from (
        select *, rank() over (
            partition by {{ floodmark._quoted_csv(told | map(attribute='name') | list) }}
            order by {{'_floodmark_came_at desc nulls last, ' if came }}_floodmark_held_by desc
        ) as _floodmark_reading
        from {{ floodmark._judged_relation(batch) }}
        join (
            select _floodmark_id as _floodmark_held_as, _floodmark_batch_id as _floodmark_held_by
                {{- (', ' ~ floodmark._quoted(came.name) ~ ' as _floodmark_came_at') if came }}
            from {{ quarantine }}
        ) on _floodmark_id = _floodmark_held_as
        where not {{ floodmark._broken_sql(batch.rules, ['drop', 'quarantine', 'fail']) }}
    )
    where _floodmark_reading = 1
{% endmacro %}


{# Whether the source row of a match replaces the target row. With an order column the later row wins and, of two rows
   of one time that differ, the source's, since it was read later: a correction in place keeps its time. Without one
   any difference counts. #}
{% macro _wins_predicate(run, source, columns) %}
    {%- set order = floodmark._order_column(run, source.columns) -%}
    {%- set updated = floodmark._updated_columns(columns) -%}
    {%- set hashed = floodmark._columns_named(source.columns, updated) -%}
    {%- set differs = floodmark._row_hash_sql(hashed, 'DBT_INTERNAL_SOURCE.') ~ ' <> '
        ~ floodmark._row_hash_sql(hashed, 'DBT_INTERNAL_DEST.') -%}
    {%- set has_order = order is not none and order | lower in columns | map('lower') | list -%}
    {%- if not has_order -%}
        {{ return('false' if source.get('only_later') and not source.get('is_newest') else differs) }}
    {%- endif -%}
    {%- set s = 'DBT_INTERNAL_SOURCE.' ~ floodmark._quoted(order) -%}
    {%- set t = 'DBT_INTERNAL_DEST.' ~ floodmark._quoted(order) -%}
    {%- if source.get('only_later') -%}
        {{ return('(' ~ s ~ ' > ' ~ t ~ ' or ' ~ t ~ ' is null and ' ~ s ~ ' is not null)') }}
    {%- endif -%}
    {%- set is_as_late = '(' ~ t ~ ' is null or ' ~ s ~ ' = ' ~ t ~ ')' -%}
    {#- a time that is not updated stays what it was: a row that comes again must differ to win again -#}
    {%- if order | lower not in updated | map('lower') | list -%}
        {{ return('(' ~ differs ~ ' and (' ~ s ~ ' > ' ~ t ~ ' or ' ~ is_as_late ~ '))') }}
    {%- endif -%}
    {{ return('(' ~ s ~ ' > ' ~ t ~ ' or ' ~ is_as_late ~ ' and ' ~ differs ~ ')') }}
{% endmacro %}
