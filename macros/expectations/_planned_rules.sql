{# The rules of a batch as its plan fixes them: other relations that they look into stand at one version. A batch ends
   under the rules that it was planned with. #}

{# `loaded` is the node of the model; behind a test, which knows only the model itself as an upstream, its relations
   are those of the graph. #}
{% macro _planned_rules(expectations, loaded, is_test=false) %}
    {%- set rules = [] -%}
    {%- for rule in expectations or [] -%}
        {%- set rule = dict(rule, named=floodmark._without_relations(rule.get('expect') or '')) -%}
        {%- for key in ['expect', 'where', 'given'] if rule.get(key) -%}
            {%- do rule.update({key: floodmark._with_relations(rule[key], loaded, key != 'given', is_test)}) -%}
        {%- endfor -%}
        {%- do rules.append(rule) -%}
    {%- endfor -%}
    {{ return(rules) }}
{% endmacro %}


{# A condition in which `in_relation` is its column alone: the words of the relation, its version and its column name no
   column of the row. #}
{% macro _without_relations(condition) %}
    {%- set ns = namespace(sql=condition) -%}
    {%- for digits in modules.re.findall("floodmark_in_relation\\('([0-9a-f]+)'\\)", condition) | unique -%}
        {%- set asked = fromjson(''.encode('utf-8').fromhex(digits).decode('utf-8')) -%}
        {%- set ns.sql = ns.sql | replace("floodmark_in_relation('" ~ digits ~ "')", '(' ~ asked.column ~ ')') -%}
    {%- endfor -%}
    {{ return(ns.sql) }}
{% endmacro %}


{# The rules that are asked of a batch of this kind: of a replay only those of rows, without their limits. What still
   breaks one stays open, and what arrives in a batch says nothing of rows that an operator chose. #}
{% macro _rules_of_kind(kind, rules) %}
    {%- if kind != 'replay' -%}
        {{ return(rules) }}
    {%- endif -%}
    {%- set asked = [] -%}
    {%- for rule in floodmark._row_rules(rules) -%}
        {%- do asked.append(dict(rule, max_violations=none, max_violation_fraction=none)) -%}
    {%- endfor -%}
    {{ return(asked) }}
{% endmacro %}


{# The rules of rows of another node, as a test or an operation asks them of the rows of a table. #}
{% macro _row_rules_of(node) %}
    {{ return(floodmark._row_rules(floodmark._planned_rules(floodmark._expectations(
        floodmark._node_setting(node, 'expectations') or []), node, is_test=true))) }}
{% endmacro %}


{# A condition with what `in_relation` stands for. Of NULL nobody knows whether it is there. #}
{% macro _with_relations(condition, loaded, is_pinned, is_test) %}
    {%- set ns = namespace(sql=condition) -%}
    {%- for digits in modules.re.findall("floodmark_in_relation\\('([0-9a-f]+)'\\)", condition) | unique -%}
        {%- set asked = fromjson(''.encode('utf-8').fromhex(digits).decode('utf-8')) -%}
        {%- set node = floodmark._rule_node(asked.relation, loaded) -%}
        {%- set relation = api.Relation.create(**floodmark._tested_place(node)) if is_test
            else floodmark._node_relation(node) -%}
        {%- if is_pinned -%}
            {#- a bare name that the relation lacks would be the row's own column, and the rule always true -#}
            {%- set its = '_floodmark_in.' ~ asked.its if modules.re.fullmatch('\\w+|`([^`]|``)+`', asked.its)
                else asked.its -%}
            {%- set pinned = floodmark._pinned(relation, node) -%}
            {%- do floodmark._check_looked_for(its, relation, pinned) if its == asked.its -%}
            {%- set sql = 'if((' ~ asked.column ~ ') is null, null, (' ~ asked.column ~ ') in (select ' ~ its
                ~ ' from ' ~ pinned ~ ' as _floodmark_in where ' ~ its ~ ' is not null))' -%}
        {%- else -%}
            {%- set sql = asked.column ~ ' in ' ~ relation.identifier ~ '.' ~ asked.its -%}
        {%- endif -%}
        {%- set ns.sql = ns.sql | replace("floodmark_in_relation('" ~ digits ~ "')", sql) -%}
    {%- endfor -%}
    {{ return(ns.sql) }}
{% endmacro %}


{# What a rule looks for, where it is no name alone, must be of the relation: Spark would take what that lacks from the
   row. #}
{% macro _check_looked_for(its, relation, pinned) %}
    {%- set looked = floodmark._tried(floodmark._columns_of, 'select ' ~ its ~ ' as its from ' ~ pinned) -%}
    {%- if looked.error is not none -%}
        {%- do floodmark._stop('a rule looks for ' ~ its ~ ' in ' ~ relation ~ ': '
            ~ (looked.error | trim).split('\n')[0]) -%}
    {%- endif -%}
{% endmacro %}


{# The node that a rule names: a model, seed or snapshot by its name alone, as `ref` finds it (of a model with versions
   the latest, whichever the SELECT reads), or a source and its table. #}
{% macro _rule_node(names, loaded) %}
    {%- set found = [] -%}
    {%- for id in loaded.depends_on.nodes -%}
        {%- set node = (graph.sources if names | length == 2 else graph.nodes).get(id) -%}
        {%- if node and names | join('.') in floodmark._node_calls(node)
            and (node.get('version') is none or node.version == node.get('latest_version')) -%}
            {%- do found.insert(0 if node.package_name == loaded.package_name else found | length, node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not found -%}
        {%- do floodmark._stop('a rule reads ' ~ names | join('.') ~ ', on which the model does not depend: use '
            ~ 'floodmark.in_relation() in its condition') -%}
    {%- elif found[0].config.get('materialized') == 'ephemeral' -%}
        {%- do floodmark._stop('a rule looks into ' ~ found[0].name ~ ', which is ephemeral: materialize it as a table '
            ~ 'or a view') -%}
    {%- endif -%}
    {{ return(found[0]) }}
{% endmacro %}


{# A relation of a node at its newest version, where it is a Delta table. #}
{% macro _pinned(relation, node) %}
    {%- set cached = floodmark._present_relation(relation) -%}
    {%- if cached is none -%}
        {%- do floodmark._stop('a rule looks into ' ~ relation ~ ', which does not exist: build it first'
            ~ floodmark._waits_for_file_text(node)) -%}
    {%- endif -%}
    {%- set is_delta = not cached.is_view and floodmark._describe(cached).provider == 'delta' -%}
    {{ return(cached ~ (' version as of ' ~ floodmark._history(cached, 1)[0].version if is_delta else '')) }}
{% endmacro %}


{# The rules that the ledger has of a planned batch. #}
{% macro _stored_rules(batch_id) %}
    {{ return(floodmark._query_json("select coalesce(max(expectations), '[]') from " ~ floodmark._log_of()
        ~ ' and batch_id = ' ~ batch_id ~ " and event = 'planned'")[0]) }}
{% endmacro %}
