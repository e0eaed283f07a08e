{#
  Passwords, keys and tokens that are written into a path or an option would stand in logs, in target/ and in the
  ledger. What is told here is told of the same texts by dbt_floodmark/secrets.py;
  tests/unit/support/test_secrets.py compares the two.
#}

{# What is secret in a text, as (what stays)(secret): an address's password, and what a name of a secret is set to. #}
{% macro _secret_patterns() %}
    {%- set names = 'token|sig|signature|password|passwd|pwd|secret'
        ~ '|(?:secret|access|account|api|private)[._-]?key(?:[._-]?id)?|credentials?|sas' -%}
    {{ return([
        '(://[^\\s/@:\'"]*(?::|%3[aA]))(?!\\d{1,5}(?:[/\\s]|$))([^\\s@\'"]+)(?=@)',
        '(?i)((?:^|[?&;,\\s\'"])[\\w.%-]*(?:' ~ names ~ ')\\s*=\\s*[\'"\\\\]*)([^\\s&;,\'"\\\\]+)',
    ]) }}
{% endmacro %}


{# Whether a text holds a secret. #}
{% macro _has_secret(text) %}
    {%- for pattern in floodmark._secret_patterns() if modules.re.search(pattern, text | string) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# A text with *** in the place of its secrets. #}
{% macro _masked(text) %}
    {%- set ns = namespace(text=text | string) -%}
    {%- for pattern in floodmark._secret_patterns() -%}
        {%- set ns.text = modules.re.sub(pattern, '\\1***', ns.text) -%}
    {%- endfor -%}
    {{ return(ns.text) }}
{% endmacro %}


{# The problem of a path with a secret in it: a list for _refuse. #}
{% macro _secret_problems(setting, path) %}
    {%- if path is not string or not floodmark._has_secret(path) -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return([{'setting': setting, 'got': floodmark._masked(path),
        'expected': 'a path without credentials, which would appear in logs and in target/',
        'todo': floodmark._where_secrets_belong()}]) }}
{% endmacro %}


{% macro _where_secrets_belong() %}
    {{ return("Put them in the profile's server_side_parameters (for a Thrift server, in its own settings), "
        ~ 'such as spark.hadoop.fs.s3a.access.key and '
        ~ "spark.hadoop.fs.s3a.secret.key from env_var('DBT_ENV_SECRET_...'), or leave them to the credential provider "
        ~ 'of the environment. Then change them, since they may be in logs already') }}
{% endmacro %}
