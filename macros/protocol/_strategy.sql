{#
  A strategy is one mapping, `_<strategy>_strategy()` in its own room. The protocol asks it and names none, so a new
  strategy is a new folder. What it says:

  needs_stage          whether its batches are staged, or read the SELECT in the one statement that applies them
  counts               macro(run, stage, batch, source=none): counts of a staging table, `rows_read` among them
  mark                 macro(run, batch): the mark of a model without a watermark; none where it has none
  reads_mark_in_stage  whether the greatest value is read in the staging table, since deletes leave no row in the table
  app_suffix           what its transaction ids end in. With one, each attempt at a batch has a number of its own:
                       a batch of several statements, of which the first may be there already
  writer               macro(batch): the runs whose staging tables its statements read, which its commits name; or none
  take_back            macro(batch): take back the part of a batch that is written, where the rest will not be; none
                       where one statement is all of it
#}
{% macro _strategy(settings) %}
    {{ return(floodmark['_' ~ settings.strategy ~ '_strategy']()) }}
{% endmacro %}


{# What most strategies say. #}
{% macro _strategy_defaults() %}
    {{ return({'needs_stage': true, 'counts': floodmark._row_counts, 'mark': none, 'reads_mark_in_stage': false,
        'app_suffix': '', 'writer': none, 'take_back': none}) }}
{% endmacro %}


{# The strategy of a batch; the defaults for one that belongs to no model's run, as of a reset. #}
{% macro _strategy_of(batch) %}
    {{ return(floodmark._strategy(batch.settings) if batch.settings is defined else floodmark._strategy_defaults()) }}
{% endmacro %}


{# Whether a batch is staged. Constraints are checked in a staging table, before anything is written. #}
{% macro _needs_stage(run) %}
    {{ return(floodmark._strategy(run.settings).needs_stage or floodmark._has_constraints()) }}
{% endmacro %}


{% macro _row_counts(run, stage, batch, source=none) %}
    {{ return(floodmark._query_json("select to_json(named_struct('rows_read', count(*))) from " ~ stage)[0]) }}
{% endmacro %}
