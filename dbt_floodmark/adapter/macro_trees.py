"""Let dbt parse the text of a macro once, instead of twice.

dbt-core parses each macro as it reads the file, and again to find the macros that it calls. A parse
that starts from nothing spends most of its time there. The second time it only looks at calls, so
only they are kept: whole trees would cost the garbage collector what they save.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jinja2 import Undefined, nodes

#: A text that is one macro, as dbt cuts them out of files.
MACRO = re.compile(r"\s*\{%-?\s*(?:macro|materialization|test|data_test)\s")


def parse_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Environment.parse`: who looks for a macro's calls gets those of its first parse."""
    calls: dict[str, nodes.Template] = {}

    def parse(self: Any, source: str, name: str | None = None, filename: str | None = None) -> Any:
        # dbt looks for calls with an environment that collects undefined names.
        looks_for_calls = self.undefined is not Undefined
        found = calls.pop(source, None) if looks_for_calls else None
        if found is not None:
            return found
        tree = original(self, source, name, filename)
        if not looks_for_calls and MACRO.match(source):
            calls[source] = _calls_alone(tree)
        return tree

    return parse


def _calls_alone(tree: nodes.Template) -> nodes.Template:
    """Return a tree of the same calls in their order, without arguments where dbt reads none."""
    kept: list[nodes.Expr] = []
    for call in tree.find_all(nodes.Call):
        called = call.node
        if isinstance(called, nodes.Name):
            kept.append(nodes.Call(called, [], [], None, None))
        elif isinstance(called, nodes.Getattr) and isinstance(called.node, nodes.Name):
            # The arguments of adapter.dispatch say what is called.
            is_read = called.node.name == "adapter"
            kept.append(call if is_read else nodes.Call(called, [], [], None, None))
    return nodes.Template([nodes.Output(kept)])
