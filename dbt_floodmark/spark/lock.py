"""One process at a time: in an embedded metastore, and at the start of a server."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_floodmark.errors import MetastoreLockedError, ServerError
from dbt_floodmark.spark.conf import log_option
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.processes import command_of, is_alive

if TYPE_CHECKING:
    from filelock import BaseFileLock

#: What the process that keeps the warm server calls itself (spark/warm.py).
WARM_SERVER = "the warm server"

#: How two commands work at a time; not every command has the option --warm.
_SHARE = "with FLOODMARK_WARM=1 in the environment (a stream cannot)"
WAY_OUT = f"wait until it ends, or have both commands work on one Spark, {_SHARE}"

#: Seconds a JVM may outlive the Python process that started it.
JVM_GRACE = 15.0


@dataclass(frozen=True)
class Holder:
    """Who holds the lock: process, command line, and the JVM it started."""

    pid: int
    command: str
    jvm_pid: int | None = None


class MetastoreLock:
    """An exclusive lock on a workplace, held until the process ends or it is released."""

    def __init__(self, path: Path) -> None:
        """Prepare the lock at ``path``; nothing is taken yet."""
        self.path = path
        self._lock: BaseFileLock | None = None
        self._command = ""

    def acquire(self, command: str | None = None) -> None:
        """Take the lock, and outwait a JVM whose Python process was killed.

        ``command`` is what others are told of who has it, by default this process's command line.

        Raises:
            MetastoreLockedError: somebody else holds it.
        """
        if self._lock is not None:
            return
        lock = _try_lock(self.path)
        if lock is None:
            raise MetastoreLockedError(locked_sentence(self.path))
        try:
            self._outwait_orphan(read_holder(self.path))
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        self._command = command or shlex.join(sys.argv)
        self._write(Holder(os.getpid(), self._command))

    def record_jvm(self, jvm_pid: int | None) -> None:
        """Remember our JVM, so that whoever comes after a kill can wait for it."""
        self._write(Holder(os.getpid(), self._command, jvm_pid))

    def release(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _outwait_orphan(self, holder: Holder | None) -> None:
        if holder is None or holder.jvm_pid is None:
            return
        # Its process id may be another's by now.
        ours = log_option(Workplace(self.path.parent))
        deadline = time.monotonic() + JVM_GRACE
        while is_alive(holder.jvm_pid) and ours in command_of(holder.jvm_pid):
            if time.monotonic() > deadline:
                raise MetastoreLockedError(locked_sentence(self.path, jvm=True))
            time.sleep(0.1)

    def _write(self, holder: Holder) -> None:
        if self._lock is not None:
            _holder_file(self.path).write_text(json.dumps(holder.__dict__), "utf-8")


def read_holder(path: Path) -> Holder | None:
    """Return who took the lock last, or None when nobody legible did."""
    try:
        return Holder(**json.loads(_holder_file(path).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _holder_file(path: Path) -> Path:
    # Not the lock file itself: some versions of filelock empty it as they take the lock.
    return path.with_name(f"{path.name}.json")


def is_locked(path: Path) -> bool:
    """Tell whether a live process holds the lock."""
    if not path.exists():
        return False
    lock = _try_lock(path)
    if lock is not None:
        lock.release()
    return lock is None


def _try_lock(path: Path) -> BaseFileLock | None:
    # Imported here: the plugin needs this module for its sentence alone, at every dbt command.
    from filelock import FileLock, Timeout

    # dbt takes it on one thread and may give it back on another.
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    return lock


@contextlib.contextmanager
def one_process(path: Path, server: str, seconds: float) -> Iterator[None]:
    """Let one process at a time start or end a server, with a lock at ``path``.

    Raises:
        ServerError: another process has had the lock for ``seconds``.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise ServerError(
            f"Another process has been starting {server} for {seconds:.0f} s: see "
            "`floodmark serve status`."
        ) from None
    try:
        yield
    finally:
        lock.release()


def locked_sentence(path: Path, jvm: bool = False) -> str:
    """Say who holds the metastore, where, and what to do about it."""
    holder = read_holder(path)
    if holder is None:
        who = "another process"
    elif jvm:
        who = f"process {holder.jvm_pid} (the JVM of a killed '{holder.command}')"
    elif holder.command == WARM_SERVER:
        return (
            f"The metastore at {path.parent} is in use by {WARM_SERVER} (process {holder.pid}), "
            "and Derby takes one process at a time: stop that server with `floodmark serve stop`, "
            f"or have this command work on it, too, {_SHARE}."
        )
    else:
        who = f"process {holder.pid} ({holder.command})"
    return (
        f"The metastore at {path.parent} is in use by {who}, and Derby takes one process at a "
        f"time: {WAY_OUT}."
    )
