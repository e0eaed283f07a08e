{#
  A backfill of insert_overwrite reads and replaces whole partitions. A SELECT may aggregate them: half of a day would
  give a row for each half.
#}

{# A range of positions, open below and closed above, rounded outward to whole partitions: {low, high}. Rows below
   `start` stay out where the range begins above it, and what must wait does. #}
{% macro _whole_partitions_range(run, low, high) %}
    {%- set family, watermark = run.upstream.family, run.settings.watermark -%}
    {%- set unit = floodmark._partition_unit(run) -%}
    {%- if unit is none -%}
        {{ return({'low': low, 'high': high}) }}
    {%- endif -%}
    {%- set smallest = floodmark._position_unit(family) -%}
    {#- of an hour that comes twice one partition may hold both -#}
    {%- if unit == 'hour' and floodmark._changes_clock([low + smallest, high], family) -%}
        {%- set unit = 'day' -%}
    {%- endif -%}
    {%- set edges = floodmark._edge_positions(floodmark._unit_edges_sql(unit, low + smallest, high, family), family) -%}
    {%- set start = floodmark._reach(watermark, family).start -%}
    {%- set least = start - smallest if start is not none and start <= low + smallest else edges.low - smallest -%}
    {%- set most = high if watermark.sql is not none else [floodmark._future_cap(watermark), high] | max -%}
    {{ return({'low': [edges.low - smallest, least] | max, 'high': [edges.high - smallest, most] | min}) }}
{% endmacro %}


{# Whether the clock changes within hours of one of these positions. #}
{% macro _changes_clock(positions, family) %}
    {%- set terms = [] -%}
    {%- for position in positions -%}
        {%- set moment = floodmark._position_literal(position, family) -%}
        {%- do terms.append('date_format(' ~ moment ~ " - interval 3 hours, 'XXX') <> date_format(" ~ moment
            ~ " + interval 3 hours, 'XXX')") -%}
    {%- endfor -%}
    {{ return(run_query('select 1 as one where ' ~ terms | join(' or ')).rows | length > 0) }}
{% endmacro %}


{# The unit of time of the table's partitions, the coarsest that fits; none where none does. The table says how they
   follow from the watermark, or its rows do. #}
{% macro _partition_unit(run) %}
    {%- set columns = floodmark._table_columns(run) -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set kept = run.zone.partitions if run.get('zone') else none -%}
    {%- if not partition -%}
        {{ return(none) }}
    {%- elif kept and kept.column == partition.name | lower -%}
        {%- set units = floodmark._partition_expressions('null', partition.type) | selectattr('way', 'in', kept.ways)
            | map(attribute='unit') | list -%}
    {%- else -%}
        {%- set units = floodmark._derivation(run, columns, run.upstream.family, this).units -%}
    {%- endif -%}
    {{ return(units | first | default(none)) }}
{% endmacro %}
