{#
  A table's peak: the greatest value that the column which says which row is the latest has had in it. A batch that lies above wins every match,
  so its MERGE compares no rows: it reads keys instead of all columns, and cdc leaves its tombstones unread. The peak stands in the user
  metadata of the commit that it is true of, with the version below: `/peak/<column>/<version>/<position>`. It counts while nothing else was
  written since (docs/decisions/0013-the-peak-of-a-table.md).
#}

{# Compare a batch with the peak: `source.is_ahead` says whether it lies above, `batch.peak` what the peak will be. `order` is the column, of a
   type that a watermark may have; with `least`, `greatest` and `unordered` of the stage's counts. #}
{% macro _compare_with_peak(run, batch, source, order) %}
    {%- set family = floodmark._position_family(order.type) if order else none -%}
    {%- set latest = floodmark._position_from_text(source.counts.get('greatest'), family) -%}
    {%- if latest is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set known = floodmark._known_peak(run) -%}
    {%- set column = local_md5(order.name | lower ~ ' ' ~ order.type)[:8] -%}
    {%- if batch.replaces -%}
        {%- do batch.update({'peak': {'column': column, 'base': none, 'position': latest}}) -%}
    {%- elif known.peak and known.peak.column == column -%}
        {%- set earliest = floodmark._position_from_text(source.counts.least, family) -%}
        {%- do source.update({'is_ahead': not source.counts.unordered and earliest is not none and earliest > known.peak.position}) -%}
        {%- do batch.update({'peak': {'column': column, 'base': known.version, 'position': [latest, known.peak.position] | max}}) -%}
    {%- endif -%}
{% endmacro %}


{# The version of the model's table and its peak, {version, peak}; both none where nothing is known. #}
{% macro _known_peak(run) %}
    {%- if run.get('known_peak') is none -%}
        {%- set newest = run.target.get('newest') -%}
        {%- do run.update({'known_peak': {'version': newest.version if newest else none, 'peak': floodmark._peak_of_table(run, newest) if newest else none}}) -%}
    {%- endif -%}
    {{ return(run.known_peak) }}
{% endmacro %}


{# The same once a batch of so many rows is done. One of cdc may have changed what is remembered and not the table: no commit tells how far that reaches. #}
{% macro _raise_peak(run, landed, rows_read) %}
    {%- if landed.version is not none -%}
        {%- set peak = landed.get('peak') -%}
        {%- do run.update({'known_peak': {'version': landed.version, 'peak': peak if peak and peak.base in [none, landed.version - 1] else none}}) -%}
    {%- elif run.settings.strategy == 'cdc' and rows_read -%}
        {%- do run.update({'known_peak': {'version': none, 'peak': none}}) -%}
    {%- endif -%}
{% endmacro %}


{# The peak that the ledger's last batch left in the table; none where anything else than it wrote rows since the version below it, or where
   cdc may have remembered events that no commit of the table tells of. #}
{% macro _peak_of_table(run, newest) %}
    {%- if run.settings.strategy == 'cdc' and run.state.has_read_since -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set has_more = floodmark._leaves_rows(newest) or newest.peak is not none and newest.peak.base not in [none, newest.version - 1] -%}
    {%- set commits = floodmark._history(this, 10) if has_more else [newest] -%}
    {%- set ns = namespace(peak=none) -%}
    {%- for commit in commits -%}
        {%- if ns.peak is none and commit.peak is not none and commit.tag == floodmark._batch_tag(run.state.landed) -%}
            {%- set ns.peak = commit.peak -%}
        {%- elif not floodmark._leaves_rows(commit) -%}
            {{ return(none) }}
        {%- endif -%}
        {%- if ns.peak is not none and ns.peak.base in [none, commit.version - 1] -%}
            {{ return(ns.peak) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}


{# Whether a commit changed no row. #}
{% macro _leaves_rows(commit) %}
    {{ return(commit.operation in ['OPTIMIZE', 'VACUUM START', 'VACUUM END', 'ADD COLUMNS', 'CHANGE COLUMN', 'SET TBLPROPERTIES'] or '/fence/' in (commit.tag or '')) }}
{% endmacro %}


{# What a commit's user metadata says of the peak behind that of the batch. #}
{% macro _peak_tag(peak) %}
    {{ return('/peak/' ~ peak.column ~ '/' ~ (peak.base if peak.base is not none else '') ~ '/' ~ peak.position if peak else '') }}
{% endmacro %}


{# The peak in it, {column, base, position}; `base` is none where the commit replaced the table. #}
{% macro _peak_from_tag(text) %}
    {%- set found = modules.re.search('/peak/([0-9a-f]{8})/(\\d*)/(-?\\d+)$', text) -%}
    {{ return({'column': found.group(1), 'base': found.group(2) | int if found.group(2) else none, 'position': found.group(3) | int} if found else none) }}
{% endmacro %}
