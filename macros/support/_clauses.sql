{# Texts of the user's that stand within our SQL: predicates, conditions, scopes, constraints, and the SELECT itself. #}

{# A text of SQL in its parts: a list of {kind, text}; kind is `code`, `(`, `)`, `;`, `string` (also a quoted name),
   `comment`, or `open` where a string or a comment has no end. Comments are as Spark has them: those in /* nest, and
   those behind -- end at \n or \r, but not at a \n behind a backslash. #}
{% macro _sql_parts(text) %}
    {%- set parts = [] -%}
    {%- set ns = namespace(at=0) -%}
    {%- set token = modules.re.compile('(?P<string>[rR]\'[^\']*\'|[rR]"[^"]*"|\'(?:[^\'\\\\]|\\\\[\\s\\S])*\''
        '|"(?:[^"\\\\]|\\\\[\\s\\S])*"|`[^`]*`)|(?P<comment>--(?:\\\\\n|[^\r\n])*)|(?P<mark>[();])'
        '|(?P<code>[^\'"`();/\\-rR]+|\\w+|[/-])') -%}
    {#- Jinja counts to a hundred thousand at most -#}
    {%- for _ in range(text | length // 99999 + 1) -%}
        {%- for _ in range(99999) -%}
            {%- if ns.at >= text | length -%}
                {%- break -%}
            {%- endif -%}
            {%- set is_comment = text[ns.at:ns.at + 2] == '/*' -%}
            {%- set length = floodmark._comment_length(text[ns.at:]) if is_comment else none -%}
            {%- set match = none if is_comment else token.match(text, ns.at) -%}
            {%- set part = {'kind': 'comment', 'text': text[ns.at:ns.at + length]} if length
                else ({'kind': match.group(0) if match.lastgroup == 'mark' else match.lastgroup,
                'text': match.group(0)} if match else {'kind': 'open', 'text': text[ns.at:]}) -%}
            {%- do parts.append(part) -%}
            {%- set ns.at = ns.at + part.text | length -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(parts) }}
{% endmacro %}


{# The length of the comment that a text begins with; none where it has no end. #}
{% macro _comment_length(text) %}
    {%- set ns = namespace(depth=0, length=none) -%}
    {%- for match in modules.re.finditer('/\\*|\\*/', text) if ns.length is none -%}
        {%- set ns.depth = ns.depth + (1 if match.group(0) == '/*' else -1) -%}
        {%- set ns.length = match.end() if ns.depth == 0 else none -%}
    {%- endfor -%}
    {{ return(ns.length) }}
{% endmacro %}


{# A clause of the user's within ours: in parentheses, without comments and without the semicolon behind it. #}
{% macro _clause(text) %}
    {{ return('(' ~ modules.re.sub('[;\\s]+$', '', floodmark._without_comments(text | string | trim) | trim) ~ ')') }}
{% endmacro %}


{# What forbids to put a clause into parentheses: a list of problems for _refuse, with at most one. #}
{% macro _clause_problems(setting, text) %}
    {%- set ns = namespace(depth=0, wrong=none, ended=false, has_code=false) -%}
    {%- for part in floodmark._sql_parts(text | string | trim) if ns.wrong is none -%}
        {%- set ns.depth = ns.depth + {'(': 1, ')': -1}.get(part.kind, 0) -%}
        {%- set is_blank = part.kind == 'comment' or not part.text | trim -%}
        {%- if part.kind == 'open' -%}
            {%- set ns.wrong = 'a quote or a comment without an end' -%}
        {%- elif ns.depth < 0 or part.kind == ';' and ns.depth > 0 -%}
            {%- set ns.wrong = 'a parenthesis without its other half' -%}
        {%- elif ns.ended and not is_blank and part.kind != ';' -%}
            {%- set ns.wrong = 'a semicolon, which ends a statement' -%}
        {%- endif -%}
        {%- set ns.ended = ns.ended or part.kind == ';' -%}
        {%- set ns.has_code = ns.has_code or not is_blank and part.kind != ';' -%}
    {%- endfor -%}
    {%- set wrong = ns.wrong or ('a parenthesis without its other half' if ns.depth
        else ('no SQL' if not ns.has_code else none)) -%}
    {{ return([{'setting': setting, 'got': text, 'expected': 'a SQL expression, but this has ' ~ wrong,
        'todo': 'Correct it'}] if wrong else []) }}
{% endmacro %}


{# The SELECT of a model without the semicolons behind it, and without a comment at its end whose backslash would have
   it go on in the next line: it stands within our statements. #}
{% macro _select_text(sql) %}
    {%- if ';' not in sql and not sql.rstrip().endswith('\\') -%}
        {{ return(sql) }}
    {%- endif -%}
    {%- set parts = floodmark._sql_parts(sql) -%}
    {%- set kept = [] -%}
    {%- set ns = namespace(is_end=true) -%}
    {%- for part in parts | reverse -%}
        {%- set goes_on = part.text.startswith('--') and part.text.rstrip().endswith('\\') -%}
        {%- if not (ns.is_end and (part.kind == ';' or goes_on)) -%}
            {%- do kept.append(part.text) -%}
        {%- endif -%}
        {%- set ns.is_end = ns.is_end and (part.kind in [';', 'comment'] or not part.text | trim) -%}
    {%- endfor -%}
    {{ return(kept | reverse | join) }}
{% endmacro %}


{# Whether a SELECT has a mark of ours, `/*floodmark:<name>`, in its code: in a text or a comment it bounds nothing. #}
{% macro _has_mark(name, text) %}
    {%- set mark = '/*floodmark:' ~ name -%}
    {%- set ns = namespace(found=false) -%}
    {%- for part in (floodmark._sql_parts(text) if mark in text else []) if part.text.startswith(mark) -%}
        {%- set ns.found = true -%}
    {%- endfor -%}
    {{ return(ns.found) }}
{% endmacro %}


{# A text of SQL without comments. #}
{% macro _without_comments(text) %}
    {%- set kept = [] -%}
    {%- for part in floodmark._sql_parts(text) -%}
        {%- do kept.append(' ' if part.kind == 'comment' else part.text) -%}
    {%- endfor -%}
    {{ return(kept | join) }}
{% endmacro %}


{# A text of SQL whose strings are empty, without comments: what is left are its words, and names in backticks. #}
{% macro _without_strings(text) %}
    {%- if modules.re.search('["`\\\\]|--|/\\*', text) is none -%}
        {{ return(modules.re.sub("'[^']*'", "''", text)) }}
    {%- endif -%}
    {%- set kept = [] -%}
    {%- for part in floodmark._sql_parts(text) -%}
        {%- set is_string = part.kind == 'string' and part.text[0] != '`' -%}
        {%- do kept.append("''" if is_string else (' ' if part.kind == 'comment' else part.text)) -%}
    {%- endfor -%}
    {{ return(kept | join) }}
{% endmacro %}


{# Whether SQL expressions name a column: as a word of its own, no function, type, unit or text, no field of a struct or
   struct of a field. #}
{% macro _is_named(name, expressions, fields=false) %}
    {%- set behind = '(?!\\w|\\s*\\()' if fields else '(?![\\w.]|\\s*\\()' -%}
    {%- for expression in expressions -%}
        {%- set words = modules.re.sub('\\s+', ' ', floodmark._without_strings(expression)) | lower -%}
        {%- if name | lower in modules.re.findall('(?<!\\bas )(?<![\\w.`])`([^`]+)`' ~ behind, words) -%}
            {{ return(true) }}
        {%- endif -%}
        {#- what stands before a text is its type, or an operator: date'2024-01-01', interval '1' day -#}
        {%- set words = modules.re.sub("\\binterval\\s+[-+]?(?:[\\w.]+|'')\\s+\\w+|\\w+\\s*''", "''",
            modules.re.sub('`[^`]+`', '@', words)) -%}
        {#- so is what stands behind ::, and a unit within extract() -#}
        {%- set words = modules.re.sub(':: ?\\w+|\\bextract ?\\( ?\\w+ from\\b', ' ', words) -%}
        {%- if name | lower not in ['case', 'when', 'then', 'else', 'end'] and modules.re.search(
            '(?<!\\bas )(?<![\\w.@])' ~ modules.re.escape(name | lower | replace('`', '')) ~ behind, words) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}
