"""The rooms of macros/ lie one above the other: a macro calls its own room and those below, never one above."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

from tests.support.macros import MACROS, load, parsed, parsed_macros

#: From the ground up. Rooms in one line do not call each other.
FLOORS = (
    ("support",),
    ("positions",),
    ("delta",),
    ("settings",),
    ("nodes",),
    ("ledger",),
    ("table",),
    ("hash", "masking"),
    ("watermark",),
    ("files",),
    ("expectations",),
    ("protocol",),
    ("merge", "cdc", "snapshot_diff"),
    ("batch",),
    ("streaming",),
    ("operations",),
    ("feeds", "seeds", "tests"),
    ("materializations",),
)
LEVEL = {room: level for level, floor in enumerate(FLOORS) for room in floor}


def calls(macro: nodes.Macro) -> set[str]:
    """The macros of the package that it names: what stands in a text, such as a message, is none."""
    return {
        found.attr
        for found in macro.find_all(nodes.Getattr)
        if isinstance(found.node, nodes.Name) and found.node.name == "floodmark"
    }


@functools.cache
def macros() -> dict[str, tuple[Path, set[str]]]:
    """Every macro: its file, and what it calls."""
    return {
        name: (file.relative_to(MACROS), calls(tree))
        for name, (file, tree) in parsed_macros().items()
    }


def upward(found: dict[str, tuple[Path, set[str]]]) -> Iterator[tuple[str, str]]:
    """Calls into a room above, or beside: caller and called."""
    for name, (file, called) in found.items():
        for other in called & found.keys():
            here, there = file.parts[0], found[other][0].parts[0]
            if LEVEL[there] > LEVEL[here] or (LEVEL[there] == LEVEL[here] and there != here):
                yield name, other


def test_every_folder_is_a_room() -> None:
    assert {file.parts[0] for file, _ in macros().values()} == LEVEL.keys()


def test_no_room_calls_upward() -> None:
    found = macros()
    wrong = [
        f"{found[name][0]}: {name} calls {other} of {found[other][0]}"
        for name, other in upward(found)
    ]
    assert not wrong, "\n".join(wrong)


STRATEGIES = ("append", "merge", "insert_overwrite", "cdc", "snapshot_diff")


def strategies_named(tree: nodes.Node) -> set[str]:
    """The strategies that code names: as a text, or by their settings."""
    texts = {node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)}
    read = {
        node.attr
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Getattr) and node.node.attr == "settings"
    }
    return texts.intersection(STRATEGIES) | read.intersection(("cdc", "snapshot"))


@pytest.mark.parametrize("room", ["protocol", "batch"])
def test_what_loads_a_batch_names_no_strategy(room: str) -> None:
    wrong = {
        file.name: named
        for file in sorted((MACROS / room).glob("*.sql"))
        if (named := strategies_named(parsed(file.read_text())))
    }
    assert not wrong


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{%- if run.settings.strategy == 'cdc' -%}x{%- endif -%}", {"cdc"}),
        ("{{ run.settings.snapshot.version }}", {"snapshot"}),
        ("{{ settings.strategy | upper }}{# cdc #}", set()),
        ("{{ 'by merge, or append' }}", set()),
    ],
)
def test_what_names_a_strategy(text: str, named: set[str]) -> None:
    assert strategies_named(parsed(text)) == named


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_says_what_the_protocol_asks(strategy: str) -> None:
    floodmark = load()
    mapping = floodmark._strategy({"strategy": strategy})
    assert mapping.keys() == floodmark._strategy_defaults().keys()
    said = (MACROS / "protocol" / "_strategy.sql").read_text()
    assert not [name for name in mapping if not re.search(rf"^  {name}\b", said, re.MULTILINE)]
    assert mapping["load"] or mapping["apply"] or mapping["statement"]


def test_every_macro_that_is_called_exists() -> None:
    found = macros()
    missing = {
        f"{file}: {name} calls {other}"
        for name, (file, called) in found.items()
        for other in called - found.keys()
        if not other.startswith("materialization_")
    }
    assert not missing, "\n".join(sorted(missing))


@pytest.mark.parametrize(
    ("call", "is_up"),
    [
        ("{{ floodmark._fail(batch) }}", True),
        ("{%- set f = floodmark._fail -%}", True),
        ("{%- if floodmark._fail(batch) -%}x{%- endif -%}", True),
        ("{%- do floodmark._stop('{{ floodmark._fail() }}') -%}", False),
        ("{# floodmark._fail #}", False),
        ("{{ floodmark._quoted('a') }}", False),
    ],
)
def test_what_counts_as_a_call(call: str, is_up: bool) -> None:
    found = {
        "_fail": (Path("protocol/_fail.sql"), set()),
        "_quoted": (Path("support/_literals.sql"), set()),
        "_stop": (Path("support/_refuse.sql"), set()),
    }
    (macro,) = parsed(f"{{% macro _here() %}}{call}{{% endmacro %}}").find_all(nodes.Macro)
    found["_here"] = (Path("table/_x.sql"), calls(macro))
    assert list(upward(found)) == ([("_here", "_fail")] if is_up else [])


def test_rooms_beside_each_other() -> None:
    found = {"a": (Path("merge/_a.sql"), {"b"}), "b": (Path("cdc/_b.sql"), set())}
    assert list(upward(found)) == [("a", "b")]
