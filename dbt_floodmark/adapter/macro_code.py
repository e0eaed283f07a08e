"""Let Jinja compile a macro once for all processes, as Python keeps the code of its modules.

Every dbt command compiles the macros that it calls, some two hundred, which is a third of the
processor time that a run with nothing new takes in Python. The code is kept beside the jars.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import marshal
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any

from dbt_common.clients import jinja

from dbt_floodmark.adapter.macro_trees import MACRO
from dbt_floodmark.spark.jars import jar_folder

#: Bytes of code up to which macros that this process did not call stay in the file.
MOST = 16 * 2**20


class CodeFile:
    """Compiled macros on disk, by the digest of their text: read at first use, written at exit."""

    def __init__(self, path: Path) -> None:
        """Take a path, at which there may be no file yet."""
        self.path = path
        self._stored: dict[bytes, bytes] | None = None
        self._used: dict[bytes, bytes] = {}
        self._has_more = False

    def get(self, key: bytes) -> CodeType | None:
        """Return the code of a key; None where it has none that can be read."""
        if self._stored is None:
            self._stored = self._read()
        kept = self._stored.get(key)
        try:
            code = None if kept is None else marshal.loads(kept)
        except (ValueError, EOFError, TypeError):
            return None
        if not isinstance(code, CodeType) or kept is None:
            return None
        self._used[key] = kept
        return code

    def put(self, key: bytes, code: CodeType) -> None:
        """Keep the code of a key for the next process."""
        self._used[key] = marshal.dumps(code)
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
                # It is run: nobody but the user, or who installed floodmark, may have written it.
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


def code_path() -> Path:
    """Return where the code belongs: its name changes with whatever compiles it."""
    made_by = [importlib.util.MAGIC_NUMBER, version("jinja2"), version("dbt-common")]
    digest = hashlib.sha256(repr([sys.version, *made_by]).encode()).hexdigest()
    return jar_folder() / "macros" / f"code-{digest[:16]}.bin"


def compile_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Environment.compile`: the code of a macro's text is kept for the next process."""
    kept: list[CodeFile] = []

    def compile_template(self: Any, source: Any, *arguments: Any, **named: Any) -> Any:
        # An environment of another class writes other code; so does dbt's own debugging.
        is_macro = type(self) is jinja.MacroFuzzEnvironment and isinstance(source, str)
        if not is_macro or arguments or named or jinja.MACRO_DEBUGGING or not MACRO.match(source):
            return original(self, source, *arguments, **named)
        if not kept:
            kept.append(CodeFile(code_path()))
            atexit.register(kept[0].write)
        key = hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
        code = kept[0].get(key)
        if code is None:
            code = original(self, source)
            kept[0].put(key, code)
        return code

    return compile_template
