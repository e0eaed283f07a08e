{# The user metadata of a table's newest commits. #}
{% macro _recent_tags(table) %}
    {{ return(floodmark._history(table, 10) | map(attribute='tag') | list) }}
{% endmacro %}


{# What a commit's user metadata says of the rows that its batch staged, for a run that finds the commit and no stage.
   #}
{% macro _counted_tag(counted) %}
    {%- if not counted -%}
        {{ return('') }}
    {%- endif -%}
    {{ return('/read/' ~ counted.rows_read ~ '/' ~ (counted.rows_tied or 0)
        ~ ('/' ~ counted.rows_dropped ~ '/' ~ counted.rows_quarantined if 'rows_dropped' in counted else '')) }}
{% endmacro %}


{# The counts in it, {rows_read, rows_tied, rows_dropped, rows_quarantined}; none where it has none. #}
{% macro _counted_from_tag(text) %}
    {%- set found = modules.re.search('/read/(\\d+)/(\\d+)(?:/(\\d+)/(\\d+))?(?:/peak/|$)', text) -%}
    {{ return({'rows_read': found.group(1) | int, 'rows_tied': found.group(2) | int,
        'rows_dropped': (found.group(3) or 0) | int, 'rows_quarantined': (found.group(4) or 0) | int} if found
        else none) }}
{% endmacro %}


{# What a commit's user metadata says of the peak behind that of the batch. #}
{% macro _peak_tag(peak) %}
    {{ return('/peak/' ~ peak.column ~ '/' ~ (peak.base if peak.base is not none else '') ~ '/' ~ peak.position if peak
        else '') }}
{% endmacro %}


{# The peak in it, {column, base, position}; `base` is none where the commit replaced the table. #}
{% macro _peak_from_tag(text) %}
    {%- set found = modules.re.search('/peak/([0-9a-f]{8})/(\\d*)/(-?\\d+)$', text) -%}
    {{ return({'column': found.group(1), 'base': found.group(2) | int if found.group(2) else none,
        'position': found.group(3) | int} if found else none) }}
{% endmacro %}
