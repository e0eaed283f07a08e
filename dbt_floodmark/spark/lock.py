"""One process at a time in an embedded metastore, said before Derby says it its own way."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbt_floodmark.errors import MetastoreLockedError
from dbt_floodmark.spark.processes import command_of, is_alive

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
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, and outwait a JVM whose Python process was killed.

        Raises:
            MetastoreLockedError: somebody else holds it.
        """
        if self._file is not None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = open(self.path, "a+", encoding="utf-8")  # noqa: SIM115 (held for the process)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise MetastoreLockedError(locked_sentence(self.path)) from None
        try:
            self._outwait_orphan(read_holder(self.path))
        except MetastoreLockedError:
            file.close()
            raise
        self._file = file
        self._write(Holder(os.getpid(), shlex.join(sys.argv)))

    def record_jvm(self, jvm_pid: int | None) -> None:
        """Remember our JVM, so that whoever comes after a kill can wait for it."""
        self._write(Holder(os.getpid(), shlex.join(sys.argv), jvm_pid))

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _outwait_orphan(self, holder: Holder | None) -> None:
        if holder is None or holder.jvm_pid is None:
            return
        deadline = time.monotonic() + JVM_GRACE
        while is_alive(holder.jvm_pid) and "java" in command_of(holder.jvm_pid):
            if time.monotonic() > deadline:
                raise MetastoreLockedError(locked_sentence(self.path, jvm=True))
            time.sleep(0.1)

    def _write(self, holder: Holder) -> None:
        if self._file is None:
            return
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps(holder.__dict__))
        self._file.flush()


def read_holder(path: Path) -> Holder | None:
    """Return who wrote the lock file last, or None when nobody legible did."""
    try:
        return Holder(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def is_locked(path: Path) -> bool:
    """Tell whether a live process holds the lock."""
    if not path.exists():
        return False
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def locked_sentence(path: Path, jvm: bool = False) -> str:
    """Say who holds the metastore, where, and what to do about it."""
    holder = read_holder(path)
    if holder is None:
        who = "another process"
    elif jvm:
        who = f"process {holder.jvm_pid} (the JVM of a killed '{holder.command}')"
    else:
        who = f"process {holder.pid} ({holder.command})"
    return (
        f"The metastore at {path.parent} is in use by {who}, and Derby takes one process at a "
        "time: wait until it ends, or run both against one server with `floodmark serve start` "
        "and the thrift target (-t thrift)."
    )
