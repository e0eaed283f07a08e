{#
  `snapshot_diff={...}` (docs/guides/snapshots.md): the model's SELECT is a full copy of its source, compared with the
  table by row hash.
#}

{# The settings as one mapping, with defaults; none where the model has another strategy. #}
{% macro _snapshot_settings() %}
    {%- if config.get('incremental_strategy') != 'snapshot_diff' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set given = floodmark._setting('snapshot_diff') or {} -%}
    {%- set scd_type = (given.get('stored_as_scd_type') or 1) | int -%}
    {{ return({
        'compared': floodmark._as_list(given.get('compare_columns')),
        'excepted': floodmark._as_list(given.get('except_columns')),
        'scd_type': scd_type,
        'on_missing': given.get('on_missing') or 'delete',
        'max_delete_fraction': given.get('max_delete_fraction'),
        'allow_empty': given.get('allow_empty') or false,
        'version': given.get('version'),
        'scope': floodmark._clause(given.scope)[1:-1] if given.get('scope') is not none else none,
        'output': given.get('output') or 'table',
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
    {%- set problems = [] -%}
    {%- if strategy != 'snapshot_diff' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy,
            'expected': "'snapshot_diff' with snapshot_diff={...}",
            'todo': "Set incremental_strategy='snapshot_diff'"}) -%}
    {%- endif -%}
    {%- if not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'snapshot_diff needs the key that identifies a row'}) -%}
    {%- endif -%}
    {%- set known = ['compare_columns', 'except_columns', 'stored_as_scd_type', 'on_missing', 'max_delete_fraction',
        'allow_empty', 'version', 'scope', 'output'] -%}
    {%- for key in given if key not in known -%}
        {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key],
            'expected': 'one of ' ~ known | join(', '), 'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- for key in ['compare_columns', 'except_columns']
        if given.get(key) is not none and not floodmark._is_names(given[key]) -%}
        {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key], 'expected': 'a list of columns',
            'todo': 'Write their names'}) -%}
    {%- endfor -%}
    {%- for key in ['version', 'scope'] if given.get(key) is not none
        and (given[key] is not string or not given[key] | trim) -%}
        {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key],
            'expected': 'a column of the SELECT' if key == 'version' else 'a condition on the table\'s columns',
            'todo': 'Put it in quotes'}) -%}
    {%- endfor -%}
    {%- if given.get('compare_columns') and given.get('except_columns') -%}
        {%- do problems.append({'setting': 'snapshot_diff.compare_columns', 'got': given.compare_columns,
            'expected': 'compare_columns or except_columns, not both', 'todo': 'Remove one'}) -%}
    {%- endif -%}
    {%- set choices = {'stored_as_scd_type': ['1', '2'], 'on_missing': ['delete', 'ignore', 'mark'],
        'output': ['table', 'changes']} -%}
    {%- for key, allowed in choices.items() if given.get(key) is not none and given[key] | string not in allowed -%}
        {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key],
            'expected': 'one of ' ~ allowed | join(', '), 'todo': 'Use one of them'}) -%}
    {%- endfor -%}
    {%- if given.get('allow_empty') is not none and given.allow_empty is not boolean -%}
        {%- do problems.append({'setting': 'snapshot_diff.allow_empty', 'got': given.allow_empty,
            'expected': 'true or false', 'todo': 'Write it without quotes'}) -%}
    {%- endif -%}
    {%- set fraction = given.get('max_delete_fraction') -%}
    {%- if fraction is not none and (fraction is boolean or fraction is not number or not 0 <= fraction <= 1) -%}
        {%- do problems.append({'setting': 'snapshot_diff.max_delete_fraction', 'got': fraction,
            'expected': 'a number from 0 to 1', 'todo': '0.1 lets a tenth of the keys be missing'}) -%}
    {%- endif -%}
    {%- if given.get('output') == 'changes' -%}
        {%- for key, allowed in {'stored_as_scd_type': '1', 'on_missing': 'mark'}.items()
            if given.get(key) is not none and (given[key] | string == allowed) == (key == 'on_missing') -%}
            {%- do problems.append({'setting': 'snapshot_diff.' ~ key, 'got': given[key],
                'expected': "output 'table' with it", 'todo': 'Remove it: a list of changes has no such rows'}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if given.get('output') == 'changes' and floodmark._setting('change_feed') is sameas true -%}
        {%- do problems.append({'setting': 'change_feed', 'got': true,
            'expected': "no change feed with output 'changes'",
            'todo': 'Remove it: the rows are the changes, and _changed_at is a watermark for what reads them'}) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._snapshot_watermark_problems(given)) -%}
    {%- for name in ['merge_update_columns', 'merge_exclude_columns', 'incremental_predicates'] if config.get(name) -%}
        {%- do problems.append({'setting': name, 'got': config.get(name),
            'expected': "no such setting with 'snapshot_diff'",
            'todo': 'Remove it: compare_columns and except_columns choose what is compared'}) -%}
    {%- endfor -%}
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
                'todo': 'Changes of a table are no snapshot of it: use cdc or merge'}) -%}
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
