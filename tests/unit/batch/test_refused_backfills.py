"""What a backfill that cannot be is told; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load


def problems_of(strategy: str, mark: str | None) -> list[dict[str, Any]]:
    run = {
        "settings": {"strategy": strategy, "watermark": {"column": "day"}},
        "state": {"committed": {"mark": mark}},
        "target": {"is_empty": False},
        "full_refresh": False,
    }
    asked = {"from": "2026-01-01", "to": "2026-01-02"}
    return load()._backfill_problems(run, asked, "timestamp")


@pytest.mark.parametrize("mark", [None, "2026-02-01 00:00:00.000000"])
def test_a_part_of_a_snapshot_cannot_be_loaded(mark: str | None) -> None:
    """To run the model first, as others are told, would not help."""
    (problem,) = problems_of("snapshot_diff", mark)
    assert "snapshot_diff takes whole snapshots, in their order" in problem["expected"]
    assert problem["todo"] == "Use --full-refresh to load them again"


def test_a_model_that_was_never_loaded_is_run_first() -> None:
    (problem,) = problems_of("merge", None)
    assert problem["todo"].startswith("Run the model first")
    assert problems_of("merge", "2026-02-01 00:00:00.000000") == []
