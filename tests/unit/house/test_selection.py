"""What a run leaves out, other runs take: no test is left out of all of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import selection
from tests.support.harness import REPOSITORY


class Item:
    """A collected test, as far as the selection looks at it."""

    def __init__(self, nodeid: str, *marks: Any, target: str | None = None) -> None:
        self.nodeid = nodeid
        self.marks = {mark.name: mark for mark in marks}
        if target is not None:
            self.callspec = SimpleNamespace(params={"target": target})

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)


EDGE = pytest.mark.edge.mark
ON_THRIFT = pytest.mark.long("thrift").mark
MODULES = [f"tests/functional/test_{number:02}.py" for number in range(selection.PARTS + 3)]
ITEMS: Any = [Item(f"{module}::test_edge", EDGE) for module in MODULES]
BOTH = ("session", "thrift")


@pytest.fixture(autouse=True)
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "FULL", False)


def taken(monkeypatch: pytest.MonkeyPatch, commit: str) -> frozenset[str]:
    monkeypatch.setattr(selection, "commit", lambda: commit)
    left = selection.left_out(ITEMS, BOTH, is_whole=True)
    assert set(left.values()) == {"edge"}
    return frozenset(item.nodeid for item in ITEMS if item not in left)


def test_each_edge_case_is_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {taken(monkeypatch, f"commit {number}") for number in range(1000)}
    assert len(parts) == selection.PARTS
    assert sorted(test for part in parts for test in part) == [item.nodeid for item in ITEMS]


def test_no_part_has_two_slow_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    slow: Any = [Item(f"tests/functional/{name}.py::test_edge", EDGE) for name in selection.SLOW]
    seen: set[Any] = set()
    for number in range(1000):
        monkeypatch.setattr(selection, "commit", lambda number=number: f"commit {number}")
        left = selection.left_out([*ITEMS, *slow], BOTH, is_whole=True)
        found = {item for item in slow if item not in left}
        assert len(found) <= 1
        seen |= found
    assert seen == set(slow)


@pytest.mark.parametrize("name", selection.SLOW)
def test_slow_modules_are_there(name: str) -> None:
    [found] = (REPOSITORY / "tests/functional").rglob(f"{name}.py")
    assert "mark.edge" in found.read_text()


def test_a_commit_has_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken(monkeypatch, "5934f10") == taken(monkeypatch, "5934f10")


def test_what_is_not_marked_always_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    core: Any = [Item(f"{module}::test_core") for module in MODULES]
    left = selection.left_out([*core, *ITEMS], BOTH, is_whole=True)
    assert left and not set(left) & set(core)


def test_a_run_that_names_rooms_or_files_takes_them_whole() -> None:
    assert selection.left_out(ITEMS, BOTH, is_whole=False) == {}


def test_the_whole_lab_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "FULL", True)
    elsewhere: Any = Item("a.py::t[session]", ON_THRIFT, target="session")
    assert selection.left_out([*ITEMS, elsewhere], BOTH, is_whole=True) == {}


def test_a_rule_runs_on_the_target_that_its_mark_names() -> None:
    session: Any = Item("a.py::t[session]", ON_THRIFT, target="session")
    thrift: Any = Item("a.py::t[thrift]", ON_THRIFT, target="thrift")
    both = selection.left_out([session, thrift], BOTH, is_whole=False)
    assert both == {session: "target"}
    assert selection.left_out([session], ("session",), is_whole=False) == {}
