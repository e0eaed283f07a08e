{#
  The table of a stream that starts: made empty, or taken on as somebody left it. The commit that names its checkpoint
  is the one that starts it.
#}

{# Whether a stream begins anew in a table that is there: it is empty, and no stream of the model made it, or somebody
   emptied it. Of this model, or of `relation`. #}
{% macro _is_bare(state, made_by, is_empty, relation=none) %}
    {{ return(is_empty and (made_by is none or floodmark._was_emptied(state, made_by, relation))) }}
{% endmacro %}


{# Take an empty table that somebody else made, or that was emptied, as it is: one commit has it name a checkpoint of
   its own, behind the one that adds what cdc keeps in columns. A run that died between the two adds none again. #}
{% macro _take_on(run, streams) %}
    {%- do floodmark._check_char_columns(run) -%}
    {%- do floodmark._give_up_open_batch(run) -%}
    {%- set generation = invocation_id ~ '-' ~ floodmark._now() -%}
    {%- do floodmark._check_written_columns(run, streams, {'replaces': false, 'begins': true, 'kind': 'stream'}) -%}
    {%- do floodmark._set_properties(floodmark._own_properties(run, generation)) -%}
    {#- of one that was emptied all rows are judged again -#}
    {%- do floodmark._supersede(floodmark._quarantine_relation(this), 'true') -%}
    {%- do run.update({'generation': generation}) -%}
    {%- do run.request.update({'location': floodmark._own_checkpoint(generation)}) -%}
    {%- do run.target.update({'newest': none, 'disturbed': none}) -%}
{% endmacro %}


{# What the columns forbid the rules, and the strategy that is to write them, refused before the table is made or names
   a checkpoint: the first micro-batch would find it too late, in a table whose properties name these settings. cdc also
   makes a table that is taken on one of its own. Delta's own sink has no strategy. #}
{% macro _check_written_columns(run, streams, batch) %}
    {%- if not run.request.native -%}
        {%- set strategy = floodmark._strategy(run.settings) -%}
        {%- set shape = 'select * from ' ~ streams.shape -%}
        {%- set rules = floodmark._planned_rules(run.settings.get('expectations'), model) -%}
        {%- do floodmark._check_rules(run, {'rules': rules}, floodmark._select_columns(run, shape), shape) if rules -%}
        {%- set columns = strategy.selected(run, batch, shape) -%}
        {%- do strategy.check_columns(run, batch, floodmark._conformed_columns(run, batch, columns)
            if strategy.conforms else columns) -%}
    {%- endif -%}
{% endmacro %}


{# Make the table, empty, in one commit that also turns to a checkpoint of its own: at first, and with --full-refresh.
   #}
{% macro _start_over(run, streams) %}
    {%- do floodmark._check_written_columns(run, streams, {'replaces': true, 'kind': 'stream'}) -%}
    {%- do floodmark._give_up_open_batch(run) -%}
    {%- do floodmark._drop_what_is_not_delta(run) -%}
    {#- of its own even where one invocation starts over twice -#}
    {%- set generation = invocation_id ~ '-' ~ floodmark._now() -%}
    {%- set columns = floodmark._make_stream_table(run, streams, floodmark._own_properties(run, generation)) -%}
    {#- also where there are no rules any more, which would do it with the first micro-batch; not before the table is
       made: where that fails, nothing is read again -#}
    {%- do floodmark._supersede(floodmark._quarantine_relation(this), 'true') -%}
    {%- if run.request.native and floodmark._conforms(run, columns) -%}
        {%- do run.request.update({'columns': floodmark._written_columns(columns)}) -%}
    {%- endif -%}
    {#- dbt hears of a table when its node has ended, and a stream may start again before. dbt's cache looks for names
       in small letters: without `dbt_created` one with capitals would stop the node -#}
    {%- do adapter.cache_added(this.incorporate(type='table', is_delta=true, dbt_created=true)) -%}
    {%- do run.update({'generation': generation}) -%}
    {%- do run.request.update({'location': floodmark._own_checkpoint(generation)}) -%}
    {%- do run.target.update({'exists': true, 'is_delta': true, 'is_empty': true, 'id': none,
        'relation': load_relation(this) or this, 'newest': none, 'disturbed': none}) -%}
{% endmacro %}


{# The table, empty, without columns that have no type yet (_untyped_columns.sql). One with columns of the change feed
   can have no feed of its own. Returns its columns, as _conformed_columns gives them. #}
{% macro _make_stream_table(run, streams, properties={}) %}
    {%- set shape_sql = floodmark._strategy(run.settings).shape(run, 'select * from ' ~ streams.shape) -%}
    {%- set columns = floodmark._conformed_columns(run, {'replaces': true}, floodmark._columns_of(query=shape_sql)) -%}
    {%- set select_sql = floodmark._conforming_sql(run, columns, shape_sql) -%}
    {%- do floodmark._assert_contract(select_sql) -%}
    {%- do floodmark._execute([floodmark._replace_table_sql(select_sql,
        dict(floodmark._made_properties(run, columns), **properties))]) -%}
    {{ return(columns) }}
{% endmacro %}


{# What a table says of the stream that fills it: its checkpoint, and its output mode. #}
{% macro _own_properties(run, generation) %}
    {{ return({'floodmark.stream': floodmark._to_property(floodmark._model_id() ~ '/' ~ generation),
        'floodmark.output_mode': run.settings.output_mode}) }}
{% endmacro %}


{# A batch that an earlier run left open goes with the table, or the checkpoint, that it was of. #}
{% macro _give_up_open_batch(run) %}
    {%- set state = run.state -%}
    {%- if state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {%- set open = dict(state.planned, settings=run.settings) -%}
        {%- if run.target.exists -%}
            {%- do floodmark._give_up(floodmark._model_id(), run.target.relation, open, state.committed,
                goes_on=false) -%}
        {%- else -%}
            {%- do floodmark._record('failed', open,
                {'error': "'the table was dropped before the batch was applied'"}) -%}
        {%- endif -%}
        {%- do state.update({'finished_id': state.last_batch_id}) -%}
    {%- endif -%}
{% endmacro %}


{# What cdc remembers beside a table goes with the table: that of one before a full refresh, to which this table does
   not point yet, is dropped, but where a run of this generation died between its two statements. #}
{% macro _drop_older_state(run) %}
    {%- if floodmark._has_state() and floodmark._properties_of(this).get(floodmark._state_mark()) is none -%}
        {%- set state = floodmark._state_relation() -%}
        {%- set own = [] -%}
        {%- for tag in floodmark._recent_tags(state)
            if tag and tag.startswith('floodmark/' ~ floodmark._model_id() ~ '/' ~ run.generation ~ '/') -%}
            {%- do own.append(tag) -%}
        {%- endfor -%}
        {%- if not own -%}
            {%- do floodmark._execute(['drop table if exists ' ~ state]) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
