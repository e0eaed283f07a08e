"""Late rows of a sequence, where the version that the last batch read can be read no more; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("found", "late"),
    [({"error": "no such file", "value": None}, 0), ({"error": None, "value": 3}, 3)],
)
def test_a_version_whose_files_are_gone_is_said_and_stops_nothing(
    found: dict[str, Any], late: int
) -> None:
    floodmark = load(run_query=lambda sql: SimpleNamespace(rows=[[5]]))
    floodmark._rows_appended = lambda *_: None
    floodmark._is_readable = lambda *_: True
    floodmark._tried = lambda macro, *_: SimpleNamespace(**found)
    upstream = {"column": "id", "relation": "shop.orders", "columns": []}
    committed = {"upstream_version": 3, "upstream_at": "2024-05-01 08:00:00"}
    run: dict[str, Any] = {"first": True, "state": {"committed": committed}, "upstream": upstream}
    plan = {
        "family": "sequence", "low": "9", "low_position": 9, "lookback": 0, "start_position": 4, "upstream_version": 4,
        "rows_null": 0, "rows_waiting": None,
    }  # fmt: skip
    assert floodmark._warn_late(run, plan) == late
    # Before the plan: it waits for the commit.
    (sentence,) = run["warnings"]
    assert (
        "3 rows came late" if late else "it is not known whether rows came late into shop.orders"
    ) in sentence
    # A run or a backfill may have loaded them, though the last plan did not know them.
    assert ("not loaded, unless a run or a backfill did so since" in sentence) is bool(late)


def test_all_batches_of_a_run_know_the_upstream_as_its_first_plan_found_it() -> None:
    """A row that comes late between two steps lies in no version that the next run takes for read."""
    floodmark = load(invocation_id="mine")
    versions = iter([7, 8])
    floodmark._upstream_commit = lambda run, begins: {
        "version": next(versions), "at": "08:00", "id": "u",
    }  # fmt: skip
    floodmark._plan_watermark = lambda run, mark, ceiling: {
        "ceiling": 9, "family": "timestamp", "is_waiting": True, "is_last": ceiling is not None,
        "is_held": False,
    }  # fmt: skip
    floodmark._relation_name = lambda relation: relation
    floodmark._next_batch_id = lambda *_: 2
    floodmark._record_plan = lambda *_: None
    watermark = SimpleNamespace(column="ts", sql=None, gaps="warn")
    run = {
        "settings": {"watermark": watermark, "files": None}, "first": True, "full_refresh": False,
        "target": {"exists": True, "is_empty": False}, "ceiling": None,
        "upstream": {"relation": "shop.raw", "family": "timestamp"},
        "state": {"committed": {"mark": None, "generation": "g"}},
    }  # fmt: skip
    batches = [floodmark._next_batch(run) for _ in range(2)]
    assert [batch["upstream_version"] for batch in batches] == [7, 7]
    # The last one has seen all that this version holds: nothing is new where the upstream stays there.
    assert [bool(batch["is_last"] and not batch["is_held"]) for batch in batches] == [False, True]
