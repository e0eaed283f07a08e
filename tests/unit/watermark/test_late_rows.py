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
