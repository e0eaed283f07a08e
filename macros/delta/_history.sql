{# Whether no row of a table was changed since its version `known`. #}
{% macro _is_untouched_since(relation, newest, known) %}
    {%- for commit in floodmark._history(relation, newest - known + 1)
        if commit.version > known and not floodmark._leaves_rows(commit) -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(newest >= known) }}
{% endmacro %}


{# A table's commits since its version `known`, and that one; empty where nothing came. #}
{% macro _commits_since(relation, newest, known) %}
    {{ return(floodmark._history(relation, newest - known + 1) if newest > known else []) }}
{% endmacro %}


{# Whether somebody has made a table anew since its version `known`. A batch of ours that did is in the ledger. #}
{% macro _is_replaced_since(relation, newest, known) %}
    {%- for commit in floodmark._history(relation, newest - known + 1) if commit.version > known
        and floodmark._makes_anew(commit) and not floodmark._is_ours(commit) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Whether a batch made a commit: others may have user metadata, too. #}
{% macro _is_ours(commit) %}
    {{ return((commit.tag or '').startswith('floodmark/')) }}
{% endmacro %}


{% macro _makes_anew(commit) %}
    {{ return('REPLACE TABLE' in commit.operation or commit.operation == 'CLONE') }}
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
        {%- elif commit.restored.version is none
            and (ns.at is none or floodmark._goes_back_behind(commit.restored.time, ns.at)) -%}
            {{ return('was restored to ' ~ commit.restored.time) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Whether a RESTORE to a time took a commit back. Delta notes the time by the clock of its JVM. `at` is UTC on a
   session, and by the session's clock over Thrift: the later of both counts. #}
{% macro _goes_back_behind(time, at) %}
    {{ return(run_query("select coalesce(cast('" ~ time ~ " ' || java_method('java.time.ZoneId', 'systemDefault') as "
        "timestamp) < greatest(timestamp'" ~ at ~ " UTC', timestamp'" ~ at ~ "'), true) as back").rows[0][0]) }}
{% endmacro %}


{# A Delta table's newest commits, newest first: {version, at, operation, appends, tag, writer, peak, counted,
   micro_batch, restored, counts}. `at` is text; `appends` whether the operation did no more; `restored` what a RESTORE
   went back to, {version} or {time}; `counts` the operation's metrics; `writer` the runs whose stages it read; `peak`
   how far up the table reached (_peak); `counted` what its batch staged; `micro_batch` the {query_id, number} that a
   stream's sink wrote. #}
{% macro _history(relation, limit=none) %}
    {%- set commits = [] -%}
    {%- for row in run_query('describe history ' ~ floodmark._delta_name(relation)
        ~ (' limit ' ~ limit if limit is not none else '')).rows -%}
        {%- set parameters = row['operationParameters'] | string -%}
        {%- set version = modules.re.search('version\\W+(\\d+)', parameters) -%}
        {%- set time = modules.re.search('timestamp\\W+(\\d[-0-9:. ]+)', parameters) -%}
        {%- set query_id = modules.re.search('queryId\\W+([-0-9a-f]{36})', parameters) -%}
        {%- set counts = {} -%}
        {%- for name, value in modules.re.findall('(num\\w+)\\W+(\\d+)', row['operationMetrics'] | string) -%}
            {%- do counts.update({name: value | int}) -%}
        {%- endfor -%}
        {%- set tag = (row['userMetadata'] or '').split('/peak/')[0].split('/read/')[0].split('/by/') -%}
        {%- do commits.append({'version': row['version'] | int, 'at': row['timestamp'] | string,
            'operation': row['operation'], 'appends': modules.re.search('(mode|outputMode)\\W+Append\\b',
            parameters) is not none, 'tag': tag[0] or none, 'writer': tag[1] if tag | length > 1 else none,
            'peak': floodmark._peak_from_tag(row['userMetadata'] or ''),
            'counted': floodmark._counted_from_tag(row['userMetadata'] or ''),
            'micro_batch': {'query_id': query_id.group(1),
            'number': modules.re.search('epochId\\W+(\\d+)', parameters).group(1) | int} if query_id else none,
            'restored': {'version': version.group(1) | int if version else none, 'time': time.group(1) if time else ''},
            'counts': counts}) -%}
    {%- endfor -%}
    {{ return(commits) }}
{% endmacro %}


{# Whether a commit changed no row. A statement's own compaction carries its user metadata too. #}
{% macro _leaves_rows(commit) %}
    {{ return('/fence/' in (commit.tag or '')
        or commit.operation in [ 'OPTIMIZE', 'VACUUM START', 'VACUUM END', 'ADD COLUMNS', 'CHANGE COLUMN',
        'CHANGE COLUMNS', 'SET TBLPROPERTIES', 'UNSET TBLPROPERTIES', 'ADD CONSTRAINT', 'DROP CONSTRAINT']) }}
{% endmacro %}
