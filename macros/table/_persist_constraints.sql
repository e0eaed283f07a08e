{# The constraints of an enforced contract, as the table has them. #}

{# Constraints of an enforced contract as {name: expression}, the expression ready to stand within a statement. #}
{% macro _constraints() %}
    {%- set found = {} -%}
    {%- for name, expression in floodmark._contract_constraints().items() -%}
        {%- do found.update({name: ("_change_type = 'delete' or " if floodmark._lists_changes() else '')
            ~ floodmark._clause(expression)}) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{% macro _has_constraints() %}
    {{ return(floodmark._constraints() | length > 0) }}
{% endmacro %}


{# The constraints as a table is given them: {name in lower case: condition}. Delta keeps the text: in one pair of
   parentheses it is as it was written. #}
{% macro _constraint_texts() %}
    {%- set texts = {} -%}
    {%- for name, expression in floodmark._constraints().items() -%}
        {%- do texts.update({name | lower: '(' ~ expression ~ ')' if floodmark._lists_changes() else expression}) -%}
    {%- endfor -%}
    {{ return(texts) }}
{% endmacro %}


{# What a table still has to be given, {name: condition}: the contract's constraints that it lacks, or has from us with
   another condition. `properties` are the table's. #}
{% macro _added_constraints(properties) %}
    {%- set present, own = properties | map('lower') | list, floodmark._own_constraints(properties) -%}
    {%- set added = {} -%}
    {%- for name, text in floodmark._constraint_texts().items()
        if 'delta.constraints.' ~ name not in present or own.get(name, text) != text -%}
        {%- do added.update({name: text}) -%}
    {%- endfor -%}
    {{ return(added) }}
{% endmacro %}


{# Put the contract's constraints on the table where they are missing, and take those off that were put there and are
   no longer in the contract. `properties` are the table's, where they are known. The table says which are ours before
   it has them, so that a run which dies leaves none that nobody takes off. #}
{% macro _persist_constraints(relation, properties=none) %}
    {%- if floodmark._has_constraints() -%}
        {%- set properties = properties or floodmark._properties_of(relation) -%}
        {%- if floodmark._drop_constraints(relation, properties) -%}
            {%- set properties = floodmark._properties_of(relation) -%}
        {%- endif -%}
        {%- set missing, own = floodmark._added_constraints(properties), floodmark._own_constraints(properties) -%}
        {%- if dict(own, **missing) != own -%}
            {%- do floodmark._set_properties(floodmark._constraints_property(dict(own, **missing))) -%}
        {%- endif -%}
        {%- for name, text in missing.items() -%}
            {%- do floodmark._execute(['alter table ' ~ floodmark._delta_name(relation) ~ ' add constraint '
                ~ floodmark._quoted(name) ~ ' check ' ~ text]) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# The constraints that floodmark has put on a table, {name: condition}; of a table of earlier code none. #}
{% macro _own_constraints(properties) %}
    {{ return(fromjson(floodmark._from_property(properties.get('floodmark.constraints')) or '{}')) }}
{% endmacro %}


{% macro _constraints_property(own) %}
    {{ return({'floodmark.constraints': floodmark._to_property(tojson(own))}) }}
{% endmacro %}


{# Take constraints of ours off a table that the contract no longer has, or has otherwise, or all: their names. What
   somebody else put there stays, and so does what `keeps` names. `properties` are the table's. #}
{% macro _drop_constraints(relation, properties, keeps=[], all=false) %}
    {%- set wanted = floodmark._constraint_texts() -%}
    {%- set own = floodmark._own_constraints(properties) -%}
    {%- set dropped, kept = [], {} -%}
    {%- for name, text in own.items() -%}
        {%- if not all and (wanted.get(name) == text or name in keeps) -%}
            {%- do kept.update({name: text}) -%}
        {%- else -%}
            {%- do dropped.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in dropped -%}
        {%- do floodmark._execute(['alter table ' ~ floodmark._delta_name(relation)
            ~ ' drop constraint if exists ' ~ floodmark._quoted(name)]) -%}
    {%- endfor -%}
    {%- if dropped -%}
        {%- do floodmark._set_properties(floodmark._constraints_property(kept)) -%}
    {%- endif -%}
    {{ return(dropped) }}
{% endmacro %}


{# Take all constraints of ours off the model's table, until a run has loaded its batches (_persist_constraints): their
   names. #}
{% macro _lift_constraints(run) %}
    {%- set dropped = floodmark._drop_constraints(this, floodmark._properties_of(this), all=true) -%}
    {%- do run.update({'properties': floodmark._properties_of(this)}) if dropped and run.get('properties') -%}
    {{ return(dropped) }}
{% endmacro %}


{# Where a constraint refused a batch: take those off that the contract no longer has. What to do, in a sentence; none
   where there are none. #}
{% macro _obsolete_constraints(error) %}
    {#- a first load has no table yet -#}
    {%- set dropped = floodmark._drop_constraints(this, floodmark._tried(floodmark._properties_of, this).value or {})
        if 'DELTA_VIOLATE_CONSTRAINT' in error or 'TASK_WRITE_FAILED' in error else [] -%}
    {{ return('The contract no longer has ' ~ dropped | join(', ') ~ ', which ' ~ this ~ ' had from it. '
        ~ ('It is' if dropped | length == 1 else 'They are') ~ ' dropped now: run again' if dropped else none) }}
{% endmacro %}
