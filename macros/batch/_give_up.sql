{# End a batch that an earlier run left open, without loading it: its transaction id is used up on the table where it
   has not landed, so that a run which still lives cannot apply it later. `committed` is the last committed batch.
   Where the table does not go on (`goes_on`), what the next batch loads supersedes all that is open. `sql` is the text
   of the SELECT. #}
{% macro _give_up(id, relation, planned, committed, goes_on=true, sql=none) %}
    {%- set batch = dict(planned, model=id) -%}
    {%- set strategy = floodmark._strategy(batch.settings) -%}
    {%- if strategy.app_suffix -%}
        {%- do batch.update({'attempt': floodmark._next_attempt(batch, [relation] if relation.is_delta else [])}) -%}
    {%- endif -%}
    {%- set landed = floodmark._landed(relation, batch) if relation.is_delta else none -%}
    {%- if landed is none and relation.is_delta -%}
        {%- do floodmark._fence(batch, relation) -%}
        {%- set landed = floodmark._landed(relation, batch) -%}
    {%- endif -%}
    {%- if landed is none -%}
        {%- do floodmark._take_back_quarantined(batch, relation) -%}
    {%- else -%}
        {%- do floodmark._require_replay_ended(id, relation, planned) -%}
        {%- do floodmark._supersede_given_up(id, relation, batch, sql) if goes_on -%}
    {%- endif -%}
    {%- if strategy.give_up -%}
        {%- do strategy.give_up(id, relation, batch, landed) -%}
    {%- endif -%}
    {%- if landed is none -%}
        {%- do floodmark._record('failed', batch, {'error': "'given up by a reset'"}) -%}
    {%- else -%}
        {%- do floodmark._record_landed(batch, landed, committed,
            floodmark._mark_left(batch, batch.watermark_column, relation)) -%}
    {%- endif -%}
    {%- do floodmark._drop_left_stages(floodmark._stages(relation), planned.batch_id) -%}
{% endmacro %}


{# Stop where an open batch is a replay that a run can finish: what it has loaded is still open in the quarantine. #}
{% macro _require_replay_ended(id, relation, planned) %}
    {%- if planned.kind == 'replay' -%}
        {%- set asked = floodmark._stored_asked(planned.batch_id, id) or {} -%}
        {#- as _told_by has it -#}
        {%- if floodmark._knows_loaded(relation, planned.batch_id, 'files' if asked.part == 'records' else 'judged') -%}
            {%- do floodmark._stop('batch ' ~ planned.batch_id ~ ' replays rows and is unfinished: run the model '
                'first, which finishes the batch', id) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# What a batch in the table has read again is open in the quarantine no more. Which rows these are, a run must tell of
   partitions, of changes and of a restatement: stop where one can. #}
{% macro _supersede_given_up(id, relation, batch, sql=none) %}
    {%- set strategy = floodmark._strategy(batch.settings) -%}
    {%- set quarantine = floodmark._quarantine_relation(relation) -%}
    {%- set older = '_floodmark_batch_id < ' ~ batch.batch_id -%}
    {%- set reads_range = batch.kind == 'backfill' and batch.low is not none -%}
    {%- if batch.kind in ['replay', 'stream'] or not floodmark._has_quarantine(quarantine) -%}
        {{ return(none) }}
    {%- elif batch.kind in ['first_load', 'full_refresh'] -%}
        {%- do floodmark._supersede(quarantine, older) -%}
    {%- elif reads_range -%}
        {%- set rows = floodmark._range_again_sql(dict(batch,
            low_position=floodmark._position_parse(batch.low, batch.family),
            high_position=floodmark._position_parse(batch.high, batch.family)),
            floodmark._columns_of(relation=quarantine), sql if strategy.finds_by_key else none) -%}
        {%- do floodmark._supersede(quarantine, older ~ ' and ' ~ rows) if rows -%}
    {%- elif (batch.kind == 'backfill' or strategy.replaced or batch.family == 'version' and strategy.orders_by_mark)
        and floodmark._knows_loaded(relation, batch.batch_id)
        and not floodmark._has_no_rows(quarantine ~ " where _floodmark_state = 'open' and " ~ older) -%}
        {%- do floodmark._stop('batch ' ~ batch.batch_id ~ ' is unfinished, and rows that it has loaded may still be '
            'open in the quarantine: run the model first, which finishes the batch, or discard these rows '
            '(floodmark quarantine discard) and reset again', id) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a staging table of a batch is there, and whole, of a replay that of this `part`: without one, nobody can tell
   what it has loaded from what else is open. #}
{% macro _knows_loaded(relation, batch_id, part='any') %}
    {%- for stage in floodmark._stages(relation) if stage.batch_id == batch_id | int
        and part in ['any', stage.part] and floodmark._is_stage_whole(stage.relation) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Record a batch that is in the table as committed, without its counts. One that read below the mark leaves the mark of
   the last `committed` one, another one `left`. #}
{% macro _record_landed(batch, landed, committed, left, target_id=none) %}
    {%- set leaves_mark = batch.kind in ['backfill', 'replay'] and committed -%}
    {%- do floodmark._record('committed', batch, {
        'mark': floodmark._string_literal(committed.mark if leaves_mark else left),
        'target_id': floodmark._string_literal(target_id), 'target_version': landed.version,
        'files': floodmark._files_literal(batch.files) if batch.get('files') else 'null'}) -%}
{% endmacro %}
