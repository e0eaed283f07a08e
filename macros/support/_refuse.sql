{# Stop the node with every problem found: model, setting, got, expected, what to do. `problems` is a list of
   {setting, got, expected, todo}; `got` may be left out. An empty list stops nothing. `what` is refused, where that is
   not the model. `rejects`: the batch at hand cannot be applied, and these words are its error in the ledger
   (_load_batch). #}
{% macro _refuse(problems, what=none, rejects=none) %}
    {%- if not problems -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set lines = [] -%}
    {%- for problem in problems -%}
        {%- set got = ' got ' ~ floodmark._shown_json(
            floodmark._printable({problem.setting: problem.got})[problem.setting], sort_keys=true) ~ ';'
            if 'got' in problem else '' -%}
        {%- do lines.append('  - ' ~ problem.setting ~ ':' ~ got ~ ' expected ' ~ problem.expected ~ '. '
            ~ problem.todo) -%}
    {%- endfor -%}
    {%- set count = problems | length ~ (' problem' if problems | length == 1 else ' problems') -%}
    {%- do floodmark._raise("floodmark refuses " ~ (what or "model '" ~ floodmark._model_id() ~ "'") ~ ': ' ~ count
        ~ '\n' ~ lines | join('\n'), rejects=rejects) -%}
{% endmacro %}


{# A value with texts for what JSON does not know, such as a date of YAML's, and without what a name of a secret is set
   to. #}
{% macro _printable(value) %}
    {%- if value is mapping -%}
        {%- set found = {} -%}
        {%- for key, one in value.items() -%}
            {%- do found.update({key | string: '***' if one is not none and floodmark._has_secret(key ~ '=x')
                else floodmark._printable(one)}) -%}
        {%- endfor -%}
        {{ return(found) }}
    {%- elif value is sequence and value is not string -%}
        {%- set found = [] -%}
        {%- for one in value -%}
            {%- do found.append(floodmark._printable(one)) -%}
        {%- endfor -%}
        {{ return(found) }}
    {%- endif -%}
    {{ return(value if value is none or value is string or value is integer
        or value is float or value is boolean else value | string) }}
{% endmacro %}


{# A value as JSON for people: dbt escapes all that is not ASCII, and here what cannot be seen alone stays escaped. #}
{% macro _shown_json(value, sort_keys=false) %}
    {%- set seen = '\\\\u(?!00[0189]|00a[0d]|20[06]|202[89a-f]|205f|3000|feff|d[89a-f])[0-9a-f]{4}' -%}
    {%- set pair = '\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}' -%}
    {%- set json = tojson(value, sort_keys=sort_keys) -%}
    {%- set parts = [] -%}
    {%- for part in modules.re.split('(\\\\\\\\|(?:' ~ seen ~ '|' ~ pair ~ ')+)', json) -%}
        {%- set is_escaped = loop.index0 is odd and part.startswith('\\u') -%}
        {%- do parts.append(fromjson('"' ~ part ~ '"') if is_escaped else part) -%}
    {%- endfor -%}
    {{ return(parts | join) }}
{% endmacro %}


{# Stop the node, or an operation on model `id`, with one sentence about what was found at run time. `rejects` as in
   _refuse. #}
{% macro _stop(sentence, id=none, is_passing=false, rejects=none) %}
    {%- do floodmark._raise("floodmark, model '" ~ (id or floodmark._model_id()) ~ "': " ~ sentence, is_passing,
        rejects) -%}
{% endmacro %}


{# Stop because another run is in the way: nothing is wrong, and a stream is started again. #}
{% macro _stop_for_now(sentence) %}
    {%- do floodmark._stop(sentence ~ ': run again', is_passing=true) -%}
{% endmacro %}


{# Stop with a message, in which secrets are masked. The plugin raises it without the list of macros that dbt adds to
   its own errors. #}
{% macro _raise(message, is_passing=false, rejects=none) %}
    {%- set message = floodmark._masked(message) -%}
    {%- if adapter is defined and adapter.floodmark_refuse is defined -%}
        {%- do adapter.floodmark_refuse(message, is_passing, rejects) -%}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error(message) -%}
{% endmacro %}


{% macro _warn(sentence) %}
    {% do exceptions.warn("floodmark, model '" ~ floodmark._model_id() ~ "': " ~ sentence) %}
{% endmacro %}


{# Say in dbt's output what is to end the node later: by then something else may have ended it. #}
{% macro _say(sentence) %}
    {% do log("floodmark, model '" ~ floodmark._model_id() ~ "': " ~ sentence, info=true) %}
{% endmacro %}


{# Warn, of one thing once a run. Where a warning ends the node, it is only said, and waits for the run's end, or the
   commit of a micro-batch (_tell_warnings): before that, each run would end at the same place. #}
{% macro _warn_once(run, sentence) %}
    {%- set warnings = run.get('warnings') or [] -%}
    {%- if sentence not in warnings -%}
        {%- do run.update({'warnings': warnings + [sentence]}) -%}
        {%- do floodmark._say(sentence) if floodmark._ends_by_warnings() else floodmark._warn(sentence) -%}
    {%- endif -%}
{% endmacro %}


{# Give the warnings that waited for the commit, all in one, which has this ending: the first ends the node. With
   `is_passing` it is an error instead, behind which a stream that is kept running goes on. #}
{% macro _tell_warnings(run, ending='', is_passing=false) %}
    {%- set warnings = run.get('warnings') or [] -%}
    {%- do run.update({'warnings': []}) -%}
    {%- if warnings and floodmark._ends_by_warnings() -%}
        {%- set sentence = warnings | join('; ') ~ ending -%}
        {%- do floodmark._stop(sentence, is_passing=true) if is_passing else floodmark._warn(sentence) -%}
    {%- endif -%}
{% endmacro %}


{# Whether a warning ends the node: --warn-error, or warn_error_options for all warnings or for those of macros. #}
{% macro _ends_by_warnings() %}
    {%- set options = flags.WARN_ERROR_OPTIONS -%}
    {{ return(true if flags.WARN_ERROR or options and options.errors('JinjaLogWarning') else false) }}
{% endmacro %}


{# The name of this model in the ledger: schema.alias. #}
{% macro _model_id() %}
    {{ return(this.schema ~ '.' ~ this.identifier if this is defined and this is not none else 'operation') }}
{% endmacro %}
