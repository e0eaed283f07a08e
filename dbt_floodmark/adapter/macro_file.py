"""A file beside the jars that keeps what dbt found in the text of a macro, for all processes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import marshal
import os
import stat
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbt_floodmark.spark.jars import jar_folder

#: Bytes up to which entries that this process did not use stay in the file.
MOST = 16 * 2**20


class MacroFile:
    """What was found, by a digest of the text: read at first use, written at exit."""

    def __init__(self, path: Path) -> None:
        """Take a path, at which there may be no file yet."""
        self.path = path
        self._stored: dict[bytes, bytes] | None = None
        self._used: dict[bytes, bytes] = {}
        self._has_more = False

    def get(self, what: str, text: str) -> Any:
        """Return what was kept of a text; None where that is nothing that can be read."""
        if self._stored is None:
            self._stored = self._read()
        key = _key(what, text)
        kept = self._stored.get(key)
        if kept is None:
            return None
        try:
            found = marshal.loads(kept)
        except (ValueError, EOFError, TypeError):
            return None
        self._used[key] = kept
        return found

    def put(self, what: str, text: str, found: Any) -> None:
        """Keep something that `marshal` can write for the next process."""
        self._used[_key(what, text)] = marshal.dumps(found)
        self._has_more = True

    def write(self) -> None:
        """Put what is new beside what is there; a folder that cannot be written stays as it is."""
        if not self._has_more:
            return
        self._has_more = False
        # Another process may have written since.
        merged = {**self._read(), **self._used}
        if sum(map(len, merged.values())) > MOST:
            merged = self._used
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=f".{self.path.name}-", dir=self.path.parent)
            try:
                with open(handle, "wb") as opened:
                    os.fchmod(handle, 0o644)
                    marshal.dump(merged, opened)
                os.replace(part, self.path)
            finally:
                Path(part).unlink(missing_ok=True)

    def _read(self) -> dict[bytes, bytes]:
        try:
            with open(self.path, "rb") as opened:
                # Its code is run: nobody but the user, or who installed floodmark, may have
                # written it.
                about = os.fstat(opened.fileno())
                if about.st_uid not in (os.getuid(), 0) or about.st_mode & (
                    stat.S_IWGRP | stat.S_IWOTH
                ):
                    return {}
                found = marshal.load(opened)
        except (OSError, ValueError, EOFError, TypeError):
            return {}
        is_ours = isinstance(found, dict) and all(
            isinstance(one, bytes) for pair in found.items() for one in pair
        )
        return found if is_ours else {}


def _key(what: str, text: str) -> bytes:
    return hashlib.sha256(f"{what}\0{text}".encode("utf-8", "surrogatepass")).digest()


def file_path() -> Path:
    """Return where the file belongs: its name changes with whatever parses and compiles."""
    made_by = [importlib.util.MAGIC_NUMBER, version("jinja2"), version("dbt-common")]
    digest = hashlib.sha256(repr([sys.version, *made_by]).encode()).hexdigest()
    return jar_folder() / "macros" / f"macros-{digest[:16]}.bin"


@functools.cache
def macro_file() -> MacroFile:
    """Return the file of this process, which is written as the process ends."""
    file = MacroFile(file_path())
    atexit.register(file.write)
    return file
