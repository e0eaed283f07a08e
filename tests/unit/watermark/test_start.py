"""`start` bounds every batch of a model, whatever the lookback reaches; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

DAY = 86_400_000_000


def low(**batch: Any) -> int:
    return load()._low_read(
        {"family": "timestamp", "start_position": None, "lookback": 3 * DAY} | batch
    )


def test_a_lookback_ends_at_start() -> None:
    assert low(low_position=20 * DAY) == 17 * DAY
    assert low(low_position=20 * DAY, start_position=10 * DAY) == 17 * DAY
    assert low(low_position=20 * DAY, start_position=19 * DAY) == 19 * DAY - 1
    assert low(low_position=20 * DAY, start_position=20 * DAY) == 20 * DAY - 1


def test_days_and_numbers_begin_with_the_first_value_too() -> None:
    days = low(family="date", low_position=20 * DAY, start_position=19 * DAY)
    assert days == 18 * DAY, "days are compared with `>`"
    assert low(family="sequence", lookback=50, low_position=100, start_position=80) == 79


def test_a_mark_that_was_set_below_start_counts() -> None:
    assert low(low_position=20 * DAY, start_position=25 * DAY) == 17 * DAY


@pytest.mark.parametrize("lookback", [0, 3 * DAY])
def test_the_predicate_of_a_batch(lookback: int) -> None:
    batch = {
        "family": "timestamp",
        "low_position": 20 * DAY,
        "high_position": 21 * DAY,
        "nulls": None,
    }
    predicate = load()._bounds_predicate(
        "ts", batch | {"lookback": lookback, "start_position": 20 * DAY}
    )
    first = "1970-01-20 23:59:59.999999" if lookback else "1970-01-21 00:00:00.000000"
    assert predicate.startswith(f"(ts > timestamp'{first}"), predicate
