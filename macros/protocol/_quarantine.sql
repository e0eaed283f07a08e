{#
  `<model>__quarantine`: rows that a batch does not load, with the reason (docs/guides/files.md). They are written
  before the batch's own statement, under its transaction id, so the commit in the model's table says that they are
  there. A batch that fails takes them back.
#}

{# The quarantine of a model. #}
{% macro _quarantine_relation(relation) %}
    {{ return(api.Relation.create(schema=relation.schema, identifier=relation.identifier ~ '__quarantine')) }}
{% endmacro %}


{# The columns of a quarantine behind those of the model: {name: type}. #}
{% macro _quarantine_columns() %}
    {{ return({'_floodmark_rules': 'array<string>', '_floodmark_reason': 'string', '_floodmark_raw': 'string',
        '_floodmark_file': 'string', '_floodmark_line': 'bigint', '_floodmark_batch_id': 'bigint',
        '_floodmark_quarantined_at': 'timestamp', '_floodmark_state': 'string', '_floodmark_id': 'string'}) }}
{% endmacro %}


{# Write rows of a batch into the model's quarantine. `columns` are the model's, `rows_sql` gives some of them and of
   the quarantine's own, by name. #}
{% macro _quarantine(batch, columns, rows_sql) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- do floodmark._make_quarantine(quarantine, columns) -%}
    {%- do floodmark._apply_once(quarantine, floodmark._once(batch), 'insert into ' ~ quarantine ~ ' by name select *, '
        ~ batch.batch_id ~ ' as _floodmark_batch_id, current_timestamp() as _floodmark_quarantined_at, '
        "'open' as _floodmark_state, uuid() as _floodmark_id from (" ~ rows_sql ~ ')') -%}
{% endmacro %}


{# A batch as the quarantine knows it: its rows go in once, whichever attempt of a strategy's writes them. #}
{% macro _once(batch) %}
    {{ return({'model': floodmark._batch_model(batch), 'batch_id': batch.batch_id, 'generation': batch.generation}) }}
{% endmacro %}


{# Make a quarantine where there is none, and give it the columns that the model has got since. A column that has
   another type in the model now keeps its own. #}
{% macro _make_quarantine(quarantine, columns) %}
    {%- set own = [] -%}
    {%- for name, type in floodmark._quarantine_columns().items() -%}
        {%- do own.append({'name': name, 'type': type}) -%}
    {%- endfor -%}
    {%- do floodmark._execute(['create table if not exists ' ~ quarantine ~ ' (' ~ floodmark._as_ddl(columns + own)
        ~ ') using delta']) -%}
    {%- set known = floodmark._columns_of(relation=quarantine) -%}
    {%- do floodmark._add_columns(quarantine, floodmark._schema_changes(columns, known)) -%}
{% endmacro %}


{# Take back what a batch that fails has in the quarantine; a run that still lives writes no more there. #}
{% macro _take_back_quarantined(batch, relation=none) %}
    {%- set quarantine = floodmark._quarantine_relation(relation or this) -%}
    {%- if floodmark._has_quarantine(quarantine) -%}
        {%- do floodmark._fence(floodmark._once(batch), quarantine) -%}
        {%- do floodmark._execute(['delete from ' ~ quarantine ~ ' where _floodmark_batch_id = ' ~ batch.batch_id]) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a model has a quarantine. #}
{% macro _has_quarantine(quarantine) %}
    {{ return(run_query("show tables in " ~ quarantine.schema ~ " like '" ~ quarantine.identifier | lower ~ "'").rows
        | length > 0) }}
{% endmacro %}


{# Whether a batch has rows in the quarantine already, of a run before. #}
{% macro _is_quarantined(batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {{ return(floodmark._has_quarantine(quarantine) and floodmark._landed(quarantine, batch) is not none) }}
{% endmacro %}


{# What was open before a batch that loads everything anew, or files anew, is so no more: it came again with the batch.
   An empty table is loaded anew, too. #}
{% macro _supersede_quarantined(batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set is_anew = batch.kind == 'full_refresh' or batch.begins -%}
    {%- if (is_anew or batch.get('replaces_files')) and floodmark._has_quarantine(quarantine) -%}
        {%- set paths = floodmark._path_literals([] if is_anew else batch.files) -%}
        {%- do floodmark._execute(['update ' ~ quarantine ~ " set _floodmark_state = 'superseded' where "
            "_floodmark_state = 'open' and _floodmark_batch_id < " ~ batch.batch_id
            ~ (' and _floodmark_file in (' ~ paths ~ ')' if paths else '')]) -%}
    {%- endif -%}
{% endmacro %}
