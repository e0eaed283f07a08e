{#
  `snapshot_diff={...}` (docs/guides/snapshots.md): the model's SELECT is a full copy of its source, compared with the
  table by row hash.
#}

{% macro _snapshot_schema() %}
    {{ return({
        'compare_columns': {'type': 'names', 'without': 'all but key and version', 'excludes': 'except_columns',
            'meaning': 'the columns whose change counts'},
        'except_columns': {'type': 'names', 'without': 'none', 'meaning': 'the columns whose change does not count'},
        'stored_as_scd_type': {'type': 'choice', 'choices': ['1', '2'], 'default': 1,
            'meaning': '`1`: the latest row; `2`: history with `__start_at` and `__end_at`'},
        'on_missing': {'type': 'choice', 'choices': ['delete', 'ignore', 'mark'], 'default': 'delete',
            'meaning': 'what becomes of a row that the extract lacks: `delete`, `ignore` or `mark`'},
        'max_delete_fraction': {'type': 'fraction', 'todo': '0.1 lets a tenth of the keys be missing',
            'without': 'no limit', 'meaning': 'a guard against an extract that is cut short'},
        'allow_empty': {'type': 'flag', 'default': false, 'meaning': 'whether an extract may have no rows'},
        'version': {'type': 'text', 'expected': 'a column of the SELECT', 'without': 'the time of the load',
            'meaning': 'the column that orders snapshots'},
        'scope': {'type': 'text', 'expected': "a condition on the table's columns", 'without': 'all',
            'meaning': 'a condition: the part of the table that the snapshot is of'},
        'output': {'type': 'choice', 'choices': ['table', 'changes'], 'default': 'table',
            'meaning': '`table`, or `changes`: the list of changes'},
    }) }}
{% endmacro %}


{# The settings as one mapping, with defaults; none where the model has another strategy. #}
{% macro _snapshot_settings() %}
    {%- if config.get('incremental_strategy') != 'snapshot_diff' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set given = floodmark._setting('snapshot_diff') or {} -%}
    {%- set given = floodmark._with_defaults(given, floodmark._snapshot_schema()) -%}
    {{ return({
        'compared': floodmark._as_list(given.compare_columns),
        'excepted': floodmark._as_list(given.except_columns),
        'scd_type': given.stored_as_scd_type | int,
        'on_missing': given.on_missing,
        'max_delete_fraction': given.max_delete_fraction,
        'allow_empty': given.allow_empty,
        'version': given.version,
        'scope': floodmark._clause(given.scope)[1:-1] if given.scope is not none else none,
        'output': given.output,
    }) }}
{% endmacro %}


{# Problems of `snapshot_diff={...}` that show without Spark: a list for _refuse. #}
{% macro _snapshot_problems() %}
    {%- set given = floodmark._setting('snapshot_diff') -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- if given is none and strategy != 'snapshot_diff' -%}
        {{ return([]) }}
    {%- elif given is not none and given is not mapping -%}
        {{ return([{'setting': 'snapshot_diff', 'got': given, 'expected': "a mapping such as {'on_missing': 'delete'}",
            'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set given = given or {} -%}
    {%- set problems = floodmark._schema_problems('snapshot_diff', given, floodmark._snapshot_schema()) -%}
    {%- if strategy != 'snapshot_diff' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy,
            'expected': "'snapshot_diff' with snapshot_diff={...}",
            'todo': "Set incremental_strategy='snapshot_diff'"}) -%}
    {%- endif -%}
    {%- if not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'snapshot_diff needs the key that identifies a row'}) -%}
    {%- endif -%}
    {%- if given.get('output') == 'changes' -%}
        {%- do problems.extend(floodmark._list_of_changes_problems(given)) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._snapshot_watermark_problems(given)) -%}
    {%- do problems.extend(floodmark._not_merge_problems(
        'compare_columns and except_columns choose what is compared')) -%}
    {{ return(problems) }}
{% endmacro %}


{# What does not go with output 'changes'. #}
{% macro _list_of_changes_problems(given) %}
    {%- set problems = [] -%}
    {%- for key, allowed in {'stored_as_scd_type': '1', 'on_missing': 'mark'}.items()
        if given.get(key) is not none and (given[key] | string == allowed) == (key == 'on_missing') -%}
        {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key],
            'expected': "output 'table' with it", 'todo': 'Remove it: a list of changes has no such rows'}) -%}
    {%- endfor -%}
    {%- if floodmark._setting('change_feed') is sameas true -%}
        {%- do problems.append({'setting': 'change_feed', 'got': true,
            'expected': "no change feed with output 'changes'",
            'todo': 'Remove it: the rows are the changes, and _changed_at is a watermark for what reads them'}) -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}


{# Whether the model is the list of changes, with a column `_change_type` that Delta's change feed needs for itself. #}
{% macro _lists_changes() %}
    {{ return(((floodmark._snapshot_settings() or {}).output or 'table') == 'changes') }}
{% endmacro %}


{# A watermark may say which snapshot is next; it must then order them as `version` does. #}
{% macro _snapshot_watermark_problems(given) %}
    {%- set watermark = floodmark._setting('watermark') -%}
    {%- set problems = [] -%}
    {%- if watermark is mapping -%}
        {%- if watermark.get('kind') == 'version' -%}
            {%- do problems.append({'setting': 'watermark.kind', 'got': 'version',
                'expected': 'a column that tells one snapshot from the next',
                'todo': 'The changes of a table are not a snapshot of it: use cdc or merge'}) -%}
        {%- elif given.get('version') is not none
            and (given.version | lower) != (watermark.get('column') or '') | lower -%}
            {%- do problems.append({'setting': 'snapshot_diff.version', 'got': given.version,
                'expected': 'the column of the watermark, ' ~ watermark.get('column'),
                'todo': 'Use one column for both, so that versions ascend with the mark'}) -%}
        {%- endif -%}
        {%- if watermark.get('lookback') is not none -%}
            {%- do problems.append({'setting': 'watermark.lookback', 'got': watermark.lookback,
                'expected': "no lookback with 'snapshot_diff'", 'todo': 'Remove it: it would mix two snapshots'}) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(problems) }}
{% endmacro %}
