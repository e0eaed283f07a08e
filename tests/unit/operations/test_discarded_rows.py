"""When rows of a quarantine may be given up; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

UNFINISHED = {"last_batch_id": 3, "finished_id": 2}


@pytest.mark.parametrize(
    ("state", "kind", "staged", "stops"),
    [
        (UNFINISHED, "replay", [3], True),
        # Not begun; or begun, and its staging table is gone, so that only a discard goes on.
        (UNFINISHED, "replay", [2], False),
        (UNFINISHED, "incremental", [3], False),
        ({"last_batch_id": 3, "finished_id": 3}, "replay", [3], False),
    ],
)
def test_no_row_is_given_up_that_an_unfinished_replay_may_have_loaded(
    state: dict[str, Any], kind: str, staged: list[int], stops: bool
) -> None:
    relation = SimpleNamespace(Relation=SimpleNamespace(create=lambda **names: names))
    floodmark = load(api=relation)
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._model_state = lambda id: state | {"planned": {"batch_id": 3, "kind": kind}}
    floodmark._stages = lambda relation: [{"batch_id": number} for number in staged]
    node = SimpleNamespace(schema="shop", alias="orders", name="orders")
    if stops:
        with pytest.raises(Refused, match="batch 3 replays rows and is unfinished: run the model"):
            floodmark._check_replay_ended(node)
    else:
        floodmark._check_replay_ended(node)
