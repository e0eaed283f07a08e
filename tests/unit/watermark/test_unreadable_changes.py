"""What a run says where Delta cannot give the changes of an upstream; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

RENAMED = "[DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE] Retrieving table changes failed. SQLSTATE: 0AKDC"
RETYPED = "[DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA] Retrieving table changes failed. SQLSTATE: 0AKDC"
SWITCHED = "[DELTA_MISSING_CHANGE_DATA] Error getting change data. SQLSTATE: KD002"


@pytest.fixture
def floodmark() -> SimpleNamespace:
    floodmark = load()
    floodmark._ways_out = lambda: "the ways out"
    return floodmark


def batch_of(**known: Any) -> dict[str, Any]:
    batch = {"family": "version", "low_position": 7, "high_position": 9, "start_position": None}
    return batch | {"upstream": "shop.orders"} | known


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RENAMED, "a column of it was renamed, dropped or given another type since"),
        (RETYPED, "a column of it was renamed, dropped or given another type since"),
        (SWITCHED, "its change feed was switched off for a while"),
    ],
)
def test_the_ways_out_of_a_feed_that_cannot_be_read(
    floodmark: SimpleNamespace, error: str, reason: str
) -> None:
    told = floodmark._unreadable_changes(batch_of(), error)
    assert told == (
        f"The changes of shop.orders from version 8 to 9 cannot be read, since {reason}: the ways out"
    )
    # A first load may begin at a version, and a full refresh begins there again.
    told = floodmark._unreadable_changes(batch_of(low_position=None, start_position=3), error)
    assert told == (
        f"The changes of shop.orders from version 3 to 9 cannot be read, since {reason}: "
        "set watermark.start to a later version, or remove it"
    )
    told = floodmark._unreadable_changes(batch_of(start_position=3), error)
    assert told.endswith(
        f"since {reason}: the ways out. Before a full refresh, set watermark.start to a later "
        "version, or remove it"
    )


def test_other_errors_and_other_kinds_have_none(floodmark: SimpleNamespace) -> None:
    assert floodmark._unreadable_changes(batch_of(), "[DIVIDE_BY_ZERO] no") is None
    assert floodmark._unreadable_changes(batch_of(family="timestamp"), RENAMED) is None
    assert floodmark._unreadable_changes({"kind": "stream"}, SWITCHED) is None
