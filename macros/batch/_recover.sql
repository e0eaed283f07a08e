{# Finish or fail the batch that an earlier run planned and did not end; counts of the batch, or none where it was
   failed. A dead run and a slow one look alike, so every step here is safe beside a run that still lives: the target
   takes the transaction id of the batch once, and a run writes no stage but its own. #}
{% macro _recover(run, planned) %}
    {%- set batch = floodmark._stored_batch(run, planned) -%}
    {%- do batch.update({'rules': floodmark._stored_rules(planned.batch_id)}) -%}
    {%- if run.settings.files and planned.kind not in ['replay', 'stream'] -%}
        {%- do batch.update(floodmark._stored_files(run, planned.batch_id)) -%}
    {%- endif -%}
    {%- set landed = floodmark._landed(this, batch) if run.target.is_delta else none -%}
    {#- an incremental batch of a table that was dropped or emptied since is no more: all its rows come with a first
       load -#}
    {%- set lost = batch.kind in ['incremental', 'backfill', 'replay'] and run.target.is_empty -%}
    {#- a first load that is not in the history is planned anew, so that it reads what came since; it keeps its
       transaction id, and the greater batch number wins -#}
    {%- set unmade = batch.kind == 'first_load' and batch.begins -%}
    {#- one that finds rows it does not know of would append all of its own to them -#}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set blind = batch.kind == 'first_load' and strategy.adds_blindly -%}
    {#- its source is there to be read again, as it is now -#}
    {%- set stale = strategy.reads_anew -%}
    {%- set given_up = landed is none and floodmark._was_given_up(run, batch) -%}
    {%- set abandons = landed is none and (lost or given_up or unmade or blind or stale
        or batch.kind in ['backfill', 'replay']
        or run.target.exists and (run.full_refresh or batch.kind == 'full_refresh')) -%}
    {%- if landed is none and strategy.take_over and run.target.is_delta and not unmade -%}
        {%- set landed = strategy.take_over(run, batch, abandons) -%}
        {%- set abandons = abandons and landed is none -%}
    {%- elif abandons and run.target.is_delta -%}
        {#- one that replaces an empty table may find CHAR columns there, which no MERGE takes -#}
        {%- do floodmark._try_fence(batch, is_needed=not (batch.replaces or given_up)) -%}
        {%- set landed = floodmark._landed(this, batch) -%}
    {%- endif -%}
    {%- set counts = none -%}
    {%- if landed is not none and run.full_refresh and batch.kind != 'stream'
        and not (batch.kind == 'replay' and floodmark._is_replay_told(batch)) -%}
        {%- do floodmark._leave_landed(run, batch, landed) -%}
    {%- elif landed is not none -%}
        {%- set counts = floodmark._finish_landed(run, batch, landed) -%}
    {%- elif abandons or batch.kind == 'full_refresh' -%}
        {%- set error = 'the table was dropped or emptied before the batch was applied' if lost
            else 'an earlier run gave the batch up, and died before it recorded that' if given_up
            else 'the run died before the snapshot was applied: it is read again' if stale
            else ('the ' ~ batch.kind ~ ' died before the batch was applied' if batch.kind in ['backfill', 'replay']
            else 'the run died before the table was replaced') -%}
        {%- if batch.files or batch.rules -%}
            {%- do floodmark._take_back_quarantined(batch) -%}
        {%- endif -%}
        {%- do floodmark._record('failed', batch, {'error': floodmark._string_literal(error)}) -%}
        {%- do run.state.update({'finished_id': batch.batch_id}) -%}
        {%- if unmade -%}
            {%- do run.update({'generation': batch.generation}) -%}
        {%- endif -%}
    {%- else -%}
        {%- if run.upstream and batch.family == 'version' and batch.low_position is not none and not batch.staged_by -%}
            {%- do floodmark._require_versions(run.upstream.relation, batch.low_position + 1, batch.high_position) -%}
        {%- endif -%}
        {%- set counts = floodmark._load_batch(run, batch) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{# Whether an earlier run gave a batch up, and died before it recorded that: nothing can be sent any more under the
   transaction id that its fence used up on the table or on the quarantine. The fence of an attempt of cdc has a number,
   and leaves the batch an id. #}
{% macro _was_given_up(run, batch) %}
    {%- set quarantine = floodmark._quarantine_relation(this) -%}
    {%- set fence = '^' ~ modules.re.escape(floodmark._batch_tag(batch)) ~ '/fence/[^/]+$' -%}
    {%- for table in ([this] if run.target.is_delta else [])
        + ([quarantine] if floodmark._has_quarantine(quarantine) else []) -%}
        {%- for commit in floodmark._history(table) if modules.re.search(fence, commit.tag or '') -%}
            {{ return(true) }}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Finish a batch that is in the table's history. If the table was emptied since, a first load follows. Returns its
   counts. #}
{% macro _finish_landed(run, batch, landed) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- set was_empty = run.target.is_empty and batch.kind != 'stream' -%}
    {%- set newest = floodmark._history(this, 1)[0].version -%}
    {%- do floodmark._check_undone(run, batch, landed, newest) -%}
    {%- set source = strategy.made(run, batch, landed)
        if strategy.made and 'AS SELECT' in landed.operation else none -%}
    {%- set counts = floodmark._finish(run, batch, landed, source) -%}
    {%- do floodmark._note_violations(run, batch) -%}
    {%- if was_empty and not floodmark._is_untouched_since(this, newest, landed.version) -%}
        {%- do run.target.update({'is_empty': true}) -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{# Record a batch that is in the table's history, and whose table this run is about to replace: what its strategy would
   add is not needed, and may be impossible by now. Should this run fail, the next one finds the batch committed. Not
   for replays that can be finished, whose rows would stay open in the quarantine, and streams, which begin anew by
   themselves. #}
{% macro _leave_landed(run, batch, landed) %}
    {%- set strategy = floodmark._strategy(run.settings) -%}
    {%- if strategy.leave -%}
        {%- do strategy.leave(batch, landed) -%}
    {%- endif -%}
    {%- if floodmark._is_replaced_since(this, floodmark._history(this, 1)[0].version, landed.version) -%}
        {%- do floodmark._record('failed', batch, {'error': "'the table was replaced after the batch'"}) -%}
    {%- else -%}
        {#- this may be impossible by now, too; should this run fail, the rows that came again are open once -#}
        {%- do floodmark._tried(floodmark._supersede_landed, run, batch) -%}
        {%- do floodmark._record_landed(batch, landed, run.state.committed,
            floodmark._tried(floodmark._mark_after, run, batch).value, run.target.id) -%}
    {%- endif -%}
    {%- do run.state.update({'finished_id': batch.batch_id}) -%}
{% endmacro %}


{# What a batch in the table has read again is open in the quarantine no more, though no run finishes the batch. #}
{% macro _supersede_landed(run, batch) %}
    {%- if batch.judged_by and floodmark._is_stage_whole(floodmark._judged_relation(batch)) -%}
        {%- do batch.update({'judged': {'columns': floodmark._judged_columns(floodmark._judged_relation(batch))}}) -%}
    {%- endif -%}
    {%- if batch.kind != 'replay' and floodmark._may_supersede(run, batch) -%}
        {%- do floodmark._supersede_quarantined(run, batch) -%}
    {%- endif -%}
{% endmacro %}


{# Stop if the history shows a batch whose rows are gone, because of a RESTORE or because somebody replaced the table:
   Delta would skip the batch if it were sent again. The run goes on in two cases: without a mark the next batch
   compares all rows, and into an empty table a first load follows. #}
{% macro _check_undone(run, batch, landed, newest) %}
    {%- if run.full_refresh or run.target.is_empty -%}
        {{ return(none) }}
    {%- elif floodmark._is_replaced_since(this, newest, landed.version) -%}
        {%- do floodmark._stop(this ~ ' is not the table that batch ' ~ batch.batch_id
            ~ ' left (it was dropped, recreated or replaced by something else): '
            ~ floodmark._ways_out(is_replaced=true)) -%}
    {%- endif -%}
    {%- set undone = floodmark._restored_below(floodmark._commits_since(this, newest, landed.version),
        landed.version) -%}
    {%- if undone and not (run.state.committed and floodmark._mends_table(run.settings, run.state.committed)) -%}
        {%- do floodmark._stop(this ~ ' ' ~ undone ~ ' after batch ' ~ batch.batch_id
            ~ ', so rows below the mark are missing: ' ~ floodmark._ways_out(is_restored=true)) -%}
    {%- endif -%}
{% endmacro %}


{# A batch whose stage has lost rows, or was made for another strategy or by a SELECT of other columns, is staged anew:
   what that run could not apply, no run can. Where half of it is written, the other half must read the same stage. #}
{% macro _leave_unfit_stage(run, batch, select_sql) %}
    {%- if batch.get('is_taken_over') and batch.staged_by and batch.get('state_is_written') -%}
        {%- do floodmark._require_whole(batch, floodmark._stage_relation(batch)) -%}
    {%- elif batch.get('is_taken_over') and batch.staged_by
        and not floodmark._is_stage_whole(floodmark._stage_relation(batch), run.settings.strategy) -%}
        {%- do floodmark._leave_stage(batch) -%}
    {%- elif batch.get('is_taken_over') and batch.staged_by -%}
        {%- set selected = floodmark._strategy(run.settings).selected(run, batch, select_sql) -%}
        {%- set changes = floodmark._schema_changes(selected,
            floodmark._columns_of(relation=floodmark._stage_relation(batch))) -%}
        {%- if changes.new or changes.fields or changes.gone or changes.retyped -%}
            {%- do floodmark._leave_stage(batch) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Let a batch be staged anew. The stage of another run stays until the batch is finished, since that run may still
   read it. #}
{% macro _leave_stage(batch) %}
    {%- if batch.staged_by == invocation_id[:8] -%}
        {%- do floodmark._drop_staging_tables([floodmark._stage_relation(batch)]) -%}
    {%- endif -%}
    {%- do batch.update({'staged_by': none}) -%}
{% endmacro %}
