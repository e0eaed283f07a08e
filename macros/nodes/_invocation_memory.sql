{# What an invocation knows, for all of its nodes: {invocation_id, states, tables, stages, events, loads_several}. It
   lies in `graph`, the one object that they share. `states`: what the ledger said of each model when the invocation
   began (_remember_states). `tables`: what was looked up of a table at one of its commits (_known_at). `stages`: the
   names of all staging tables, none until somebody asks (_stages). `events`: those of committed batches that the ledger
   does not have yet, and `loads_several`, whether they may wait at all (_late_events.sql). #}
{% macro _memory() %}
    {%- if (graph.get('floodmark') or {}).get('invocation_id') != invocation_id -%}
        {%- do graph.update({'floodmark': {'invocation_id': invocation_id, 'states': {}, 'tables': {},
            'stages': none, 'events': {}, 'loads_several': none}}) -%}
    {%- endif -%}
    {{ return(graph['floodmark']) }}
{% endmacro %}


{# What this invocation knows of a Delta table at one of its commits, {version, at}: a mapping to read and to fill.
   Several models that read one table look at it once. Without a commit nothing is kept. #}
{% macro _known_at(relation, commit) %}
    {{ return(floodmark._memory().tables.setdefault((floodmark._relation_name(relation) | lower, commit.version,
        commit.at), {}) if commit else {}) }}
{% endmacro %}
