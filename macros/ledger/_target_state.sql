{# What stands where the model loads: {exists, is_empty, is_delta, id, relation, newest, looked_at, disturbed, is_known}. Where the table's newest commit
   is the one that the ledger knows (is_known), nobody has touched it since; else it is looked at: a table without files is empty, one
   with files may be too, which is looked up only where no mark tells. A table that its own batches left empty is not new (_may_be_left_empty). `disturbed` says what was done to it, or is none. #}
{% macro _target_state(state) %}
    {%- set relation = load_relation(this) -%}
    {%- if relation is none or relation.is_view or not relation.is_delta -%}
        {{ return({'exists': relation is not none, 'is_delta': false, 'is_empty': true, 'id': none, 'relation': relation, 'disturbed': none, 'is_known': false}) }}
    {%- endif -%}
    {%- set landed = state.landed if state else none -%}
    {%- set remembers = floodmark._may_be_left_empty(config.get('incremental_strategy'), landed) -%}
    {%- set looked_at = floodmark._now() -%}
    {%- set newest = floodmark._history(this, 1)[0] if landed else none -%}
    {%- if newest and newest.version == landed.target_version and newest.tag == floodmark._batch_tag(landed) -%}
        {{ return({'exists': true, 'is_delta': true, 'newest': newest, 'looked_at': looked_at, 'is_empty': not remembers and landed.kind in ['first_load', 'full_refresh'] and newest.counts.get('numOutputRows') == 0, 'id': state.committed.target_id, 'relation': relation, 'disturbed': none, 'is_known': true}) }}
    {%- endif -%}
    {%- set detail = floodmark._detail(this) -%}
    {%- set is_kept = remembers and detail.id == state.committed.target_id and floodmark._is_untouched_since(this, newest.version, landed.target_version) -%}
    {{ return({
        'exists': true, 'is_delta': true, 'id': detail.id, 'relation': relation, 'is_known': false, 'newest': newest, 'looked_at': looked_at,
        'is_empty': not is_kept and (detail.files == 0 or not (state and state.committed) and floodmark._has_no_rows(this)),
        'disturbed': floodmark._disturbed_since(this, newest.version, landed.target_version) if landed and detail.id == state.committed.target_id else none,
    }) }}
{% endmacro %}


{# Whether a model's batches may leave its table empty, which is then not new: cdc remembers deletes, and all rows of a snapshot may rightly be gone. #}
{% macro _may_be_left_empty(strategy, landed) %}
    {{ return(landed and (strategy == 'snapshot_diff' or strategy == 'cdc' and (landed.rows_read or landed.kind == 'reset'))) }}
{% endmacro %}


{# Whether no row of a table was changed since its version `known`. #}
{% macro _is_untouched_since(relation, newest, known) %}
    {%- for commit in floodmark._history(relation, newest - known + 1) if commit.version > known and not floodmark._leaves_rows(commit) -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(newest >= known) }}
{% endmacro %}


{# What was done to a table since its version `known` that took rows back, as a part of a sentence; else none. #}
{% macro _disturbed_since(relation, newest, known) %}
    {{ return(floodmark._restored_below(floodmark._history(relation, newest - known + 1), known) if newest > known else none) }}
{% endmacro %}


{# 'was restored to ...' where one of these commits put the table back behind version `known`; none where not. #}
{% macro _restored_below(commits, known) %}
    {%- set ns = namespace(at=none) -%}
    {%- for commit in commits if commit.version == known -%}
        {%- set ns.at = commit.at -%}
    {%- endfor -%}
    {%- for commit in commits if commit.version > known and commit.operation == 'RESTORE' -%}
        {%- if commit.restored.version is not none and commit.restored.version < known -%}
            {{ return('was restored to version ' ~ commit.restored.version) }}
        {%- elif commit.restored.version is none and (ns.at is none or commit.restored.time < ns.at) -%}
            {{ return('was restored to ' ~ commit.restored.time) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# A Delta table's newest commits, newest first: {version, at, operation, appends, tag, writer, peak, micro_batch, restored, counts}. `at` is text;
   `appends` whether the operation did no more; `restored` what a RESTORE went back to, {version} or {time}; `counts` the operation's metrics;
   `writer` the runs whose stages cdc read; `peak` how far up the table reached (_peak); `micro_batch` the {query_id, number} that a stream's sink wrote. #}
{% macro _history(relation, limit=none) %}
    {%- set commits = [] -%}
    {%- for row in run_query('describe history ' ~ floodmark._delta_name(relation) ~ (' limit ' ~ limit if limit is not none else '')).rows -%}
        {%- set parameters = row['operationParameters'] | string -%}
        {%- set version = modules.re.search('version\\W+(\\d+)', parameters) -%}
        {%- set time = modules.re.search('timestamp\\W+(\\d[-0-9:. ]+)', parameters) -%}
        {%- set query_id = modules.re.search('queryId\\W+([-0-9a-f]{36})', parameters) -%}
        {%- set counts = {} -%}
        {%- for name, value in modules.re.findall('(num\\w+)\\W+(\\d+)', row['operationMetrics'] | string) -%}
            {%- do counts.update({name: value | int}) -%}
        {%- endfor -%}
        {%- set tag = (row['userMetadata'] or '').split('/peak/')[0].split('/by/') -%}
        {%- do commits.append({
            'version': row['version'] | int, 'at': row['timestamp'] | string, 'operation': row['operation'],
            'appends': modules.re.search('(mode|outputMode)\\W+Append\\b', parameters) is not none, 'tag': tag[0] or none, 'writer': tag[1] if tag | length > 1 else none,
            'peak': floodmark._peak_from_tag(row['userMetadata'] or ''),
            'micro_batch': {'query_id': query_id.group(1), 'number': modules.re.search('epochId\\W+(\\d+)', parameters).group(1) | int} if query_id else none,
            'restored': {'version': version.group(1) | int if version else none, 'time': time.group(1) if time else ''}, 'counts': counts,
        }) -%}
    {%- endfor -%}
    {{ return(commits) }}
{% endmacro %}


{# Whether a commit changed no row. A statement's own compaction carries its user metadata too. #}
{% macro _leaves_rows(commit) %}
    {{ return('/fence/' in (commit.tag or '') or commit.operation in [
        'OPTIMIZE', 'VACUUM START', 'VACUUM END', 'ADD COLUMNS', 'CHANGE COLUMN', 'CHANGE COLUMNS', 'SET TBLPROPERTIES', 'UNSET TBLPROPERTIES', 'ADD CONSTRAINT', 'DROP CONSTRAINT']) }}
{% endmacro %}


{# Identity, place and size of a Delta table: {id, location, files, bytes, properties}. #}
{% macro _detail(relation) %}
    {%- set row = run_query('describe detail ' ~ floodmark._delta_name(relation)).rows[0] -%}
    {{ return({'id': row['id'], 'location': row['location'], 'files': row['numFiles'] | int, 'bytes': row['sizeInBytes'] | int, 'properties': row['properties'] | string}) }}
{% endmacro %}


{# A relation for Delta's own statements, which take a table called history, detail or version for their word. #}
{% macro _delta_name(relation) %}
    {{ return(modules.re.sub('\\.([^.`]+)$', '.`\\1`', relation | string)) }}
{% endmacro %}


{% macro _has_no_rows(relation) %}
    {{ return(run_query('select 1 as one from ' ~ relation ~ ' limit 1').rows | length == 0) }}
{% endmacro %}
