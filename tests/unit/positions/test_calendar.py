"""Positions of times over the whole calendar of Spark: before year 1, and beyond 9999."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load

DAY = 86_400_000_000

#: Days since 1970 of dates, as Spark's unix_date tells and its cast to string prints them.
DAYS = {
    "-5877641-06-24": -2147483647,
    "-0044-03-15": -735525,
    "-0004-02-29": -720930,
    "-0001-12-31": -719529,
    "0000-01-01": -719528,
    "0000-02-29": -719469,
    "0001-01-01": -719162,
    "1969-12-31": -1,
    "1970-01-01": 0,
    "2369-12-31": 146096,
    "2370-01-01": 146097,
    "9999-12-31": 2932896,
    "+10000-01-01": 2932897,
    "+12345-01-01": 3789391,
    "+5881580-07-11": 2147483647,
}


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


@pytest.mark.parametrize(("text", "days"), DAYS.items())
def test_days_print_and_parse_back(floodmark: SimpleNamespace, text: str, days: int) -> None:
    assert floodmark._parse_timestamp(text) == days * DAY
    assert floodmark._position_print(days * DAY, "date") == f"{text} 00:00:00.000000"
    assert floodmark._position_parse(f"{text} 00:00:00.000000", "date") == days * DAY
    assert floodmark._position_literal(days * DAY, "date") == f"date'{text}'"
    assert floodmark._position_literal(days * DAY + 1, "date") == f"date'{text}'"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("-290308-12-21 19:59:05.224193", -(2**63) + 1),
        ("-0044-03-15 01:02:03.000004", -735525 * DAY + 3723000004),
        ("-0001-12-31 23:59:59.999999", -719528 * DAY - 1),
        ("+10000-01-01 00:00:00.000000", 2932897 * DAY),
        ("+294247-01-10 04:00:54.775807", 2**63 - 1),
    ],
)
def test_moments_print_and_parse_back(floodmark: SimpleNamespace, text: str, micros: int) -> None:
    assert floodmark._position_print(micros, "timestamp") == text
    assert floodmark._position_from_text(text, "timestamp_ntz") == micros
    assert floodmark._position_literal(micros, "timestamp") == f"timestamp'{text}+00:00'"
    assert floodmark._position_literal(micros, "timestamp_ntz") == f"timestamp_ntz'{text}'"
    assert floodmark._is_position(text, "timestamp")


@pytest.mark.parametrize(
    "text", ["-0001-02-29", "-0100-02-29", "+10001-02-29", "-044-03-15", "--0044-03-15", "-0044"]
)
def test_what_no_calendar_has_is_no_time(floodmark: SimpleNamespace, text: str) -> None:
    assert floodmark._parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("position", "family", "literal"),
    [
        (-(10**37), "timestamp", "timestamp'-290308-12-21 19:59:05.224193+00:00'"),
        (10**37, "timestamp_ntz", "timestamp_ntz'+294247-01-10 04:00:54.775807'"),
        (-(10**37), "date", "date'-5877504-05-15'"),
        (10**37, "date", "date'+5881580-07-11'"),
        (-(10**37), "sequence", str(-(10**37))),
    ],
)
def test_what_lies_beyond_a_type_is_its_end(
    floodmark: SimpleNamespace, position: int, family: str, literal: str
) -> None:
    """A lookback or max_future may reach further than the column's type."""
    assert floodmark._position_literal(position, family) == literal


def test_positions_ascend_day_by_day(floodmark: SimpleNamespace) -> None:
    """Each day of eight years around each turn of the calendar prints as the day after the one before."""
    for first in (-735525, -719893, 2932530, 146000):
        for day in range(first, first + 8 * 366):
            text = floodmark._position_print(day * DAY, "date")
            assert floodmark._parse_timestamp(text) == day * DAY
