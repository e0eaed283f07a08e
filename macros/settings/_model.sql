{# What a model's config says beside the settings that have a schema of their own: of all models, and of merge. #}
{% macro _model_schema() %}
    {{ return({
        'incremental_strategy': {'type': 'choice', 'is_dbts': true, 'default': 'append',
            'choices': ['append', 'merge', 'insert_overwrite', 'cdc', 'snapshot_diff'],
            'expected': "'append', 'merge', 'insert_overwrite', 'cdc' or 'snapshot_diff'",
            'todo': "Choose one of them, or leave out floodmark's settings to load as dbt-spark does",
            'meaning': '`append`, `merge`, `insert_overwrite`, `cdc` or `snapshot_diff`'},
        'unique_key': {'type': 'names', 'is_dbts': true, 'without': 'required for these',
            'expected': 'a column or a list of columns',
            'meaning': 'the key of `merge`, `cdc` and `snapshot_diff`: a column or a list'},
        'watermark': {'type': 'any', 'without': '–', 'meaning': 'what is new, by a column'},
        'files': {'type': 'any', 'without': '–', 'meaning': 'what is new, by file'},
        'cdc': {'type': 'any', 'without': 'required for `cdc`', 'meaning': 'how change events are applied'},
        'snapshot_diff': {'type': 'any', 'without': 'its defaults',
            'meaning': 'how full extracts are compared with the table'},
        'expectations': {'type': 'any', 'without': '–', 'meaning': 'rules that rows have to keep, a list'},
        'change_feed': {'type': 'flag',
            'without': '`true`; `false` with column mapping or `output: changes`, where Delta cannot create one',
            'meaning': "the table's change data feed"},
        'partition_by': {'type': 'names', 'is_dbts': true, 'without': 'none',
            'expected': 'a column or a list of columns',
            'meaning': 'the columns of the partitions; `insert_overwrite` takes one, which follows from the watermark'},
        'on_schema_change': {'type': 'choice', 'is_dbts': true,
            'without': '`ignore`; `append_new_columns` with `files`',
            'choices': ['ignore', 'fail', 'append_new_columns', 'sync_all_columns'],
            'expected': "'ignore', 'fail', 'append_new_columns' or 'sync_all_columns'",
            'meaning': '`ignore`, `append_new_columns`, `sync_all_columns` (adds; refuses to drop or retype), `fail`'},
    }) }}
{% endmacro %}


{% macro _merge_schema() %}
    {%- set columns = 'a column or a list of columns' -%}
    {%- set conditions = 'a condition or a list of conditions' -%}
    {{ return({
        'merge_update_columns': {'type': 'names', 'is_dbts': true, 'without': 'all', 'expected': columns,
            'meaning': 'the columns that a match updates'},
        'merge_exclude_columns': {'type': 'names', 'is_dbts': true, 'without': 'none', 'expected': columns,
            'meaning': 'the columns that it does not; not together with the one above'},
        'incremental_predicates': {'type': 'names', 'is_dbts': true, 'without': 'none', 'expected': conditions,
            'todo': 'Put each in quotes', 'meaning': 'conditions that are added to the ON clause'},
        'predicates': {'type': 'names', 'is_dbts': true, 'without': 'none', 'expected': conditions,
            'todo': 'Put each in quotes', 'meaning': "dbt's older name of `incremental_predicates`"},
    }) }}
{% endmacro %}


{# Problems of settings that merge alone has, on another strategy: a list for _refuse. #}
{% macro _not_merge_problems(instead) %}
    {%- set problems = [] -%}
    {%- for name in floodmark._merge_schema() if config.get(name) -%}
        {%- do problems.append({'setting': name, 'got': config.get(name),
            'expected': "no such setting with '" ~ (config.get('incremental_strategy') or 'append') ~ "'",
            'todo': 'Remove it: ' ~ instead}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of merge's settings, on merge and on what has no settings of its own in their place: a list for _refuse. #}
{% macro _merge_problems(strategy) %}
    {%- set problems = [] -%}
    {%- if strategy in ['append', 'insert_overwrite'] -%}
        {%- do problems.extend(floodmark._not_merge_problems(
            "it does nothing but with incremental_strategy='merge'")) -%}
    {%- endif -%}
    {%- if config.get('merge_update_columns') and config.get('merge_exclude_columns') -%}
        {%- do problems.append({'setting': 'merge_update_columns',
            'expected': 'merge_update_columns or merge_exclude_columns, not both', 'todo': 'Remove one'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of the values of a model's settings, each by itself, and of `meta`: a list for _refuse. #}
{% macro _setting_type_problems() %}
    {%- set problems = floodmark._meta_problems() -%}
    {%- for name, row in dict(floodmark._model_schema(), **floodmark._merge_schema()).items()
        if row.type in ['names', 'flag'] -%}
        {%- set value = config.get(name) if row.is_dbts else floodmark._setting(name) -%}
        {%- if value is not none and value not in ['', []] and not floodmark._is_of_type(value, row) -%}
            {%- do problems.append(floodmark._type_problem(name, value, row)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# Problems of what stands under `meta: {floodmark: ...}`: settings of floodmark's alone. Of dbt's own, dbt reads its
   config. A list for _refuse. #}
{% macro _meta_problems() %}
    {%- set in_meta = floodmark._meta_settings(config) -%}
    {%- if in_meta is none -%}
        {{ return([]) }}
    {%- elif in_meta is not mapping -%}
        {{ return([{'setting': 'meta.floodmark', 'got': in_meta,
            'expected': "a mapping such as {'watermark': {'column': 'created_at'}}",
            'todo': 'Write it as a mapping, or leave it out'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- for name in floodmark._misplaced_in_meta(in_meta) -%}
        {%- set is_dbts = name in floodmark._all_settings() -%}
        {%- do problems.append({'setting': 'meta.floodmark.' ~ name, 'got': in_meta[name],
            'expected': name ~ " in the model's config, since it is dbt's" if is_dbts
            else 'one of ' ~ floodmark._own_settings() | join(', '),
            'todo': 'Move it there' if is_dbts else 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{# The names under `meta: {floodmark: ...}` that are no settings of floodmark's: a list. #}
{% macro _misplaced_in_meta(in_meta) %}
    {{ return(in_meta | reject('in', floodmark._own_settings()) | list if in_meta is mapping else []) }}
{% endmacro %}


{# All settings that stand in the config of a model, each as a row of the schemas. #}
{% macro _all_settings() %}
    {{ return(dict(floodmark._stream_schema(), **dict(floodmark._merge_schema(), **floodmark._model_schema()))) }}
{% endmacro %}


{# The names of those that are floodmark's own, not dbt's: a list. #}
{% macro _own_settings() %}
    {%- set names = [] -%}
    {%- for name, row in floodmark._all_settings().items() if not row.is_dbts -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{# The problem of a setting of the model that is not one of its choices, as the schema declares them: a list. #}
{% macro _choice_problems(name) %}
    {%- set row = floodmark._model_schema()[name] -%}
    {%- set value = config.get(name) -%}
    {{ return([] if not value or floodmark._is_of_type(value, row) else [floodmark._type_problem(name, value, row)]) }}
{% endmacro %}
