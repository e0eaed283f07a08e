"""Files that land all at once."""

from __future__ import annotations

import filecmp
import os
from contextlib import ExitStack
from pathlib import Path


class Drop:
    """Files that are written under hidden names and get their own at the end, all at once."""

    def __init__(self, folder: Path) -> None:
        """Files below ``folder``, which is made on entering."""
        self._folder = folder
        self._stack = ExitStack()
        self._open: dict[str, int] = {}
        self._buffers: dict[str, list[str]] = {}
        self._times: dict[str, int] = {}

    @property
    def files(self) -> int:
        """How many files were written."""
        return len(self._open)

    def __enter__(self) -> Drop:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def write(self, name: str, line: str) -> None:
        """Add a line to the file called ``name``."""
        buffer = self._buffers.setdefault(name, [])
        buffer.append(line)
        if len(buffer) >= 1_000:
            self._flush(name)

    def date(self, name: str, seconds: int) -> None:
        """Give the file called ``name`` a modification time, in seconds since 1970 UTC."""
        self._times[name] = seconds

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Give the files their names, or remove them where something went wrong."""
        if error is None:
            for name in self._buffers:
                self._flush(name)
        self._stack.close()
        for name in self._open:
            if error is None:
                self._publish(name)
            else:
                self._hidden(name).unlink(missing_ok=True)

    def _hidden(self, name: str) -> Path:
        # Spark and floodmark pass over names that begin with a dot.
        return self._folder / f".{name}.{os.getpid()}.tmp"

    def _flush(self, name: str) -> None:
        if name not in self._open:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            self._open[name] = os.open(self._hidden(name), flags, 0o644)
            self._stack.callback(os.close, self._open[name])
        data = memoryview("".join(f"{line}\n" for line in self._buffers[name]).encode())
        while data:
            data = data[os.write(self._open[name], data) :]
        self._buffers[name].clear()

    def _publish(self, name: str) -> None:
        final = self._folder / name
        if final.exists() and filecmp.cmp(self._hidden(name), final, shallow=False):
            self._hidden(name).unlink()
            return
        if name in self._times:
            os.utime(self._hidden(name), (self._times[name], self._times[name]))
        self._hidden(name).replace(final)
