{#
  The look at the files of a batch, before they are read. A file that cannot be read to its end, or is packed as nobody
  unpacks it, is corrupt as a whole, and the others are looked at without it.
#}

{# {files: {path: {seen, reason, ...}}, seen, ...}: a format's look, and why files are corrupt as a whole. #}
{% macro _look_at_files(run, files) %}
    {%- set settings = run.settings.files -%}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set packed = floodmark._packed_files(files) if format.is_text else {} -%}
    {%- set files = floodmark._files_without(files, packed) -%}
    {%- if not format.look or not files -%}
        {{ return(floodmark._look_without({'files': {}, 'seen': none}, packed)) }}
    {%- endif -%}
    {%- set conf = floodmark._files_conf(settings) -%}
    {%- do floodmark._set_conf(conf) -%}
    {%- set told = floodmark._tried(format.look, run, files) -%}
    {%- set unreadable = floodmark._unreadable_files(settings, files)
        if (told.condition or '').startswith('FAILED_READ_FILE') and format.is_text else {} -%}
    {%- set look = told.value if told.error is none
        else format.look(run, floodmark._files_without(files, unreadable)) -%}
    {%- do floodmark._reset_conf(conf) -%}
    {{ return(floodmark._look_without(look, dict(packed, **unreadable))) }}
{% endmacro %}


{# The files of a list whose paths are not in `others`. #}
{% macro _files_without(files, others) %}
    {%- set left = [] -%}
    {%- for file in files if file.path not in others -%}
        {%- do left.append(file) -%}
    {%- endfor -%}
    {{ return(left) }}
{% endmacro %}


{# The files of a list that are not corrupt as a whole, as a look found. #}
{% macro _files_to_read(files, look) %}
    {%- set left = [] -%}
    {%- for file in files if not (look.files.get(file.path) or {}).reason -%}
        {%- do left.append(file) -%}
    {%- endfor -%}
    {{ return(left) }}
{% endmacro %}


{# Texts that are packed as Spark does not unpack them, which it would take for text: {path: reason}. It knows a codec
   by the ending in small letters alone. #}
{% macro _packed_files(files) %}
    {%- set found = {} -%}
    {%- for file in files -%}
        {%- set ending = floodmark._packed_ending(file.path) -%}
        {%- if ending and not floodmark._is_unpacked(ending) -%}
            {%- do found.update({file.path: 'packed as .' ~ ending ~ ', which Spark does not unpack: '
                ~ ('name it .' ~ ending | lower if floodmark._is_unpacked(ending | lower)
                else 'pack it as .gz, .bz2 or .zst')}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# How a file is packed, as the ending of its name says; none where it says nothing of it. #}
{% macro _packed_ending(path) %}
    {%- set found = modules.re.search('(?i)\\.(gz|bz2|zst|lz4|snappy|deflate'
        '|xz|7z|zip|br|lz|lzma|lzo|rar|tar|tgz|z|zstd|gzip|bzip2)$', path) -%}
    {{ return(found.group(1) if found else none) }}
{% endmacro %}


{# Whether Spark unpacks files with an ending. #}
{% macro _is_unpacked(ending) %}
    {{ return(ending in ['gz', 'bz2', 'zst', 'lz4', 'snappy', 'deflate']) }}
{% endmacro %}


{# The files that Spark cannot read to their end, with the first line of its error: {path: reason}. Text files are read
   together, and halved until the files at fault are found. #}
{% macro _unreadable_files(settings, files) %}
    {%- set found = {} -%}
    {%- if floodmark._file_format(settings).is_text -%}
        {%- do floodmark._find_unreadable(settings, files, found) -%}
        {{ return(found) }}
    {%- endif -%}
    {%- for file in files -%}
        {%- do floodmark._find_unreadable(settings, [file], found) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Add the files that Spark cannot read to their end to `found`, {path: reason}. #}
{% macro _find_unreadable(settings, files, found) %}
    {%- set format = floodmark._file_format(settings) -%}
    {%- set place = floodmark._place_of_files(files) -%}
    {%- set sql = 'select count(*), sum(length(' ~ ('value' if format.is_text else 'to_json(struct(*))') ~ ')) from '
        ~ ('text' if format.is_text else '`' ~ format.provider ~ '`') ~ '.`' ~ place.path | replace('`', '``') ~ '` '
        ~ floodmark._files_options(dict(settings, glob=place.glob or settings.glob)) -%}
    {%- set read = floodmark._tried(run_query, sql) -%}
    {%- if not (read.condition or '').startswith('FAILED_READ_FILE') -%}
        {{ return(none) }}
    {%- elif files | length == 1 -%}
        {%- do floodmark._check_bytes(settings, files[0]) -%}
        {%- set read = floodmark._tried(run_query, sql) -%}
        {%- do found.update({files[0].path: floodmark._first_line(read.error)}) if read.error is not none -%}
    {%- else -%}
        {%- set half = files | length // 2 -%}
        {%- do floodmark._find_unreadable(settings, files[:half], found) -%}
        {%- do floodmark._find_unreadable(settings, files[half:], found) -%}
    {%- endif -%}
{% endmacro %}


{# Stop where the bytes of a file cannot be read: then the file is not corrupt, but its store failed or denies access.
   This reads the file once more, because the store may have failed only for a moment. A missing file is not checked
   here. A compressed file is read without decompressing it. A batch that is planned fails, so that people can leave
   the file out of the next one. #}
{% macro _check_bytes(settings, file) %}
    {%- set is_packed = floodmark._packed_ending(file.path) is not none -%}
    {%- set read = floodmark._tried(run_query, 'select max(hash(' ~ ('content' if is_packed else 'value') ~ ')) from '
        ~ ('binaryFile' if is_packed else 'text') ~ '.`' ~ floodmark._pattern_of([file]) | replace('`', '``') ~ '` '
        ~ floodmark._files_options(settings)) -%}
    {%- if read.error is not none
        and read.condition not in ['PATH_NOT_FOUND', 'FAILED_READ_FILE.FILE_NOT_EXIST'] -%}
        {%- do floodmark._stop('the file ' ~ file.path ~ ' cannot be read from where it is: ' ~ read.error
            ~ '. Nothing of its batch was loaded. Run again once it can be read, or leave it out with `floodmark files '
            '<model> --skip`', is_passing=true, rejects='a file cannot be read') -%}
    {%- endif -%}
{% endmacro %}


{# The sentence of an error of Spark's, without its stack. #}
{% macro _first_line(error) %}
    {{ return((error.strip().splitlines() | first)[:500]) }}
{% endmacro %}


{# A look in which these files, {path: reason}, are corrupt. #}
{% macro _look_without(look, unreadable) %}
    {%- set groups = [] -%}
    {%- for group in look.groups or [] -%}
        {%- do groups.append(dict(group, files=floodmark._files_without(group.files, unreadable))) -%}
    {%- endfor -%}
    {%- set files = dict(look.files) -%}
    {%- for path, reason in unreadable.items() -%}
        {%- do files.update({path: {'reason': reason}}) -%}
    {%- endfor -%}
    {{ return(dict(look, files=files, groups=groups)) }}
{% endmacro %}
