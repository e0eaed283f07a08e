{#
  `schema_hints`: types that the user gives for some columns, each as a path and a type: `amount decimal(10, 2)`,
  `address.zip string`, `lines.element.sku string`, `tags.value int`. `element` leads into an array, `key` and `value`
  into a map.
#}

{# The hints of a text: a list of {path, type, of_structs}, or none where it cannot be read. `of_structs`: what is seen
   as a struct is one. An object of JSON may be a map. #}
{% macro _hints(text, of_structs=false) %}
    {%- set hints = [] -%}
    {%- for part in floodmark._type_parts(text or '') -%}
        {%- set name = '(?:`(?:[^`]|``)+`|[^\\s.`:]+)' -%}
        {%- set found = modules.re.fullmatch('(' ~ name ~ '(?:\\.' ~ name ~ ')*)(?:\\s+|\\s*:\\s*)(\\S.*)', part | trim,
            flags=modules.re.S) -%}
        {%- if not found -%}
            {{ return(none) }}
        {%- endif -%}
        {%- set path = [] -%}
        {%- for step in modules.re.findall(name, found.group(1)) -%}
            {%- do path.append(floodmark._unquoted(step)) -%}
        {%- endfor -%}
        {%- do hints.append({'path': path, 'type': floodmark._spelt_type(found.group(2)), 'of_structs': of_structs}) -%}
    {%- endfor -%}
    {{ return(hints) }}
{% endmacro %}


{# A type as people write it, as floodmark writes types: no spaces but within names, `struct<a: int>` with colons.
   `NOT NULL` and a comment behind it say nothing of its values' type, and go, as Spark leaves them out of `schema`. #}
{% macro _spelt_type(text) %}
    {%- set comment = '\\bcomment(?:\\s*\'(?:[^\'\\\\]|\\\\.)*\'|\\s*"(?:[^"\\\\]|\\\\.)*")+' -%}
    {%- set text = modules.re.sub('(?is)(?:\\s*(?:\\bnot\\s+null\\b|' ~ comment ~ '))+\\s*$', '', text) | trim -%}
    {%- set nested = modules.re.fullmatch('(?i)(struct|array|map)\\s*<(.*)>', text, flags=modules.re.S) -%}
    {%- if not nested -%}
        {%- set plain = modules.re.sub('\\s*([(),])\\s*', '\\1', modules.re.sub('\\s+', ' ', text)) | lower -%}
        {%- set plain = modules.re.sub('^(numeric|dec)\\b', 'decimal', plain) -%}
        {%- set plain = modules.re.sub('^decimal\\((\\d+)\\)$', 'decimal(\\1,0)', plain) -%}
        {{ return({'integer': 'int', 'long': 'bigint', 'short': 'smallint', 'byte': 'tinyint', 'real': 'float',
            'timestamp_ltz': 'timestamp', 'decimal': 'decimal(10,0)'}.get(plain, plain)) }}
    {%- endif -%}
    {%- set parts = [] -%}
    {%- for part in floodmark._type_parts(nested.group(2)) -%}
        {%- if nested.group(1) | lower == 'struct' -%}
            {%- set field = modules.re.fullmatch('\\s*(`(?:[^`]|``)*`|[^\\s:`]+)(?:\\s*:\\s*|\\s+)(.*)', part,
                flags=modules.re.S) -%}
            {%- do parts.append(floodmark._quoted_field(floodmark._unquoted(field.group(1))) ~ ':'
                ~ floodmark._spelt_type(field.group(2)) if field else part) -%}
        {%- else -%}
            {%- do parts.append(floodmark._spelt_type(part)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(nested.group(1) | lower ~ '<' ~ parts | join(',') ~ '>') }}
{% endmacro %}
