{#
  The ledger's format. A ledger that an older floodmark made is brought to it by the first `dbt build` or `dbt run` of a
  newer one, before any thread loads. Each view carries the format as a table property, since SHOW TABLE EXTENDED tells
  those of views, and not those of a Delta table; the views are made last, so what died on the way is done again.

  1  the first
  2  batch_log.asked: what a backfill or a restatement was asked for, as JSON
  3  batch_log.file_schema, and counts of each file
  4  the view `files` shows a file once that two runs archived
  5  batch_log.expectations: rules and their results
  6  the view `expectation_results` shows a batch once that two runs finished
#}
{% macro _ledger_format() %}
    {{ return(6) }}
{% endmacro %}


{# The format of each table and view of the ledger that is there: {name: number}; 1 where none is noted. #}
{% macro _ledger_formats(schema) %}
    {%- set formats = {} -%}
    {%- set names = ['batch_log'] + floodmark._ledger_views(schema).keys() | list -%}
    {%- for row in run_query('show table extended in ' ~ schema ~ " like '" ~ names | join('|') ~ "'").rows -%}
        {%- set noted = modules.re.search('floodmark\\.ledger=(\\d+)', row[3]) -%}
        {%- do formats.update({row[1]: noted.group(1) | int if noted else 1}) -%}
    {%- endfor -%}
    {{ return(formats) }}
{% endmacro %}


{# Bring batch_log to the newest format: add the columns that it lacks, and fill them. Until format 2 a backfill was
   known by the sentence in `reason`. #}
{% macro _migrate_ledger(schema) %}
    {%- set log = schema ~ '.batch_log' -%}
    {%- set columns = floodmark._columns_of(relation=log) -%}
    {%- set added = [] -%}
    {%- for name, comment in {'asked': floodmark._asked_comment(),
        'file_schema': floodmark._file_schema_comment(),
        'expectations': floodmark._expectations_comment()}.items() if not floodmark._find_column(columns, name) -%}
        {%- do added.append(name ~ " string comment '" ~ comment ~ "'") -%}
    {%- endfor -%}
    {%- if 'rows_rescued' not in floodmark._find_column(columns, 'files').type -%}
        {%- do added.extend(['files.element.rows_rescued bigint', 'files.element.rows_quarantined bigint',
            'files.element.reason string']) -%}
    {%- endif -%}
    {%- if added -%}
        {%- do floodmark._execute(['/*floodmark:ledger*/ alter table ' ~ log ~ ' add columns (' ~ added | join(', ')
            ~ ')']) -%}
    {%- endif -%}
    {%- do floodmark._execute(['/*floodmark:ledger*/ ' ~ floodmark._fill_asked_sql(log)]) -%}
{% endmacro %}


{% macro _asked_comment() %}
    {{ return('what a backfill or a restatement was asked for: {"backfill": {"from", "to", "step"}} or '
        '{"restate": {"from"}}') }}
{% endmacro %}


{# An UPDATE that reads what was asked out of the sentences of format 1: 'backfill from <from> to <to> by <step>',
   'restate from <from>'. #}
{% macro _fill_asked_sql(log) %}
    {%- set sentence = "'^backfill from (.*?) to (.*?)(?: by (.*))?$'" -%}
    update {{ log }}
    set asked = case
        when reason like 'restate from %' then
            to_json(named_struct('restate', named_struct('from', substring(reason, length('restate from ') + 1))))
        else
            to_json(named_struct('backfill', named_struct(
                'from', regexp_extract(reason, {{ sentence }}, 1),
                'to', regexp_extract(reason, {{ sentence }}, 2),
                'step', nullif(regexp_extract(reason, {{ sentence }}, 3), '')
            )))
        end
    where kind = 'backfill' and asked is null and (reason like 'restate from %' or reason like 'backfill from % to %')
{% endmacro %}
