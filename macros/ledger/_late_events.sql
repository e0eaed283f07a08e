{#
  The event that a batch is committed may come late: the table's own commit says it first. Of models that one invocation
  loads, these events wait in its memory and go with the next plan into the ledger; what is left at the end the plugin
  has recorded (record_events). A process that dies before leaves batches that are planned, and the next run finds their
  commits (_recover).
#}

{# Whether this invocation loads several models of floodmark's. #}
{% macro _loads_several() %}
    {%- if floodmark._memory().loads_several is none -%}
        {%- do floodmark._memory().update({'loads_several': floodmark._managed_nodes().keys()
            | select('in', selected_resources) | list | length > 1}) -%}
    {%- endif -%}
    {{ return(floodmark._memory().loads_several) }}
{% endmacro %}


{# Let the event that a batch is committed wait. #}
{% macro _keep_event(batch, values) %}
    {%- do floodmark._memory().events.update({(floodmark._batch_model(batch), batch.batch_id): {'at': floodmark._now(),
        'is_taken': false, 'columns': floodmark._event_columns('committed', batch, values)}}) -%}
{% endmacro %}


{# The events that the ledger does not have yet, {key: columns}, each with the time of its commit by Spark's clock. The
   node that writes them marks them as taken; they stay in memory until they are written. Other nodes skip taken events,
   except those of their own `model`: a plan must not be in the ledger without the commits before it, and the other
   node's insert may be lost. `all` takes every event, at the end of the run. #}
{% macro _waiting_events(model=none, all=false) %}
    {%- set waiting = {} -%}
    {%- for key in floodmark._memory().events.keys() | list -%}
        {%- set event = floodmark._memory().events.get(key) -%}
        {%- if event and (all or not event.is_taken or key[0] == model) -%}
            {%- do event.update({'is_taken': true}) -%}
            {%- do waiting.update({key: dict(event.columns, at='timestampadd(microsecond, -'
                ~ (floodmark._now() - event.at) ~ ', current_timestamp())')}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(waiting) }}
{% endmacro %}


{# These are in the ledger now. #}
{% macro _forget_events(keys) %}
    {%- for key in keys -%}
        {%- do floodmark._memory().events.pop(key, none) -%}
    {%- endfor -%}
{% endmacro %}


{# Record what the invocation has committed and the ledger does not say yet. The plugin calls it when all nodes have
   ended, before the hooks of on-run-end. #}
{% macro record_events() %}
    {%- set waiting = floodmark._waiting_events(all=true) if execute else {} -%}
    {%- for keys in waiting.keys() | list | batch(200) -%}
        {%- set events = [] -%}
        {%- for key in keys -%}
            {%- do events.append(waiting[key]) -%}
        {%- endfor -%}
        {%- do floodmark._insert_events(events,
            'userMetadata = ' ~ floodmark._string_literal('floodmark/committed/' ~ invocation_id)) -%}
        {%- do floodmark._forget_events(keys) -%}
    {%- endfor -%}
{% endmacro %}
