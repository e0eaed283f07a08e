"""The package's macros rendered by plain Jinja: without Spark and without dbt."""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
from jinja2 import nodes

MACROS = Path(__file__).resolve().parents[2] / "macros"
#: What ends in other macros of dbt's, and is rendered by dbt alone.
NOT_PLAIN = ("materializations",)


class Returned(Exception):
    """What dbt's `return` throws: the value leaves the macro as it is, not as text."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Refused(Exception):
    """What `exceptions.raise_compiler_error` throws."""


def leave(value: Any = None) -> None:
    raise Returned(value)


def refuse(message: str) -> None:
    raise Refused(message)


def called(macro: Callable[..., Any]) -> Callable[..., Any]:
    """A macro that gives what it returns, or its text, as in dbt."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return macro(*args, **kwargs)
        except Returned as returned:
            return returned.value

    return call


def new_environment() -> jinja2.Environment:
    environment = jinja2.Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
    environment.filters["as_bool"] = bool
    return environment


@functools.cache
def compiled(path: Path) -> Any:
    """A file's code: compiling is most of what loading it costs."""
    return new_environment().compile(plain(path.read_text("utf-8")))


@functools.cache
def files_of_macros() -> dict[str, Path]:
    """The file of each macro that plain Jinja can render."""
    return {
        name: path
        for path in sorted(MACROS.glob("*/*.sql"))
        if path.parent.name not in NOT_PLAIN
        for name in re.findall(r"{% macro (\w+)\(", plain(path.read_text("utf-8")))
    }


class Package(SimpleNamespace):
    """The package's macros, each loaded with its file when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.environment = new_environment()

    def __getattr__(self, name: str) -> Any:
        path = files_of_macros().get(name)
        if path is None:
            raise AttributeError(name)
        made = self.environment.make_globals(None)
        template = jinja2.Template.from_code(self.environment, compiled(path), made)
        space = template.new_context()
        list(template.root_render_func(space))
        macro = called(space.vars[name])
        setattr(self, name, macro)
        return macro


def _fromjson(text: str, default: Any = None) -> Any:
    """JSON as dbt's own function reads it: the default where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return default


def load(**context: Any) -> Package:
    """The package's macros as `floodmark.<name>`, with a context as dbt's."""
    floodmark = Package()
    floodmark.environment.globals |= {
        "floodmark": floodmark,
        "return": leave,
        "exceptions": SimpleNamespace(raise_compiler_error=refuse),
        "tojson": json.dumps,
        "fromjson": _fromjson,
        "modules": SimpleNamespace(re=re, datetime=datetime),
        "log": lambda message, info=False: None,
        "this": SimpleNamespace(schema="shop", identifier="orders", __str__=lambda: "shop.orders"),
        "config": {},
        # Warnings wait in `run.warnings`.
        "flags": SimpleNamespace(WARN_ERROR=True),
        # Without the plugin.
        "adapter": SimpleNamespace(),
    } | context
    return floodmark


def plain(text: str) -> str:
    """A file with macros in place of dbt's own tags, which plain Jinja cannot read."""
    text = re.sub(r"\{%-? *materialization (\w+),[^%]*%\}", r"{% macro \1() %}", text)
    text = re.sub(r"\{%(-?) *test (\w+)\(", r"{%\1 macro \2(", text)
    return re.sub(r"\{%(-?) *end(?:materialization|test)\b", r"{%\1 endmacro", text)


def parsed(text: str) -> nodes.Template:
    """The tree of a file; dbt's own tags stand as macros in it."""
    return new_environment().parse(plain(text))


@functools.cache
def parsed_macros() -> dict[str, tuple[Path, nodes.Macro]]:
    """Every macro of the package: its file, and its tree.

    Raises:
        ValueError: two macros have one name.
    """
    found: dict[str, tuple[Path, nodes.Macro]] = {}
    for file in sorted(MACROS.rglob("*.sql")):
        for macro in parsed(file.read_text("utf-8")).find_all(nodes.Macro):
            if macro.name in found:
                raise ValueError(f"{macro.name} is in {file} and {found[macro.name][0]}")
            found[macro.name] = (file, macro)
    return found
