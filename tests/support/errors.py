"""Every message that floodmark stops or warns with, read from the code: `messages()`."""

from __future__ import annotations

import functools

from tests.support.error_texts import Message
from tests.support.errors_in_macros import macros, of_macro
from tests.support.errors_in_python import modules, of_module


@functools.cache
def messages() -> tuple[Message, ...]:
    """All of them, in the order of files and lines."""
    found = [
        *(one for macro in macros().values() for one in of_macro(macro)),
        *(one for file, tree in modules().items() for one in of_module(file, tree)),
    ]
    return tuple(sorted(found, key=lambda one: (one.file, one.line)))
