{#
  `cdc={...}`: names as in create_auto_cdc_flow (docs/guides/cdc.md). The rules of both SCD types stand in _scd1_sql.sql
  and _scd2_sql.sql.
#}

{# The settings as one mapping, with defaults; none where the model has none. #}
{% macro _cdc_settings() %}
    {%- set cdc = floodmark._setting('cdc') -%}
    {%- if cdc is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set sequence = [] -%}
    {%- for part in floodmark._as_list(cdc.sequence_by) -%}
        {%- do sequence.append(floodmark._clause(part)[1:-1]) -%}
    {%- endfor -%}
    {%- set ignored = cdc.get('ignore_null_updates', false) -%}
    {#- fields of one name get a number, which they have not got else: a table's type stays as it is -#}
    {%- set names = [] -%}
    {%- for part in sequence -%}
        {%- do names.append((part | replace('`', '')).split('.')[-1] | trim | lower) -%}
    {%- endfor -%}
    {%- set parts = [] -%}
    {%- for part in sequence -%}
        {%- do parts.append(part ~ (' as `' ~ names[loop.index0] ~ '_' ~ loop.index ~ '`'
            if names.count(names[loop.index0]) > 1 and modules.re.fullmatch('\\w+', names[loop.index0]) else '')) -%}
    {%- endfor -%}
    {{ return({ 'sequence': sequence[0] if sequence | length == 1
        else 'if((' ~ sequence | join(') is null or (') ~ ') is null, null, struct(' ~ parts | join(', ') ~ '))',
        'sequence_by': sequence, 'deletes': floodmark._clause(cdc.apply_as_deletes)[1:-1] if cdc.get('apply_as_deletes')
        else none, 'truncates': floodmark._clause(cdc.apply_as_truncates)[1:-1] if cdc.get('apply_as_truncates')
        else none, 'reads_feed': (floodmark._setting('watermark') or {}).get('kind') == 'version'
        or floodmark._is_stream() and 'readchangefeed' in model.raw_code | lower,
        'ignore_null_updates': ignored if ignored is boolean else floodmark._as_list(ignored),
        'column_list': floodmark._as_list(cdc.get('column_list')),
        'except_column_list': floodmark._as_list(cdc.get('except_column_list')),
        'scd_type': cdc.get('stored_as_scd_type', 1) | int,
        'tracked': floodmark._as_list(cdc.get('track_history_column_list')),
        'untracked': floodmark._as_list(cdc.get('track_history_except_column_list')),
        'tombstone_ttl': cdc.get('tombstone_ttl'), 'start_at': cdc.get('start_at') or '__start_at',
        'end_at': cdc.get('end_at') or '__end_at', }) }}
{% endmacro %}


{# Problems of `cdc={...}` that show without Spark: a list for _refuse. #}
{% macro _cdc_problems() %}
    {%- set cdc = floodmark._setting('cdc') -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- if cdc is none -%}
        {{ return([] if strategy != 'cdc' else [{'setting': 'cdc', 'got': none,
            'expected': "a mapping such as {'sequence_by': 'sequence_num'}",
            'todo': 'Say at least which column orders the events of a key'}]) }}
    {%- elif cdc is not mapping -%}
        {{ return([{'setting': 'cdc', 'got': cdc, 'expected': "a mapping such as {'sequence_by': 'sequence_num'}",
            'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = [] -%}
    {%- if strategy != 'cdc' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy, 'expected': "'cdc' with cdc={...}",
            'todo': "Set incremental_strategy='cdc'"}) -%}
    {%- endif -%}
    {%- if not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'cdc needs the key that events are of'}) -%}
    {%- endif -%}
    {%- set texts = ['apply_as_deletes', 'apply_as_truncates', 'tombstone_ttl', 'start_at', 'end_at'] -%}
    {%- set lists = ['column_list', 'except_column_list', 'track_history_column_list',
        'track_history_except_column_list'] -%}
    {%- set known = ['sequence_by', 'stored_as_scd_type', 'ignore_null_updates'] + texts + lists -%}
    {%- for key in cdc if key not in known -%}
        {%- do problems.append({'setting': 'cdc.' ~ key, 'got': cdc[key], 'expected': 'one of ' ~ known | join(', '),
            'todo': 'Remove it or correct its name'}) -%}
    {%- endfor -%}
    {%- if not floodmark._is_names(cdc.get('sequence_by')) -%}
        {%- do problems.append({'setting': 'cdc.sequence_by', 'got': cdc.get('sequence_by'),
            'expected': 'a column or an expression, or a list of them',
            'todo': 'Name what orders the events of a key'}) -%}
    {%- endif -%}
    {%- for key in texts if cdc.get(key) is not none and (cdc[key] is not string or not cdc[key] | trim) -%}
        {%- do problems.append({'setting': 'cdc.' ~ key, 'got': cdc[key], 'expected': 'a text',
            'todo': 'Put it in quotes'}) -%}
    {%- endfor -%}
    {%- for key in lists if cdc.get(key) is not none and not floodmark._is_names(cdc[key]) -%}
        {%- do problems.append({'setting': 'cdc.' ~ key, 'got': cdc[key], 'expected': 'a list of columns',
            'todo': 'Write their names'}) -%}
    {%- endfor -%}
    {%- set ignored = cdc.get('ignore_null_updates') -%}
    {%- if ignored is not none and ignored is not boolean and not floodmark._is_names(ignored) -%}
        {%- do problems.append({'setting': 'cdc.ignore_null_updates', 'got': ignored,
            'expected': 'true, false or a list of columns', 'todo': 'Use one of them'}) -%}
    {%- endif -%}
    {%- for one, other in [('column_list', 'except_column_list'),
        ('track_history_column_list', 'track_history_except_column_list')] if cdc.get(one) and cdc.get(other) -%}
        {%- do problems.append({'setting': 'cdc.' ~ one, 'got': cdc[one],
            'expected': one ~ ' or ' ~ other ~ ', not both', 'todo': 'Remove one'}) -%}
    {%- endfor -%}
    {%- set type = cdc.get('stored_as_scd_type', 1) | string -%}
    {%- if type not in ['1', '2'] -%}
        {%- do problems.append({'setting': 'cdc.stored_as_scd_type', 'got': cdc.stored_as_scd_type,
            'expected': '1 or 2', 'todo': '1 keeps the latest row of a key, 2 its history'}) -%}
    {%- endif -%}
    {%- for key in ['track_history_column_list', 'track_history_except_column_list', 'start_at', 'end_at']
        if type == '1' and cdc.get(key) is not none -%}
        {%- do problems.append({'setting': 'cdc.' ~ key, 'got': cdc[key], 'expected': 'stored_as_scd_type 2 with it',
            'todo': 'Remove it: SCD 1 keeps no history'}) -%}
    {%- endfor -%}
    {%- for key, why in {'apply_as_truncates': 'history is not truncated',
        'tombstone_ttl': 'history keeps its deletes'}.items() if type == '2' and cdc.get(key) is not none -%}
        {%- do problems.append({'setting': 'cdc.' ~ key, 'got': cdc[key], 'expected': 'stored_as_scd_type 1 with it',
            'todo': 'Remove it: ' ~ why}) -%}
    {%- endfor -%}
    {%- if type == '2' and (cdc.get('start_at') or '__start_at') | lower == (cdc.get('end_at') or '__end_at')
        | lower -%}
        {%- do problems.append({'setting': 'cdc.start_at', 'got': cdc.get('start_at'),
            'expected': 'another name than end_at', 'todo': 'Name two columns'}) -%}
    {%- endif -%}
    {%- if cdc.get('tombstone_ttl') is string and floodmark._parse_duration(cdc.tombstone_ttl) is none -%}
        {%- do problems.append({'setting': 'cdc.tombstone_ttl', 'got': cdc.tombstone_ttl,
            'expected': "a duration such as '30 days'",
            'todo': 'Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks'}) -%}
    {%- endif -%}
    {%- for name in ['merge_update_columns', 'merge_exclude_columns', 'incremental_predicates'] if config.get(name) -%}
        {%- do problems.append({'setting': name, 'got': config.get(name), 'expected': "no such setting with 'cdc'",
            'todo': 'Remove it: column_list and except_column_list choose the columns'}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}


{#
  ignore_null_updates: a NULL in an event leaves the column as it was. So that order does not matter, each column, and
  each leaf of a struct, remembers the sequence that set it last: in the table's own `_floodmark_columns`,
  struct<sequence, deleted_at, set>, where `set` maps a leaf's path to that sequence and `deleted_at` is the last delete
  before it. Of two values of one sequence the one with the greater hash stays, leaf by leaf.
#}

{# Whether a NULL means "as it was" in some column. #}
{% macro _ignores_nulls(cdc) %}
    {{ return(cdc.ignore_null_updates is not sameas false and cdc.ignore_null_updates != []) }}
{% endmacro %}
