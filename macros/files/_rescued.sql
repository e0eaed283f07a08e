{#
  Rescued data: what a record has and the table has no place for, as a JSON object. Files are read through a window
  (_windows.sql), whose type `read` is the record's own: its known fields, and those that the table does not know. `raw`
  is the record as VARIANT where something in it did not fit the window, else NULL; none where formats have types, and
   all is read as it is. Two types are of XML alone (_xml.sql): `text`, a string that may be written in any way that
   its column's type takes, and `repeated<T>`, an array for a column that takes one T.
#}

{# A value as the table keeps it: without the fields that the table does not know, and in the table's types where they
   lose nothing of it. Without `is_sensitive` a field has any spelling of its name. #}
{% macro _kept_sql_of(known, read, value, depth=0, is_sensitive=true) %}
    {%- if known == read -%}
        {{ return(value) }}
    {%- elif known.startswith('array<') and read.startswith('array<') -%}
        {%- set element = '_floodmark_e' ~ depth -%}
        {{ return('transform(' ~ value ~ ', ' ~ element ~ ' -> '
            ~ floodmark._kept_sql_of(known[6:-1], read[6:-1], element, depth + 1, is_sensitive) ~ ')') }}
    {%- elif floodmark._are_maps_of_nested(known, read) -%}
        {{ return('transform_values(' ~ value ~ ', (k, _floodmark_v' ~ depth ~ ') -> '
            ~ floodmark._kept_sql_of(floodmark._map_value_type(known), floodmark._map_value_type(read),
            '_floodmark_v' ~ depth, depth + 1, is_sensitive) ~ ')') }}
    {%- elif read.startswith('repeated<') -%}
        {%- set element = floodmark._kept_sql_of(known, read[9:-1], floodmark._only_element_sql(value), depth,
            is_sensitive) -%}
        {{ return('if(size(' ~ value ~ ') > 1, ' ~ floodmark._converted_sql(known, 'array<' ~ read[9:-1] ~ '>', value)
            ~ ', ' ~ element ~ ')' if known in ['string', 'variant'] else element) }}
    {%- elif read.startswith('valued<') -%}
        {%- set text = floodmark._struct_fields(read[7:-1])[0] -%}
        {{ return(floodmark._kept_sql_of(known, text.type, floodmark._valued_text_sql(value, text.name), depth)) }}
    {%- elif not (known.startswith('struct<') and read.startswith('struct<')) -%}
        {{ return(floodmark._converted_sql(known, read, value)) }}
    {%- endif -%}
    {%- set types = floodmark._types_of(read) -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(known) -%}
        {%- do fields.append(floodmark._string_literal(field.name) ~ ', '
            ~ floodmark._kept_field_sql(field, types, value, is_sensitive, depth)) -%}
    {%- endfor -%}
    {{ return('if(' ~ value ~ ' is null, null, named_struct(' ~ fields | join(', ') ~ '))') }}
{% endmacro %}


{# Whether both are maps, of one type of keys, whose values are nested. #}
{% macro _are_maps_of_nested(known, read) %}
    {%- set types = [] -%}
    {%- for type in [known, read] if type.startswith('map<') -%}
        {%- set key, value = floodmark._map_types(type) -%}
        {%- do types.append(key) if floodmark._nesting(value) -%}
    {%- endfor -%}
    {{ return(types | length == 2 and types[0] == types[1]) }}
{% endmacro %}


{# The element of an array that has one; of others NULL. #}
{% macro _only_element_sql(array) %}
    {{ return('if(size(' ~ array ~ ') = 1, get(' ~ array ~ ', 0), null)') }}
{% endmacro %}


{# The text of an element with attributes; one that is empty has an empty text. #}
{% macro _valued_text_sql(value, name) %}
    {{ return('if(' ~ value ~ ' is null, null, coalesce(' ~ value ~ '.' ~ floodmark._quoted(name) ~ ", ''))") }}
{% endmacro %}


{# The JSON of what did not fit of an element with attributes, of which `read` is the struct: the text alone where it
   has none of them. #}
{% macro _rescued_valued_sql(known, read, value, depth) %}
    {%- set text, others = floodmark._struct_fields(read)[0], floodmark._struct_fields(read)[1:] -%}
    {%- set attributes = floodmark._rescued_fields_sql('struct<>', floodmark._struct_of(others), value, none) -%}
    {%- set whole = floodmark._rescued_fields_sql(floodmark._struct_of([dict(text, type=known)]), read, value, none,
        depth) -%}
    {{ return('case when ' ~ attributes ~ ' is null then ' ~ floodmark._rescued_typed_sql(known, text.type,
        floodmark._valued_text_sql(value, text.name), depth, true) ~ ' else ' ~ whole ~ ' end') }}
{% endmacro %}


{# A known field as the table keeps it (_kept_sql_of). `read` has the types of the fields that were read, by name;
   without a `value` these fields are columns. #}
{% macro _kept_field_sql(field, read, value, is_sensitive=true, depth=0) %}
    {%- set spellings = [] -%}
    {%- for name, type in read.items()
        if name == field.name or not is_sensitive and name | lower == field.name | lower -%}
        {%- do spellings.append(floodmark._kept_sql_of(field.type, type, (value ~ '.' if value else '')
            ~ floodmark._quoted(name), depth, is_sensitive)) -%}
    {%- endfor -%}
    {{ return('cast(null as ' ~ field.type ~ ')' if not spellings else (spellings[0] if spellings | length == 1
        else 'coalesce(' ~ spellings | join(', ') ~ ')')) }}
{% endmacro %}


{# A value in another type, NULL where it does not fit. #}
{% macro _converted_sql(known, read, value) %}
    {%- if floodmark._conversion(known, read) == 'json' -%}
        {%- set text = floodmark._json_text_sql(value, read) -%}
        {{ return('try_parse_json(' ~ text ~ ')' if known == 'variant' else text) }}
    {%- endif -%}
    {{ return('if(' ~ floodmark._fits_sql(known, read, value) ~ ', ' ~ ('try_cast(' ~ value ~ ' as ' ~ known ~ ')'
        if floodmark._conversion(known, read) == 'cast' else 'cast(null as ' ~ known ~ ')') ~ ', null)') }}
{% endmacro %}


{# How a value of one type comes into another: `cast`; `json`, its text; none where it would be another value: a moment
   with a zone and one without, a number and a date. #}
{% macro _conversion(known, read) %}
    {%- if known in ['string', 'variant'] and (floodmark._nesting(read) or read == 'variant') -%}
        {{ return('json') }}
    {%- elif known.startswith('map<') and read.startswith('map<') -%}
        {%- set mine, other = floodmark._map_types(known), floodmark._map_types(read) -%}
        {{ return('cast' if mine[0] == other[0] and floodmark._conversion(mine[1], other[1]) == 'cast' else none) }}
    {%- elif floodmark._nesting(known) or floodmark._nesting(read) -%}
        {#- a map is cast as a whole, with what is nested in it -#}
        {{ return('cast' if read == known or floodmark._is_exact(known, read) else none) }}
    {%- elif read == 'text' -%}
        {{ return('cast') }}
    {%- endif -%}
    {%- set kinds = [] -%}
    {%- for type in [known, read] -%}
        {%- do kinds.append('number' if floodmark._digits(type) or type in ['float', 'double'] else type) -%}
    {%- endfor -%}
    {%- set texts = ['number', 'boolean', 'date', 'timestamp', 'timestamp_ntz', 'binary', 'variant', 'string'] -%}
    {{ return('cast' if kinds[0] == kinds[1] or kinds in [['timestamp_ntz', 'date'], ['date', 'timestamp_ntz']]
        or known in ['string', 'variant'] and kinds[1] in texts or read == 'string' and kinds[0] in texts[:-2]
        else none) }}
{% endmacro %}


{# Whether a value keeps itself in another type: it comes back as it was, or is a text that the type takes. #}
{% macro _fits_sql(known, read, value) %}
    {%- set how = floodmark._conversion(known, read) -%}
    {%- if how == 'json' -%}
        {{ return('true') }}
    {%- elif how is none -%}
        {{ return(value ~ ' is null') }}
    {%- elif known == 'string' and read == 'binary' -%}
        {{ return('(' ~ value ~ ' is null or is_valid_utf8(' ~ value ~ '))') }}
    {%- elif read in ['text', 'string'] -%}
        {{ return('(' ~ value ~ ' is null or ' ~ floodmark._exact_cast_sql(value, known) ~ ' is not null)') }}
    {%- elif 'map<' in known -%}
        {{ return(floodmark._all_fit_sql(known, read, value)) }}
    {%- endif -%}
    {{ return('(' ~ value ~ ' is null or ' ~ floodmark._cast_holds_sql(value, 'try_cast(' ~ value ~ ' as ' ~ known
        ~ ')', read, known) ~ ')') }}
{% endmacro %}


{# Whether everything in a nested value keeps itself in its other type: _fits_sql of each flat value in it. #}
{% macro _all_fit_sql(known, read, value, depth=0) %}
    {%- set nesting, element = floodmark._nesting(known), '_floodmark_f' ~ depth -%}
    {%- if known == read -%}
        {{ return('true') }}
    {%- elif nesting is none -%}
        {{ return(floodmark._fits_sql(known, read, value)) }}
    {%- elif nesting == 'struct' -%}
        {%- set types, terms = floodmark._types_of(read), [] -%}
        {%- for field in floodmark._struct_fields(known) -%}
            {%- do terms.append(floodmark._all_fit_sql(field.type, types[field.name], value ~ '.'
                ~ floodmark._quoted(field.name), depth)) -%}
        {%- endfor -%}
        {{ return('(' ~ terms | join(' and ') ~ ')') }}
    {%- endif -%}
    {%- set values = 'map_values(' ~ value ~ ')' if nesting == 'map' else value -%}
    {%- set types = [known[6:-1], read[6:-1]] if nesting == 'array'
        else [floodmark._map_value_type(known), floodmark._map_value_type(read)] -%}
    {{ return('not coalesce(exists(' ~ values ~ ', ' ~ element ~ ' -> not '
        ~ floodmark._all_fit_sql(types[0], types[1], element, depth + 1) ~ '), false)') }}
{% endmacro %}


{# A text in a type, NULL where the cast would lose digits, a time of day or a zone, or takes something else for a
   value: `12D` for a number, a year or a time of day for a moment, infinity for a number beyond the type's range. #}
{% macro _exact_cast_sql(text, type) %}
    {%- set cast = 'try_cast(' ~ text ~ ' as ' ~ type ~ ')' -%}
    {%- if type.startswith('decimal') -%}
        {{ return('if(' ~ (floodmark._text_holds_sql(text, cast, 'decimal') if floodmark._has_long_decimal(type)
            else cast ~ ' = try_cast(' ~ text ~ ' as ' ~ floodmark._wide_decimal(type) ~ ')') ~ ', ' ~ cast
            ~ ', null)') }}
    {%- endif -%}
    {%- if type in ['float', 'double'] -%}
        {%- set cast = 'if(' ~ text ~ " rlike '\\\\d' and abs(" ~ cast ~ ") = double('Infinity'), null, " ~ cast
            ~ ')' -%}
    {%- endif -%}
    {%- set pattern = floodmark._text_pattern(type) -%}
    {{ return('if(' ~ text ~ ' rlike ' ~ floodmark._string_literal('^\\s*' ~ pattern) ~ ', ' ~ cast ~ ', null)'
        if pattern else cast) }}
{% endmacro %}


{# A type in which Spark's reader of JSON keeps a value as it stands there. Into a decimal it takes a text without its
   commas, and rounds; into a moment a number as seconds, and a time as one of today; into a tinyint 200 as -56; into
   a double 1e400 as infinity, but few files have such numbers. Without `as_texts` decimals are numbers with as many
   digits behind the point as there can be; types in `kept` stay. #}
{% macro _exact_type(type, as_texts=true, kept=['float', 'double']) %}
    {%- if type in kept -%}
        {{ return(type) }}
    {%- elif floodmark._is_read_as_text(type) -%}
        {{ return('string' if as_texts or floodmark._has_long_decimal(type) or not floodmark._digits(type)
            else floodmark._wide_decimal(type)) }}
    {%- elif type.startswith('array<') -%}
        {{ return('array<' ~ floodmark._exact_type(type[6:-1], as_texts, kept) ~ '>') }}
    {%- elif type.startswith('map<') -%}
        {%- set key, value = floodmark._map_types(type) -%}
        {{ return('map<' ~ key ~ ',' ~ floodmark._exact_type(value, as_texts, kept) ~ '>') }}
    {%- elif not type.startswith('struct<') -%}
        {{ return('smallint' if type == 'tinyint' else type) }}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field in floodmark._struct_fields(type) -%}
        {%- do fields.append(dict(field, type=floodmark._exact_type(field.type, as_texts, kept))) -%}
    {%- endfor -%}
    {{ return(floodmark._struct_of(fields)) }}
{% endmacro %}


{# Whether a type is one in which the reader keeps the values of a known one. #}
{% macro _is_exact(known, read) %}
    {{ return(read in [floodmark._exact_type(known), floodmark._exact_type(known, false),
        floodmark._exact_type(known, kept=[])]) }}
{% endmacro %}


{# Whether values of a flat type may be read as texts. #}
{% macro _is_read_as_text(type) %}
    {{ return(type.startswith('decimal') or type in ['float', 'double', 'timestamp', 'timestamp_ntz']) }}
{% endmacro %}


{# A decimal with the same digits before the point, and as many behind it as there can be. #}
{% macro _wide_decimal(type) %}
    {%- set digits = floodmark._digits(type) -%}
    {{ return('decimal(38,' ~ (38 - digits[0] + digits[1]) ~ ')') }}
{% endmacro %}


{# Whether a type is a decimal of more than 20 digits: a wide one has no room for the digits of a double then. #}
{% macro _has_long_decimal(type) %}
    {{ return((floodmark._digits(type) or [0])[0] > 20) }}
{% endmacro %}


{# A value of any type as JSON; NULL for NULL, also for that of a VARIANT. #}
{% macro _json_text_sql(value, type='') %}
    {%- set json = floodmark._to_json_sql("named_struct('v', " ~ floodmark._unrepeated_sql(value, type) ~ ')',
        type) -%}
    {{ return('nullif(nullif(regexp_extract(' ~ json ~ ", '(?s)^.\"v\":(.*).$', 1), ''), 'null')") }}
{% endmacro %}


{# A value of any type as JSON, in which numbers do not end in the zeros that a wide decimal adds. What stands in quotes
   stays as it is. #}
{% macro _short_decimals_sql(value, read) %}
    {%- set json = floodmark._json_text_sql(value, read) -%}
    {{ return(json if 'decimal(38,' not in read else 'regexp_replace(' ~ json ~ ', ' ~ floodmark._string_literal(
        '("(?:[^"\\\\]++|\\\\.)*+")|(\\.\\d*[1-9])0+(?!\\d)|\\.0+(?!\\d)|(?<![\\d.])(0)E-\\d+') ~ ", '$1$2$3')") }}
{% endmacro %}


{# A value that was read for a known type, as JSON without the zeros that a wide decimal adds. A text that stands for a
   value of another type is printed as it is if it is JSON, but for the word null, which was a text. #}
{% macro _printed_sql(known, read, value, depth=0) %}
    {%- set nesting, element = floodmark._nesting(known), '_floodmark_p' ~ depth -%}
    {%- if modules.re.search('\\b(decimal\\(|timestamp|float\\b|double\\b)', floodmark._without_names(known)) is none
        or known == read or nesting is none and read != 'string' -%}
        {{ return(floodmark._short_decimals_sql(value, read)) }}
    {%- elif nesting is none -%}
        {{ return('if(try_parse_json(' ~ value ~ ') is null or trim(' ~ value ~ ") = 'null', "
            ~ floodmark._json_text_sql(value, read) ~ ', ' ~ value ~ ')') }}
    {%- elif nesting == 'array' -%}
        {{ return("'[' || array_join(transform(" ~ value ~ ', ' ~ element ~ ' -> ' ~ floodmark._printed_sql(known[6:-1],
            read[6:-1], element, depth + 1) ~ "), ',', 'null') || ']'") }}
    {%- elif nesting == 'map' -%}
        {{ return("'{' || array_join(transform(map_entries(" ~ value ~ '), ' ~ element ~ ' -> to_json(cast(' ~ element
            ~ ".key as variant)) || ':' || coalesce(" ~ floodmark._printed_sql(floodmark._map_value_type(known),
            floodmark._map_value_type(read), element ~ '.value', depth + 1) ~ ", 'null')), ',') || '}'") }}
    {%- endif -%}
    {%- set types, entries = floodmark._types_of(known), [] -%}
    {%- for field in floodmark._struct_fields(read) -%}
        {%- set own = value ~ '.' ~ floodmark._quoted(field.name) -%}
        {%- do entries.append(floodmark._string_literal(floodmark._json_name(field.name) ~ ':') ~ ' || '
            ~ (floodmark._printed_sql(types[field.name], field.type, own, depth) if field.name in types
            else (own if field.type == 'string' else floodmark._json_text_sql(own, field.type)))) -%}
    {%- endfor -%}
    {{ return('if(' ~ value ~ " is null, null, '{' || concat_ws(',', " ~ entries | join(', ') ~ ") || '}')") }}
{% endmacro %}


{# The JSON of what did not fit in a value, NULL where all did: of a struct the parts, of an array the whole. With
   `finds`, `raw` is of every record, and what is in it and was not read is found there. #}
{% macro _rescued_sql(known, read, value, raw, depth=0, is_sensitive=true, name=none, finds=false) %}
    {%- if raw is none -%}
        {{ return(floodmark._rescued_typed_sql(known, read, value, depth, is_sensitive)) }}
    {%- endif -%}
    {%- set whole = floodmark._raw_text_sql(raw, name) -%}
    {%- set is_lost = value ~ ' is null and ' ~ raw ~ ' is not null and not is_variant_null(' ~ raw ~ ')' -%}
    {%- if known.startswith('struct<') and read.startswith('struct<') -%}
        {{ return('case when ' ~ is_lost ~ ' then ' ~ whole ~ ' else '
            ~ floodmark._rescued_fields_sql(known, read, value, raw, depth, [], is_sensitive, finds) ~ ' end') }}
    {%- elif known.startswith('array<') and read.startswith('array<') or floodmark._are_maps_of_nested(known, read) -%}
        {%- set is_map, element = known.startswith('map<'), '_floodmark_e' ~ depth -%}
        {%- set types = [floodmark._map_value_type(known), floodmark._map_value_type(read)] if is_map
            else [known[6:-1], read[6:-1]] -%}
        {%- set misfit = floodmark._rescued_sql(types[0], types[1], element ~ '.value', element ~ '.raw', depth + 1,
            is_sensitive, none, finds) -%}
        {%- set pairs = ('transform(map_entries(' ~ value ~ "), v -> named_struct('value', v.value, 'raw', try_cast("
            ~ raw ~ ' as map<string, variant>)[v.key]))') if is_map
            else 'transform(' ~ value ~ ", (v, i) -> named_struct('value', v, 'raw', get(try_cast(" ~ raw
            ~ ' as array<variant>), i)))' -%}
        {{ return('case when ' ~ is_lost ~ ' then ' ~ whole ~ ' when exists(' ~ pairs ~ ', ' ~ element ~ ' -> '
            ~ misfit ~ ' is not null) then coalesce(' ~ whole ~ ', ' ~ floodmark._printed_sql(known, read, value)
            ~ ') end') }}
    {%- elif known != read and floodmark._is_exact(known, read) -%}
        {{ return('case when ' ~ is_lost ~ ' then ' ~ whole ~ ' when not ' ~ floodmark._fits_sql(known, read, value)
            ~ ' then coalesce(' ~ (whole if floodmark._nesting(known) else 'null') ~ ', '
            ~ floodmark._printed_sql(known, read, value) ~ ') end') }}
    {%- elif known != read -%}
        {{ return('case when not ' ~ floodmark._fits_sql(known, read, value) ~ ' then '
            ~ floodmark._json_text_sql(value, read) ~ ' end') }}
    {%- endif -%}
    {{ return('case when ' ~ is_lost ~ ' then ' ~ whole ~ ' end') }}
{% endmacro %}


{# The JSON of what did not fit in a value that was read in its file's own type, without the raw record; NULL if
   everything fit. #}
{% macro _rescued_typed_sql(known, read, value, depth, is_sensitive) %}
    {%- if known == read -%}
        {{ return('cast(null as string)') }}
    {%- elif known.startswith('struct<') and read.startswith('struct<') -%}
        {{ return(floodmark._rescued_fields_sql(known, read, value, none, depth, [], is_sensitive)) }}
    {%- elif read.startswith('valued<') -%}
        {{ return(floodmark._rescued_valued_sql(known, read[7:-1], value, depth)) }}
    {%- elif read.startswith('repeated<') -%}
        {%- set is_kept = known in ['string', 'variant'] -%}
        {{ return('case when size(' ~ value ~ ') > 1 then ' ~ ('null' if is_kept
            else floodmark._json_text_sql(value, read)) ~ ' else '
            ~ floodmark._rescued_typed_sql(known, read[9:-1], floodmark._only_element_sql(value), depth, is_sensitive)
            ~ ' end') }}
    {%- elif known.startswith('array<') and read.startswith('array<') -%}
        {%- set element = '_floodmark_e' ~ depth -%}
        {%- set misfit = 'exists(' ~ value ~ ', ' ~ element ~ ' -> ' ~ floodmark._rescued_sql(known[6:-1], read[6:-1],
            element, none, depth + 1, is_sensitive) ~ ' is not null)' -%}
    {%- elif floodmark._are_maps_of_nested(known, read) -%}
        {%- set element = '_floodmark_e' ~ depth -%}
        {%- set misfit = 'exists(map_values(' ~ value ~ '), ' ~ element ~ ' -> '
            ~ floodmark._rescued_sql(floodmark._map_value_type(known), floodmark._map_value_type(read), element, none,
            depth + 1, is_sensitive) ~ ' is not null)' -%}
    {%- else -%}
        {%- set misfit = 'not ' ~ floodmark._fits_sql(known, read, value) -%}
    {%- endif -%}
    {{ return('case when ' ~ misfit ~ ' then ' ~ floodmark._json_text_sql(value, read) ~ ' end') }}
{% endmacro %}


{# What is rescued of a struct's fields, as one JSON object; NULL if nothing is. It has the known fields that did not
   fit, the unknown ones, and where a record has several spellings of a known one all but the one that is kept. `ends`
   are entries behind these, if there are any; `others`, {name: JSON or none}, are used instead of the fields of these
   names. Without a `value` the fields are columns. #}
{% macro _rescued_fields_sql(known, read, value, raw, depth=0, ends=[], is_sensitive=true, finds=false, others={}) %}
    {%- set types = floodmark._types_of(known) -%}
    {%- set entries, apart, spelt = [], others.keys() | list, {} -%}
    {%- set apart = apart if is_sensitive else apart | map('lower') | list -%}
    {%- for name, json in others.items() if json is not none -%}
        {%- do entries.append(floodmark._string_literal(floodmark._json_name(name) ~ ':') ~ ' || ' ~ json) -%}
    {%- endfor -%}
    {%- for field in floodmark._struct_fields(read)
        if (field.name if is_sensitive else field.name | lower) not in apart -%}
        {%- set own = (value ~ '.' if value else '') ~ floodmark._quoted(field.name) -%}
        {%- set alike = types.get(field.name) or (none if is_sensitive
            else (floodmark._find_column(floodmark._struct_fields(known), field.name) or {}).type) -%}
        {%- set rescued = floodmark._rescued_sql(alike, field.type, own, floodmark._raw_field_sql(raw, field.name),
            depth, is_sensitive, field.name, finds) if alike else floodmark._unknown_sql(field, own, raw) -%}
        {%- set before = spelt.setdefault(field.name if is_sensitive else field.name | lower, []) -%}
        {%- if alike and before -%}
            {%- set whole = floodmark._json_text_sql(own, field.type) if raw is none
                else 'coalesce(' ~ floodmark._raw_text_sql(floodmark._raw_field_sql(raw, field.name), field.name)
                ~ ', ' ~ floodmark._printed_sql(alike, field.type, own, depth) ~ ')' -%}
            {%- set rescued = 'coalesce(case when ' ~ own ~ ' is not null and coalesce(' ~ before | join(', ')
                ~ ') is not null then ' ~ whole ~ ' end, ' ~ rescued ~ ')' -%}
        {%- endif -%}
        {%- do before.append(floodmark._kept_sql_of(alike, field.type, own, depth, is_sensitive))
            if alike and not is_sensitive -%}
        {%- do entries.append(floodmark._string_literal(floodmark._json_name(field.name) ~ ':') ~ ' || ' ~ rescued) -%}
    {%- endfor -%}
    {%- if finds -%}
        {%- do entries.append(floodmark._found_entries_sql(read, raw)) -%}
    {%- endif -%}
    {%- if not entries -%}
        {{ return('cast(null as string)') }}
    {%- endif -%}
    {%- set all = "concat_ws(',', " ~ entries | join(', ') ~ ')' -%}
    {#- nullif would stand twice in Spark's plan of each struct, and in that of the struct around it four times -#}
    {%- set found = 'get(regexp_extract_all(' ~ all ~ ", '(?s).+', 0), 0)" if value else 'nullif(' ~ all ~ ", '')" -%}
    {{ return("'{' || " ~ ([found] + ends) | join(" || ',' || ") ~ " || '}'") }}
{% endmacro %}


{# The fields of an object that a struct does not have, as entries of JSON; NULL where there are none. Spark's from_json
   finds a field by its very name, whatever case the user cares for. #}
{% macro _found_entries_sql(read, raw) %}
    {%- set names = [] -%}
    {%- for field in floodmark._struct_fields(read) -%}
        {%- do names.append(floodmark._string_literal(field.name)) -%}
    {%- endfor -%}
    {{ return("nullif(array_join(transform(filter(map_entries(try_cast(" ~ raw ~ ' as map<string, variant>)), e -> not '
        'array_contains(array(' ~ names | join(', ') ~ "), e.key) and not is_variant_null(e.value)), e -> "
        "to_json(cast(e.key as variant)) || ':' || to_json(e.value)), "
        "','), '')") }}
{% endmacro %}


{# The JSON of a field that is not known, by the type in which it was read (_read_record). #}
{% macro _unknown_sql(field, value, raw) %}
    {%- if field.type == 'string' and raw is not none -%}
        {{ return(value) }}
    {%- elif field.type != 'boolean' or raw is none -%}
        {{ return(floodmark._json_text_sql(value, field.type)) }}
    {%- endif -%}
    {%- set own = floodmark._raw_field_sql(raw, field.name) -%}
    {{ return('coalesce(cast(' ~ value ~ ' as string), if(' ~ own ~ ' is null or is_variant_null(' ~ own ~ '), null, '
        ~ floodmark._raw_text_sql(own, field.name) ~ '))') }}
{% endmacro %}


{# A field of a record's VARIANT. A path takes one kind of quote, so a name with both goes through JSON. #}
{% macro _raw_field_sql(raw, name) %}
    {%- set quote = '"' if '"' not in name else "'" -%}
    {%- if raw is none -%}
        {{ return(none) }}
    {%- elif quote in name -%}
        {{ return('from_json(to_json(' ~ raw ~ '), ' ~ floodmark._string_literal(floodmark._quoted(name) ~ ' variant')
            ~ ').' ~ floodmark._quoted(name)) }}
    {%- endif -%}
    {{ return('try_variant_get(' ~ raw ~ ', ' ~ floodmark._string_literal('$[' ~ quote ~ name ~ quote ~ ']')
        ~ ", 'variant')") }}
{% endmacro %}


{# The JSON of a value of a record's VARIANT, which knows numbers but not how they are written: where it has a name and
   a number in it may be written in another way, the value is looked for in the record's own text. #}
{% macro _raw_text_sql(raw, name) %}
    {%- set json = 'to_json(' ~ raw ~ ')' -%}
    {%- if name is none -%}
        {{ return(json) }}
    {%- endif -%}
    {%- set key = modules.re.escape(floodmark._json_name(name)) ~ '\\s*:\\s*' -%}
    {%- set numbers = 'filter(regexp_extract_all(_floodmark_bad, '
        ~ floodmark._string_literal(key ~ '(-?\\d[\\d.eE+-]*)') ~ ', 1), t -> try_cast(t as double) = try_cast(' ~ raw
        ~ ' as double))' -%}
    {%- set rest = 'regexp_extract(_floodmark_bad, ' ~ floodmark._string_literal('(?s)' ~ key ~ '([\\[{].*)$')
        ~ ', 1)' -%}
    {%- set nested = 'filter(transform(filter(sequence(1, length(' ~ rest ~ ')), i -> substr(' ~ rest
        ~ ", i, 1) in (']', '}')), i -> left(" ~ rest ~ ', i)), t -> to_json(try_parse_json(t)) = ' ~ json ~ ')' -%}
    {{ return('case when not ' ~ json ~ " rlike '\\\\d' then " ~ json ~ ' when schema_of_variant(' ~ raw
        ~ ") rlike '^(BIGINT|DECIMAL|DOUBLE)' then coalesce(get(" ~ numbers ~ ', 0), ' ~ json ~ ') when '
        'schema_of_variant(' ~ raw ~ ") rlike '^(OBJECT|ARRAY)' and length(_floodmark_bad) < 10000 and _floodmark_bad "
        "rlike '\\\\d[.eE]' then coalesce(get(" ~ nested ~ ', 0), ' ~ json ~ ') else ' ~ json ~ ' end') }}
{% endmacro %}


{# A name as JSON has it. #}
{% macro _json_name(name) %}
    {{ return(tojson(name) if modules.re.search('[\\x00-\\x1f]', name)
        else '"' ~ name | replace('\\', '\\\\') | replace('"', '\\"') ~ '"') }}
{% endmacro %}
