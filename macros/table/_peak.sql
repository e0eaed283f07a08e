{#
  The peak of a table is the greatest value that its order column (the column that says which row is the latest) has
  ever had. If all rows of a batch are above it, every match wins: the MERGE compares no rows and reads keys instead of
  all columns, and cdc reads no deletes. The peak is in the user metadata of the commit that it is true of, with the
  version below: `/peak/<column>/<version>/<position>`. It counts while nothing else was written since
  (docs/decisions/0013-the-peak-of-a-table.md).
#}

{# Compare a batch with the peak: `source.is_ahead` says whether it lies above, `batch.peak` what the peak will be.
   `order` is the column, of a type that a watermark may have; with `least`, `greatest` and `unordered` of the stage's
   counts. #}
{% macro _compare_with_peak(run, batch, source, order) %}
    {%- set family = floodmark._position_family(order.type) if order else none -%}
    {%- set latest = floodmark._position_from_text(source.counts.get('greatest'), family) if family else none -%}
    {%- if latest is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set known = floodmark._known_peak(run) -%}
    {%- set column = floodmark._peak_column(run.settings, order) -%}
    {%- if batch.replaces -%}
        {%- do batch.update({'peak': {'column': column, 'base': none, 'position': latest}}) -%}
    {%- elif known.peak and known.peak.column == column -%}
        {%- set earliest = floodmark._position_from_text(source.counts.least, family) -%}
        {%- do source.update({'is_ahead': not source.counts.unordered and earliest is not none
            and earliest > known.peak.position}) -%}
        {%- do batch.update({'peak': {'column': column, 'base': known.version,
            'position': [latest, known.peak.position] | max}}) -%}
    {%- endif -%}
{% endmacro %}


{# What a peak is of, as its tag names it: a column and its type. In SCD 2 also the settings that make a row of
   events: where they change, rows are lined up anew. #}
{% macro _peak_column(settings, order) %}
    {%- set makes_rows = [settings.cdc.tracked, settings.cdc.untracked, settings.cdc.ignore_null_updates]
        if settings.strategy == 'cdc' else [] -%}
    {{ return(local_md5(order.name | lower ~ ' ' ~ order.type
        ~ (' ' ~ tojson(makes_rows) if makes_rows not in [[], [[], [], false]] else ''))[:8]) }}
{% endmacro %}


{# How long what was seen of the peak is taken for true, in microseconds: another run may write to the table. #}
{% macro _peak_holds_for() %}
    {{ return(10 * floodmark._micros_in().second) }}
{% endmacro %}


{# The version of the model's table and its peak, {version, peak}; both none where nothing is known. A run's look at
   the table is good for ten seconds: a batch that took longer to stage looks again, since others may have written
   meanwhile. #}
{% macro _known_peak(run) %}
    {%- if run.get('known_peak') is none -%}
        {%- set newest = run.target.get('newest') -%}
        {%- set tag = floodmark._batch_tag(run.state.landed) if run.state.landed else none -%}
        {#- cdc may have remembered events since of which no commit of the table tells -#}
        {%- set is_told = newest and tag and not (run.settings.strategy == 'cdc' and run.state.has_read_since) -%}
        {%- do run.update({'known_peak': floodmark._peak_in([newest], tag) if is_told
            else {'version': none, 'peak': none}}) -%}
    {%- endif -%}
    {%- if run.known_peak.peak and floodmark._now() - run.known_peak.get('at', run.target.looked_at)
        > floodmark._peak_holds_for() -%}
        {%- do run.update({'known_peak': floodmark._peak_in(floodmark._history(this, 10), run.known_peak.tag)}) -%}
    {%- endif -%}
    {{ return(run.known_peak) }}
{% endmacro %}


{# Update what the run knows of the peak after a batch. The peak in the batch's commit counts if no other commit has
   written rows since. After a commit without a peak none is known. Nor is one after a batch of cdc that read rows and
   made no commit in the table: it may have changed the state table, and no commit of the table tells how far up. #}
{% macro _raise_peak(run, batch, landed, rows_read) %}
    {%- if landed.get('peak') -%}
        {%- set is_own = batch.get('applied') and batch.applied.table == this | string
            and landed.peak.base == landed.version - 1 -%}
        {%- set tag = floodmark._batch_tag(batch) -%}
        {%- set known = {'version': landed.version, 'peak': landed.peak, 'tag': tag} if is_own
            else floodmark._peak_in(floodmark._history(this, 10), tag) -%}
        {%- do run.update({'known_peak': dict(known, at=floodmark._now())}) -%}
    {%- elif landed.version is not none or run.settings.strategy == 'cdc' and rows_read -%}
        {%- do run.update({'known_peak': {'version': none, 'peak': none}}) -%}
    {%- endif -%}
{% endmacro %}


{# The peak that a batch left in the table, by the table's newest commits: {version, peak, tag}, `peak` none where
   anything else than the batch wrote rows since the version below it. The newest commit alone tells, nearly always.
   #}
{% macro _peak_in(commits, tag) %}
    {%- set newest = commits[0] -%}
    {%- set has_more = floodmark._leaves_rows(newest)
        or newest.peak is not none and newest.peak.base not in [none, newest.version - 1] -%}
    {%- set ns = namespace(peak=none, found=none) -%}
    {%- set commits = floodmark._history(this, 10) if has_more and commits | length == 1 else commits -%}
    {%- for commit in commits -%}
        {%- if commit.peak is not none and commit.tag == tag -%}
            {%- set ns.peak = commit.peak -%}
        {%- elif not floodmark._leaves_rows(commit) -%}
            {%- break -%}
        {%- endif -%}
        {%- if ns.peak is not none and ns.peak.base in [none, commit.version - 1] -%}
            {%- set ns.found = ns.peak -%}
            {%- break -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'version': newest.version, 'peak': ns.found, 'tag': tag}) }}
{% endmacro %}
