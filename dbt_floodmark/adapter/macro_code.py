"""Let Jinja compile a macro once for all processes, as Python keeps the code of its modules.

Every dbt command compiles the macros that it calls, some two hundred, which is a third of the
processor time that a run with nothing new takes in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from dbt_common.clients import jinja

from dbt_floodmark.adapter.macro_file import macro_file
from dbt_floodmark.adapter.macro_trees import MACRO


def compile_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Environment.compile`: the code of a macro's text is kept for the next process."""

    def compile_template(self: Any, source: Any, *arguments: Any, **named: Any) -> Any:
        # An environment of another class writes other code; so does dbt's own debugging.
        is_macro = type(self) is jinja.MacroFuzzEnvironment and isinstance(source, str)
        if not is_macro or arguments or named or jinja.MACRO_DEBUGGING or not MACRO.match(source):
            return original(self, source, *arguments, **named)
        code = macro_file().get("code", source)
        if not isinstance(code, CodeType):
            code = original(self, source)
            macro_file().put("code", source, code)
        return code

    return compile_template
