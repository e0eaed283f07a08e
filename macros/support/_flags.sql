{# --empty and --sample never touch the ledger. dbt tells of a sample among its arguments alone. #}
{% macro _is_dry() %}
    {{ return(flags.EMPTY | as_bool or invocation_args_dict.get('sample') is not none) }}
{% endmacro %}


{# Whether this command shows what the next run would do: what stops that run does not stop it. #}
{% macro _only_looks() %}
    {{ return(flags.WHICH in ['compile', 'show', 'generate']) }}
{% endmacro %}


{# Whether this command runs models on Spark. #}
{% macro _runs_models() %}
    {{ return(flags.WHICH in ['build', 'run', 'retry'] and target.type == 'spark') }}
{% endmacro %}
