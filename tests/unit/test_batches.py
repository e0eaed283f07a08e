"""What a batch does around its statements: the fence, and what a refused statement leaves; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros, with `sent` for the statements that they would send."""
    sent: list[str] = []
    loaded = load(invocation_id="11111111-2222", run_query=lambda sql: sent.append(sql))
    loaded.sent = sent
    loaded._execute = sent.extend
    loaded._committed_version = lambda: 7
    loaded._forget_commit = lambda: None
    return loaded


def batch_of(**more: Any) -> dict[str, Any]:
    settings = {"strategy": "append", "unique_key": []}
    return {"batch_id": 3, "generation": "g", "settings": settings, **more}


@pytest.mark.parametrize(
    "more", [{}, {"watermark_column": "ts"}, {"settings": {"strategy": "merge"}}]
)
def test_a_fence_names_no_column(floodmark: SimpleNamespace, more: dict[str, Any]) -> None:
    """The table may have columns that nobody may write (identity), or that everybody must (NOT NULL)."""
    batch = batch_of(**more)
    floodmark._fence(batch, "shop.orders")
    (statement,) = [sql for sql in floodmark.sent if not sql.startswith(("set ", "reset "))]
    assert statement == (
        "merge into shop.orders as DBT_INTERNAL_DEST using (select 1 as one where false)"
        " as DBT_INTERNAL_SOURCE on false when matched then delete"
    )
    assert any(
        "userMetadata = floodmark/shop.orders/g/3/fence/1111" in sql for sql in floodmark.sent
    )
    # It is not the batch's own commit.
    assert batch["applied"] is None


def refused(floodmark: SimpleNamespace, batch: dict[str, Any]) -> list[str]:
    """The errors that a batch is failed with, once a statement behind it was refused."""
    failed: list[str] = []
    floodmark._has_landed = lambda batch: False
    floodmark._fail = lambda batch, error: failed.append(error)
    run = {"settings": batch["settings"], "state": {}}
    floodmark._note_refused("no", run, batch)
    return failed


def test_a_committed_batch_is_not_failed_behind_its_commit(floodmark: SimpleNamespace) -> None:
    """One that changes nothing in the target has no commit there, and the mark must not go back."""
    assert refused(floodmark, batch_of()) == ["no"]
    assert refused(floodmark, batch_of(is_failed=True)) == []

    batch = batch_of(kind="incremental", replaces=False, high="9", staged_by=None)
    floodmark._needs_stage = lambda run: True
    floodmark._mark_after = lambda run, batch: "9"
    floodmark._record = lambda *given: None
    floodmark._stage_relation = lambda batch: "stage"

    def refuse(statements: list[str]) -> None:
        raise RuntimeError(statements)

    floodmark._execute = refuse
    run = {"settings": batch["settings"], "state": {"committed": None}, "target": {"id": "t"}}
    with pytest.raises(RuntimeError, match="drop table if exists stage"):
        floodmark._finish(run, batch, {"version": None, "metrics": {}}, None)
    floodmark._execute = floodmark.sent.extend
    assert refused(floodmark, batch) == []


def test_a_refused_statement_leaves_the_sessions_time_zone(floodmark: SimpleNamespace) -> None:
    refused(floodmark, batch_of(writes_utc="Asia/Tokyo"))
    assert "set spark.sql.session.timeZone = Asia/Tokyo" in floodmark.sent
    floodmark.sent.clear()
    refused(floodmark, batch_of(writes_utc=None))
    assert not [sql for sql in floodmark.sent if "timeZone" in sql]
