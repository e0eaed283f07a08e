"""The number of a batch whose events the log has lost: Delta knows the old ones still; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


def ledger(*taken: int) -> tuple[SimpleNamespace, dict[str, Any], list[int]]:
    """The macros over a log that skips events with the ``taken`` numbers; a batch; the numbers that were tried."""
    macros = load(invocation_id="11111111-2222")
    batch: dict[str, Any] = {"model": "shop.orders", "batch_id": 3}
    tried: list[int] = []
    macros._forget_commit = lambda: None
    macros.ledger_schema = lambda: "shop_floodmark"
    macros._record = lambda event, batch, values: tried.append(batch["batch_id"])
    macros._is_recorded = lambda event, batch: batch["batch_id"] not in taken
    return macros, batch, tried


def test_a_free_number_is_looked_for_in_growing_steps() -> None:
    macros, batch, tried = ledger(4, 6)
    macros._record_under_free_number("planned", batch, {})
    assert tried == [4, 6, 10]
    assert batch["batch_id"] == 10


def test_a_log_that_keeps_no_event_is_named() -> None:
    macros, batch, tried = ledger(*(3 + 2**step - 1 for step in range(1, 41)))
    with pytest.raises(
        Refused,
        match=r"model 'shop\.orders': shop_floodmark\.batch_log has none of the events that this run wrote under "
        r"higher and higher batch numbers: see whether that table can be written, then run again",
    ):
        macros._record_under_free_number("planned", batch, {})
    assert len(tried) == 40
