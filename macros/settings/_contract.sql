{# The same as they were written: checks, and not_null, which Delta cannot add to an existing column otherwise. #}
{% macro _contract_constraints() %}
    {%- set found = {} -%}
    {%- if config.get('contract').enforced -%}
        {%- for constraint in model.constraints if constraint.type == 'check' -%}
            {%- do found.update({constraint.name or 'check_'
                ~ local_md5(constraint.expression)[:12]: constraint.expression}) -%}
        {%- endfor -%}
        {%- for name, column in model.columns.items() -%}
            {%- for constraint in column.constraints or [] -%}
                {%- if constraint.type == 'not_null' -%}
                    {%- do found.update({name ~ '_not_null': floodmark._quoted(name) ~ ' is not null'}) -%}
                {%- elif constraint.type == 'check' -%}
                    {%- do found.update({constraint.name or name ~ '_check_' ~ loop.index: constraint.expression}) -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}
