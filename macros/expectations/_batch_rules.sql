{# Rules of a batch as a whole. #}

{# Results of the rules that are of the batch: a list like that of _count_judged, with `found`, what was found in
   words. #}
{% macro _batch_results(batch, rows) %}
    {%- set results = [] -%}
    {%- for rule in batch.rules if rule.kind == 'batch' -%}
        {%- set problem = floodmark._rows_found(batch, rule, rows) if rule.rows
            else (floodmark._doubles_found(batch, rule) if rule.unique else floodmark._stale_found(batch, rule)) -%}
        {%- do results.append({'name': rule.name, 'action': rule.on_violation, 'rows_judged': rows,
            'violations': problem.violations, 'found': problem.found, 'sample': []}) -%}
    {%- endfor -%}
    {{ return(results) }}
{% endmacro %}


{# The number of rows against `rows`. What reads all, or a range again, is no batch like the last ones. Of one that a
   full refresh or a reset left as it was found, nobody has counted the rows. Whether these are few is not asked of a
   batch for which nothing came, and it does not count among the last ones. #}
{% macro _rows_found(batch, rule, rows) %}
    {%- set asked, found = rule.rows, [] -%}
    {%- set is_idle = floodmark._is_idle(batch, rows) -%}
    {%- if asked.min is not none and rows < asked.min and not is_idle -%}
        {%- do found.append('fewer than min (' ~ asked.min ~ ')') -%}
    {%- endif -%}
    {%- if asked.max is not none and rows > asked.max -%}
        {%- do found.append('more than max (' ~ asked.max ~ ')') -%}
    {%- endif -%}
    {%- if asked.change_from_median is not none and batch.kind in ['incremental', 'stream'] and not is_idle
        and not floodmark._begins_anew(batch) -%}
        {%- set last = floodmark._query_json("select to_json(named_struct('batches', count(*), 'rows', "
            'cast(median(rows_read) as double))) from (select rows_read from ' ~ floodmark.ledger_schema()
            ~ ".batches where state = 'committed' and kind in ('incremental', 'first_load', 'stream') and model = "
            ~ floodmark._string_literal(floodmark._model_id()) ~ ' and batch_id < ' ~ batch.batch_id
            ~ (' and rows_read > 0' if batch.get('family') == 'version' else " and (kind <> 'stream' or rows_read > 0)")
            ~ ' and coalesce(low <> high, true) and rows_read is not null order by batch_id desc limit '
            ~ asked.of_last ~ ')')[0] -%}
        {%- if last.batches >= [3, asked.of_last] | min and rows != last.rows
            and (not last.rows or (rows - last.rows) | abs / last.rows > asked.change_from_median) -%}
            {%- do found.append('the last ' ~ last.batches ~ ' batches have ' ~ '{:,.0f}'.format(last.rows)
                ~ ' in the median, and change_from_median allows ' ~ asked.change_from_median) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return({'violations': 1 if found else 0,
        'found': floodmark._counted(rows, 'row') ~ ', ' ~ found | join(', and ')}) }}
{% endmacro %}


{# Whether nothing came for a batch: it found nothing above its mark, and reads its lookback alone; its versions have no
   data, such as those of OPTIMIZE; or its micro-batch moves only the event-time watermark, or leaves groups open. #}
{% macro _is_idle(batch, rows) %}
    {%- set low = batch.get('low_position') -%}
    {%- if batch.kind == 'stream' -%}
        {{ return(not rows and (batch.settings or {}).get('output_mode') != 'complete') }}
    {%- endif -%}
    {{ return(low is not none and (low == batch.high_position or batch.family == 'version' and not rows)) }}
{% endmacro %}


{# Rows whose values of `unique` came before. #}
{% macro _doubles_found(batch, rule) %}
    {%- set columns = floodmark._quoted_csv(rule.unique) -%}
    {%- set found = floodmark._query_json("select to_json(named_struct('rows', coalesce(sum(n - 1), 0), 'such', "
        "slice(array_sort(collect_list(shown)), 1, 5))) from (select count(*) as n, left(to_json(struct(" ~ columns
        ~ "), map('ignoreNullFields', 'false')), 300) as shown from " ~ floodmark._judged_relation(batch)
        ~ ' group by ' ~ columns ~ ' having count(*) > 1)')[0] -%}
    {{ return({'violations': found.rows, 'found': floodmark._counted(found.rows, 'row')
        ~ ' too many have the values of another in ' ~ rule.unique | join(', ') ~ ': ' ~ found.such | join(', ')}) }}
{% endmacro %}


{# The greatest value of `column` against `fresh_within`. A batch without rows is not asked, nor one that does not reach
   the present, or reads all or a range again. #}
{% macro _stale_found(batch, rule) %}
    {%- if floodmark._begins_anew(batch) or batch.kind != 'stream'
        and not (batch.kind == 'incremental' and batch.is_last) -%}
        {{ return({'violations': 0, 'found': ''}) }}
    {%- endif -%}
    {%- set newest = 'max(' ~ floodmark._quoted(rule.column) ~ ')' -%}
    {%- set column = floodmark._find_column((batch.get('judged') or {}).get('columns') or [], rule.column) -%}
    {#- a time without a zone is one of UTC, whatever the session's zone -#}
    {%- set moment = 'cast(' ~ ('concat(cast(' ~ newest ~ " as string), '+00:00')"
        if column and column.type == 'timestamp_ntz' else newest) ~ ' as timestamp)' -%}
    {%- set found = floodmark._query_json("select to_json(named_struct('newest', cast(" ~ newest
        ~ " as string), 'is_stale', coalesce(" ~ moment ~ ' < timestampadd(microsecond, -'
        ~ floodmark._parse_duration(rule.fresh_within) ~ ", current_timestamp()), count(*) > 0)), "
        "map('ignoreNullFields', 'false')) from " ~ floodmark._judged_relation(batch))[0] -%}
    {{ return({'violations': 1 if found.is_stale else 0, 'found': 'the greatest ' ~ rule.column ~ ' is '
        ~ (found.newest or 'NULL') ~ ', older than ' ~ rule.fresh_within}) }}
{% endmacro %}
