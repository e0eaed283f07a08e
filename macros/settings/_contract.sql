{# The constraints of an enforced contract as {name: expression}: checks, and not_null, which Delta cannot add to an
   existing column otherwise. #}
{% macro _contract_constraints() %}
    {{ return(dict(floodmark._listed_constraints())) }}
{% endmacro %}


{# The constraints of an enforced contract as a list of [name, expression], in the order of the YAML. #}
{% macro _listed_constraints() %}
    {%- set found = [] -%}
    {%- if config.get('contract').enforced -%}
        {%- for constraint in model.constraints if constraint.type == 'check' -%}
            {%- do found.append([constraint.name or 'check_' ~ local_md5(constraint.expression)[:12],
                constraint.expression]) -%}
        {%- endfor -%}
        {%- for constraint in model.constraints if constraint.type == 'not_null' -%}
            {%- for name in constraint.columns or [] -%}
                {%- do found.append([name ~ '_not_null', floodmark._quoted(name) ~ ' is not null']) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- for name, column in model.columns.items() -%}
            {%- for constraint in column.constraints or [] -%}
                {%- if constraint.type == 'not_null' -%}
                    {%- do found.append([name ~ '_not_null', floodmark._quoted(name) ~ ' is not null']) -%}
                {%- elif constraint.type == 'check' -%}
                    {%- do found.append([constraint.name or name ~ '_check_' ~ loop.index, constraint.expression]) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}


{# Those of the names of constraints that stand for none, as _listed_constraints makes them. #}
{% macro _unnamed_constraints(names) %}
    {%- set found = [] -%}
    {%- for name in names if modules.re.fullmatch('check_[0-9a-f]{12}', name) -%}
        {%- do found.append(name) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Two constraints cannot have one name, in any case: a table would have but one of them. #}
{% macro _doubled_constraint_problems() %}
    {%- set problems, known = [], {} -%}
    {%- for name, expression in floodmark._listed_constraints() -%}
        {%- if known.get(name | lower, expression) != expression -%}
            {%- do problems.append({'setting': 'constraint ' ~ name, 'got': expression,
                'expected': 'a name of its own: another constraint has this one', 'todo': 'Rename one of the two'}) -%}
        {%- endif -%}
        {%- do known.update({name | lower: expression}) -%}
    {%- endfor -%}
    {{ return(problems) }}
{% endmacro %}
