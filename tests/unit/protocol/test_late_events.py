"""Events that wait in an invocation: who takes them, and what is left at the end. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros, with `inserted` for the events of each insert."""
    loaded = load(
        invocation_id="now",
        graph={},
        execute=True,
    )
    loaded.inserted = []
    loaded._insert_events = lambda events, options: loaded.inserted.append(events)
    loaded._event_columns = lambda event, batch, values: {"id": batch["batch_id"], "at": "now()"}
    loaded._now = lambda: 50
    return loaded


def commit(floodmark: SimpleNamespace, model: str, *numbers: int) -> None:
    for number in numbers:
        floodmark._keep_event({"model": model, "batch_id": number}, {})


def ids(events: Any) -> list[int]:
    return [one["id"] for one in events]


def test_what_one_node_takes_the_others_leave_to_it(floodmark: SimpleNamespace) -> None:
    commit(floodmark, "a", 1, 2)
    taken = floodmark._waiting_events()
    assert ids(taken.values()) == [1, 2]
    commit(floodmark, "b", 3)
    assert ids(floodmark._waiting_events().values()) == [3]
    floodmark._forget_events(taken)
    # The node that took 3 did not write it.
    floodmark.record_events()
    assert [ids(events) for events in floodmark.inserted] == [[3]]
    floodmark.record_events()
    assert len(floodmark.inserted) == 1


def test_a_plan_takes_the_commits_of_its_own_model_whoever_has_them(
    floodmark: SimpleNamespace,
) -> None:
    """The insert of the other node may be lost; without them the mark would fall back."""
    commit(floodmark, "a", 1)
    commit(floodmark, "b", 2)
    assert ids(floodmark._waiting_events("c").values()) == [1, 2]
    assert ids(floodmark._waiting_events("a").values()) == [1]
    assert ids(floodmark._waiting_events("b").values()) == [2]
    assert not floodmark._waiting_events("c")


def test_the_time_is_that_of_the_commit(floodmark: SimpleNamespace) -> None:
    commit(floodmark, "a", 1)
    floodmark._now = lambda: 1050
    (event,) = floodmark._waiting_events().values()
    assert event["at"] == "timestampadd(microsecond, -1000, current_timestamp())"


def test_many_take_several_inserts(floodmark: SimpleNamespace) -> None:
    commit(floodmark, "a", *range(450))
    floodmark.record_events()
    assert [len(events) for events in floodmark.inserted] == [200, 200, 50]
    assert [one for events in floodmark.inserted for one in ids(events)] == [*range(450)]


@pytest.mark.parametrize(
    ("landed", "batch", "strategy", "several", "plugin", "waits"),
    [
        ({}, {}, {}, True, True, True),
        ({"version": None}, {}, {}, True, True, False),
        ({}, {"kind": "stream"}, {}, True, True, False),
        ({}, {"files": [{"path": "a"}]}, {}, True, True, False),
        ({}, {}, {"apply": len}, True, True, False),
        ({}, {}, {"load": len}, True, True, False),
        ({}, {}, {}, False, True, False),
        ({}, {}, {}, True, False, False),
    ],
)
def test_which_events_may_wait(
    landed: dict[str, Any],
    batch: dict[str, Any],
    strategy: dict[str, Any],
    several: bool,
    plugin: bool,
    waits: bool,
) -> None:
    adapter = SimpleNamespace(floodmark_ends_runs=True) if plugin else SimpleNamespace()
    floodmark = load(adapter=adapter)
    floodmark._strategy = lambda settings: {"load": None, "apply": None} | strategy
    floodmark._loads_several = lambda: several
    whole = {"kind": "incremental", "files": None} | batch
    assert floodmark._may_wait({"settings": {}}, whole, {"version": 7} | landed) is waits


def test_no_event_waits_where_a_hook_of_the_model_may_read_the_ledger() -> None:
    floodmark = load(adapter=SimpleNamespace(floodmark_ends_runs=True), post_hooks=[{"sql": "x"}])
    floodmark._strategy = lambda settings: {"load": None, "apply": None}
    floodmark._loads_several = lambda: True
    batch = {"kind": "incremental", "files": None}
    assert floodmark._may_wait({"settings": {}}, batch, {"version": 7}) is False
