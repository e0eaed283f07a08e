{# Use up the transaction id of a batch on the target with no rows, so that a run which still lives cannot apply it
   later. A MERGE that no row meets names no column: which ones an INSERT must name or must not (NOT NULL, identity)
   Spark does not say. Delta commits it on every table, also on one that takes appends alone. #}
{% macro _fence(batch, relation=none) %}
    {%- set table = relation or this -%}
    {%- do floodmark._apply_once(table, batch, floodmark._nothing_sql(table), fence=true) -%}
{% endmacro %}


{% macro _nothing_sql(table) %}
    {{ return('merge into ' ~ table ~ ' as DBT_INTERNAL_DEST using (select 1 as one where false) as '
        'DBT_INTERNAL_SOURCE on false when matched then delete') }}
{% endmacro %}


{# Leave the commit of a batch that has no row for the table. It tells a later run that the batch is loaded, and lets no
   other run give it up: what becomes of its rows in the quarantine follows. #}
{% macro _land_without_rows(batch) %}
    {%- do floodmark._apply_once(this, batch, floodmark._nothing_sql(this)) -%}
    {{ return(floodmark._require_landed(batch)) }}
{% endmacro %}


{# What a batch that has nothing to write leaves in the table: no commit, but of a first load that read rows, each of
   them once: rules held them back, or they are deletes. By it later runs know that the table, which was there, is not
   new (_target_state); so it gets these columns now, as with its first rows. Delta may refuse the commit (CHAR
   columns). #}
{% macro _landed_if_read(run, batch, source, columns) %}
    {%- set held = floodmark._held_counts(batch) -%}
    {%- if batch.begins and (run.settings.watermark or run.settings.files)
        and held.rows_dropped + held.rows_quarantined + (source.counts.rows_read or 0) -%}
        {%- do floodmark._align_columns(run, dict(source, columns=columns))
            if run.settings.on_schema_change in ['append_new_columns', 'sync_all_columns'] -%}
        {%- set tried = floodmark._tried(floodmark._land_without_rows, batch) -%}
        {%- if tried.error is none -%}
            {{ return(tried.value) }}
        {%- endif -%}
        {%- do floodmark._reset_conf(floodmark._batch_conf()) -%}
    {%- endif -%}
    {{ return({'version': none, 'metrics': {}}) }}
{% endmacro %}


{# The user metadata of a fence: the batch, the run, and the attempt that it begins where attempts are numbered. #}
{% macro _fence_tag(batch) %}
    {{ return(floodmark._batch_tag(batch) ~ '/fence/' ~ invocation_id
        ~ ('/' ~ batch.attempt if batch.get('attempt') else '')) }}
{% endmacro %}


{# The number of an attempt that begins now: its second. The clock may have been set back since the attempts before, so
   it is greater than each of those whose fences stand in these tables. #}
{% macro _next_attempt(batch, tables) %}
    {%- set numbers = [floodmark._now() // floodmark._micros_in().second] -%}
    {%- set fence = '^' ~ modules.re.escape(floodmark._batch_tag(batch)) ~ '/fence/[^/]+/(\\d+)$' -%}
    {%- for table in tables -%}
        {%- for tag in floodmark._recent_tags(table) -%}
            {%- for number in modules.re.findall(fence, tag or '') -%}
                {%- do numbers.append(number | int + 1) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(numbers | max) }}
{% endmacro %}
