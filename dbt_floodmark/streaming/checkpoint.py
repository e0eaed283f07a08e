"""A stream's checkpoint: what Spark has written there, and who may use it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.processes import command_of, is_alive

#: Seconds between two signs of life of a lease.
RENEW_EVERY = 10.0
#: Seconds without one after which a lease of another machine counts as left behind.
LEFT_BEHIND = 60.0

#: Seconds in which a file that is being written is whole.
_SETTLE = 0.2

_LEASE = "_floodmark_lease"


class CheckpointInUseError(FloodmarkError):
    """Another process runs the stream of this checkpoint."""


class Folder:
    """A folder on any file system that Spark reaches, through Hadoop's own client."""

    def __init__(self, spark: Any, path: str) -> None:
        """Name the folder; nothing is made yet."""
        self.path = path
        self._spark = spark
        self._java = spark._jvm.org.apache.hadoop.fs
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._files = self._java.Path(path).getFileSystem(conf)

    def names(self, child: str = "") -> list[str]:
        """Return the names in a folder below this one; none where it does not exist."""
        place = self._at(child)
        if not self._files.exists(place):
            return []
        return [str(status.getPath().getName()) for status in self._files.listStatus(place)]

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """Return the URIs of what is in the folder and fits one of Hadoop's patterns."""
        found: list[str] = []
        for pattern in patterns:
            statuses = self._files.globStatus(self._java.Path(f"{self.path}/{pattern}"))
            found += [str(status.getPath().toUri()) for status in statuses or ()]
        return found

    def read(self, child: str) -> str | None:
        """Return a small file's text, or None where it does not exist."""
        place = self._at(child)
        if not self._files.exists(place):
            return None
        stream = self._files.open(place)
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def write(self, child: str, text: str, *, overwrite: bool) -> bool:
        """Write a small file; False where it exists and is not to be overwritten."""
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._files.create(self._at(child), overwrite)
        except Py4JJavaError as exc:
            if "FileAlreadyExists" in str(exc.java_exception.getClass().getName()):
                return False
            raise
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        return True

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
        """Look into the folder; all is None where Spark has written nothing there."""
        metadata = folder.read("metadata")
        return cls(
            query_id=json.loads(metadata)["id"] if metadata else None,
            last_offset=_greatest(folder.names("offsets")),
            last_commit=_greatest(folder.names("commits")),
        )


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
                    f"one, or let it go on. The checkpoint is {self._folder.path}"
                )
            self._write(overwrite=True)
            time.sleep(_SETTLE)
            winner = self._holder()
            if winner is not None and winner.token != self._token:
                raise CheckpointInUseError(
                    f"the stream {self._model} was taken up by process {winner.pid} on "
                    f"{winner.host} at the same time: let that one go on"
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
        for _ in range(5):
            try:
                return Holder(**json.loads(self._folder.read(_LEASE) or ""))
            except (ValueError, TypeError):
                time.sleep(_SETTLE)
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
