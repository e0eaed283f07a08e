{# Whether a stage has all the bytes that it was made with and, where a `strategy` is given, was made for it: each reads
   its own rows of a batch. Earlier code did not note for which. #}
{% macro _is_stage_whole(stage, strategy=none) %}
    {%- set facts = floodmark._stage_facts(stage) -%}
    {{ return(facts.found is not none and facts.found == facts.noted
        and (strategy is none or facts.strategy in [none, strategy])) }}
{% endmacro %}


{# How many bytes a stage has by its making, how many its files hold now, and for which strategy it was made: {noted,
   found, strategy}. The metastore notes the size with CREATE TABLE AS; `noted` is none where it did not, `found` where
   the files cannot be listed. Spark itself reads what is there: what has gone from a folder looks like rows that never
   were. #}
{% macro _stage_facts(stage) %}
    {%- set ns = namespace(noted=none, location='', strategy=none) -%}
    {%- for row in run_query('describe table extended ' ~ stage).rows -%}
        {%- if row[0] == 'Statistics' -%}
            {%- set ns.noted = (modules.re.match('\\d+', row[1]) or [none])[0] -%}
        {%- elif row[0] == 'Location' -%}
            {%- set ns.location = row[1] -%}
        {#- a column may have this name, too, but no such type -#}
        {%- elif row[0] == 'Comment' and row[1].startswith('strategy ') -%}
            {%- set ns.strategy = row[1].split(' ')[1] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'noted': ns.noted | int if ns.noted is not none else none, 'strategy': ns.strategy,
        'found': floodmark._tried(floodmark._listed_bytes, ns.location).value}) }}
{% endmacro %}


{# The size of the files in a folder. #}
{% macro _listed_bytes(location) %}
    {{ return(run_query('select coalesce(sum(length), 0) as bytes from binaryFile.`' ~ location | replace('`', '``')
        ~ "` with (`__globPaths__` = 'false')").rows[0][0] | int) }}
{% endmacro %}


{# Stop where a stage that half of a batch is written from is not what it was: nothing else can give the other half. #}
{% macro _require_whole(batch, stage) %}
    {%- set bytes = floodmark._stage_facts(stage) -%}
    {%- if bytes.found is none or bytes.noted is not none and bytes.found != bytes.noted -%}
        {%- do floodmark._stop('half of batch ' ~ batch.batch_id ~ ' is written, and its staging table ' ~ stage
            ~ ' has lost rows (' ~ ('its files cannot be listed' if bytes.found is none
            else '{:,} of {:,} bytes are there'.format(bytes.found, bytes.noted))
            ~ '), so the other half cannot be written: run the model once with --full-refresh') -%}
    {%- endif -%}
{% endmacro %}


{# What a stage is made with, before its SELECT. A statement may read it more than once, and what cannot be read must
   not look like rows that are gone, whatever the session's spark.sql.files.ignoreMissingFiles and ignoreCorruptFiles
   say. Its folder is no pattern, whatever the warehouse's path has in it: [, { and * there too. With a `strategy` it is
   for that one alone. #}
{% macro _create_stage_sql(relation, strategy=none) %}
    {{ return('create table ' ~ relation
        ~ " using parquet options (ignoreMissingFiles = 'false', ignoreCorruptFiles = 'false', "
        "`__globPaths__` = 'false')" ~ (" comment 'strategy " ~ strategy ~ "'" if strategy else '') ~ ' as') }}
{% endmacro %}


{# The stage of a batch, named after the run that writes it: nobody else does, so its rows never change. #}
{% macro _stage_relation(batch) %}
    {{ return(floodmark.ledger_schema() ~ '.' ~ floodmark._stage_prefix(this) ~ batch.batch_id ~ '__'
        ~ (batch.staged_by or batch.stages_as or invocation_id[:8])) }}
{% endmacro %}


{# What the names of a model's stages begin with. Six hex digits tell names apart that read the same: `a__b`.`c` and
   `a`.`b__c`, and those that are cut. A folder has the name of its table, of at most 255 bytes with what follows here,
   and Spark takes ASCII alone. #}
{% macro _stage_prefix(relation) %}
    {%- set name = (relation.schema ~ '__' ~ relation.identifier) | lower -%}
    {%- set is_clear = name | length <= 200
        and modules.re.fullmatch('_?(?:[^_]+_)*[^_]+__(?:[^_]+_)*[^_]+', name) -%}
    {{ return('stage__' ~ name[:200] ~ '__' ~ ('' if is_clear
        else local_md5((relation.schema ~ '.' ~ relation.identifier) | lower)[:6] ~ '__')) }}
{% endmacro %}


{# The stages that runs of a model left: a list of {relation, batch_id, staged_by, part}; `part` is none for the stage
   itself, the run that resolved a batch of cdc (_resolve), `files` for the records of files,
   their `window<n>`, or `judged` for rows with the rules that they break. Where the state is_remembered, no batch was
   open when the invocation began: one list then serves all its models, which have no stages but those left to drop.
   #}
{% macro _stages(relation, is_remembered=false) %}
    {%- set prefix = floodmark._stage_prefix(relation) -%}
    {%- if not is_remembered -%}
        {%- set names = floodmark._stage_names(prefix) -%}
    {%- else -%}
        {%- if floodmark._memory().stages is none -%}
            {%- do floodmark._memory().update({'stages': floodmark._stage_names('stage__')}) -%}
        {%- endif -%}
        {%- set names = floodmark._memory().stages -%}
    {%- endif -%}
    {%- set stages = [] -%}
    {%- for name in names -%}
        {%- set found = modules.re.fullmatch(modules.re.escape(prefix)
            ~ '(\\d+)__([0-9a-f]{8})(?:__([0-9a-f]{8}|files|window\\d+|judged))?', name) -%}
        {%- if found -%}
            {%- do stages.append({'relation': floodmark.ledger_schema() ~ '.' ~ name,
                'batch_id': found.group(1) | int, 'staged_by': found.group(2), 'part': found.group(3)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(stages) }}
{% endmacro %}


{% macro _stage_names(prefix) %}
    {{ return(run_query("show tables in " ~ floodmark.ledger_schema() ~ " like '" ~ prefix ~ "*'").columns['tableName']
        .values() | list) }}
{% endmacro %}


{# Drop what dead runs left (`_stages`) of batches that are finished. #}
{% macro _drop_left_stages(stages, finished_id) %}
    {%- if finished_id is not none -%}
        {%- do floodmark._drop_staging_tables(stages | selectattr('batch_id', 'le', finished_id)
            | map(attribute='relation')) -%}
    {%- endif -%}
{% endmacro %}


{# Drop staging tables, those that are there. #}
{% macro _drop_staging_tables(relations) %}
    {%- for relation in relations -%}
        {%- do floodmark._execute(['drop table if exists ' ~ relation]) -%}
    {%- endfor -%}
{% endmacro %}
