{# Descriptions as comments, written only where they differ: a run with nothing new makes no commit. #}
{% macro _persist_docs(relation) %}
    {%- if config.persist_relation_docs() and model.description -%}
        {%- set current = run_query('describe table extended ' ~ relation).rows -%}
        {%- set comment = namespace(text='') -%}
        {%- for row in current if row[0] == 'Comment' -%}
            {%- set comment.text = row[1] -%}
        {%- endfor -%}
        {%- if comment.text != model.description -%}
            {%- do floodmark._execute(['comment on table ' ~ relation ~ ' is '
                ~ floodmark._string_literal(model.description)]) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if config.persist_column_docs() and model.columns -%}
        {%- set changes = [] -%}
        {%- set columns = floodmark._columns_of(relation=relation) -%}
        {%- for name, documented in model.columns.items() -%}
            {%- set column = floodmark._find_column(columns, name) -%}
            {%- if column and documented.description and documented.description != (column.comment or '') -%}
                {%- do changes.append(floodmark._quoted(column.name) ~ ' comment '
                    ~ floodmark._string_literal(documented.description)) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if changes -%}
            {%- do floodmark._execute(['alter table ' ~ relation ~ ' alter column ' ~ changes | join(', ')]) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The enforced contract: names and types of the SELECT against the YAML, as dbt does it. #}
{% macro _assert_contract(select_sql) %}
    {%- if config.get('contract').enforced -%}
        {%- do get_assert_columns_equivalent(select_sql) -%}
    {%- endif -%}
{% endmacro %}


{# Constraints of an enforced contract as {name: expression}, the expression ready to stand within a statement. #}
{% macro _constraints() %}
    {%- set found = {} -%}
    {%- for name, expression in floodmark._contract_constraints().items() -%}
        {%- do found.update({name: ("_change_type = 'delete' or " if floodmark._lists_changes() else '')
            ~ floodmark._clause(expression)}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Those of them that an event can be asked for: an upsert that sets all its columns, not what the table adds. Where
   NULLs are ignored the rows are asked instead (_check_formed_rows). #}
{% macro _event_constraints(cdc) %}
    {%- set found = {} -%}
    {%- for name, expression in floodmark._constraints().items()
        if not floodmark._ignores_nulls(cdc) and not modules.re.search('(?i)_floodmark_|(?<!\\w)(?:'
        ~ modules.re.escape(cdc.start_at) ~ '|' ~ modules.re.escape(cdc.end_at) ~ ')(?!\\w)', expression) -%}
        {%- do found.update({name: '_floodmark_delete or _floodmark_truncate or (' ~ expression ~ ')'}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{% macro _has_constraints() %}
    {{ return(floodmark._constraints() | length > 0) }}
{% endmacro %}


{# Rows that break a constraint stop the batch before the target is touched. #}
{% macro _check_constraints(batch, source) %}
    {%- set broken = [] -%}
    {%- set constraints = floodmark._event_constraints(batch.settings.cdc) if batch.settings.cdc
        else floodmark._constraints() -%}
    {%- if constraints -%}
        {%- set counts = [] -%}
        {%- for name, expression in constraints.items() -%}
            {%- do counts.append(floodmark._string_literal(name) ~ ', count_if(not (' ~ expression ~ '))') -%}
        {%- endfor -%}
        {%- for name, count in floodmark._query_json('select to_json(named_struct(' ~ counts | join(', ') ~ ')) from '
            ~ source.stage)[0].items() if count -%}
            {%- do broken.append(name ~ ' (' ~ floodmark._counted(count, 'row') ~ ')') -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if broken -%}
        {%- do floodmark._stop('the batch breaks the contract\'s constraints: ' ~ broken | join(', ')
            ~ '. Nothing was written: correct the SELECT or the constraint',
            rejects='constraints broken: ' ~ broken | join(', ')) -%}
    {%- endif -%}
{% endmacro %}


{# Put the contract's constraints on the table where they are missing. #}
{% macro _persist_constraints(relation) %}
    {%- set constraints = floodmark._constraints() -%}
    {%- if constraints -%}
        {%- set present = floodmark._detail(relation).properties | lower -%}
        {%- for name, expression in constraints.items() if 'delta.constraints.' ~ name | lower not in present -%}
            {#- Delta keeps the text: in one pair of parentheses it is as it was written -#}
            {%- set condition = '(' ~ expression ~ ')' if floodmark._lists_changes() else expression -%}
            {%- do floodmark._execute(['alter table ' ~ floodmark._delta_name(relation) ~ ' add constraint '
                ~ floodmark._quoted(name) ~ ' check ' ~ condition]) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
