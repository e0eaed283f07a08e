{#
  `cdc={...}`: names as in create_auto_cdc_flow (docs/guides/cdc.md). The rules of both SCD types stand in _scd1_sql.sql
  and _scd2_sql.sql.
#}

{% macro _cdc_schema() %}
    {%- set of_history = ['stored_as_scd_type', '2', 'SCD 1 keeps no history'] -%}
    {{ return({
        'sequence_by': {'type': 'names', 'required': true,
            'expected': 'a column or an expression, or a list of them', 'todo': 'Name what orders the events of a key',
            'meaning': 'a column, an expression or a list: what orders the events of a key'},
        'stored_as_scd_type': {'type': 'choice', 'choices': ['1', '2'], 'default': 1,
            'expected': '1 or 2', 'todo': '1 keeps the latest row of a key, 2 keeps its history',
            'meaning': '`1`: the latest row; `2`: history with `__start_at` and `__end_at`'},
        'ignore_null_updates': {'type': 'flag_or_names', 'default': false,
            'meaning': '`true` or a list: a NULL leaves the column as it was'},
        'apply_as_deletes': {'type': 'text', 'without': 'none', 'meaning': 'a condition: the event is a delete'},
        'apply_as_truncates': {'type': 'text', 'without': 'none',
            'needs': ['stored_as_scd_type', '1', 'history is not truncated'],
            'meaning': 'SCD 1, a condition: the event deletes all rows below it'},
        'tombstone_ttl': {'type': 'duration', 'without': 'for ever',
            'needs': ['stored_as_scd_type', '1', 'history keeps its deletes'],
            'meaning': "SCD 1: how long deletes are remembered, `'30 days'`"},
        'start_at': {'type': 'text', 'default': '__start_at', 'needs': of_history,
            'meaning': 'SCD 2: the column in which a row starts'},
        'end_at': {'type': 'text', 'default': '__end_at', 'needs': of_history,
            'meaning': 'SCD 2: the column in which it ends'},
        'column_list': {'type': 'names', 'without': 'all', 'excludes': 'except_column_list',
            'meaning': 'the columns that the table keeps'},
        'except_column_list': {'type': 'names', 'without': 'none', 'meaning': 'the columns that it does not keep'},
        'track_history_column_list': {'type': 'names', 'without': 'all but key and sequence',
            'excludes': 'track_history_except_column_list', 'needs': of_history,
            'meaning': 'SCD 2: the columns whose changes start a row'},
        'track_history_except_column_list': {'type': 'names', 'without': 'none', 'needs': of_history,
            'meaning': 'SCD 2: the columns whose changes start none'},
    }) }}
{% endmacro %}


{# Whether the stream that the model reads is a change feed. Delta takes an older name of its option, too. #}
{% macro _streams_feed() %}
    {%- set text = floodmark._model_text() | lower -%}
    {{ return('readchange' in text and modules.re.search(
        '\\breadchange(feed|data)\\b(?![\'"]?\\s*=?\\s*[\'"]?false\\b)',
        floodmark._without_comments(text)) is not none) }}
{% endmacro %}


{# The settings as one mapping, with defaults; none where the model has none. #}
{% macro _cdc_settings() %}
    {%- set given = floodmark._setting('cdc') -%}
    {%- if given is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set cdc = floodmark._with_defaults(given, floodmark._cdc_schema()) -%}
    {%- set sequence = [] -%}
    {%- for part in floodmark._as_list(cdc.sequence_by) -%}
        {%- do sequence.append(floodmark._clause(part)[1:-1]) -%}
    {%- endfor -%}
    {%- set ignored = cdc.ignore_null_updates -%}
    {%- set kind = (floodmark._setting('watermark') or {}).get('kind') -%}
    {{ return({
        'sequence': floodmark._sequence_sql(sequence),
        'sequence_by': sequence,
        'deletes': floodmark._clause(cdc.apply_as_deletes)[1:-1] if cdc.apply_as_deletes else none,
        'truncates': floodmark._clause(cdc.apply_as_truncates)[1:-1] if cdc.apply_as_truncates else none,
        'reads_feed': kind == 'version' or floodmark._is_stream() and floodmark._streams_feed(),
        'ignore_null_updates': ignored if ignored is boolean else floodmark._as_list(ignored),
        'column_list': floodmark._as_list(cdc.column_list),
        'except_column_list': floodmark._as_list(cdc.except_column_list),
        'scd_type': cdc.stored_as_scd_type | int,
        'tracked': floodmark._as_list(cdc.track_history_column_list),
        'untracked': floodmark._as_list(cdc.track_history_except_column_list),
        'tombstone_ttl': cdc.tombstone_ttl,
        'start_at': cdc.start_at,
        'end_at': cdc.end_at,
    }) }}
{% endmacro %}


{# One expression of what orders the events. Of several parts it is a struct, NULL if a part is NULL. If two parts have
   the same name, each gets a number behind it. A name that Delta does not take is `part_<number>`, unless `as_named`;
   so is an expression that Spark would name, by its place, like another part. Other names stay unchanged, so the type
   of existing tables does not change. #}
{% macro _sequence_sql(sequence, as_named=false) %}
    {%- if sequence | length == 1 -%}
        {{ return(sequence[0]) }}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for part in sequence -%}
        {%- do names.append((part | replace('`', '')).split('.')[-1] | trim | lower) -%}
    {%- endfor -%}
    {%- set parts = [] -%}
    {%- for part in sequence -%}
        {%- set name = names[loop.index0] -%}
        {%- set is_doubled = names.count(name) > 1 and modules.re.fullmatch('\\w+', name) -%}
        {%- set path = '(`[^`]+`|\\w+)(\\s*\\.\\s*(`[^`]+`|\\w+))*' -%}
        {%- set is_unfit = modules.re.search('[ ,;{}()\\n\\t=]', name)
            if modules.re.fullmatch(path, part | trim) else 'col' ~ loop.index in names -%}
        {%- set alias = name ~ '_' ~ loop.index if is_doubled
            else ('part_' ~ loop.index if is_unfit and not as_named else none) -%}
        {%- do parts.append(part ~ (' as `' ~ alias ~ '`' if alias else '')) -%}
    {%- endfor -%}
    {{ return('if((' ~ sequence | join(') is null or (') ~ ') is null, null, struct(' ~ parts | join(', ') ~ '))') }}
{% endmacro %}


{# Problems of `cdc={...}` that show without Spark: a list for _refuse. #}
{% macro _cdc_problems() %}
    {%- set cdc = floodmark._setting('cdc') -%}
    {%- set strategy = config.get('incremental_strategy') or 'append' -%}
    {%- set example = "a mapping such as {'sequence_by': 'sequence_num'}" -%}
    {%- if cdc is none -%}
        {{ return([] if strategy != 'cdc' else [{'setting': 'cdc', 'got': none, 'expected': example,
            'todo': 'Say at least which column orders the events of a key'}]) }}
    {%- elif cdc is not mapping -%}
        {{ return([{'setting': 'cdc', 'got': cdc, 'expected': example, 'todo': 'Write it as a mapping'}]) }}
    {%- endif -%}
    {%- set problems = floodmark._schema_problems('cdc', cdc, floodmark._cdc_schema()) -%}
    {%- if strategy != 'cdc' -%}
        {%- do problems.append({'setting': 'incremental_strategy', 'got': strategy, 'expected': "'cdc' with cdc={...}",
            'todo': "Set incremental_strategy='cdc'"}) -%}
    {%- endif -%}
    {%- if not config.get('unique_key') -%}
        {%- do problems.append({'setting': 'unique_key', 'got': none, 'expected': 'a column or a list of columns',
            'todo': 'cdc needs the key that the events belong to'}) -%}
    {%- endif -%}
    {%- if cdc.get('stored_as_scd_type', 1) | string == '2'
        and (cdc.get('start_at') or '__start_at') | lower == (cdc.get('end_at') or '__end_at') | lower -%}
        {%- do problems.append({'setting': 'cdc.start_at', 'got': cdc.get('start_at'),
            'expected': 'a name other than end_at', 'todo': 'Name two columns'}) -%}
    {%- endif -%}
    {%- do problems.extend(floodmark._not_merge_problems('column_list and except_column_list choose the columns')) -%}
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
