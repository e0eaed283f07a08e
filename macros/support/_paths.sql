{# Paths of files as Spark prints them, and as patterns. #}

{# One pattern of Hadoop's for the paths of files: `file:/in/{a.parquet,b/c.parquet}`. #}
{% macro _pattern_of(files) %}
    {{ return(floodmark._pattern_of_paths(floodmark._decoded_paths(files))) }}
{% endmacro %}


{# The paths of files, without their percent signs. #}
{% macro _decoded_paths(files) %}
    {%- set paths = [] -%}
    {%- for file in files -%}
        {%- do paths.append(floodmark._decoded_path(file.path)) -%}
    {%- endfor -%}
    {{ return(paths) }}
{% endmacro %}


{# Where a reader finds files: {path, glob}. Hadoop cannot list a folder by a pattern where a name in it has a colon: of
   such files (or of all, `by_name`) the folder is read, and `glob` filters their names; else it is none. #}
{% macro _place_of_files(files, by_name=false) %}
    {%- set paths, names = floodmark._decoded_paths(files), [] -%}
    {%- set folder = floodmark._shared_folder(paths) -%}
    {%- for path in paths -%}
        {%- do names.append(floodmark._without_pattern(path.rpartition('/')[2])) -%}
    {%- endfor -%}
    {%- if paths | length == 1 or not by_name and ':' not in paths | map('replace', folder, '', 1) | join -%}
        {{ return({'path': floodmark._pattern_of_paths(paths), 'glob': none}) }}
    {%- endif -%}
    {{ return({'path': floodmark._without_pattern(folder),
        'glob': '{' ~ names | unique(case_sensitive=true) | join(',') ~ '}'}) }}
{% endmacro %}


{# The folder in which all of these paths lie, with a slash behind it. #}
{% macro _shared_folder(paths) %}
    {%- set ns = namespace(prefix=paths[0].rpartition('/')[0] ~ '/', shared=true) -%}
    {%- for path in paths[1:] -%}
        {%- set parts = path.split('/') -%}
        {%- set kept = [] -%}
        {%- set ns.shared = true -%}
        {%- for part in ns.prefix.split('/')[:-1] -%}
            {%- set ns.shared = ns.shared and loop.index0 < parts | length - 1 and parts[loop.index0] == part -%}
            {%- do kept.append(part) if ns.shared else none -%}
        {%- endfor -%}
        {%- set ns.prefix = kept | join('/') ~ '/' -%}
    {%- endfor -%}
    {{ return(ns.prefix) }}
{% endmacro %}


{% macro _pattern_of_paths(paths) %}
    {%- set folder, rests = floodmark._shared_folder(paths), [] -%}
    {%- for path in paths -%}
        {%- do rests.append(floodmark._without_pattern(path[folder | length:])) -%}
    {%- endfor -%}
    {{ return(floodmark._without_pattern(folder) ~ (rests[0] if rests | length == 1
        else '{' ~ rests | join(',') ~ '}')) }}
{% endmacro %}


{# A text in a pattern that means itself. #}
{% macro _without_pattern(text) %}
    {{ return(modules.re.sub('([\\\\*?\\[\\]{},])', '\\\\\\1', text)) }}
{% endmacro %}


{# A pattern of Hadoop's for paths as a regular expression of Java's. #}
{% macro _glob_regex(pattern) %}
    {%- set parts = [] -%}
    {%- set ns = namespace(depth=0) -%}
    {%- for token in modules.re.findall('\\\\.|\\[[^\\]]+\\]|.', pattern, modules.re.S) -%}
        {%- if token in ['*', '?'] -%}
            {%- do parts.append('[^/]*' if token == '*' else '[^/]') -%}
        {%- elif token == '{' -%}
            {%- set ns.depth = ns.depth + 1 -%}
            {%- do parts.append('(?:') -%}
        {%- elif token == '}' and ns.depth -%}
            {%- set ns.depth = ns.depth - 1 -%}
            {%- do parts.append(')') -%}
        {%- elif token == ',' and ns.depth -%}
            {%- do parts.append('|') -%}
        {%- elif token | length > 2 -%}
            {%- set letters = modules.re.sub('([\\\\\\[&])', '\\\\\\1', token[1:-1]) -%}
            {%- do parts.append('[' ~ ('^' ~ letters[1:] if letters[0] == '!' else letters) ~ ']') -%}
        {%- else -%}
            {%- do parts.append(modules.re.escape(token[1:] or token)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts | join ~ ')' * ns.depth) }}
{% endmacro %}


{# A path as Spark's `_metadata` prints it, as it is: `%20` is a space. #}
{% macro _decoded_path(text) %}
    {%- set parts = [] -%}
    {%- for plain, coded in modules.re.findall('([^%]+|%(?![0-9A-Fa-f]{2}))|((?:%[0-9A-Fa-f]{2})+)', text) -%}
        {%- do parts.append(plain or ''.encode('utf-8').fromhex(coded | replace('%', '')).decode('utf-8',
            'replace')) -%}
    {%- endfor -%}
    {{ return(parts | join) }}
{% endmacro %}


{# Whether a file's path has a colon behind its scheme and authority. #}
{% macro _has_colon(path) %}
    {{ return(':' in modules.re.sub('^[\\w+.-]+:(//[^/]*)?', '', floodmark._decoded_path(path))) }}
{% endmacro %}


{# A path without the scheme of local files, which Spark writes in two ways. #}
{% macro _without_file_scheme(path) %}
    {{ return(modules.re.sub('^file:(//(?=/))?', '', path)) }}
{% endmacro %}


{# A whole path as Spark takes it for a pattern: what exists under that very name means itself, [ and { in it too. #}
{% macro _path_pattern(path) %}
    {%- set is_known = adapter is defined and adapter.floodmark_path_pattern is defined -%}
    {{ return(adapter.floodmark_path_pattern(path) if is_known else path) }}
{% endmacro %}


{# A path that Spark takes from anywhere; relative ones lie in the project, whose folder has one name, whichever way
   led to it: the plugin knows it. #}
{% macro _absolute_path(path) %}
    {%- if path.startswith('/') or modules.re.match('[\\w+.-]+:/|file:', path) -%}
        {{ return(path) }}
    {%- endif -%}
    {%- if adapter.floodmark_project_root is defined -%}
        {%- set root = adapter.floodmark_project_root() -%}
    {%- else -%}
        {%- set project = invocation_args_dict.project_dir -%}
        {%- set root = project if project.startswith('/') else env_var('PWD', '.') ~ '/' ~ project -%}
    {%- endif -%}
    {{ return(root ~ ('/' ~ path if path else '')) }}
{% endmacro %}


{# A path without a scheme of local files, `.`, `..` and what is a pattern in it, to compare it with another. What
   exists under that very name is no pattern. #}
{% macro _plain_path(path) %}
    {{ return(floodmark._fixed_path(floodmark._path_pattern(path))) }}
{% endmacro %}


{# The folder in which all lies that a pattern matches, as a plain path. #}
{% macro _fixed_path(pattern) %}
    {%- set plain = modules.re.sub('/(?:\\\\.|[^/\\\\*?\\[{])*[*?\\[{].*$', '', pattern) -%}
    {{ return(floodmark._normal_path(modules.re.sub('\\\\(.)', '\\1', plain))) }}
{% endmacro %}


{# Whether what lies below a folder may be read by way of a path that may be a pattern: their names agree, or may. #}
{% macro _may_lie_below(folder, path) %}
    {{ return(floodmark._may_match(floodmark._plain_path(folder) ~ '/', floodmark._path_pattern(path))) }}
{% endmacro %}


{# Whether a pattern may match what lies below a folder, a plain path with a slash behind it. Of what stands in braces
   each is looked at by itself, and one that lies in the folder counts too. #}
{% macro _may_match(folder, pattern) %}
    {%- set braces = modules.re.fullmatch('((?:\\\\.|[^\\\\{\\[])*)\\{((?:\\\\.|[^\\\\{}\\[])*)\\}(.*)', pattern,
        flags=modules.re.S) -%}
    {%- for one in (modules.re.split('(?<!\\\\),', braces.group(2)) if braces else []) -%}
        {%- set each = braces.group(1) ~ one ~ braces.group(3) -%}
        {%- if floodmark._may_match(folder, each) or (floodmark._fixed_path(each) ~ '/').startswith(folder) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {%- set is_below = not braces and folder.startswith(floodmark._fixed_path(pattern) ~ '/') -%}
    {%- if '{' in pattern or not is_below -%}
        {{ return(is_below) }}
    {%- endif -%}
    {%- set parts = floodmark._normal_path(pattern).split('/') -%}
    {%- for name in folder[:-1].split('/')[:parts | length] -%}
        {%- if not modules.re.fullmatch(floodmark._glob_regex(parts[loop.index0]), name) -%}
            {{ return(false) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{% endmacro %}


{# A path or a pattern of paths without a scheme of local files, `.`, `..` and doubled slashes. `hdfs:///in`, which
   names no server, is `hdfs:/in`. #}
{% macro _normal_path(path) %}
    {%- set parts = [] -%}
    {%- set plain = modules.re.sub('^([\\w+.-]+:)//(?=/)', '\\1', floodmark._without_file_scheme(path)) -%}
    {%- for part in plain.split('/') -%}
        {%- if part == '..' and parts | length > 1 -%}
            {%- do parts.pop() -%}
        {%- elif part not in ['.', ''] or part == '' and (loop.first or parts[-1].endswith(':')) -%}
            {%- do parts.append(part) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(parts | join('/')) }}
{% endmacro %}
