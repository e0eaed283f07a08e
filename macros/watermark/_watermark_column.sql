{#
  A SELECT may give the watermark column another value under its name: `date_trunc('hour', ts) as ts`. Where the mark is
  read from the rows that were loaded, or rows of the table are deleted by that column, it must be the upstream's own.
#}

{# Refuse a SELECT whose watermark column has values that its upstream does not have. Asked only if the text names an
   expression like the column. #}
{% macro _check_watermark_column(run, select_sql) %}
    {%- set name = run.settings.watermark.column -%}
    {%- if floodmark._names_expression(run.sql, name) -%}
        {%- set column = floodmark._quoted(name) -%}
        {%- set given = 'select distinct ' ~ column ~ ' as value from (\n' ~ select_sql ~ '\n) where ' ~ column
            ~ ' is not null' -%}
        {%- set changed = run_query('select 1 as one from (' ~ given ~ ') as given left anti join (select ' ~ column
            ~ ' as value from ' ~ run.upstream.relation ~ ') as had on given.value = had.value limit 1').rows
            | length > 0 -%}
        {%- if changed -%}
            {%- do floodmark._refuse([{'setting': 'watermark.column', 'got': name ~ ', which the SELECT changes',
                'expected': 'the values that ' ~ run.upstream.relation ~ ' has',
                'todo': 'Give the changed column another name: by this one floodmark finds the mark, or the rows that '
                'a batch replaces'}], rejects='the SELECT changes the watermark column') -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Whether a SELECT gives this name to an expression: it stands behind AS, or behind a parenthesis. #}
{% macro _names_expression(sql, name) %}
    {%- set words = [] -%}
    {%- for part in floodmark._sql_parts(sql) if part.kind not in ['comment', 'open'] -%}
        {%- do words.append(part.text | replace('`', '') if part.kind != 'string' or part.text[0] == '`' else "''") -%}
    {%- endfor -%}
    {{ return(modules.re.search('(?i)(\\bas|\\))\\s+' ~ modules.re.escape(name) ~ '(?![\\w.(])', words | join)
        is not none) }}
{% endmacro %}
