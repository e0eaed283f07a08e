"""Tables that a reader wants to see, as CSV files in tests/golden."""

from __future__ import annotations

import csv
from typing import Any

from tests.support.harness import REPOSITORY

Row = tuple[Any, ...]


def golden(room: str, name: str) -> list[Row]:
    """The rows of a golden table: numbers as int, empty fields as None."""
    with open(REPOSITORY / "tests" / "golden" / room / f"{name}.csv", newline="") as file:
        return [tuple(_value(field) for field in row) for row in list(csv.reader(file))[1:]]


def by_first(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows by their first column, as the tests read tables."""
    found: dict[str, list[Row]] = {}
    for key, *rest in rows:
        found.setdefault(str(key), []).append(tuple(rest))
    return {key: sorted(rest, key=repr) for key, rest in found.items()}


def _value(field: str) -> Any:
    return int(field) if field.isdigit() else field or None
