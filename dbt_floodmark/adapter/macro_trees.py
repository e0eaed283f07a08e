"""Let dbt parse the text of a macro once for all processes, instead of twice in each.

dbt-core parses each macro as it reads the file, and again to find the macros that it calls. A parse
that starts from nothing spends half its time there. Of the first tree it reads the macro's name and
arguments, of the second the calls: a tree of these alone, an outline, answers both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import Undefined, nodes

from dbt_floodmark.adapter.macro_file import macro_file

#: A text that is one macro, as dbt cuts them out of files.
MACRO = re.compile(r"\s*\{%-?\s*(?:macro|materialization|test|data_test)\s")

#: What `marshal` writes of an outline: name, arguments, and each call's names and constants.
_Written = tuple[str, list[str], list[tuple[list[str], list[Any]]]]


def parse_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Environment.parse`: a text that was parsed before is answered with its outline."""
    # Outlines of macros whose calls were not looked for yet. Whole trees would cost the garbage
    # collector what they save.
    outlines: dict[str, nodes.Template] = {}

    def parse(self: Any, source: str, name: str | None = None, filename: str | None = None) -> Any:
        # dbt looks for calls with an environment that collects undefined names.
        looks_for_calls = self.undefined is not Undefined
        found = outlines.pop(source, None) if looks_for_calls else None
        if found is not None:
            return found
        if looks_for_calls or not MACRO.match(source):
            return original(self, source, name, filename)
        written = macro_file().get("outline", source)
        if isinstance(written, tuple) and len(written) == 3:
            outlines[source] = _outline(written)
            return outlines[source]
        tree = original(self, source, name, filename)
        calls = list(_calls(tree))
        outlines[source] = nodes.Template([nodes.Output(calls)])
        written = _written(tree, calls)
        if written is not None:
            macro_file().put("outline", source, written)
        return tree

    return parse


def _calls(tree: nodes.Template) -> Iterator[nodes.Call]:
    """Give the calls of a tree in their order, without arguments where dbt reads none."""
    for call in tree.find_all(nodes.Call):
        called = call.node
        if isinstance(called, nodes.Name):
            yield nodes.Call(called, [], [], None, None)
        elif isinstance(called, nodes.Getattr) and isinstance(called.node, nodes.Name):
            # The arguments of adapter.dispatch say what is called.
            is_read = (called.node.name, called.attr) == ("adapter", "dispatch")
            yield call if is_read else nodes.Call(called, [], [], None, None)


def _written(tree: nodes.Template, calls: list[nodes.Call]) -> _Written | None:
    """Return what the file keeps of a macro; None where dbt reads more of its tree."""
    macros = list(tree.find_all(nodes.Macro))
    # dbt reads what an argument of a materialization defaults to.
    if len(macros) != 1 or tree.body != macros or "materialization_" in macros[0].name:
        return None
    if any(
        call.kwargs or not all(isinstance(argument, nodes.Const) for argument in call.args)
        for call in calls
    ):
        return None
    (macro,) = macros
    return (
        macro.name,
        [argument.name for argument in macro.args],
        [(_names(call.node), [constant.as_const() for constant in call.args]) for call in calls],
    )


def _names(called: Any) -> list[str]:
    """Return ``[macro]``, or ``[package, macro]``, of a name or of an attribute of one."""
    return [called.name] if isinstance(called, nodes.Name) else [called.node.name, called.attr]


def _outline(written: _Written) -> nodes.Template:
    """Return the tree of a macro whose body is its calls."""
    name, arguments, calls = written
    body = nodes.Output([_call(*call) for call in calls])
    taken = [nodes.Name(argument, "param") for argument in arguments]
    return nodes.Template([nodes.Macro(name, taken, [], [body])])


def _call(names: list[str], constants: list[Any]) -> nodes.Call:
    """Return a call of ``[macro]``, or of ``[package, macro]``."""
    called: nodes.Expr = nodes.Name(names[0], "load")
    if len(names) > 1:
        called = nodes.Getattr(called, names[1], "load")
    return nodes.Call(called, [nodes.Const(constant) for constant in constants], [], None, None)
