"""Whether a table was emptied by somebody else; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

GENERATION = "a-1"


def commit(version: int, operation: str, tag: str | None = None) -> dict[str, Any]:
    return {"version": version, "operation": operation, "tag": tag}


def was_emptied(landed: dict[str, Any] | None, *commits: dict[str, Any]) -> bool:
    """Commits are those of the table, newest first."""
    floodmark = load()
    asked: list[int] = []

    def history(relation: object, limit: int) -> list[dict[str, Any]]:
        assert limit > 0
        asked.append(limit)
        return list(commits[:limit])

    floodmark._history = history
    return bool(floodmark._was_emptied({"landed": landed}, GENERATION))


WRITE = commit(2, "STREAMING UPDATE")
LANDED = {"target_version": 2, "generation": GENERATION}


@pytest.mark.parametrize(
    "operation", ["DELETE", "TRUNCATE", "WRITE", "MERGE", "CREATE OR REPLACE TABLE", "CLONE"]
)
def test_rows_that_somebody_took_behind_the_last_batch(operation: str) -> None:
    assert was_emptied(LANDED, commit(4, "OPTIMIZE"), commit(3, operation), WRITE)
    assert was_emptied(LANDED, commit(3, operation, "cleaned for ticket 12"), WRITE)


@pytest.mark.parametrize(
    ("landed", "commits"),
    [
        (None, [commit(1, "DELETE")]),
        (LANDED, [WRITE]),
        (LANDED, [commit(3, "DELETE", "floodmark/shop.t/a-1/4"), WRITE]),
        (LANDED, [commit(3, "MERGE", "floodmark/shop.t/a-1/4"), WRITE]),
        (LANDED, [commit(3, "STREAMING UPDATE"), WRITE, commit(1, "DELETE")]),
        # The table of another generation, whose versions are others: a refresh died before its first batch.
        (LANDED | {"generation": "b-2", "target_version": 50}, [commit(0, "CREATE TABLE")]),
        (LANDED | {"target_version": 50}, [commit(3, "DELETE")]),
    ],
    ids=["no batch", "as it was", "its own", "its merge", "before", "other table", "younger"],
)
def test_a_table_that_its_own_batches_leave_empty_goes_on(
    landed: dict[str, Any] | None, commits: list[dict[str, Any]]
) -> None:
    assert not was_emptied(landed, *commits)


HELD = commit(2, "CREATE TABLE AS SELECT", "floodmark/shop.t/a-1/1") | {
    "counts": {"numOutputRows": 0}
}
FIRST = {"target_version": 2, "kind": "first_load", "rows_read": 3}
MARKED = {"watermark": {"column": "n"}}


@pytest.mark.parametrize(
    ("config", "landed", "commits", "is_new"),
    [
        (MARKED, FIRST, [HELD], False),
        (MARKED, FIRST, [commit(3, "OPTIMIZE"), HELD], False),
        (MARKED | {"incremental_strategy": "merge"}, FIRST, [HELD], False),
        # Nothing came yet.
        (MARKED, FIRST | {"rows_read": 0}, [HELD], True),
        # Every batch reads all.
        ({}, FIRST, [HELD], True),
        (MARKED, FIRST, [commit(3, "TRUNCATE"), HELD], True),
        # A mark that was set says nothing of an empty table; cdc has its state table.
        (MARKED, {"target_version": 3, "kind": "reset"}, [commit(3, "TRUNCATE")], True),
        (
            MARKED | {"incremental_strategy": "cdc"},
            {"target_version": 3, "kind": "reset"},
            [commit(3, "TRUNCATE")],
            False,
        ),
    ],
)
def test_a_table_whose_rows_were_all_held_back_is_not_new(
    config: dict[str, Any], landed: dict[str, Any], commits: list[dict[str, Any]], is_new: bool
) -> None:
    """Loaded again, it would hold them back again, also those that were discarded."""
    floodmark = load(config=config)
    floodmark._present_relation = lambda: SimpleNamespace(is_view=False, is_delta=True)
    floodmark._history = lambda relation, limit: commits[:limit]
    floodmark._detail = lambda relation: {"files": 0, "id": "t"}
    floodmark._now = lambda: 0
    floodmark._batch_tag = lambda batch: "floodmark/shop.t/a-1/1"
    state = {"landed": landed, "committed": {"target_id": "t"}}
    assert bool(floodmark._target_state(state)["is_empty"]) is is_new


@pytest.mark.parametrize(
    ("begins", "settings", "held", "kept", "refused", "version"),
    [
        (True, MARKED, 3, 0, False, 7),
        (True, MARKED, 3, 0, True, None),
        (True, MARKED, 0, 0, False, None),
        # Deletes leave no row.
        (True, MARKED, 0, 2, False, 7),
        (True, {"files": {"path": "landing"}}, 3, 0, False, 7),
        (True, {}, 3, 0, False, None),
        (False, MARKED, 3, 0, False, None),
    ],
)
def test_a_first_load_into_a_table_that_is_there_shows_in_it(
    begins: bool, settings: dict[str, Any], held: int, kept: int, refused: bool, version: int | None
) -> None:
    """Else the table would be new to the next run, which would read and hold back all again."""
    floodmark, reset = load(), []
    floodmark._land_without_rows = lambda batch: {"version": 7, "metrics": {}}
    floodmark._tried = lambda macro, batch: SimpleNamespace(
        error="CHAR" if refused else None, value=None if refused else macro(batch)
    )
    floodmark._reset_conf = reset.append
    aligned: list[list[str]] = []
    floodmark._align_columns = lambda run, source: aligned.append(source["columns"])
    source = {"columns": ["event"], "counts": {"rows_read": kept}}
    batch = {"begins": begins, "judged": {"rows_dropped": 0, "rows_quarantined": held}}
    run = {"settings": settings | {"on_schema_change": "append_new_columns"}}
    assert floodmark._landed_if_read(run, batch, source, ["written"])["version"] == version
    assert len(reset) == refused
    # A table that is not new has the columns that its first rows would have added.
    assert aligned == ([["written"]] if version or refused else [])
    run["settings"]["on_schema_change"] = "ignore"
    assert floodmark._landed_if_read(run, batch, source, ["written"])["version"] == version
    assert len(aligned) <= 1
