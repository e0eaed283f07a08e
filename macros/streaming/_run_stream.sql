{#
  One run of a stream. Progress is Spark's own, in the checkpoint; the table's property `floodmark.stream` names the
  checkpoint that it is filled from, so that one commit makes an empty table and turns to a new checkpoint, and no crash
  can part the two.
#}

{# Run the model's query to its end, or as long as `floodmark stream` says. #}
{% macro _run_stream(settings, sql) %}
    {%- set streams = adapter.floodmark_streams() -%}
    {%- set run = floodmark._begin_stream(settings, sql, streams) -%}
    {%- set total = {'batches': 0, 'rows_read': 0, 'rows_inserted': 0, 'rows_updated': 0, 'rows_deleted': 0,
        'still_open': 0} -%}
    {%- set loaded = floodmark._replay_stream(run, total) if run.replay else streams.run(run.request,
        floodmark._apply_micro_batch, floodmark._record_micro_batches, run) -%}
    {%- for counts in run.recovered_batches + loaded -%}
        {%- do floodmark._add_counts(total, counts) -%}
    {%- endfor -%}
    {%- do floodmark._report('STREAM ' ~ (settings.output_mode if settings.output_mode == 'complete'
        else settings.strategy) | upper, total) -%}
    {{ return(true) }}
{% endmacro %}


{# Load open rows of the quarantine between two micro-batches, without the query: the counts of each batch. A
   micro-batch that a run left open is finished by the query alone. #}
{% macro _replay_stream(run, total) %}
    {%- set state = run.state -%}
    {%- if state.last_batch_id != state.finished_id
        or state.committed and state.committed.generation != run.generation -%}
        {%- do floodmark._stop('its last micro-batch is unfinished, or it was started over and has none yet: run the '
            'model first, then replay') -%}
    {%- endif -%}
    {%- set loaded = [] -%}
    {%- for _ in range(2) -%}
        {%- set batch = floodmark._next_replay_batch(run) -%}
        {%- do loaded.append(floodmark._load_batch(run, batch)) if batch -%}
    {%- endfor -%}
    {%- do total.update({'still_open': floodmark._still_open(run)}) -%}
    {{ return(loaded) }}
{% endmacro %}


{# What a run knows before its query starts, in the form that the batch macros take; table and checkpoint are made or
   checked here. #}
{% macro _begin_stream(settings, sql, streams) %}
    {%- set state = floodmark._model_state() -%}
    {%- set target = floodmark._target_state(state) -%}
    {%- set request = {'model': floodmark._model_id(), 'sql': sql, 'table': this | string,
        'output_mode': settings.output_mode, 'location': '',
        'native': settings.strategy == 'append' and not settings.expectations,
        'project_dir': floodmark._absolute_path(''), 'seconds': settings.seconds if streams.service() else none,
        'distinct_by': settings.unique_key if settings.strategy == 'append' else []} -%}
    {%- do floodmark._check_stream_columns(request, streams.columns(request)) -%}
    {%- set described = streams.describe(request) -%}
    {#- rows that an update changes come again, with the time of their group -#}
    {%- set is_row_wise = settings.output_mode == 'append' or not described.remembers -%}
    {%- do settings.update({'event_time': described.event_time if is_row_wise else none}) -%}
    {%- set run = {'settings': settings, 'sql': 'select * from ' ~ streams.micro_batch, 'request': request,
        'upstream': none, 'commits': none, 'state': state, 'target': target, 'is_stale': false,
        'full_refresh': should_full_refresh() and not streams.service(), 'generation': none, 'guarded': false,
        'replay': floodmark._replay_asked(), 'first': true, 'recovered_batches': [], 'stages': []} -%}
    {%- set properties = floodmark._properties_of(this) if target.is_delta else {} -%}
    {%- set made_by = floodmark._generation_in(properties, floodmark._model_id()) -%}
    {%- set is_new = not target.exists or target.relation.is_view -%}
    {%- if run.replay and (run.full_refresh or is_new) -%}
        {#- before the table is made anew -#}
        {%- do floodmark._check_replay(run) -%}
    {%- endif -%}
    {%- if run.full_refresh or is_new -%}
        {%- do floodmark._start_over(run, streams) -%}
    {%- elif target.is_delta and target.is_empty and (made_by is none or floodmark._was_emptied(state, made_by)) -%}
        {%- do floodmark._take_on(run, streams) -%}
        {%- do floodmark._align_stream(run, streams) -%}
    {%- else -%}
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


{# A query that remembers goes on in the output mode in which it filled its table; a table of before that was kept
   says none. #}
{% macro _check_output_mode(output_mode, filled_in) %}
    {%- if filled_in and filled_in != output_mode -%}
        {%- do floodmark._stop("output_mode is '" ~ output_mode ~ "', and " ~ this ~ " was filled with '" ~ filled_in
            ~ "', to which the state in its checkpoint belongs: rows would come twice, or not at all. Set output_mode "
            ~ "back to '" ~ filled_in ~ "', or run it once with --full-refresh to load everything again") -%}
    {%- endif -%}
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
        {%- do run.update({'recovered_batches': [floodmark._recover(run, run.state.planned)]}) -%}
    {%- elif run.state.last_batch_id == run.state.finished_id -%}
        {%- do run.update({'recovered_batches': floodmark._record_micro_batches(run, {})}) -%}
    {%- endif -%}
{% endmacro %}


{# What the columns of a SELECT forbid, refused before Spark is asked to drop keys that come again. #}
{% macro _check_stream_columns(request, columns) %}
    {%- do floodmark._check_doubled(columns | map(attribute='name') | list) -%}
    {%- set problems = floodmark._key_problems(request.get('distinct_by', []), columns) -%}
    {%- if problems -%}
        {%- do floodmark._refuse(problems) -%}
    {%- endif -%}
{% endmacro %}


{# The columns that Delta's own sink is to write, after on_schema_change: in the table's types, since the sink would
   cast without a word. The other strategies look at each micro-batch. #}
{% macro _align_stream(run, streams) %}
    {%- if run.settings.strategy == 'append' -%}
        {%- set shape = 'select * from ' ~ streams.shape -%}
        {%- set columns = floodmark._conformed_columns(run, none, floodmark._columns_of(query=shape)) -%}
        {%- set names = floodmark._align_columns(run, {'sql': shape, 'columns': columns}) -%}
        {%- do run.request.update({'columns': floodmark._written_columns(floodmark._columns_named(columns, names))}) -%}
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


{# Whether somebody has taken the rows of a table that the stream of this generation has filled: it is loaded from the
   start. A table that its own batches leave empty goes on. #}
{% macro _was_emptied(state, generation) %}
    {%- if not state.landed or state.landed.generation != generation -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set version = state.landed.target_version | int -%}
    {%- set newest = floodmark._history(this, 1)[0].version -%}
    {%- for commit in (floodmark._history(this, newest - version) if newest > version else [])
        if commit.operation in ['DELETE', 'TRUNCATE'] and not commit.tag -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Take an empty table that somebody else made, or that was emptied, as it is: one commit has it name a checkpoint of
   its own, behind the one that adds what cdc keeps in columns. A run that died between the two adds none again. #}
{% macro _take_on(run, streams) %}
    {%- do floodmark._check_char_columns(run) -%}
    {%- do floodmark._give_up_open_batch(run) -%}
    {#- of one that was emptied all rows are judged again -#}
    {%- do floodmark._supersede(floodmark._quarantine_relation(this), 'true') -%}
    {%- set generation = invocation_id ~ '-' ~ floodmark._now() -%}
    {%- set properties = floodmark._own_properties(run, generation) -%}
    {%- if run.settings.strategy == 'cdc' -%}
        {%- set shape = 'select * from ' ~ streams.shape -%}
        {%- set given = floodmark._columns_of(query=shape) -%}
        {%- set written = floodmark._columns_of(query=floodmark._cdc_shape_sql(run.settings.cdc, shape)) -%}
        {%- do properties.update(floodmark._cdc_properties(run, given + written)) -%}
        {%- set added = [] -%}
        {%- for column in written if not floodmark._find_column(given + floodmark._table_columns(run), column.name) -%}
            {%- do added.append(column) -%}
        {%- endfor -%}
        {%- do floodmark._add_columns(this, {'new': added, 'fields': []}) -%}
        {%- do floodmark._forget_state() -%}
        {%- do run.update({'table_columns': none}) -%}
    {%- endif -%}
    {%- do floodmark._set_properties(properties) -%}
    {%- do run.update({'generation': generation}) -%}
    {%- do run.request.update({'location': floodmark._own_checkpoint(generation)}) -%}
    {%- do run.target.update({'newest': none, 'disturbed': none}) -%}
{% endmacro %}


{# A batch that an earlier run left open goes with the table, or the checkpoint, that it was of. #}
{% macro _give_up_open_batch(run) %}
    {%- set state = run.state -%}
    {%- if state.last_batch_id is not none and state.last_batch_id != state.finished_id -%}
        {%- set open = dict(state.planned, settings=run.settings) -%}
        {%- if run.target.exists -%}
            {%- do floodmark._give_up(floodmark._model_id(), run.target.relation, open) -%}
        {%- else -%}
            {%- do floodmark._record('failed', open,
                {'error': "'the table was dropped before the batch was applied'"}) -%}
        {%- endif -%}
        {%- do state.update({'finished_id': state.last_batch_id}) -%}
    {%- endif -%}
{% endmacro %}


{# Make the table, empty, in one commit that also turns to a checkpoint of its own: at first, and with --full-refresh.
   #}
{% macro _start_over(run, streams) %}
    {%- do floodmark._give_up_open_batch(run) -%}
    {%- do floodmark._drop_what_is_not_delta(run) -%}
    {#- also where there are no rules any more, which would do it with the first micro-batch -#}
    {%- do floodmark._supersede(floodmark._quarantine_relation(this), 'true') -%}
    {#- of its own even where one invocation starts over twice -#}
    {%- set generation = invocation_id ~ '-' ~ floodmark._now() -%}
    {%- set columns = floodmark._make_stream_table(run, streams, floodmark._own_properties(run, generation)) -%}
    {%- if run.settings.strategy == 'append' and floodmark._conforms(run, columns) -%}
        {%- do run.request.update({'columns': floodmark._written_columns(columns)}) -%}
    {%- endif -%}
    {#- dbt hears of a table when its node has ended, and a stream may start again before -#}
    {%- do adapter.cache_added(this.incorporate(type='table', is_delta=true)) -%}
    {%- do run.update({'generation': generation}) -%}
    {%- do run.request.update({'location': floodmark._own_checkpoint(generation)}) -%}
    {%- do run.target.update({'exists': true, 'is_delta': true, 'is_empty': true, 'id': none,
        'relation': load_relation(this) or this, 'newest': none, 'disturbed': none}) -%}
{% endmacro %}


{# The table, empty, without columns that have no type yet (_untyped_columns.sql). One with columns of the change feed
   can have no feed of its own. Returns its columns, as _conformed_columns gives them. #}
{% macro _make_stream_table(run, streams, properties={}) %}
    {%- set shape = 'select * from ' ~ streams.shape -%}
    {%- set is_cdc = run.settings.strategy == 'cdc' -%}
    {%- set select_sql = floodmark._cdc_shape_sql(run.settings.cdc, shape) if is_cdc else shape -%}
    {%- set columns = floodmark._conformed_columns(run, {'replaces': true}, floodmark._columns_of(query=select_sql)) -%}
    {%- set feed = {'delta.enableChangeDataFeed': 'false'} if floodmark._feed_names(columns) else {} -%}
    {%- do floodmark._execute([floodmark._replace_table_sql(floodmark._conforming_sql(run, columns, select_sql),
        dict(feed, **dict(floodmark._untyped_property(run), **properties)))]) -%}
    {{ return(columns) }}
{% endmacro %}


{# What a table says of the stream that fills it: its checkpoint, and its output mode. #}
{% macro _own_properties(run, generation) %}
    {{ return({'floodmark.stream': floodmark._to_property(floodmark._model_id() ~ '/' ~ generation),
        'floodmark.output_mode': run.settings.output_mode}) }}
{% endmacro %}


{# Whether the table is not the one that the ledger's last commit left. One that the ledger had not heard of by then
   was made by a full refresh that died. #}
{% macro _is_other_table(run) %}
    {%- set committed = run.state.committed -%}
    {%- if not committed or committed.target_id is none -%}
        {{ return(false) }}
    {%- elif committed.generation == run.generation -%}
        {{ return(committed.target_id != run.target.id) }}
    {%- endif -%}
    {{ return(floodmark._newest_events([floodmark._model_id()],
        ' and batch_id < ' ~ committed.batch_id ~ ' and generation = ' ~ floodmark._string_literal(run.generation))
        | length > 0) }}
{% endmacro %}


{# Where table, ledger and checkpoint do not belong together the run stops, and names the way out. #}
{% macro _check_stream(run, checkpoint) %}
    {%- set again = 'run it once with --full-refresh to load everything again' -%}
    {%- set committed = run.state.committed -%}
    {%- set mark = floodmark._stream_mark(run) -%}
    {%- if not run.target.is_delta -%}
        {%- do floodmark._stop(this ~ ' exists and is not a Delta table: ' ~ again) -%}
    {%- elif run.generation is none -%}
        {%- do floodmark._stop(this
            ~ ' has rows that no stream of this model wrote, so nobody can tell which rows of its sources are in it: '
            ~ again) -%}
    {%- elif floodmark._is_other_table(run) -%}
        {%- do floodmark._stop(this ~ ' is not the table that batch ' ~ committed.batch_id
            ~ ' left (it was dropped, recreated or replaced by something else): ' ~ again) -%}
    {%- elif run.target.disturbed -%}
        {%- do floodmark._stop(this ~ ' ' ~ run.target.disturbed ~ ' after batch ' ~ run.state.landed.batch_id
            ~ ', so rows that the checkpoint has passed are missing: ' ~ again) -%}
    {%- elif not run.request.native and run.state.last_batch_id is none and checkpoint.last_commit is not none
        and not floodmark._has_micro_batches(checkpoint) -%}
        {%- do floodmark._stop(floodmark.ledger_schema() ~ '.batch_log has no batch of it, and its checkpoint has '
            'passed micro-batch ' ~ checkpoint.last_commit ~ '. Somebody dropped that table, or deleted rows there, so '
            'nobody can tell which rows are in ' ~ this ~ ': ' ~ again) -%}
    {%- elif run.request.native and run.state.last_batch_id != run.state.finished_id
        and not floodmark._left_replay(run.state) -%}
        {%- do floodmark._stop('batch ' ~ run.state.last_batch_id
            ~ ' was left open by another incremental_strategy: run the model once with that one, or ' ~ again) -%}
    {%- elif checkpoint.last_offset is none and (mark is not none or not run.target.is_empty)
        or mark is not none and checkpoint.last_offset < mark -%}
        {%- do floodmark._stop('its checkpoint ' ~ run.request.location
            ~ (' is gone' if checkpoint.last_offset is none else ' is older than its table')
            ~ ', so nobody can tell which rows of its sources are in ' ~ this ~ ': put the checkpoint back, or '
            ~ again) -%}
    {%- endif -%}
{% endmacro %}


{# Whether Delta's own sink has written micro-batches of a checkpoint into the table, which the ledger may not know yet.
   #}
{% macro _has_micro_batches(checkpoint) %}
    {{ return(floodmark._history(this) | map(attribute='micro_batch') | select | map(attribute='query_id')
        | select('equalto', checkpoint.query_id) | list != []) }}
{% endmacro %}


{# Whether a run left a replay open, which no micro-batch finishes. #}
{% macro _left_replay(state) %}
    {{ return(state.last_batch_id != state.finished_id and state.planned.kind == 'replay') }}
{% endmacro %}


{# The last micro-batch of this checkpoint that the ledger knows; none where it knows none. #}
{% macro _stream_mark(run) %}
    {%- set committed = run.state.committed -%}
    {{ return(committed.mark | int if committed and committed.generation == run.generation
        and committed.mark is not none else none) }}
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


{# --empty and --sample: create the table where there is none, else only analyse the SELECT; ledger and checkpoint
   stay as they are. #}
{% macro _stream_dry(settings, sql) %}
    {%- set streams = adapter.floodmark_streams() -%}
    {#- dbt puts a query in the place of the relation, and only a relation can be streamed: the shape is the same -#}
    {%- set sql = modules.re.sub('\\bstream\\s*\\(\\s*\\(\\s*select \\* from (\\S+)[^()]*\\)[^()]*\\)', 'stream(\\1)',
        sql) -%}
    {%- set request = {'model': floodmark._model_id(), 'sql': sql, 'table': this | string,
        'output_mode': settings.output_mode, 'native': true, 'location': '',
        'project_dir': floodmark._absolute_path('')} -%}
    {%- do floodmark._check_stream_columns(request, streams.columns(request)) -%}
    {%- do streams.describe(request) -%}
    {%- if load_relation(this) is none -%}
        {%- do floodmark._make_stream_table({'settings': settings, 'target': {'is_delta': false}}, streams) -%}
    {%- endif -%}
    {%- do store_raw_result(name='main', message='OK (ledger untouched)', code='OK', rows_affected='-1') -%}
{% endmacro %}
