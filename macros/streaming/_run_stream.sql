{#
  One run of a stream. Progress is Spark's own, in the checkpoint; the table's property `floodmark.stream` names the
  checkpoint that it is filled from, so that one commit makes an empty table and turns to a new checkpoint, and no crash
  can part the two.
#}

{# Run the model's query to its end, or as long as `floodmark stream` says. #}
{% macro _run_stream(settings, sql) %}
    {%- set streams = adapter.floodmark_streams() -%}
    {%- set run = floodmark._begin_stream(settings, sql, streams) -%}
    {%- if run.replay -%}
        {%- do floodmark._replay_stream(run) -%}
    {%- else -%}
        {%- do streams.run(run.request, floodmark._apply_micro_batch, floodmark._record_micro_batches, run) -%}
    {%- endif -%}
    {%- do floodmark._report('STREAM ' ~ (settings.output_mode if settings.output_mode == 'complete'
        else settings.strategy) | upper, run.total) -%}
    {%- do floodmark._tell_violations(run) -%}
    {{ return(true) }}
{% endmacro %}


{# Load open rows of the quarantine between two micro-batches, without the query. A micro-batch that a run left open is
   finished by the query alone. #}
{% macro _replay_stream(run) %}
    {%- set state = run.state -%}
    {%- if state.last_batch_id != state.finished_id
        or state.committed and state.committed.generation != run.generation -%}
        {%- do floodmark._run_first() -%}
    {%- endif -%}
    {%- for _ in range(2) -%}
        {%- set batch = floodmark._next_replay_batch(run) -%}
        {%- do floodmark._add_counts(run.total, floodmark._load_batch(run, batch)) if batch -%}
    {%- endfor -%}
    {%- do run.total.update({'still_open': floodmark._still_open(run)}) -%}
{% endmacro %}


{# Refuse a replay of a stream that has to run before. #}
{% macro _run_first() %}
    {%- do floodmark._stop('its last micro-batch is unfinished, or it was started over and has none yet: run the '
        'model first, then replay') -%}
{% endmacro %}


{# What the query of a stream is (streaming/query.py, Request), by settings as _stream_settings gives them: of no table
   and no checkpoint yet. #}
{% macro _stream_request(id, settings, sql) %}
    {%- set is_append = settings.strategy == 'append' -%}
    {{ return({'model': id, 'sql': sql, 'table': '', 'output_mode': settings.output_mode, 'location': '',
        'native': is_append and not settings.expectations, 'project_dir': floodmark._absolute_path(''),
        'ends': settings.seconds is none, 'distinct_by': settings.unique_key if is_append else [],
        'whole_commits': settings.strategy == 'cdc'}) }}
{% endmacro %}


{# What a run knows before its query starts, in the form that the batch macros take; table and checkpoint are made or
   checked here. #}
{% macro _begin_stream(settings, sql, streams) %}
    {%- set state = floodmark._model_state() -%}
    {%- set target = floodmark._target_state(state) -%}
    {%- set request = dict(floodmark._stream_request(floodmark._model_id(), settings, sql), table=this | string,
        seconds=settings.seconds if streams.service() else none) -%}
    {%- do floodmark._check_stream_columns(request, streams.columns(request)) -%}
    {%- set described = streams.describe(request) -%}
    {#- rows that an update changes come again, with the time of their group -#}
    {%- set is_row_wise = settings.output_mode == 'append' or not described.remembers -%}
    {%- do settings.update({'event_time': described.event_time if is_row_wise else none,
        'remembers': described.remembers}) -%}
    {%- set run = {'settings': settings, 'sql': 'select * from ' ~ streams.micro_batch, 'request': request,
        'upstream': none, 'commits': none, 'state': state, 'target': target, 'is_stale': false,
        'full_refresh': should_full_refresh() and not streams.service(), 'generation': none, 'guarded': false,
        'replay': floodmark._replay_asked(), 'first': true, 'stages': [], 'total': {'batches': 0, 'rows_read': 0,
        'rows_inserted': 0, 'rows_updated': 0, 'rows_deleted': 0, 'still_open': 0}} -%}
    {%- do floodmark._warn_of_lost_time(run, described) -%}
    {%- set properties = floodmark._properties_of(this) if target.is_delta else {} -%}
    {%- set made_by = floodmark._generation_in(properties, floodmark._model_id()) -%}
    {%- set is_new = not target.exists or target.relation.is_view -%}
    {%- set is_bare = not is_new and target.is_delta
        and floodmark._is_bare(state, made_by, target.is_empty) -%}
    {%- if run.replay -%}
        {#- before the table is made anew -#}
        {%- do floodmark._check_replay(run) if run.full_refresh or is_new -%}
        {%- do floodmark._run_first() if is_bare -%}
    {%- endif -%}
    {%- if run.full_refresh or is_new -%}
        {%- do floodmark._start_over(run, streams) -%}
    {%- elif is_bare -%}
        {%- do floodmark._take_on(run, streams) -%}
        {%- do floodmark._align_stream(run, streams) -%}
    {%- else -%}
        {%- do floodmark._check_added_constraints(run, properties, 'The stream did not start')
            if properties -%}
        {%- do run.update({'generation': made_by}) -%}
        {%- set filled_in = properties.get('floodmark.output_mode') -%}
        {%- do floodmark._check_output_mode(settings.output_mode, filled_in) if described.remembers and made_by -%}
        {%- do floodmark._go_on(run, streams) -%}
        {%- do floodmark._set_properties({'floodmark.output_mode': settings.output_mode})
            if described.remembers and not filled_in -%}
    {%- endif -%}
    {#- Delta holds every micro-batch against them: they must be there before the first -#}
    {%- do floodmark._drop_constraints(this, properties) if properties -%}
    {%- do floodmark._persist_constraints(this) -%}
    {%- if settings.strategy == 'cdc' -%}
        {%- do floodmark._drop_older_state(run) -%}
    {%- endif -%}
    {{ return(run) }}
{% endmacro %}


{# Go on with the table and the checkpoint that an earlier run left. What that run wrote and did not record is recorded
   here, also where Delta's own sink wrote it and rules have come since. #}
{% macro _go_on(run, streams) %}
    {%- set request = run.request -%}
    {%- do request.update({'location': floodmark._own_checkpoint(run.generation)}) -%}
    {%- if request.native and run.state.last_batch_id != run.state.finished_id and run.state.planned.kind == 'stream'
        and floodmark._stored_rules(run.state.planned.batch_id) -%}
        {#- its rules are gone, and it ends under them -#}
        {%- do request.update({'native': false}) -%}
    {%- endif -%}
    {%- set checkpoint = streams.checkpoint(request.location) -%}
    {%- do floodmark._check_stream(run, checkpoint) -%}
    {#- nothing was read yet: the run that began the table may have died right behind it -#}
    {%- do floodmark._supersede(floodmark._quarantine_relation(this), 'true') if checkpoint.last_offset is none -%}
    {%- set mark = floodmark._stream_mark(run) -%}
    {%- if request.native and mark is not none and mark != checkpoint.last_commit
        and mark == checkpoint.last_offset -%}
        {#- the macros wrote it, under rules that are gone: Delta's own sink does not know it, and would write it again
           -#}
        {%- do request.update({'native': false}) -%}
    {%- endif -%}
    {%- do floodmark._align_stream(run, streams) -%}
    {%- do run.update({'stages': floodmark._stages(this)}) -%}
    {%- do floodmark._drop_left_stages(run.stages, run.state.finished_id) -%}
    {%- if floodmark._left_replay(run.state) -%}
        {%- do floodmark._add_counts(run.total, floodmark._recover(run, run.state.planned)) -%}
    {%- elif run.state.last_batch_id == run.state.finished_id -%}
        {%- do floodmark._record_micro_batches(run, {}) -%}
    {%- endif -%}
{% endmacro %}


{# The columns that Delta's own sink is to write, after on_schema_change: in the table's types, since the sink would
   cast without a word. The other strategies look at each micro-batch, and hold it against the contract. #}
{% macro _align_stream(run, streams) %}
    {%- if run.settings.strategy == 'append' -%}
        {%- set shape = 'select * from ' ~ streams.shape -%}
        {%- do floodmark._assert_contract(shape) if run.request.native -%}
        {%- set columns = floodmark._conformed_columns(run, none, floodmark._columns_of(query=shape)) -%}
        {%- set names = floodmark._align_columns(run, {'sql': shape, 'columns': columns}) -%}
        {#- what rules judge, and what the macros write, comes as the SELECT gives it -#}
        {%- do run.request.update({'columns': floodmark._written_columns(floodmark._columns_named(columns, names))})
            if run.request.native -%}
    {%- endif -%}
{% endmacro %}


{# Columns of _conformed_columns as SQL over the SELECT, a list. #}
{% macro _written_columns(columns) %}
    {%- set written = [] -%}
    {%- for column in columns -%}
        {%- do written.append(floodmark._conformed_column_sql(column)) -%}
    {%- endfor -%}
    {{ return(written) }}
{% endmacro %}


{# --empty and --sample: create the table where there is none, else only analyse the SELECT; ledger and checkpoint
   stay as they are. #}
{% macro _stream_dry(settings, sql) %}
    {%- set streams = adapter.floodmark_streams() -%}
    {#- dbt puts a query in the place of the relation, and only a relation can be streamed: the shape is the same -#}
    {%- set sql = modules.re.sub('\\bstream\\s*\\(\\s*\\(\\s*select \\* from (\\S+)[^()]*\\)[^()]*\\)', 'stream(\\1)',
        sql) -%}
    {%- set request = dict(floodmark._stream_request(floodmark._model_id(), settings, sql), table=this | string) -%}
    {%- do floodmark._check_stream_columns(request, streams.columns(request)) -%}
    {%- do streams.describe(request) -%}
    {%- if floodmark._present_relation() is none -%}
        {#- nothing is judged, and what rules look into may not be built yet -#}
        {%- set run = {'settings': dict(settings, expectations=[]), 'request': request,
            'target': {'is_delta': false}} -%}
        {%- do floodmark._check_written_columns(run, streams, {'replaces': true, 'kind': 'stream'}) -%}
        {%- do floodmark._make_stream_table(run, streams) -%}
        {%- do floodmark._tell_warnings(run) -%}
    {%- endif -%}
    {%- do store_raw_result(name='main', message='OK (ledger untouched)', code='OK', rows_affected='-1') -%}
{% endmacro %}
