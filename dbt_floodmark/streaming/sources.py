"""What a streaming SELECT reads beside tables: folders of files, Kafka, and what macros marked."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.paths import (
    LOCAL_FILES,
    glob_folder,
    is_glob,
    is_local,
    is_pattern,
    path_pattern,
)
from dbt_floodmark.secrets import PLACE, has_secret, masked
from dbt_floodmark.texts import BRACKETED_COMMENT

#: What `with (...)` may hold behind a stream.
_WITH = r"""(?:\s*\bwith\s*\((?P<{name}>(?:[^()'"]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")*)\))?"""
_NAME = r"(?:\w+|`(?:[^`]|``)+`)"
_FORMATS = "(?:text|json|csv|parquet|orc|avro)"
#: A comment ends at a line's end, also at a lone \r, but not at a \n behind a backslash.
_COMMENT = r"--(?:\\\n|\\(?!\n)|[^\r\n\\])*"
_GAP = rf"(?:\s|{BRACKETED_COMMENT}|{_COMMENT}[\r\n])*"
#: ``stream(json.`path`) with (option = 'value')`` (Spark itself reads the folder once here), and
#: `stream(schema.table) with (...)`; the brackets may be left out. Literals and comments come
#: first, so that what stands in them is left alone.
_TOKEN = re.compile(
    rf"""
      '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | {_COMMENT}
    | /\*floodmark:stream\ (?P<marked>\{{.*?\}})\*/
    | /\*.*?\*/
    | \bstream\s*(?P<open>\(\s*)?(?P<format>{_FORMATS})
      \s*\.\s*`(?P<path>(?:[^`]|``)+)`(?(open)\s*\)){_WITH.format(name="options")}
    | \bstream{_GAP}\({_GAP}(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*){_GAP}\)
      {_WITH.format(name="table_options")}
    | \b(?P<before>(?:from|join)\s+)stream\s+(?!{_FORMATS}\s*\.\s*`)
      (?P<bare>{_NAME}(?:\s*\.\s*{_NAME})*){_WITH.format(name="bare_options")}
    | `(?:[^`]|``)*`
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")
_OPTION = re.compile(
    rf"""{_GAP}(?P<key>[\w.]+|'[^']*'|"[^"]*")(?:\s*=\s*|\s+)(?P<value>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,\s]+){_GAP}(?:,|$)""",
    re.DOTALL,
)
#: Options by which Delta ends a micro-batch, and the number of files that it takes for no limit.
_LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
_ALL_FILES = 2**31 - 9
#: The option by which a stream of a table reads its change feed, and Delta's older name of it.
CHANGE_FEED = ("readchangefeed", "readchangedata")
#: What a letter behind a backslash stands for in Spark's literals.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
#: An age that no file reaches, as Spark writes durations.
_UNREACHABLE_AGE = "36500d"
_KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


class SourceGoneError(FloodmarkError):
    """The folder that a stream reads is not there."""

    def __init__(self, path: str) -> None:
        """Name the folder."""
        super().__init__(
            f"the folder {path}, which it reads, is not there: create it, or put it "
            "back if it was renamed or moved. To read another folder, change the path and "
            "run the model once with --full-refresh: every file there counts as new"
        )


@dataclass(frozen=True)
class Source:
    """A source that Spark SQL has no name for: the view that stands for it, and what it reads."""

    name: str
    format: str
    options: Mapping[str, str]
    path: str | None = None


@dataclass(frozen=True)
class Stream:
    """A `stream(...)` of a SELECT: as it stands there, and the table or other source it reads."""

    text: str
    table: str | None = None
    options_text: str = ""
    source: Source | None = None
    has_metadata: bool = False

    @property
    def options(self) -> Mapping[str, str]:
        """What stands behind it in `with (...)`, keys in lower case."""
        found = self.source.options if self.source else parse_options(self.options_text)
        return {key.lower(): value for key, value in found.items()}

    @property
    def reads_changes(self) -> bool:
        """Whether it reads the change feed of its table; `readChangeFeed = false` does not."""
        return any(self.options.get(name, "false").lower() != "false" for name in CHANGE_FEED)


def replace_streams(sql: str, project_dir: str, put: Callable[[Stream], str]) -> str:
    """Return the SELECT with each `stream(...)`, its options included, replaced by `put(stream)`.

    Args:
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        put: the text for a stream.

    Raises:
        FloodmarkError: options that cannot be read, or a path with credentials.
    """
    has_metadata = re.search(r"\b_metadata\b", sql) is not None
    by_name: dict[str, Source] = {}
    for token in _TOKEN.finditer(sql):
        if token["marked"]:
            marked = Source(**json.loads(token["marked"]))
            path = absolute(marked.path, project_dir) if marked.path else None
            by_name[marked.name] = dataclasses.replace(marked, path=path)
    seen: dict[str, int] = {}
    count = 0

    def replace(token: re.Match[str]) -> str:
        nonlocal count
        if token["marked"]:
            return ""
        _refuse_secrets(token)
        if token["table"] in by_name:
            # Each its own view: else Spark would count one source, and write down two.
            source = by_name[token["table"]]
            seen[source.name] = seen.get(source.name, 0) + 1
            if seen[source.name] > 1:
                source = dataclasses.replace(source, name=f"{source.name}_{seen[source.name]}")
            return put(Stream(token[0], source=source, has_metadata=True))
        if token["table"]:
            return put(Stream(token[0], token["table"], token["table_options"] or ""))
        if token["bare"]:
            text = token[0][len(token["before"]) :]
            stream = Stream(text, token["bare"], token["bare_options"] or "")
            return str(token["before"]) + put(stream)
        if not token["format"]:
            return token[0]
        count += 1
        options = parse_options(token["options"] or "")
        path = absolute(token["path"].replace("``", "`"), project_dir)
        source = Source(f"_floodmark_source_{count}", token["format"].lower(), options, path)
        return put(Stream(token[0], source=source, has_metadata=has_metadata))

    return _TOKEN.sub(replace, sql)


def with_sources(
    spark: Any, sql: str, project_dir: str, *, runs: bool = False, whole_commits: bool = False
) -> str:
    """Return the SELECT over temporary views of `spark` in place of folders and what macros marked.

    Args:
        spark: the session that will run the SELECT.
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        runs: whether the SELECT is to run as a stream, or is only looked at.
        whole_commits: whether no commit of a change feed may be cut by the end of a micro-batch.

    Raises:
        FloodmarkError: options that cannot be read, or no Kafka connector.
    """

    def put(stream: Stream) -> str:
        if stream.source is None:
            return _of_whole_commits(stream) if whole_commits else stream.text
        register = _register_running if runs else _register
        register(spark, stream.source, with_metadata=stream.has_metadata)
        return f"stream({stream.source.name})"

    return replace_streams(sql, project_dir, put)


def _of_whole_commits(stream: Stream) -> str:
    """Return the text of a stream of a table; a change feed is read without limits.

    Delta 4.4 ends a micro-batch within a commit that has no change files and no deletion vectors,
    such as an INSERT OVERWRITE: what it adds comes first, and what it takes away in the next one.
    """
    if not stream.reads_changes:
        return stream.text
    options = [
        f"{one['key']} = {one['value']}"
        for one in _OPTION.finditer(stream.options_text)
        if _literal(one["key"]).lower() not in _LIMITS
    ]
    return f"stream({stream.table}) with ({', '.join(options)}, maxFilesPerTrigger = {_ALL_FILES})"


def _refuse_secrets(token: re.Match[str]) -> None:
    """Stop where the path or an option of a stream() holds a secret, and no reference to one."""
    options = "".join(token[name] or "" for name in ("table_options", "bare_options", "options"))
    options = re.sub(r"['\"`]|=\s*['\"]?\$\{[^}]*\}", "", options)
    for what, text in (("a path", token["path"] or ""), ("options", options)):
        if has_secret(text):
            raise FloodmarkError(
                f"got '{masked(text)}' in stream(): expected {what} without credentials, which "
                f"would appear in logs and in target/. {PLACE}"
            )


def parse_options(text: str) -> dict[str, str]:
    """Return the options in `with (...)`: keys as they stand, values as texts.

    Raises:
        FloodmarkError: something there is no option.
    """
    options: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        found = _OPTION.match(text, position)
        if not found:
            raise FloodmarkError(
                f"got '{text[position:].strip()}' in with (...) after stream(): expected "
                "options such as maxFilesPerTrigger = 100, separated by commas"
            )
        options[_literal(found["key"])] = _literal(found["value"])
        position = found.end()
    return options


def absolute(path: str, project_dir: str) -> str:
    """Return a path that Spark takes from anywhere; relative ones lie in the project.

    Without `.`, `..` and doubled slashes, as Spark itself writes down what it has read.
    """
    root = re.match(r"[a-zA-Z][\w+.-]*:(?://[^/]*|(?!//))(?=/)", path)
    if root is None:
        return path if _SCHEME.match(path) else os.path.normpath(os.path.join(project_dir, path))
    below = os.path.normpath(path[root.end() :].lstrip("/"))
    # Hadoop keeps a .. that leads out of the root, and finds nothing there.
    return path if below.split("/")[0] == ".." else f"{root[0]}/{'' if below == '.' else below}"


def _register(
    spark: Any, source: Source, *, with_metadata: bool, predicate: str | None = None
) -> None:
    """Make the view that stands for a source; files carry `_metadata` where it is asked for."""
    if source.format == "kafka":
        _require_kafka(spark)
    if source.path is not None and source.format != "text":
        # Batch readers look into the files by themselves; for streams Spark wants to be asked.
        spark.conf.set("spark.sql.streaming.schemaInference", "true")
    frame = load(spark.readStream, _of_any_age(source))
    if predicate is not None:
        frame = frame.where(predicate)
    if with_metadata and source.path is not None:
        frame = frame.select("*", "_metadata")
    frame.createOrReplaceTempView(source.name)


def _register_running(spark: Any, source: Source, *, with_metadata: bool) -> None:
    """The same for a query that runs: each file is read once, whatever its path is like."""
    once = _read_once(spark, source) if source.path is not None else None
    if once is None or source.path is None:
        _register(spark, source, with_metadata=with_metadata)
    else:
        predicate = _is_read(source.path)
        _register(spark, once, with_metadata=with_metadata, predicate=predicate)


def _of_any_age(source: Source) -> Source:
    """Return a source of files that takes each one it has not read, however old it is.

    By default Spark passes over those that are 7 days older than the newest, and forgets those that
    it has read, so that one of them that is touched is read again.
    """
    if source.path is None or "maxfileage" in _options(source):
        return source
    return dataclasses.replace(source, options={**source.options, "maxFileAge": _UNREACHABLE_AGE})


def reading(reader: Any, source: Source) -> Any:
    """Return Spark's reader, of streams or of batches, with a source's format and options."""
    reader = reader.format(source.format)
    local = LOCAL_FILES if source.path is not None and is_local(source.path) else {}
    for key, value in {**local, **source.options}.items():
        reader = reader.schema(value) if key.lower() == "schema" else reader.option(key, value)
    return reader


def load(reader: Any, source: Source) -> Any:
    """Return a source as a DataFrame; what exists under its very path is meant, [ and { in it too.

    Raises:
        FloodmarkError: its folder is not there.
    """
    from pyspark.errors import AnalysisException

    reader = reading(reader, source)
    if source.path is None:
        return reader.load()
    pattern = path_pattern(source.path)
    if is_pattern(pattern) and not is_glob(pattern) and "basepath" not in _options(source):
        # Else Spark would not know where folders k=v begin.
        reader = reader.option("basePath", source.path)
    try:
        return reader.load(pattern)
    except AnalysisException as exc:
        if "PATH_NOT_FOUND" in str(exc) and not is_glob(pattern):
            raise SourceGoneError(source.path) from exc
        raise


def _options(source: Source) -> dict[str, str]:
    return {key.lower(): value for key, value in source.options.items()}


def _read_once(spark: Any, source: Source) -> Source | None:
    """Return the source with what keeps Spark from reading a file more than once, or None.

    Spark 4.2 lists the files of a micro-batch once for each of them whose path it takes for a
    pattern, though it reads none as one (DataSource.checkAndGlobPathIfNecessary). Where it looks
    into all folders below, or by folders k=v, it drops what it has listed twice. So it looks into
    all folders below here, too, and what lies there is left out again (`_is_read`).
    """
    if _options(source).get("recursivefilelookup", "").lower() == "true":
        return None
    assert source.path is not None
    options = {key: value for key, value in source.options.items() if key.lower() in LISTING}
    options = {key: value for key, value in options.items() if key.lower() != "basepath"}
    below = Source(source.name, "binaryFile", {**options, RECURSIVE: "true"}, source.path)
    counts = _look_below(spark, below, source.path)
    if counts["has_partitions"] or (counts["has_folders"] and not counts["has_odd"]):
        return None
    pattern = path_pattern(source.path)
    if is_glob(pattern) and re.search(r"(?<!\\)\{[^}]*/", pattern):
        # Its folders are not equally deep.
        if not counts["has_odd"]:
            return None
        raise FloodmarkError(
            f"a file of {source.path} has one of *, ?, [, ], {{, }} and \\ in its path. With a / "
            "between { and } Spark would read the other files of its micro-batch more than once: "
            "name one folder, or rename the file or folder with such a name"
        )
    kept = {key: value for key, value in source.options.items() if key.lower() != RECURSIVE.lower()}
    return Source(source.name, source.format, {**kept, RECURSIVE: "true"}, source.path)


def _look_below(spark: Any, below: Source, path: str) -> Mapping[str, bool]:
    """Tell what lies below: folders, folders k=v, names that Spark takes for patterns.

    Raises:
        SourceGoneError: the folder is not there, or that in which a pattern begins.
    """
    from pyspark.errors import AnalysisException

    try:
        found = load(spark.read, below)
    except AnalysisException as exc:
        if "PATH_NOT_FOUND" not in str(exc):
            raise
        # A pattern that matches nothing, yet or any more, is as a folder without files.
        folder = glob_folder(path_pattern(path))
        if not _exists(spark, folder):
            raise SourceGoneError(folder) from exc
        return dict.fromkeys(("has_folders", "has_partitions", "has_odd"), False)
    looked = found.selectExpr(
        f"not {_is_direct(path)} as is_below",
        f"{_is_partition(path)} as is_partition",
        r"_metadata.file_path rlike '%(5B|5C|5D|7B|7D|3F)|[*]' as is_odd",
    )
    counts = looked.selectExpr(
        "coalesce(bool_or(is_below), false) as has_folders",
        "coalesce(bool_or(is_partition), false) as has_partitions",
        "coalesce(bool_or(is_odd), false) as has_odd",
    ).first()
    return dict(counts.asDict())


def _exists(spark: Any, path: str) -> bool:
    place = spark._jvm.org.apache.hadoop.fs.Path(f"{path.rstrip('/')}/")
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    return bool(place.getFileSystem(conf).exists(place))


#: Spark's option by which folders below a folder count.
RECURSIVE = "recursiveFileLookup"
#: Options that say which files of a folder a stream reads.
LISTING = ("pathglobfilter", RECURSIVE.lower(), "basepath")
#: The parts of a file's path between its slashes; the first, before the root's slash, is empty.
_PARTS = "split(regexp_replace(_metadata.file_path, '^[^:/]+:(//[^/]*)?', ''), '/')"


def _parts(path: str) -> list[str]:
    """The parts of a path below the root."""
    bare = re.sub(r"^[a-zA-Z][\w+.-]*:(//[^/]*)?", "", path)
    return [part for part in bare.split("/") if part]


def _depth(path: str) -> int:
    return len(_parts(path))


def _is_direct(path: str) -> str:
    """A predicate of files that lie in a folder itself, or of those that its pattern names."""
    return f"(size({_PARTS}) <= {_depth(path) + 2})"


def _is_partition(path: str) -> str:
    """A predicate of files below a folder k=v, however deep that lies in the folder or pattern."""
    below = _depth(path) + 2
    folders = f"slice({_PARTS}, {below}, greatest(size({_PARTS}) - {below}, 0))"
    return f"(array_join({folders}, '/') like '%=%')"


def _is_read(path: str) -> str:
    """The predicate `_is_direct`, which fails the micro-batch that has a file below a folder k=v.

    Such a folder came after the stream had started, which finds it when it starts again.
    """
    return (
        f"case when {_is_direct(path)} then true when {_is_partition(path)} then raise_error("
        "concat('the file ', _metadata.file_path, ' is in a folder such as day=2026-01-31, and the "
        "stream started before there was one. Nothing of this micro-batch was written: run again, "
        "and the stream reads such folders')) else false end"
    )


def is_passed_over(file: str, path: str) -> bool:
    """Tell whether a file lies in folders below that of a path or pattern, none of them k=v."""
    folders = _parts(file)[_depth(path) : -1]
    return bool(folders) and "=" not in "/".join(folders)


def _require_kafka(spark: Any) -> None:
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(_KAFKA)
    except Exception as exc:
        raise FloodmarkError(
            "the Kafka connector is not installed: run `floodmark setup --with kafka` once, and "
            "run the model again"
        ) from exc


def _literal(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])
    return text
