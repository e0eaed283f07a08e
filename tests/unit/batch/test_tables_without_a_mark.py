"""What a load says of a table that has rows and no mark, where its upstream is read as it is; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

STATE = "select * from /*floodmark:changes shop.orders*/ x /*floodmark:end*/"
EVENTS = STATE.replace("shop.orders*/", "shop.orders events*/")


@pytest.mark.parametrize(
    ("sql", "mark", "start", "begins", "told"),
    [
        (STATE, None, None, False, True),
        # Rows of a feed that are deleted say nothing of a key, unless the model asks what a change is.
        (EVENTS, None, None, False, False),
        (EVENTS.replace("*", "*, _change_type", 1), None, None, False, True),
        (STATE, "3", None, False, False),
        (STATE, None, 4, False, False),
        (STATE, None, None, True, False),
    ],
)
def test_deletes_that_nobody_tells(
    sql: str, mark: str | None, start: int | None, begins: bool, told: bool
) -> None:
    floodmark = load(this="shop.mirror")
    floodmark._begins = lambda run: begins
    floodmark._upstream_commit = lambda run, begins: {"version": 7, "at": "", "id": "id"}
    floodmark._require_change_feed = lambda relation: None
    floodmark._plan_version = lambda run, mark: {"ceiling": 7, "start_position": start}
    floodmark._relation_name = str
    floodmark._warn_late = lambda run, plan: 0
    floodmark._check_gaps = lambda run, plan: None
    floodmark._is_nothing_new = lambda run, plan, begins: True
    floodmark._ways_out = lambda: "the ways out"
    watermark = SimpleNamespace(column="_commit_version", sql=None)
    run: dict[str, Any] = {
        "settings": SimpleNamespace(watermark=watermark, files=None),
        "state": SimpleNamespace(committed={"mark": mark} if mark else None),
        "upstream": {"family": "version", "relation": "shop.orders"},
        "first": True,
        "sql": sql,
    }
    floodmark._next_batch(run)
    assert (
        run.get("warnings", [])
        == [
            "shop.mirror has rows, but the ledger has no mark for it, so this load reads shop.orders as it is now: "
            "rows that were deleted there before stay. To delete them, the ways out (the upstream's version that the "
            "rows of shop.mirror are of)"
        ]
        * told
    )
