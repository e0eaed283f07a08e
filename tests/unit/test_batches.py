"""What a batch does around its statements: the fence, and what a refused statement leaves; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.test_macros import load


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
    assert statement.split() == (
        "merge into shop.orders as DBT_INTERNAL_DEST using (select 1 as one where false) "
        "as DBT_INTERNAL_SOURCE on false when matched then delete"
    ).split()
    assert any("userMetadata = floodmark/shop.orders/g/3/fence/1111" in sql for sql in floodmark.sent)
    # It is not the batch's own commit.
    assert batch["applied"] is None
