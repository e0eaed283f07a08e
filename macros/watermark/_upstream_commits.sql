{#
  What an upstream's Delta log tells: whether anything came since the last batch, and whether the table is still the
  same. Its newest commit is known by version and time together; both are in the ledger (upstream_version, upstream_at).
#}

{# The upstream's newest commits, newest first, where the last batch knew its version and dbt's cache knows it as
   Delta; else none. #}
{% macro _upstream_log(settings, state) %}
    {%- if not settings.watermark or not state.committed or state.committed.upstream_version is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = floodmark._node_relation(floodmark._upstream_node(settings.watermark.from, model)) -%}
    {%- set cached = adapter.get_relation(relation.database, relation.schema, relation.identifier) -%}
    {%- if cached is none or not cached.is_delta
        or (state.committed.upstream or '') | lower != floodmark._relation_name(cached) | lower -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(floodmark._history(cached, 5)) }}
{% endmacro %}


{# Whether nothing can be new: target and upstream stand at the commits of the last batch, and nothing waited behind it.
   Costs two looks at a log, whatever the size of the tables. #}
{% macro _is_untouched(run) %}
    {%- set committed = run.state.committed -%}
    {%- set watermark = run.settings.watermark -%}
    {%- if not run.commits or not committed.is_last or watermark.nulls == 'include' or watermark.sql or run.full_refresh
        or run.backfill or run.restate or run.replay or run.state.last_batch_id != run.state.finished_id
        or run.target.is_empty
        or run.target.disturbed or run.target.id != committed.target_id
        or (committed.lookback or 0) | int != floodmark._reach(watermark, committed.family).lookback
        or (committed.watermark_column or '') | lower != (watermark.column or '') | lower
        or (committed.family == 'version') != (watermark.kind == 'version') -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(run.commits[0].version == committed.upstream_version | int
        and run.commits[0].at == committed.upstream_at) }}
{% endmacro %}


{# The upstream's newest commit and the table's id: {version, at, id}, all none where it is not Delta. All batches of a
   run take the one that was looked up at its start: too old a version is safe, too new a one is not. #}
{% macro _upstream_commit(run, replaces) %}
    {%- if not run.upstream.is_delta -%}
        {{ return({'version': none, 'at': none, 'id': none}) }}
    {%- endif -%}
    {%- set newest = (run.commits or floodmark._history(run.upstream.relation, 1))[0] -%}
    {%- set id = run.state.committed.upstream_id if run.state.committed and not replaces else none -%}
    {%- if not id -%}
        {%- set known = floodmark._known_at(run.upstream.relation, newest) -%}
        {%- do known.update({'id': known.id or floodmark._detail(run.upstream.relation).id}) -%}
        {%- set id = known.id -%}
    {%- endif -%}
    {{ return({'version': newest.version, 'at': newest.at, 'id': id}) }}
{% endmacro %}


{# What was done to the upstream since the last batch that makes the mark meaningless, as a part of a sentence; else
   none. Tables that dbt makes anew in every run are not compared: there the mark is of the values alone. #}
{% macro _upstream_disturbed(run) %}
    {%- set committed = run.state.committed -%}
    {%- set upstream = run.upstream -%}
    {%- if not upstream or not committed or committed.mark is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set name = floodmark._relation_name(upstream.relation) -%}
    {%- if committed.upstream and committed.upstream | lower != name | lower -%}
        {%- do floodmark._stop('its mark is of ' ~ committed.upstream ~ ', but the watermark is now of ' ~ name ~ ': '
            ~ floodmark._ways_out()) -%}
    {%- elif not upstream.is_delta or committed.upstream_version is none
        or not upstream.is_kept and upstream.family != 'version' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set known = committed.upstream_version | int -%}
    {%- set commits = run.commits or floodmark._history(upstream.relation, 5) -%}
    {%- set newest = commits[0].version -%}
    {%- if newest - known >= commits | length -%}
        {%- set commits = floodmark._history(upstream.relation, newest - known + 1) -%}
    {%- endif -%}
    {%- set ns = namespace(same=false) -%}
    {%- for commit in commits -%}
        {%- if commit.version > known and floodmark._makes_anew(commit) -%}
            {{ return('was replaced in its version ' ~ commit.version) }}
        {%- elif commit.version == known and commit.at == committed.upstream_at -%}
            {%- set ns.same = true -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set restored = floodmark._restored_below(commits, known) if upstream.family != 'version' else none -%}
    {%- if restored -%}
        {{ return(restored) }}
    {%- elif newest < known or not ns.same and committed.upstream_id is not none
        and floodmark._detail(upstream.relation).id != committed.upstream_id -%}
        {{ return('was recreated') }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}
