{#
  A SELECT may filter what it has grouped or ranked, by HAVING or by a condition on a subquery. Then what it gives of
  the rows of a batch alone does not tell which partitions they change: one new row may pass `having count(*) >= 3`
  together with two that are loaded. And where nothing of a partition passes any more, its rows in the table have to go.
  So of such a SELECT the partitions of the upstream's rows count, too: the table says how they follow from the
  watermark.
#}

{# Whether a SELECT does so, by its words. One that reads the clock or its own table may leave out what has long been
   loaded: that is no reason to delete it. #}
{% macro _filters_groups(sql) %}
    {%- set words = floodmark._words_of(sql) -%}
    {%- if floodmark._reads_own_table(sql) or modules.re.search('\\b(?:current_date|current_timestamp|localtimestamp|'
        ~ 'curdate|getdate|now|unix_timestamp)\\b', words) -%}
        {{ return(false) }}
    {%- endif -%}
    {#- for each open parenthesis, whether what stands in it groups or ranks; and whether any that is closed did -#}
    {%- set ns = namespace(groups=[false], has_grouped=false) -%}
    {%- for word in modules.re.findall('[()]|\\b(?:over|group\\s+by|where|having|qualify)\\b', words) -%}
        {%- if word in ['having', 'qualify'] or word == 'where' and ns.has_grouped -%}
            {{ return(true) }}
        {%- elif word == '(' -%}
            {%- set ns.groups = ns.groups + [false] -%}
        {%- elif word == ')' -%}
            {%- set ns.has_grouped = ns.has_grouped or ns.groups[-1:] == [true] -%}
            {%- set ns.groups = ns.groups[:-1] -%}
        {%- elif word != 'where' -%}
            {%- set ns.groups = ns.groups[:-1] + [true] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# The upstream's rows that a batch is to read, as watermark and partition: a SELECT. None where what the model's SELECT
   gives of them tells enough, and where the table does not say how partitions follow. What a dead run has judged was
   read for partitions that are not known any more. #}
{% macro _due_rows_sql(run, batch, columns) %}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- set kept = run.zone.partitions if run.get('zone') else none -%}
    {%- if not kept or kept.column != partition.name | lower or batch.get('judged_by')
        or not floodmark._filters_groups(run.sql) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set watermark = floodmark._find_column(columns, run.settings.watermark.column) -%}
    {%- set column = floodmark._quoted(run.upstream.column) -%}
    {%- set value = 'cast(' ~ column ~ ' as ' ~ watermark.type ~ ')' -%}
    {%- set selects = [] -%}
    {#- where several ways fit, the range has the partitions of each -#}
    {%- for candidate in floodmark._partition_expressions(value, partition.type) if candidate.way in kept.ways -%}
        {%- do selects.append('select ' ~ floodmark._pair_sql(run, value ~ ' as ' ~ floodmark._quoted(watermark.name),
            candidate.expression ~ ' as ' ~ floodmark._quoted(partition.name)) ~ ' from ' ~ run.upstream.relation
            ~ ' where ' ~ column ~ ' is not null and ' ~ floodmark._bounds_predicate(column, batch)) -%}
    {%- endfor -%}
    {{ return(selects | unique | join('\nunion all ') or none) }}
{% endmacro %}


{# A _derivation of what the SELECT gives of a batch's rows, widened by the upstream's: then it `is_due`. As it is where
   they do not count, or where the SELECT partitions in another way than the table, which _keep_partitions judges. #}
{% macro _with_due_rows(run, batch, columns, found) %}
    {%- set due = floodmark._due_rows_sql(run, batch, columns) -%}
    {%- set kept = run.zone.partitions.ways if due else [] -%}
    {%- if not due or found.rows and found.ways | select('in', kept) | list == [] -%}
        {{ return(found) }}
    {%- endif -%}
    {%- set selects = [due] -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- for position, value in [(found.get('first'), found.get('least')), (found.get('last'), found.get('greatest'))]
        if found.rows and position is not none and value is not none -%}
        {%- do selects.append('select ' ~ floodmark._pair_sql(run, floodmark._position_literal(
            floodmark._position_from_text(position, batch.family), batch.family),
            floodmark._range_literal(value, partition.type))) -%}
    {%- endfor -%}
    {%- set near = floodmark._derivation(run, columns, batch.family, '(\n' ~ selects | join('\nunion all ') ~ '\n)') -%}
    {%- set fits = floodmark._partition_expressions('null', partition.type) | selectattr('way', 'in', kept) | list -%}
    {%- set near = dict(near, is_due=true, ways=kept, units=fits | map(attribute='unit') | unique | list) -%}
    {{ return(near if near.rows and (found.rows or floodmark._partitions_as_kept(run, batch, columns, near))
        else found) }}
{% endmacro %}


{# Whether the SELECT partitions as the table, by what it gives of these whole partitions; where that is nothing, there
   is nothing else to go by. #}
{% macro _partitions_as_kept(run, batch, columns, near) %}
    {%- set values = [] -%}
    {%- for name in [run.settings.watermark.column, run.settings.partition_by[0]] -%}
        {%- do values.append(floodmark._conformed_value_sql(floodmark._find_column(columns, name)) ~ ' as '
            ~ floodmark._quoted(name)) -%}
    {%- endfor -%}
    {%- set given = floodmark._derivation(run, columns, batch.family, '(\nselect '
        ~ floodmark._pair_sql(run, values[0], values[1]) ~ ' from (\n'
        ~ floodmark._rounded_select(run, batch, columns, near) ~ '\n))') -%}
    {{ return(not given.rows or given.ways | select('in', near.ways) | list != []) }}
{% endmacro %}


{# Whether a partition, whose value is given as SQL, is among those that the upstream's rows had a batch read:
   a condition, none where they did not count. What a dead run was read for is looked for again. #}
{% macro _due_again_sql(run, batch, value) %}
    {%- set due, range = none, batch.get('due_range') -%}
    {%- if not range and not (batch.get('is_taken_over') and floodmark._filters_groups(run.sql)) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set columns = floodmark._table_columns(run) -%}
    {%- set partition = floodmark._find_column(columns, run.settings.partition_by[0]) -%}
    {%- if not range and partition and floodmark._find_column(columns, run.settings.watermark.column) -%}
        {%- set due = floodmark._due_rows_sql(run, dict(batch, judged_by=none), columns) -%}
        {%- set range = floodmark._derivation(run, columns, batch.family, '(\n' ~ due ~ '\n)') if due else none -%}
    {%- endif -%}
    {%- if not range or range.get('least') is none -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return('try_cast(' ~ value ~ ' as ' ~ partition.type ~ ') between '
        ~ floodmark._range_literal(range.least, partition.type) ~ ' and '
        ~ floodmark._range_literal(range.greatest, partition.type)) }}
{% endmacro %}
