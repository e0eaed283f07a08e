{# The opt-in: dbt lets only the root project replace a built-in materialization. Without it dbt-spark's own loads the
   models of floodmark's, and reads all rows again in every run. #}

{# The lines of the opt-in, in pieces: no reader of this file takes them for a materialization. #}
{% macro _opt_in_lines() %}
    {{ return('{' ~ "% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}\n    {"
        ~ '{ return(floodmark.materialization_incremental_spark()) }}\n{' ~ '% endmaterialization %}') }}
{% endmacro %}


{# The problem that the project has no opt-in for the models of these names. Only the macro's name counts, whatever its
   file and whatever it does. Where a macro hides the project's, or the project lets packages replace materializations,
   nothing is said. #}
{% macro _opt_in_problems(names) %}
    {%- set flag = 'require_explicit_package_overrides_for_builtin_materializations' -%}
    {%- set own = context.get(project_name, {}) if project_name is string else none -%}
    {%- if not names or own is not mapping or 'materialization_incremental_spark' in own
        or not invocation_args_dict.get(flag, true) -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set more = names | length - 3 -%}
    {{ return([{'setting': "materialization incremental in project '" ~ project_name ~ "'",
        'expected': "floodmark's, for " ~ names[:3] | join(', ') ~ (' and ' ~ more ~ ' more' if more > 0),
        'todo': 'Without this opt-in each run would load all rows again. Write these lines into '
        'macros/floodmark.sql, or into another file in a folder of macro-paths (dbt_project.yml):\n'
        ~ floodmark._opt_in_lines()}]) }}
{% endmacro %}


{# Stop a model whose SELECT asks for the rows of a batch where no batch is made: its run did not stop where another
   package's hook had failed, or where floodmark's is switched off. #}
{% macro _require_opt_in() %}
    {%- set problems = floodmark._opt_in_problems([floodmark._versioned_name(model)]) if floodmark._runs_models()
        else [] -%}
    {%- do floodmark._refuse(problems) -%}
{% endmacro %}
