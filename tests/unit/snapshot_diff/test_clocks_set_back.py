"""Without a version the time of the load is that of a snapshot, and ascends; without Spark."""

from __future__ import annotations

from typing import Any

from tests.support.macros import load


def test_each_batch_is_behind_the_one_before() -> None:
    """The clock was set back: the version of a snapshot and the time that the ledger gets are behind the last one's."""
    floodmark = load()
    run: dict[str, Any] = {"settings": {"snapshot": {"version": None}}, "state": {"landed": {"batch_id": 1, "at": 100}}}  # fmt: skip
    for at in (101, 102):
        wanted = f"greatest(current_timestamp(), timestamp_micros({at}))"
        assert floodmark._snapshot_version_sql(run, {"replaces": False}, {}) == wanted
        assert floodmark._take_time(run["state"]) == wanted
    assert run["state"]["landed"]["batch_id"] == 1
    assert floodmark._snapshot_version_sql(run, {"replaces": True}, {}) == "current_timestamp()"
    state = {"landed": None}
    assert floodmark._take_time(state) == "current_timestamp()" and state == {"landed": None}
