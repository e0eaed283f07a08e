"""What a streaming SELECT reads beside tables: folders of files, Kafka, and what macros marked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dbt_floodmark.errors import FloodmarkError

#: What `with (...)` may hold behind a stream.
_WITH = r"""(?:\s*\bwith\s*\((?P<{name}>(?:[^()'"]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")*)\))?"""
_NAME = r"(?:\w+|`(?:[^`]|``)+`)"
_FORMATS = "(?:text|json|csv|parquet|orc|avro)"
_GAP = r"(?:\s|/\*.*?\*/|--[^\n]*\n)*"
#: ``stream(json.`path`) with (option = 'value')`` (Spark itself reads the folder once here), and
#: `stream(schema.table) with (...)`; the brackets may be left out. Literals and comments come
#: first, so that what stands in them is left alone.
_TOKEN = re.compile(
    rf"""
      '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | --[^\n]*
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
_OPTION = re.compile(
    r"""\s*(?P<key>[\w.]+|'[^']*'|"[^"]*")(?:\s*=\s*|\s+)(?P<value>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,\s]+)\s*(?:,|$)"""
)
#: What a letter behind a backslash stands for in Spark's literals.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


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


def replace_streams(sql: str, project_dir: str, put: Callable[[Stream], str]) -> str:
    """Return the SELECT with each `stream(...)`, its options included, replaced by `put(stream)`.

    Args:
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        put: the text for a stream.

    Raises:
        FloodmarkError: options that cannot be read.
    """
    has_metadata = re.search(r"\b_metadata\b", sql) is not None
    marked = [
        Source(**json.loads(token["marked"])) for token in _TOKEN.finditer(sql) if token["marked"]
    ]
    by_name = {source.name: source for source in marked}
    count = 0

    def replace(token: re.Match[str]) -> str:
        nonlocal count
        if token["marked"]:
            return ""
        if token["table"] in by_name:
            return put(Stream(token[0], source=by_name[token["table"]], has_metadata=True))
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


def with_sources(spark: Any, sql: str, project_dir: str) -> str:
    """Return the SELECT over temporary views of `spark` in place of folders and what macros marked.

    Args:
        spark: the session that will run the SELECT.
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.

    Raises:
        FloodmarkError: options that cannot be read, or no Kafka connector.
    """

    def put(stream: Stream) -> str:
        if stream.source is None:
            return stream.text
        _register(spark, stream.source, with_metadata=stream.has_metadata)
        return f"stream({stream.source.name})"

    return replace_streams(sql, project_dir, put)


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
                f"got '{text[position:].strip()}' in with (...) behind stream(): expected "
                "options such as maxFilesPerTrigger = 100, with commas between them"
            )
        options[_literal(found["key"])] = _literal(found["value"])
        position = found.end()
    return options


def absolute(path: str, project_dir: str) -> str:
    """Return a path that Spark takes from anywhere; relative ones lie in the project.

    Without . and .., as Spark itself writes down what it has read.
    """
    if re.match(r"[a-zA-Z][\w+.-]*:", path):
        return path
    return os.path.normpath(os.path.join(project_dir, path))


def _register(spark: Any, source: Source, *, with_metadata: bool) -> None:
    """Make the view that stands for a source; files carry `_metadata` where it is asked for."""
    if source.format == "kafka":
        _require_kafka(spark)
    if source.path is not None and source.format != "text":
        # Batch readers look into the files by themselves; for streams Spark wants to be asked.
        spark.conf.set("spark.sql.streaming.schemaInference", "true")
    reader = reading(spark.readStream, source)
    frame = reader.load(source.path) if source.path is not None else reader.load()
    if with_metadata and source.path is not None:
        frame = frame.select("*", "_metadata")
    frame.createOrReplaceTempView(source.name)


def reading(reader: Any, source: Source) -> Any:
    """Return Spark's reader, of streams or of batches, with a source's format and options."""
    reader = reader.format(source.format)
    for key, value in source.options.items():
        reader = reader.schema(value) if key.lower() == "schema" else reader.option(key, value)
    return reader


def _require_kafka(spark: Any) -> None:
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(_KAFKA)
    except Exception as exc:
        raise FloodmarkError(
            "the Kafka connector is not there: run `floodmark setup --with kafka` once, then again"
        ) from exc


def _literal(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])
    return text
