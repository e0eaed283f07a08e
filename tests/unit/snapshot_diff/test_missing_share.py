"""Which share of a snapshot's keys may be missing, and when nobody asks; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


def checked(fraction: float | None, on_missing: str, missing: int, total: int) -> tuple[bool, Any]:
    """Return whether the table's keys were counted, and the refusal, if there was one."""
    counted: list[str] = []

    def run_query(query: str) -> SimpleNamespace:
        counted.append(query)
        return SimpleNamespace(rows=[[total]])

    refused: list[tuple[str, str]] = []
    floodmark = load(run_query=run_query)
    floodmark._known_hashes_sql = lambda run, source: "known"
    floodmark._shown_keys = lambda run, relation: "k1"
    floodmark._refuse_snapshot = lambda batch, what, todo: refused.append((what, todo))
    snapshot = {"max_delete_fraction": fraction, "on_missing": on_missing, "scope": None}
    floodmark._check_missing_share(
        {"settings": {"snapshot": snapshot}}, {}, {}, SimpleNamespace(missing=missing), "gone"
    )
    return bool(counted), refused[0] if refused else None


@pytest.mark.parametrize(
    ("fraction", "on_missing", "missing", "asks", "refuses"),
    [
        (0.1, "delete", 2, True, True),
        (0.1, "mark", 2, True, True),
        (0.1, "delete", 1, True, False),
        (0, "delete", 1, True, True),
        # Nothing is deleted there, so no share of deletes can be too large.
        (0.1, "ignore", 10, False, False),
        (0, "ignore", 1, False, False),
        (None, "delete", 10, False, False),
        (0.1, "delete", 0, False, False),
    ],
)
def test_a_share_is_asked_where_keys_may_go(
    fraction: float | None, on_missing: str, missing: int, asks: bool, refuses: bool
) -> None:
    asked, refused = checked(fraction, on_missing, missing, total=10)
    assert (asked, refused is not None) == (asks, refuses)
    if refused:
        assert refused[0] == f"{missing} of 10 keys are missing from the snapshot: k1"
        assert f"max_delete_fraction allows {fraction}." in refused[1]
