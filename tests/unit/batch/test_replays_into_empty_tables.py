"""Whether a replay may load rows into a table that has none; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

OURS = "floodmark/shop.orders/g/1"
LANDED = {"target_version": 2, "generation": "g"}
HELD = {"version": 2, "operation": "CREATE TABLE AS SELECT", "tag": OURS}
DELETED = {"version": 3, "operation": "DELETE", "tag": None}
COMPACTED = {"version": 3, "operation": "OPTIMIZE", "tag": None}


@pytest.mark.parametrize(
    ("target", "landed", "history", "said"),
    [
        ({"is_empty": False}, LANDED, [DELETED, HELD], ""),
        # All rows of its first load were held back; also where somebody else had made the table.
        ({}, LANDED, [HELD], ""),
        ({}, LANDED, [COMPACTED, HELD], ""),
        ({}, None, [DELETED, HELD], ""),
        # It was emptied before its first load, of which all rows were held back.
        ({"disturbed": "was restored"}, LANDED | {"generation": "f"}, [DELETED, HELD], ""),
        ({}, LANDED, [DELETED, HELD], "somebody emptied"),
        ({"disturbed": "was restored"}, LANDED, [HELD], "somebody emptied"),
        ({"id": "another"}, LANDED, [HELD], "somebody emptied"),
        ({"exists": False, "is_delta": False, "id": None}, LANDED, [], "loaded before"),
        ({"is_delta": False, "id": None}, LANDED, [], "loaded before"),
    ],
)
def test_a_table_that_was_emptied_is_loaded_before_its_replay(
    target: dict[str, Any], landed: Any, history: list[dict[str, Any]], said: str
) -> None:
    """Behind a replay it would have rows, and the rows below its mark would never come again."""
    floodmark = load()
    floodmark._history = lambda relation, limit: history[:limit]
    table = {"exists": True, "is_delta": True, "is_empty": True, "id": "t", "disturbed": None}
    run = {
        "settings": {"strategy": "append"},
        "replay": {"rule": None, "where": None, "set": None},
        "state": {"committed": {"generation": "g", "target_id": "t"}, "landed": landed},
        "target": table | target,
        "full_refresh": False,
    }
    problems = floodmark._replay_problems(run)
    assert [said in one["expected"] for one in problems] == [True] * bool(said)
