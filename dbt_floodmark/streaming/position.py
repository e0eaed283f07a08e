"""How far a stream has read its sources, what lies beyond, and what it read as a batch."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.paths import glob_regex, is_local, literal_folders, path_pattern
from dbt_floodmark.spark.delta_log import newest_version
from dbt_floodmark.streaming.checkpoint import (
    HEAD,
    Checkpoint,
    Folder,
    last_compacted,
    read_log,
    read_offsets,
)
from dbt_floodmark.streaming.query_plan import plan_nodes
from dbt_floodmark.streaming.sources import (
    CHANGE_FEED,
    LISTING,
    RECURSIVE,
    Source,
    SourceGoneError,
    Stream,
    is_passed_over,
    load,
    replace_streams,
)

#: A scheme with the bucket or the server behind it, and what stands before the root of a path.
_STORE = re.compile(r"[a-zA-Z][\w+.-]*://[^/]+/")
_ROOT = re.compile(r"^[a-zA-Z][\w+.-]*:(?://[^/]*)?(?=/)")
_VIEW = "_floodmark_passed_{}"
#: Options by which a Delta stream reads something else than the table's rows.
_OTHER_ROWS = (
    "startingversion",
    "startingtimestamp",
    *CHANGE_FEED,
    "skipchangecommits",
    "ignorechanges",
    "ignoredeletes",
)


@dataclass(frozen=True)
class Pending:
    """What the next run of a stream would read.

    `low` and `high` name the versions of its Delta tables that were read and that are there; None
    where it reads none. `files` and `bytes` are of folders. All is None for sources that cannot be
    asked without a query (Kafka).
    """

    kind: str
    low: str | None = None
    high: str | None = None
    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Position:
    """What the last finished micro-batch of a checkpoint had read: an offset a source, in order."""

    number: int | None
    offsets: Sequence[Any] = ()

    @classmethod
    def read(cls, folder: Folder | None) -> Position:
        """Look into a checkpoint; without one, or without a finished batch, nothing was read."""
        number = Checkpoint.read(folder).last_commit if folder is not None else None
        if folder is None or number is None:
            return cls(None)
        # A version, what the batch was run with, and a line a source.
        return cls(number, read_offsets(folder, number))

    def of_table(
        self, table_id: str, taken: set[int], own: int | None = None
    ) -> Mapping[str, Any] | None:
        """Return the offset of a Delta table that no other stream of the SELECT has taken.

        That of the source with the number `own`, where it fits.
        """
        return next(
            (
                self._take(index, taken)
                for index, offset in self._left(taken, own)
                if offset.get("reservoirId") == table_id
            ),
            None,
        )

    def files_of(
        self, path: str, folder: Folder | None, taken: set[int], own: int | None = None
    ) -> set[str] | None:
        """Return the files that a stream of `path` has read, as `plain` writes them.

        Those of the source with the number `own`, where they fit; None where no source is left.
        """
        is_below = _below(path_pattern(path))
        for index, offset in self._left(taken, own):
            if "logOffset" in offset and folder is not None:
                read = _files_read(folder, index, int(offset["logOffset"]))
                if all(map(is_below, read)):
                    self._take(index, taken)
                    return read
        return None

    def _left(self, taken: set[int], own: int | None) -> list[tuple[int, Mapping[str, Any]]]:
        left = [
            (index, offset)
            for index, offset in enumerate(self.offsets)
            if index not in taken and isinstance(offset, dict)
        ]
        return sorted(left, key=lambda one: one[0] != own)

    def _take(self, index: int, taken: set[int]) -> Mapping[str, Any]:
        taken.add(index)
        return dict(self.offsets[index])


def read_version(offset: Mapping[str, Any]) -> int:
    """Return the last version of a Delta table that was read whole: -1 for none.

    An offset is before a version, or behind one of its files; behind the last one it is before the
    next version.
    """
    return int(offset["reservoirVersion"]) - 1


def is_within(offset: Mapping[str, Any]) -> bool:
    """Tell whether a version, or the table as it was at first, was read in part."""
    return int(offset.get("index", -1)) >= 0


def versions_behind(
    offset: Mapping[str, Any] | None, newest: int, has_changes: Callable[[int], bool]
) -> int:
    """Count the versions of a Delta table beyond an offset, one that was read in part included.

    Args:
        offset: None where nothing was read.
        newest: the table's newest version.
        has_changes: tells of a version whether Delta wrote its changes into files of their own. A
            change feed reads those in one batch, never in part, and its offset stays behind the
            last of them. The rows that a table had at the start are read in parts, though.
            https://github.com/delta-io/delta, DeltaSourceCDCSupport.scala
    """
    if offset is None:
        return newest + 1
    read = read_version(offset)
    is_snapshot = offset.get("isStartingVersion", False)
    if read < newest and is_within(offset) and not is_snapshot and has_changes(read + 1):
        read += 1
    return max(0, newest - read)


def count_behind(spark: Any, path: str, offset: Mapping[str, Any] | None) -> tuple[int, int]:
    """Return how many versions of a Delta table lie beyond an offset, and its newest version."""

    def has_changes(version: int) -> bool:
        commit = Folder(spark, path).read(f"_delta_log/{version:020}.json") or ""
        return any(line.startswith('{"cdc":') for line in commit.splitlines())

    newest = newest_version(spark, path)
    return versions_behind(offset, newest, has_changes), newest


def pending(spark: Any, sql: str, project_dir: str, folder: Folder | None) -> Pending:
    """Return what lies beyond a checkpoint.

    Args:
        spark: a session.
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        folder: the checkpoint; None where there is none yet.

    Raises:
        FloodmarkError: options of the SELECT that cannot be read.
    """
    position = Position.read(folder)
    low: list[str] = []
    high: list[str] = []
    new_files: list[int] | None = None
    streams = _streams(sql, project_dir)
    is_known, is_behind = bool(streams), False
    taken: set[int] = set()
    for number, stream in enumerate(streams):
        if stream.table is not None:
            detail = _delta_detail(spark, stream.table)
            if detail is None:
                is_known = False
                continue
            offset = position.of_table(detail["id"], taken, number)
            behind, newest = count_behind(spark, detail["location"], offset)
            read = newest - behind
            low += [_version_text(stream.table, read)] if read >= 0 else []
            high.append(_version_text(stream.table, newest))
            is_behind = is_behind or behind > 0
        elif stream.source is not None and stream.source.path is not None:
            seen = position.files_of(stream.source.path, folder, taken, number) or set()
            there = _files_there(spark, stream.source)
            sizes = [size for path, size in there if plain(path) not in seen]
            new_files = [*(new_files or []), *sizes]
            is_behind = is_behind or bool(sizes)
        else:
            is_known = False
    kind = "nothing new" if is_known and not is_behind else "stream"
    return Pending(
        kind="first_load" if position.number is None and kind == "stream" else kind,
        low=", ".join(low) or None,
        high=", ".join(high) or None,
        files=None if new_files is None else len(new_files),
        bytes=None if new_files is None else sum(new_files),
    )


def paths_read(frame: Any) -> list[str | None]:
    """Return what the sources of a streaming DataFrame read, in the order of Spark's numbers.

    That is the pattern of its files' paths; None for what reads no files.
    """
    found: list[str | None] = []
    for node in plan_nodes(frame):
        name = str(node.nodeName())
        if name == "StreamingRelation" and str(node.dataSource().className()).lower() != "delta":
            path = node.dataSource().options().get("path")
            found.append(str(path.get()) if path.isDefined() else None)
        elif name.startswith("Streaming"):
            found.append(None)
    return found


def refuse_moved(paths: Sequence[str | None], folder: Folder) -> None:
    """See that each source of a query reads the folder that it has read before.

    Spark knows a source by its number alone. It takes the files of another folder for the next
    ones, and so those of one that was renamed, or of a source that has another place, for new ones.

    Args:
        paths: what `paths_read` returns.
        folder: the checkpoint.

    Raises:
        SourceGoneError: a folder with *, ?, [ or { in its name is gone, so its path is a pattern.
        FloodmarkError: a source has read files of a folder that it does not read now.
    """
    numbers = sorted(int(name) for name in folder.names("sources") if name.isdigit())
    for number, path in enumerate(paths):
        first = _first_file(folder, str(number)) if number in numbers else None
        if first is None or (path is not None and _below(path)(first)):
            continue
        for gone, literal in literal_folders(path) if path is not None and is_local(path) else ():
            if _below(literal)(first):
                raise SourceGoneError(gone)
        if any(other is not None and _below(other)(first) for other in paths):
            raise FloodmarkError(
                f"its checkpoint {folder.path} has read {first} as source {number + 1} of the "
                "SELECT, and another source reads that folder now, so every file there would be "
                "loaded as a new one: put the sources back in their order, or run the model once "
                "with --full-refresh to load everything again"
            )
        if path is not None:
            shown = re.sub(r"\\(.)", r"\1", path)
            raise FloodmarkError(
                f"its checkpoint {folder.path} has read files of another folder, such as {first}, "
                f"and none of {shown}, so every file there would be loaded as a new one: name the "
                "folder as it was before, or run the model once with --full-refresh to load "
                "everything again"
            )


def refuse_latest(spark: Any, sql: str, project_dir: str, folder: Folder) -> None:
    """See that a query that ends with what is there does not begin behind it, in each run anew.

    Args:
        spark: a session.
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        folder: the checkpoint.

    Raises:
        FloodmarkError: a Delta table is read from `latest` on, and nothing of it was read yet.
    """
    latest = [
        stream.table
        for stream in _streams(sql, project_dir)
        if stream.table and stream.options.get("startingversion", "").lower() == "latest"
    ]
    last = Checkpoint.read(folder).last_offset if latest else None
    offsets = [] if last is None else read_offsets(folder, last)
    begun = {offset.get("reservoirId") for offset in offsets if isinstance(offset, dict)}
    for table in latest:
        detail = _delta_detail(spark, table)
        if detail is not None and detail["id"] not in begun:
            newest = newest_version(spark, detail["location"])
            raise FloodmarkError(
                f"it reads {table} with startingVersion = 'latest', which begins after the newest "
                "version each time, and a run that ends with what is there never reads anything. "
                f"Write the number of the first version to read, such as {newest}, the newest. Or "
                "give the model a trigger with processing_time, and start it with `floodmark "
                "stream`"
            )


def _first_file(folder: Folder, source: str) -> str | None:
    """Return the first file that a checkpoint's source has read; None for what reads no files."""
    logs = [
        name for name in folder.names(f"sources/{source}") if re.match(r"\d+(\.compact)?$", name)
    ]
    for log in sorted(logs, key=lambda name: int(name.partition(".")[0])):
        for line in (folder.read(f"sources/{source}/{log}", most=HEAD) or "").splitlines()[1:2]:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return plain(json.loads(line)["path"])
    return None


def as_read(spark: Any, sql: str, project_dir: str, folder: Folder) -> str:
    """Return the SELECT over views of what a checkpoint has read of each source.

    Args:
        spark: the session that will run it.
        sql: compiled SQL of the model.
        project_dir: what relative paths are relative to.
        folder: the checkpoint.

    Raises:
        FloodmarkError: a source that cannot be read again as it was.
    """
    position = Position.read(folder)
    if position.number is None:
        raise FloodmarkError("none of its micro-batches has ended yet: run it first")
    taken: set[int] = set()
    count = 0

    def put(stream: Stream) -> str:
        nonlocal count
        count += 1
        if stream.table is not None:
            frame = _table_as_read(spark, stream, position, taken, count - 1)
        elif stream.source is not None and stream.source.path is not None:
            read = position.files_of(stream.source.path, folder, taken, count - 1)
            frame = _files_as_read(spark, stream, stream.source.path, read)
        else:
            raise FloodmarkError(
                "it reads Kafka, which does not keep what was read, so its table cannot be "
                "compared with its sources"
            )
        frame.createOrReplaceTempView(_VIEW.format(count))
        return _VIEW.format(count)

    return replace_streams(sql, project_dir, put)


def _streams(sql: str, project_dir: str) -> list[Stream]:
    found: list[Stream] = []

    def put(stream: Stream) -> str:
        found.append(stream)
        return stream.text

    replace_streams(sql, project_dir, put)
    return found


def _version_text(table: str, version: int) -> str:
    return f"{table.replace('`', '').rpartition('.')[2]} version {version}"


def _delta_detail(spark: Any, table: str) -> Mapping[str, Any] | None:
    """Return `id` and `location` of a Delta table; None for what is none."""
    from pyspark.errors import AnalysisException

    # Unquoted, Delta takes a table called history or version for a word of its own.
    name = re.sub(r"\.([^.`]+)$", r".`\1`", table)
    try:
        detail = spark.sql(f"describe detail {name}").select("format", "id", "location").first()
    except AnalysisException:
        return None
    return dict(detail.asDict()) if detail["format"] == "delta" else None


def _table_as_read(
    spark: Any, stream: Stream, position: Position, taken: set[int], number: int
) -> Any:
    for option in stream.options:
        if option in _OTHER_ROWS and (option not in CHANGE_FEED or stream.reads_changes):
            raise FloodmarkError(
                f"it reads {stream.table} with {option}, so its rows are not those of that table, "
                "and the two cannot be compared"
            )
    detail = _delta_detail(spark, str(stream.table))
    if detail is None:
        raise FloodmarkError(
            f"{stream.table} is not a Delta table, so the version that was read cannot be read "
            "again"
        )
    offset = position.of_table(detail["id"], taken, number)
    if offset is None:
        raise FloodmarkError(
            f"{stream.table} is not the table that its checkpoint has read (it was dropped and "
            "recreated): run it once with --full-refresh to load everything again"
        )
    if is_within(offset):
        raise FloodmarkError(
            f"it is in the middle of version {offset['reservoirVersion']} of {stream.table}: let "
            "it read all that is there first"
        )
    # What was read of a table that was empty is its first version.
    reader = spark.read.format("delta").option("versionAsOf", max(0, read_version(offset)))
    return reader.load(detail["location"])


def _files_as_read(spark: Any, stream: Stream, path: str, read: set[str] | None) -> Any:
    from pyspark.sql.functions import col

    source = stream.source
    assert source is not None
    if not read:
        raise FloodmarkError(f"its checkpoint has read no files of {path}: run it first")
    there = {plain(file): file for file, _ in _files_there(spark, source)}
    if stream.options.get(RECURSIVE.lower(), "").lower() != "true":
        # What lies in folders below was passed over (sources.py, _read_once).
        read -= {file for file in read - there.keys() if is_passed_over(file, path)}
    gone = sorted(read - there.keys())
    if gone:
        raise FloodmarkError(
            f"files that it has read are gone from {path} ({len(gone):,}, such as {gone[0]}), so "
            "what they held cannot be read again"
        )
    # The folder, and not its files one by one: Spark takes [, {, * and ? in names for patterns.
    frame = load(spark.read, source)
    frame = frame.where(col("_metadata.file_path").isin([there[file] for file in read]))
    return frame.select("*", "_metadata") if stream.has_metadata else frame


def _files_read(folder: Folder, index: int, last: int) -> set[str]:
    """Return the files in the log of a checkpoint's source, up to its batch `last`."""
    names = folder.names(f"sources/{index}")
    compacted = last_compacted(names)
    logs = [] if compacted is None else [f"{compacted}.compact"]
    after = -1 if compacted is None else compacted
    logs += [name for name in names if name.isdigit() and after < int(name)]
    read = set()
    for log in logs:
        for entry in read_log(folder, f"sources/{index}/{log}"):
            if int(entry["batchId"]) <= last:
                read.add(plain(entry["path"]))
    return read


def _files_there(spark: Any, source: Source) -> list[tuple[str, int]]:
    """List a folder as a stream of it does: path and size in bytes of each file."""
    from pyspark.errors import AnalysisException

    options = {key: value for key, value in source.options.items() if key.lower() in LISTING}
    listed = Source(source.name, "binaryFile", options, source.path)
    try:
        files = load(spark.read, listed).select("_metadata.file_path", "_metadata.file_size")
    except SourceGoneError:
        return []
    except AnalysisException as exc:
        if "PATH_NOT_FOUND" in str(exc):
            return []
        raise
    return [(row[0], int(row[1])) for row in files.collect()]


def plain(path: str) -> str:
    """Return a file's URI without what Spark writes one way here and another way there."""
    return unquote(path).replace(":///", ":/")


def _below(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a file, as `plain` writes it, is in a folder or of a pattern.

    Only where a pattern names a store's bucket or a server must the file's URI name it too.
    """
    if re.fullmatch(r"[a-zA-Z][\w+.-]*://[^/]+", pattern):
        # A whole bucket.
        pattern += "/"
    store = "" if is_local(pattern) else (_STORE.match(pattern) or [""])[0]
    inside = re.compile(glob_regex(_ROOT.sub("", pattern).rstrip("/")) + "(?:/|$)")
    return lambda file: file.startswith(store) and bool(inside.match(_ROOT.sub("", file)))
