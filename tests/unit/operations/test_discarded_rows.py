"""When a batch that may have replayed rows may be given up; without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("kind", "staged", "is_whole", "stops"),
    [
        ("replay", [3], True, True),
        # Its staging table is gone, or has lost files: no run can finish it.
        ("replay", [2], True, False),
        ("replay", [3], False, False),
        ("incremental", [3], True, False),
    ],
)
def test_a_replay_that_a_run_can_finish_is_not_given_up(
    kind: str, staged: list[int], is_whole: bool, stops: bool
) -> None:
    floodmark = load()
    floodmark._stages = lambda relation: [
        {"batch_id": number, "relation": "stage"} for number in staged
    ]
    floodmark._is_stage_whole = lambda stage: is_whole
    planned = {"batch_id": 3, "kind": kind}
    if stops:
        with pytest.raises(Refused, match="batch 3 replays rows and is unfinished: run the model"):
            floodmark._require_replay_ended("shop.orders", "shop.orders", planned)
    else:
        floodmark._require_replay_ended("shop.orders", "shop.orders", planned)
