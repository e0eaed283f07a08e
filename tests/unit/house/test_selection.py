"""What a run leaves out, other runs take: no test is left out of all of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import selection


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
MODULES = [f"tests/functional/test_{number:02}.py" for number in range(60)]
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


def test_each_module_of_edge_cases_has_its_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {taken(monkeypatch, f"commit {number}") for number in range(1000)}
    assert parts == {frozenset({item.nodeid}) for item in ITEMS}


def test_a_commit_always_has_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
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
