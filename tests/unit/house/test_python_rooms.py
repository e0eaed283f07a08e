"""The rooms of dbt_floodmark lie one above the other: a module imports its own room and those below."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.harness import REPOSITORY

PACKAGE = REPOSITORY / "dbt_floodmark"
#: From the ground up; "" is what lies in the package itself.
FLOORS = ("resources", "", "spark", "streaming", "adapter", "project", "demo", "cli")
#: dbt imports this on every command and asks it for its plugin, which it imports then.
DOOR = "__init__.py"


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of the package that a module imports, also within functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                yield f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room_of(module: str) -> str | None:
    """The room of a module's full name; None outside the package."""
    first, *rest = module.split(".")
    if first != PACKAGE.name:
        return None
    return rest[0] if rest and rest[0] in FLOORS else ""


def upward(room: str, source: str) -> list[str]:
    """What a module in a room imports from above it."""
    names = imported(ast.parse(source))
    rooms = {name: room_of(name) for name in names}
    level = FLOORS.index(room)
    return [name for name, there in rooms.items() if there and FLOORS.index(there) > level]


def test_every_folder_is_a_room() -> None:
    folders = {file.parent.name for file in PACKAGE.glob("*/*.py")}
    assert folders == set(FLOORS) - {""}


def test_no_room_imports_upward() -> None:
    wrong = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        room = place.parts[0] if len(place.parts) > 1 else ""
        names = upward(room, file.read_text())
        if names and str(place) != DOOR:
            wrong[str(place)] = names
    assert not wrong


@pytest.mark.parametrize(
    ("line", "is_up"),
    [
        ("from dbt_floodmark.cli.output import table", True),
        ("from dbt_floodmark.adapter import session", True),
        ("import dbt_floodmark.adapter.patches", True),
        ("def f():\n    from dbt_floodmark.streaming import streams", True),
        ("from dbt_floodmark.spark.java import find_java", False),
        ("from dbt_floodmark.errors import FloodmarkError", False),
        ("from dbt_floodmark import paths", False),
        ("from dbt.cli.main import dbtRunner", False),
    ],
)
def test_what_counts_as_upward(line: str, is_up: bool) -> None:
    assert bool(upward("spark", line)) == is_up
