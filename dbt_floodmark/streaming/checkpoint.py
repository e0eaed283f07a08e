"""A stream's checkpoint: what Spark has written there, and who may use it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ParamSpec, TypeVar

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.spark.messages import readable, root_cause
from dbt_floodmark.spark.processes import command_of, is_alive
from dbt_floodmark.spark.stores import has_no_connector

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

#: Seconds between two signs of life of a lease.
RENEW_EVERY = 10.0
#: Seconds without one after which a lease of another machine counts as left behind.
LEFT_BEHIND = 60.0

#: Seconds in which a file that is being written is whole.
_SETTLE = 0.2

_LEASE = "_floodmark_lease"

#: Bytes of a file in which its first lines stand.
HEAD = 65_536

#: The logs of which Spark makes the last a compacted one, unless it is told otherwise.
_COMPACTS = 10


class CheckpointInUseError(FloodmarkError):
    """Another process runs the stream of this checkpoint."""


class UnwritableError(FloodmarkError):
    """The folder of a checkpoint cannot be written."""


class UnreachableError(FloodmarkError):
    """The file system of a checkpoint does not answer, or Spark has no connector for it.

    `is_final` tells that somebody must do something first.
    """

    def __init__(self, path: str, text: str) -> None:
        """Name the folder, by what Hadoop says."""
        super().__init__(
            f"the folder of its checkpoints, {path}, cannot be reached: {readable(text)}"
        )
        self.is_final = has_no_connector(text)


def _reaching(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Have a method of `Folder` say what Hadoop says as an `UnreachableError`."""

    @functools.wraps(method)
    def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return method(*args, **kwargs)
        except (Py4JJavaError, PySparkException) as exc:
            folder: Any = args[0]
            raise UnreachableError(folder.path, str(exc)) from exc

    return call


class DamagedError(FloodmarkError):
    """A file of a checkpoint is not as Spark wrote it."""

    def __init__(self, folder: Folder, name: str, text: str | None) -> None:
        """Name the file, by what it holds: None where it is gone."""
        if text is None:
            what = "is gone"
        elif not text.strip("\0 \t\r\n"):
            what = "is empty"
        else:
            what = "is cut short, or holds something else"
        super().__init__(
            f"its checkpoint is damaged: the file {folder.path}/{name} {what}. Put it back from a "
            "copy of the checkpoint, or run the model once with --full-refresh to load everything "
            "again"
        )


class Folder:
    """A folder on any file system that Spark reaches, through Hadoop's own client."""

    @_reaching
    def __init__(self, spark: Any, path: str) -> None:
        """Name the folder; nothing is made yet."""
        self.path = path
        self._spark = spark
        self._java = spark._jvm.org.apache.hadoop.fs
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._files = self._java.Path(path).getFileSystem(conf)

    @_reaching
    def names(self, child: str = "") -> list[str]:
        """Return the names in a folder below this one; none where it does not exist."""
        place = self._at(child)
        if not self._files.exists(place):
            return []
        return [str(status.getPath().getName()) for status in self._files.listStatus(place)]

    @_reaching
    def read(self, child: str, most: int | None = None) -> str | None:
        """Return a small file's text, or None where it does not exist; at most so many bytes.

        Bytes that are no UTF-8 are replaced.

        Raises:
            DamagedError: it does not fit its checksum.
        """
        from py4j.protocol import Py4JJavaError

        place = self._at(child)
        if not self._files.exists(place):
            return None
        stream = self._files.open(place)
        try:
            content = stream.readAllBytes() if most is None else stream.readNBytes(most)
            return bytes(content).decode("utf-8", "replace")
        except Py4JJavaError as exc:
            if "ChecksumException" not in str(exc.java_exception.getClass().getName()):
                raise
            status = self._files.getFileStatus(place)
            raise DamagedError(self, child, "?" if status.getLen() else "") from exc
        finally:
            stream.close()

    @_reaching
    def write(self, child: str, text: str, *, overwrite: bool) -> bool:
        """Write a small file; False where it exists and is not to be overwritten."""
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._files.create(self._at(child), overwrite)
        except Py4JJavaError as exc:
            if "FileAlreadyExists" in str(exc.java_exception.getClass().getName()):
                return False
            raise UnwritableError(
                f"the folder of its checkpoints, {self.path}, cannot be written: "
                f"{root_cause(str(exc.java_exception.toString()))}. Let the user that runs dbt "
                "write there, or name another folder in checkpoint_location"
            ) from exc
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        return True

    @_reaching
    def delete(self, child: str) -> None:
        """Remove a file, if it is there."""
        self._files.delete(self._at(child), False)

    def _at(self, child: str) -> Any:
        return self._java.Path(f"{self.path}/{child}" if child else self.path)


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint tells: its query's id, the last batch begun and the last one ended."""

    query_id: str | None
    last_offset: int | None
    last_commit: int | None

    @classmethod
    def read(cls, folder: Folder) -> Checkpoint:
        """Look into the folder; all is None where Spark has written nothing there.

        Raises:
            DamagedError: its file `metadata` is not as Spark writes it.
        """
        return cls(
            query_id=_query_id(folder),
            last_offset=_greatest(folder.names("offsets")),
            last_commit=_greatest(folder.names("commits")),
        )


def _query_id(folder: Folder) -> str | None:
    text = folder.read("metadata")
    if text is None:
        return None
    try:
        return str(json.loads(text)["id"])
    except (ValueError, KeyError, TypeError):
        raise DamagedError(folder, "metadata", text) from None


def read_offsets(folder: Folder, number: int) -> list[Any]:
    """Return what micro-batch `number` was to read up to: an offset a source, in order.

    Raises:
        DamagedError: its file is not as Spark writes it, or gone.
    """
    name = f"offsets/{number}"
    # A version, what the batch was run with, and a line a source.
    lines = _lines(folder, name)
    try:
        json.loads(lines[1])
        offsets = [json.loads(line) if line != "-" else None for line in lines[2:]]
    except (ValueError, IndexError):
        offsets = []
    if not offsets:
        raise DamagedError(folder, name, "\n".join(lines))
    return offsets


def read_log(folder: Folder, name: str) -> list[dict[str, Any]]:
    """Return the entries of a log of files that were read.

    Raises:
        DamagedError: it is not as Spark writes it, or gone.
    """
    lines = _lines(folder, name)
    try:
        entries = [json.loads(line) for line in lines[1:]]
        if all("path" in entry and "batchId" in entry for entry in entries) and entries:
            return entries
    except (ValueError, TypeError):
        pass
    raise DamagedError(folder, name, "\n".join(lines))


def verify(folder: Folder, *, to_the_end: bool = False) -> None:
    """See that the files from which a query goes on are whole: Spark's own words name few of them.

    Args:
        folder: the checkpoint.
        to_the_end: whether compacted logs, which may hold millions of files, are read to their end.

    Raises:
        DamagedError: one is not, or is gone.
    """
    checkpoint = Checkpoint.read(folder)
    last, ended = checkpoint.last_offset, checkpoint.last_commit
    if last is None and ended is None:
        return
    if last is not None and re.match(r"v[2-9]", folder.read(f"offsets/{last}") or ""):
        # Another format than the one that Spark writes unless it is told to.
        return
    if checkpoint.query_id is None:
        raise DamagedError(folder, "metadata", None)
    # Spark also reads the offsets before the last; those of the last come last here.
    numbers = {last - 1 if last else None, last, ended}
    for number in sorted(one for one in numbers if one is not None):
        offsets = read_offsets(folder, number)
    if ended is not None:
        lines = _lines(folder, f"commits/{ended}")
        with_json = len(lines) > 1 and _is_json(lines[1])
        if not with_json:
            raise DamagedError(folder, f"commits/{ended}", "\n".join(lines))
    for index, offset in enumerate(offsets):
        if isinstance(offset, dict) and "logOffset" in offset:
            _verify_log(folder, f"sources/{index}", int(offset["logOffset"]), to_the_end)


def _verify_log(folder: Folder, place: str, last: int, to_the_end: bool) -> None:
    """See that Spark can tell which files a source has read: up to the number `last`."""
    names = folder.names(place)
    compacted = last_compacted(names)
    numbers = range(0 if compacted is None else compacted + 1, last + 1)
    gone = [number for number in numbers if str(number) not in names]
    if gone:
        # Spark deletes those before a compacted one: only the last of them must be there.
        suffix = ".compact" if gone[-1] % _COMPACTS == _COMPACTS - 1 else ""
        raise DamagedError(folder, f"{place}/{gone[-1]}{suffix}", None)
    if compacted is not None:
        name = f"{place}/{compacted}.compact"
        text = folder.read(name, most=HEAD) or ""
        if not text.startswith("v1\n{"):
            raise DamagedError(folder, name, text)
        if to_the_end:
            read_log(folder, name)
    for number in numbers:
        read_log(folder, f"{place}/{number}")


#: What Spark says of a log that it cannot read: not which.
_UNREADABLE = re.compile(r"\b(?:jackson|json4s|MalformedInputException|ChecksumException)\b")
#: A file of what a query remembers, in what Spark says.
_STATE_FILE = re.compile(r"/(state/\d+/[\w./-]*\w)(?![\w./-])")
#: What files of state begin with, as they are compressed unless Spark is told otherwise.
_STATE_HEAD = "LZ4Block"


def damage(folder: Folder, text: str) -> str | None:
    """Return what is wrong where Spark cannot read a log, or what a query remembers, or None.

    Args:
        folder: the checkpoint.
        text: what Spark says, with its stack.
    """
    named = [name for name in _STATE_FILE.findall(text) if "." in name]
    try:
        if _UNREADABLE.search(text):
            verify(folder, to_the_end=True)
        if "CANNOT_LOAD_STATE_STORE" not in text and "CANNOT_READ_STATE" not in text:
            return None
        suspect = [name for name in named if folder.read(name, most=1) is None]
        suspect = suspect or _without_head(folder) or named
        content = folder.read(suspect[0], most=HEAD) if suspect else "?"
    except DamagedError as exc:
        return str(exc)
    return str(DamagedError(folder, suspect[0] if suspect else "state", content))


def _without_head(folder: Folder) -> list[str]:
    """The first file of state that does not begin as Spark writes it."""
    for operator in folder.names("state"):
        for partition in filter(str.isdigit, folder.names(f"state/{operator}")):
            place = f"state/{operator}/{partition}"
            for name in sorted(folder.names(place)):
                if name.endswith((".delta", ".snapshot")) and not name.startswith("."):
                    head = folder.read(f"{place}/{name}", most=len(_STATE_HEAD))
                    if head != _STATE_HEAD:
                        return [f"{place}/{name}"]
    return []


def _lines(folder: Folder, name: str) -> list[str]:
    """The lines of a file of which the first is its version."""
    text = folder.read(name)
    if text is None or not re.match(r"v\d+\n", text):
        raise DamagedError(folder, name, text)
    return text.split("\n")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def last_compacted(names: list[str]) -> int | None:
    """Return the number of the last log among these that holds all before it, too, or None."""
    return _greatest([name.removesuffix(".compact") for name in names if name.endswith(".compact")])


def _greatest(names: list[str]) -> int | None:
    return max((int(name) for name in names if name.isdigit()), default=None)


@dataclass(frozen=True)
class Holder:
    """The process that holds a lease; `sign` is when it gave its last sign of life."""

    host: str
    pid: int
    command: str
    sign: float
    token: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """Describe ourselves, now."""
        return cls(socket.gethostname(), os.getpid(), command_of(os.getpid()), time.time())


class Lease:
    """The right to run the stream of a checkpoint, for one process at a time.

    A holder on this machine is asked for by its process id, so a killed one is known at once; one
    on another machine counts as gone when it gave no sign of life for `LEFT_BEHIND` seconds.
    Spark itself notices two queries on one checkpoint only when both have written the same batch.
    """

    def __init__(self, folder: Folder, model: str) -> None:
        """Prepare a lease on the checkpoint in `folder`, of the stream `model`."""
        self._folder = folder
        self._model = model
        self._token = uuid.uuid4().hex
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lease:
        """Take the lease and keep it alive.

        Raises:
            CheckpointInUseError: another process holds it.
        """
        if not self._write(overwrite=False):
            holder = self._holder()
            if holder is not None and self._lives(holder):
                raise CheckpointInUseError(
                    f"the stream {self._model} is run by process {holder.pid} on {holder.host} "
                    f"({holder.command}), and a checkpoint takes one process at a time: stop that "
                    f"process, or let it continue. The checkpoint is {self._folder.path}"
                )
            self._write(overwrite=True)
            time.sleep(_SETTLE)
            winner = self._holder()
            if winner is not None and winner.token != self._token:
                raise CheckpointInUseError(
                    f"the stream {self._model} was taken up by process {winner.pid} on "
                    f"{winner.host} at the same time: let that one continue"
                )
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Give it back."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        # Whoever cannot delete it leaves it to its age.
        with contextlib.suppress(Exception):
            if self._is_ours():
                self._folder.delete(_LEASE)

    def _write(self, *, overwrite: bool) -> bool:
        holder = replace(Holder.this_process(), token=self._token)
        return self._folder.write(_LEASE, json.dumps(asdict(holder)), overwrite=overwrite)

    def _is_ours(self) -> bool:
        holder = self._holder()
        return holder is not None and holder.token == self._token

    def _holder(self) -> Holder | None:
        # One that is just being written is empty for a moment.
        denied: UnreachableError | None = None
        for _ in range(5):
            try:
                return Holder(**json.loads(self._folder.read(_LEASE) or ""))
            except UnreachableError as exc:
                # What is cut short, Hadoop cannot read either.
                denied = None if re.search("EOF|checksum", str(exc.__cause__), re.I) else exc
            except (ValueError, TypeError, DamagedError):
                denied = None
            time.sleep(_SETTLE)
        if denied is not None:
            raise denied
        # Nobody can read it: whoever wrote it died, or the disk was full.
        return None

    def _lives(self, holder: Holder) -> bool:
        if holder.host == socket.gethostname():
            alive = is_alive(holder.pid) and command_of(holder.pid) == holder.command
            return alive and holder.pid != os.getpid()
        return time.time() - holder.sign < LEFT_BEHIND

    def _renew(self) -> None:
        while not self._done.wait(RENEW_EVERY):
            with contextlib.suppress(Exception):
                if self._is_ours():
                    self._write(overwrite=True)
