"""Tables that a reader wants to see, as CSV files in tests/golden."""

from __future__ import annotations

import csv
from typing import Any

from tests.support.harness import REPOSITORY


def golden(room: str, name: str) -> list[tuple[Any, ...]]:
    """The rows of a golden table: numbers as int, empty fields as None."""
    with open(REPOSITORY / "tests" / "golden" / room / f"{name}.csv", newline="") as file:
        return [tuple(_value(field) for field in row) for row in list(csv.reader(file))[1:]]


def _value(field: str) -> Any:
    return int(field) if field.isdigit() else field or None
