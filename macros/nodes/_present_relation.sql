{# A relation, the model's own if none is given; none where it is not there: as dbt's cache has it, or as a hook has
   made it since the cache was filled. Spark is asked only where there are such hooks. #}
{% macro _present_relation(relation=none) %}
    {%- set relation = this if relation is none else relation -%}
    {%- set cached = load_relation(relation) -%}
    {{ return(floodmark._relation_in_spark(relation) if cached is none and not floodmark._only_looks()
        and floodmark._has_hooks_before() else cached) }}
{% endmacro %}


{# A relation as Spark has it now; none where there is none. A view has no provider. #}
{% macro _relation_in_spark(relation) %}
    {%- if not run_query("show schemas like '" ~ relation.schema | lower ~ "'").rows
        or not floodmark._is_there(relation) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set provider = floodmark._describe(relation).provider -%}
    {{ return(relation.incorporate(type='view' if provider is none else 'table', is_delta=provider == 'delta')) }}
{% endmacro %}


{# Whether hooks that are not floodmark's own run before the model: its pre-hooks, and on-run-start. #}
{% macro _has_hooks_before() %}
    {%- for id in graph.nodes if '-on-run-start-' in id and id.startswith('operation.')
        and not id.startswith('operation.floodmark.') -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(pre_hooks is defined and pre_hooks | length > 0) }}
{% endmacro %}
