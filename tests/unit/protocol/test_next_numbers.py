"""Which number a model's next batch gets; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


def next_number(
    known: int | None,
    is_cached: bool = True,
    is_there: bool = True,
    highest: int | None = None,
    now: int | None = None,
) -> tuple[int, list[str]]:
    """The number, and what was sent for it."""
    sent: list[str] = []

    def run_query(sql: str) -> SimpleNamespace:
        sent.append(sql)
        return SimpleNamespace(rows=[(highest,)])

    def model_state(id: str) -> dict[str, Any]:
        sent.append(id)
        return {"last_batch_id": now}

    floodmark = load(run_query=run_query, load_cached_relation=lambda relation: is_cached or None)
    floodmark._quarantine_relation = lambda relation: f"{relation}__quarantine"
    floodmark._has_quarantine = lambda quarantine: is_there
    floodmark._model_state = model_state
    state = {"last_batch_id": known}
    return floodmark._next_batch_id("shop.orders", "shop.orders", state), sent


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({"known": 4}, 5),
        ({"known": 0}, 1),
        ({"known": None, "is_cached": False}, 1),
        ({"known": None, "is_there": False}, 1),
    ],
)
def test_nothing_is_asked_where_the_ledger_knows_or_no_quarantine_is(
    given: dict[str, Any], number: int
) -> None:
    assert next_number(**given) == (number, [])


@pytest.mark.parametrize(("highest", "number"), [(7, 8), (None, 1)])
def test_a_new_ledger_goes_on_behind_the_quarantine(highest: int | None, number: int) -> None:
    """Else its rows were taken for those of the first batch, and deleted if that fails."""
    asked = ["select max(_floodmark_batch_id) from shop.orders__quarantine", "shop.orders"]
    assert next_number(None, highest=highest) == (number, asked)


def test_a_number_that_another_run_has_taken_since_stays_taken() -> None:
    """The event is skipped, as where both had asked before."""
    assert next_number(None, highest=8, now=8)[0] == 8
