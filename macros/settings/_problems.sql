{# Check all that can be checked without Spark, and refuse with every problem at once. #}
{% macro _validate_settings() %}
    {%- if model.language == 'python' -%}
        {%- do floodmark._refuse([{'setting': 'language', 'got': 'python',
            'expected': "a model in SQL for floodmark's settings",
            'todo': "Write it in SQL, or leave out floodmark's settings: a Python model loads as dbt-spark does"}]) -%}
    {%- endif -%}
    {%- set problems = floodmark._variable_problems() + floodmark._strategy_problems() + floodmark._watermark_problems()
        + floodmark._files_problems() + floodmark._cdc_problems() + floodmark._snapshot_problems()
        + floodmark._expectations_problems() -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}


{# Problems of the strategy and of how the settings go together: a list for _refuse. #}
{% macro _strategy_problems() %}
    {%- set problems = [] -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- set files = floodmark._setting('files') -%}
    {%- do problems.extend(floodmark._choice_problems('incremental_strategy')) -%}
    {%- if strategy == 'merge' and not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'merge needs the key that identifies a row'}) -%}
    {%- endif -%}
    {%- if strategy == 'insert_overwrite' -%}
        {%- do problems.extend(floodmark._overwrite_problems(watermark)) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._merge_problems(strategy)) -%}
    {%- do problems.extend(floodmark._user_clause_problems()) -%}
    {%- if watermark is not none and files is not none -%}
        {%- do problems.append({'setting': 'files', 'expected': 'either watermark or files',
            'todo': 'Remove one: files are new by their path, rows by their watermark'}) -%}
    {%- endif -%}
    {%- if watermark is none and files is none and strategy == 'append' -%}
        {%- do problems.append({'setting': 'watermark', 'got': none, 'expected': "a watermark for 'append'",
            'todo': 'Set one: without it every run would append all rows again'}) -%}
    {%- endif -%}
    {#- dbt-spark passes over clustered_by without buckets; of a table that is there neither is asked -#}
    {%- if config.get('clustered_by') and config.get('buckets') and not is_incremental() -%}
        {%- do problems.append({'setting': 'clustered_by', 'got': config.get('clustered_by'),
            'expected': 'no buckets, since Delta has none', 'todo': 'Remove clustered_by and buckets'}) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._table_problems()) -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the texts of SQL that settings hold: each stands in parentheses within a statement of ours. #}
{% macro _user_clause_problems() %}
    {%- set clauses = [] -%}
    {%- for name in ['incremental_predicates', 'predicates'] -%}
        {%- for text in floodmark._as_list(config.get(name)) if text is string -%}
            {%- do clauses.append([name, text]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for setting, keys in {'watermark': ['sql'], 'snapshot_diff': ['scope'],
        'cdc': ['apply_as_deletes', 'apply_as_truncates', 'sequence_by']}.items() -%}
        {%- set given = floodmark._setting(setting) -%}
        {%- for key in keys if given is mapping -%}
            {%- for text in floodmark._as_list(given.get(key)) if text is string -%}
                {%- do clauses.append([setting ~ '.' ~ key, text]) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for name, expression in floodmark._contract_constraints().items() -%}
        {%- do clauses.append(['constraint ' ~ name, expression]) -%}
    {%- endfor -%}
    {%- set problems = floodmark._doubled_constraint_problems() -%}
    {%- for setting, text in clauses -%}
        {%- do problems.extend(floodmark._clause_problems(setting, text)) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the settings that every table of floodmark's has: a list for _refuse. #}
{% macro _table_problems() %}
    {%- set problems = [] -%}
    {%- do problems.extend(floodmark._secret_problems('location_root', config.get('location_root'))) -%}
    {%- do problems.extend(floodmark._setting_type_problems()) -%}
    {%- if config.get('file_format') not in [none, 'delta'] -%}
        {%- do problems.append({'setting': 'file_format', 'got': config.get('file_format'), 'expected': "'delta'",
            'todo': 'Remove the setting: floodmark\'s models are Delta tables'}) -%}
    {%- endif -%}
    {{ return(problems + floodmark._choice_problems('on_schema_change') + floodmark._taken_name_problems()) }}
{% endmacro %}


{# What floodmark keeps beside a table has a name that no other node may have: dbt would replace it, and with it the
   rows that were refused, or the events that cdc remembers. #}
{% macro _taken_name_problems() %}
    {%- set suffixes, problems = [], [] -%}
    {%- if floodmark._setting('expectations') or floodmark._setting('files') -%}
        {%- do suffixes.append('__quarantine') -%}
    {%- endif -%}
    {%- if config.get('incremental_strategy') == 'cdc' -%}
        {%- do suffixes.append('__cdc_state') -%}
    {%- endif -%}
    {%- set owners = floodmark._owners_of_tables() if suffixes else {} -%}
    {%- for suffix in suffixes -%}
        {%- set table = floodmark._model_id() ~ suffix -%}
        {%- for id in owners.get(table | lower, []) -%}
            {%- do problems.append({'setting': 'alias', 'got': this.identifier,
                'expected': 'that no other node is called ' ~ table ~ ', as ' ~ id ~ ' is',
                'todo': 'floodmark keeps a table of that name for this model: give ' ~ id ~ ' another alias'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The nodes that have a table or a view: a list of ids for each name, in small letters. dbt tells capitals from small
   letters in names, and Spark does not. #}
{% macro _owners_of_tables() %}
    {%- set owners = {} -%}
    {%- for id, node in graph.nodes.items() if node.resource_type in ['model', 'seed', 'snapshot']
        and node.config.materialized != 'ephemeral' -%}
        {%- do owners.setdefault((node.schema ~ '.' ~ (node.alias or node.name)) | lower, []).append(id) -%}
    {%- endfor -%}
    {{ return(owners) }}
{% endmacro %}


{# insert_overwrite replaces the partitions that the bounds touch. #}
{% macro _overwrite_problems(watermark) %}
    {%- set problems = [] -%}
    {%- set partition_by = floodmark._distinct_names(config.get('partition_by')) -%}
    {%- if watermark is not mapping -%}
        {%- do problems.append({'setting': 'watermark', 'got': watermark,
            'expected': "a watermark for 'insert_overwrite'",
            'todo': 'Set one, since it says which partitions are new, or use merge'}) -%}
    {%- elif watermark.get('kind') == 'sequence' or watermark.get('nulls') == 'include' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': 'insert_overwrite',
            'expected': 'a timestamp or date watermark, every row with a value',
            'todo': 'Use merge for sequences and for rows without a value'}) -%}
    {%- endif -%}
    {%- if partition_by | length != 1 -%}
        {%- do problems.append({'setting': 'partition_by', 'got': partition_by,
            'expected': 'one column, derived from the watermark column',
            'todo': 'insert_overwrite replaces whole partitions: add cast(<watermark column> as date) to the '
            'SELECT and name it here'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
