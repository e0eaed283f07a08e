{# OPTIMIZE tables of many small files and VACUUM those that have not been for a while: the models that floodmark
   loads, and the ledger. Loaded files that are due go where `on_loaded` says. `models` names some; `dry_run` only says
   what would be done. A table that fails stops no other; the error at the end names those that failed, and says why. #}
{% macro maintain(models=none, dry_run=false, small_file_mb=16, min_small_files=8, vacuum_days=7) %}
    {%- do floodmark._check_arguments('maintain',
        {'models': [models, 'names'], 'dry_run': [dry_run, 'flag'], 'small_file_mb': [small_file_mb, 'size'],
        'min_small_files': [min_small_files, 'some'], 'vacuum_days': [vacuum_days, 'count']}) -%}
    {%- do floodmark._check_names(models) -%}
    {%- set ns = namespace(done=0, moved=0) -%}
    {%- set failed = [] -%}
    {%- for id in floodmark._maintained(models) -%}
        {%- set tried = floodmark._outlasted(floodmark._maintain_table, id, dry_run, small_file_mb, min_small_files,
            vacuum_days) -%}
        {%- do failed.append(id ~ ': ' ~ tried.error) if tried.error -%}
        {%- set ns.done = ns.done + (tried.value or 0) -%}
    {%- endfor -%}
    {%- for node in floodmark._managed_nodes(models).values()
        if floodmark._node_setting(node, 'files') is mapping and node.config.materialized == 'incremental' -%}
        {%- set tried = floodmark._outlasted(floodmark._maintain_files, node, dry_run) -%}
        {%- do failed.append('files of ' ~ floodmark._node_id(node) ~ ': ' ~ tried.error) if tried.error -%}
        {%- set ns.moved = ns.moved + (tried.value or 0) -%}
    {%- endfor -%}
    {%- do print(('Nothing to do.' if not ns.done + ns.moved
        else floodmark._counted(ns.done, 'statement') ~ (' would run.' if dry_run else ' ran.'))) -%}
    {%- if failed -%}
        {%- do floodmark._raise("floodmark, operation 'maintain': it failed for\n  - " ~ failed | join('\n  - ')
            ~ '\nAll else is done. Correct the cause, and run it again') -%}
    {%- endif -%}
{% endmacro %}


{# Archive or delete the loaded files of a model that are due: how many. #}
{% macro _maintain_files(node, dry_run) %}
    {%- set settings = floodmark._node_files(node) -%}
    {%- set count = floodmark._tidy_files(floodmark._node_id(node), settings, dry_run) -%}
    {%- if count -%}
        {%- do print(('would ' ~ settings.on_loaded if dry_run
            else {'archive': 'archived', 'delete': 'deleted'}[settings.on_loaded]) ~ ' '
            ~ floodmark._counted(count, 'file') ~ ' that ' ~ floodmark._node_id(node) ~ ' has loaded') -%}
    {%- endif -%}
    {{ return(count) }}
{% endmacro %}


{# The Delta tables to look at: the ledger's log first, where no models are named; those of the models, what cdc
   remembers beside them, quarantines. #}
{% macro _maintained(models) %}
    {%- set ids = [] -%}
    {%- for node in floodmark._managed_nodes(models).values() -%}
        {%- set relation = adapter.get_relation(none, node.schema, node.alias or node.name) -%}
        {%- if relation is not none and relation.is_delta -%}
            {%- do ids.append(floodmark._node_id(node)) -%}
            {%- for part in ['__cdc_state', '__quarantine'] -%}
                {%- set beside = adapter.get_relation(none, node.schema, relation.identifier ~ part) -%}
                {%- if beside is not none and floodmark._is_maintained(node, part, beside) -%}
                    {%- do ids.append(floodmark._relation_name(beside)) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set has_ledger = models is none and floodmark._ledger_exists() -%}
    {{ return(([floodmark.ledger_schema() ~ '.batch_log'] if has_ledger else []) + ids | sort) }}
{% endmacro %}


{# Whether a table beside a model's is floodmark's. One that cannot be read is told when it is maintained. #}
{% macro _is_maintained(node, part, beside) %}
    {{ return(node.config.get('incremental_strategy') == 'cdc' if part == '__cdc_state'
        else floodmark._outlasted(floodmark._is_quarantine, beside).value is not sameas false) }}
{% endmacro %}


{# Maintain one table; the number of statements. #}
{% macro _maintain_table(id, dry_run, small_file_mb, min_small_files, vacuum_days) %}
    {%- set detail = floodmark._detail(id) -%}
    {%- set name = floodmark._delta_name(id) -%}
    {%- set statements = [] -%}
    {%- set mean_mb = detail.bytes / detail.files / 2 ** 20 if detail.files else 0 -%}
    {%- if detail.files >= min_small_files and mean_mb < small_file_mb
        and detail.files - floodmark._files_left(id) + 1 >= min_small_files -%}
        {%- do statements.append({'sql': 'optimize ' ~ name,
            'why': floodmark._counted(detail.files, 'file') ~ ' of ' ~ '{:,.1f}'.format(mean_mb)
            ~ ' MB on average'}) -%}
    {%- endif -%}
    {%- set age = floodmark._days_since_vacuum(id) -%}
    {%- if age >= vacuum_days -%}
        {%- do statements.append({'sql': 'vacuum ' ~ name,
            'why': 'last vacuumed or made ' ~ floodmark._counted(age, 'day') ~ ' ago'}) -%}
    {%- endif -%}
    {%- for one in statements -%}
        {%- do print(('would run: ' if dry_run else '') ~ one.sql ~ ' (' ~ one.why ~ ')') -%}
        {%- if not dry_run -%}
            {%- do floodmark._execute([one.sql]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(statements | length) }}
{% endmacro %}


{# The least number of files that OPTIMIZE leaves: one a partition. #}
{% macro _files_left(id) %}
    {%- set names = floodmark._columns_of(relation=id) | selectattr('is_partition', 'defined')
        | map(attribute='name') | list -%}
    {%- if not names -%}
        {{ return(1) }}
    {%- endif -%}
    {{ return(run_query('select count(*) as n from (select distinct ' ~ floodmark._quoted_csv(names) ~ ' from ' ~ id
        ~ ')').rows[0][0] | int) }}
{% endmacro %}


{# Whole days since a table's last VACUUM, or since the oldest commit in its log. #}
{% macro _days_since_vacuum(id) %}
    {%- set ns = namespace(since=none) -%}
    {%- for commit in floodmark._history(id) -%}
        {%- if ns.since is none or not ns.since.vacuum -%}
            {%- set ns.since = {'at': commit.at, 'vacuum': commit.operation == 'VACUUM END'} -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return((floodmark._now() - floodmark._parse_timestamp(ns.since.at[:19])) // floodmark._micros_in().day) }}
{% endmacro %}
