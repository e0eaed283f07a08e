{#
  How the partition column of an insert_overwrite table is derived from the watermark, and under which time zone. If
  either changes, a row that is read again belongs to another partition: the table would have it twice, and other rows
  of the replaced partitions would be lost. So the first load stores both in the properties `floodmark.zone` and
  `floodmark.partitions`. If a table lacks them, floodmark works them out from its rows.
#}

{# Whether partitions of a type depend on the session's zone, given what they follow from, and in which ways: times
   without a zone and days stand for themselves, until they become a moment. By hours they do: `date_format` and
   `date_trunc` take a time for a moment of the session, and show one that its clock leaves out an hour later. Where
   all rows are of midnight they lie in the same partitions by hours and by days, and days are meant. #}
{% macro _depends_on_zone(family, type, ways) %}
    {%- set units = floodmark._partition_expressions('null', type) | selectattr('way', 'in', ways)
        | map(attribute='unit') | unique | list -%}
    {{ return(family == 'timestamp' or type == 'timestamp' or family == 'timestamp_ntz' and units == ['hour']) }}
{% endmacro %}


{# The session's zone, wherever it was set: in the profile, by Spark's configuration, by a pre-hook. #}
{% macro _session_zone() %}
    {{ return(run_query('select current_timezone() as zone').rows[0][0]) }}
{% endmacro %}


{# A zone by its name; the names of UTC are one. #}
{% macro _zone_name(zone) %}
    {%- set is_utc = modules.re.fullmatch(
        '(?i)(Etc/)?(UTC|GMT|UCT|UT|Z|Zulu|Universal|Greenwich)?([-+]?0{1,2}(:?0{1,2}){0,2})?', zone) -%}
    {{ return('UTC' if is_utc and zone else zone) }}
{% endmacro %}


{# Stop a run whose session has another zone than the table was loaded under, before anything is written. `run.zone` is
   {session, kept, partitions}; where this run makes the table, none until it has (_made_partitions). #}
{% macro _check_zone(run) %}
    {%- if run.settings.strategy != 'insert_overwrite' or run.full_refresh or not run.target.is_delta -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set properties = floodmark._properties_of(this) if not run.target.is_empty else {} -%}
    {%- set kept = properties.get('floodmark.zone') -%}
    {%- set session = floodmark._session_zone() -%}
    {%- if kept and floodmark._zone_name(kept) != floodmark._zone_name(session) -%}
        {%- do floodmark._stop('the partitions of ' ~ this ~ ' follow the time zone ' ~ kept
            ~ ', but the time zone of this session is ' ~ session
            ~ ': rows would move to other partitions, and rows that are there would be lost. Nothing was written. '
            ~ floodmark._zone_ways_out(kept)) -%}
    {%- endif -%}
    {%- do run.update({'zone': {'session': session, 'kept': kept,
        'partitions': fromjson(floodmark._from_property(properties.get('floodmark.partitions')) or 'null')}}) -%}
{% endmacro %}


{# What helps where zones disagree. #}
{% macro _zone_ways_out(zone) %}
    {{ return('Set spark.sql.session.timeZone to ' ~ zone
        ~ " in the profile's server_side_parameters, or run once with --full-refresh to rebuild all "
        "partitions in this session's zone") }}
{% endmacro %}


{# Before rows are replaced: refuse a batch whose partitions follow from the watermark in another way than the table's,
   in which rows would be there twice, or lost. A table that does not say yet how they follow, or under
   which zone, does so from now on. #}
{% macro _keep_partitions(run, batch, source) %}
    {%- set partition = floodmark._find_column(source.columns, run.settings.partition_by[0])
        if run.settings.strategy == 'insert_overwrite' else none -%}
    {%- if not partition or not run.get('zone') or not source.counts.rows_read -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set kept = run.zone.partitions -%}
    {#- a backfill does not look how they follow -#}
    {%- set staged = source.counts.get('ways') -%}
    {%- set takes_zone = not run.zone.kept and floodmark._depends_on_zone(batch.family, partition.type,
        kept.ways | select('in', staged) | list if kept and staged else (kept.ways if kept else staged or [])) -%}
    {%- set ways = staged if staged and kept and not takes_zone
        else floodmark._ways_with_held_rows(run, batch, source, partition) -%}
    {%- if takes_zone and not ways -%}
        {%- do floodmark._stop(this
            ~ ' does not say in which time zone it was loaded, and some of its rows do not lie in the '
            'partitions that follow from ' ~ run.settings.watermark.column ~ " in this session's, "
            ~ run.zone.session ~ '. Nothing was written. '
            ~ floodmark._zone_ways_out('the zone in which the table was loaded'),
            rejects='the partitions of the table do not follow from the time zone of the session') -%}
    {%- endif -%}
    {%- set is_kept = kept and kept.column == partition.name | lower -%}
    {%- set shared = ways | select('in', kept.ways) | list if is_kept else ([] if kept else ways) -%}
    {#- a batch that came to nothing may have left the property narrower than the rows are -#}
    {%- set shared = shared or (floodmark._ways_with_held_rows(run, batch, source, partition, of_all=true) if is_kept
        else []) -%}
    {%- do floodmark._refuse_partitions(run, batch, partition, kept, staged) if not shared -%}
    {%- set known = {'column': partition.name | lower, 'ways': shared} -%}
    {%- set properties = dict({'floodmark.zone': run.zone.session} if takes_zone else {},
        **(floodmark._partitions_property(known) if known != kept else {})) -%}
    {%- if properties -%}
        {%- do floodmark._set_properties(properties) -%}
        {%- do run.zone.update({'kept': properties.get('floodmark.zone', run.zone.kept), 'partitions': known}) -%}
    {%- endif -%}
{% endmacro %}


{# Refuse rows whose partitions do not follow from the watermark as those of the table. A replay has them as they were
   held back, or as `set` gives them; other rows have them as the SELECT says. #}
{% macro _refuse_partitions(run, batch, partition, kept, staged) %}
    {%- set by = ' by ' ~ kept.ways | last if kept else '' -%}
    {%- set problem = {'setting': 'floodmark_replay.set', 'got': batch.asked.replay.set or {},
        'expected': partition.name ~ ' to follow from ' ~ run.settings.watermark.column ~ by ~ ' in each row, as in '
        ~ this, 'todo': 'Set ' ~ partition.name ~ ' as well when you replay: an expression sees the row as it is in '
        'the quarantine, not what another one gives'}
        if floodmark._replays_rows(batch) and (not kept or kept.column == partition.name | lower) else {
        'setting': 'partition_by', 'got': partition.name ~ (' by ' ~ staged | last if staged else ''),
        'expected': (kept.column ~ by if kept else 'partitions') ~ ' as the rows of ' ~ this ~ ' have them',
        'todo': 'Change partition_by and its column in the SELECT back, or run once with --full-refresh: otherwise '
        'rows would be there twice, or lost'} -%}
    {%- do floodmark._refuse([problem],
        rejects='the partitions do not follow from the watermark column as those of the table') -%}
{% endmacro %}


{# How the partitions of a batch's rows follow from the watermark together with rows of the table: those that the batch
   replaces, those of the last partition, and those in none; or, with `of_all`, all of them. #}
{% macro _ways_with_held_rows(run, batch, source, partition, of_all=false) %}
    {%- set known = floodmark._table_columns(run) -%}
    {%- if not floodmark._find_column(known, partition.name) -%}
        {{ return(source.counts.get('ways', []) if run.target.is_empty else []) }}
    {%- elif not floodmark._find_column(known, run.settings.watermark.column) -%}
        {{ return([] if of_all else source.counts.get('ways', [])) }}
    {%- endif -%}
    {%- set replaced = floodmark._partitions_predicate(run, source.columns, source.counts)
        if floodmark._replaces_partitions(run, batch)
        else floodmark._bounds_predicate(floodmark._quoted(run.settings.watermark.column), batch) -%}
    {%- set pair = 'select ' ~ floodmark._pair_sql(run, floodmark._quoted(run.settings.watermark.column),
        floodmark._quoted(partition.name)) ~ ' from ' -%}
    {%- set held = pair ~ this ~ ('' if of_all else ' where ' ~ replaced ~ ' or '
        ~ floodmark._last_partition_predicate(partition) ~ ' or ' ~ floodmark._quoted(partition.name) ~ ' is null') -%}
    {{ return(floodmark._derivation(run, source.columns, batch.family,
        '(' ~ pair ~ source.stage ~ ' union all ' ~ held ~ ')').ways) }}
{% endmacro %}


{# How the partitions of a table follow from the watermark, {column, ways}, as a property of the table. #}
{% macro _partitions_property(known) %}
    {{ return({'floodmark.partitions': floodmark._to_property(tojson(known))}) }}
{% endmacro %}


{# The greatest partition that the table has, as a condition. #}
{% macro _last_partition_predicate(partition) %}
    {%- set quoted = floodmark._quoted(partition.name) -%}
    {%- set greatest = floodmark._range_text_sql(quoted, partition.type) | replace('@(', 'max(', 1) -%}
    {%- set last = floodmark._query_json("select to_json(named_struct('last', " ~ greatest ~ ")) from "
        ~ this)[0].get('last') -%}
    {{ return(quoted ~ ' = ' ~ floodmark._range_literal(last, partition.type) if last is not none else '1 = 0') }}
{% endmacro %}


{# What a run knows of a table of insert_overwrite that its batch makes, as _check_zone does of one that is there; none
   elsewhere. The steps behind it are held to it. #}
{% macro _made_partitions(run, batch, source) %}
    {%- if run.settings.strategy != 'insert_overwrite' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set partition = floodmark._find_column(source.columns, run.settings.partition_by[0]) -%}
    {%- set session = source.counts.get('zone') or floodmark._session_zone() -%}
    {%- set ways = source.counts.get('ways', []) -%}
    {{ return({'session': session,
        'kept': session if floodmark._depends_on_zone(batch.family, partition.type, ways) else none,
        'partitions': {'column': partition.name | lower, 'ways': ways} if ways else none}) }}
{% endmacro %}


{# The same as properties of the table. #}
{% macro _partition_properties(zone) %}
    {{ return(dict({'floodmark.zone': zone.kept} if zone and zone.kept else {},
        **(floodmark._partitions_property(zone.partitions) if zone and zone.partitions else {}))) }}
{% endmacro %}


{# Delta takes a partition's value from the name of its folder, where a moment stands as the clock showed it: of an
   hour that comes twice it keeps the first. So what partitions by moments is written under UTC. Nothing in the
   statement may depend on the zone: its rows are staged, moments that were judged are not converted on the way, and
   the table has no conditions. `batch.writes_utc` is the zone to go back to. #}
{% macro _write_moments_as_utc(run, batch, source) %}
    {%- set is_user_sql = run.settings.strategy == 'merge' and (config.get('incremental_predicates')
        or config.get('predicates')) -%}
    {%- do batch.update({'writes_utc': none}) -%}
    {%- set converted = [] -%}
    {%- for column in source.columns if batch.get('judged') and column.given is defined
        and 'timestamp' in floodmark._without_names(column.given ~ ' ' ~ column.ddl) | lower -%}
        {%- do converted.append(column.name) -%}
    {%- endfor -%}
    {%- if run.settings.strategy in ['merge', 'insert_overwrite'] and source.stage and not is_user_sql
        and not converted -%}
        {%- for name in floodmark._partition_names(run)
            if (floodmark._find_column(source.columns, name) or {}).get('type') == 'timestamp'
            and not batch.writes_utc -%}
            {%- set zone = source.counts.get('zone') or floodmark._session_zone() -%}
            {%- do batch.update({'writes_utc': zone if floodmark._zone_name(zone) != 'UTC'
                and not floodmark._has_conditions(batch) else none}) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# Whether the table of a batch has, or will have, CHECK constraints: Delta asks them in the session's zone. #}
{% macro _has_conditions(batch) %}
    {%- set names = [] if batch.replaces else floodmark._properties_of(this) | map('lower') | list -%}
    {{ return(floodmark._has_constraints() or 'delta.constraints.' in names | join(' ')) }}
{% endmacro %}
