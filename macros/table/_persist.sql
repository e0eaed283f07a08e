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
