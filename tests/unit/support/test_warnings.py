"""Warnings that wait until their batch is committed: with --warn-error the first one ends the node. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

COMMITTED = "The batch is committed: --warn-error fails the node"


def loaded(warn_error: bool = False) -> SimpleNamespace:
    """The macros; `said` has what was warned of, and `done` the steps of a batch."""
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence.removeprefix("floodmark, model 'shop.orders': "))
        if warn_error:
            raise Refused(sentence)

    floodmark = load(
        flags=SimpleNamespace(WARN_ERROR=warn_error), exceptions=SimpleNamespace(warn=warn)
    )
    floodmark.said = said
    return floodmark


def load_batch(floodmark: SimpleNamespace, run: dict[str, Any]) -> list[str]:
    """Load a batch with two things to warn of; returns what was said before its commit."""
    before: list[str] = []

    def load_planned(run: dict[str, Any], batch: dict[str, Any]) -> dict[str, int]:
        for sentence in ("3 events are tied", "n has no type", "3 events are tied"):
            floodmark._warn_later(run, sentence)
        before.extend(floodmark.said)
        return {"rows_read": 3}

    floodmark._load_planned = load_planned
    assert floodmark._load_batch(run, {}) == {"rows_read": 3}
    return before


def test_warnings_wait_for_the_commit() -> None:
    floodmark = loaded()
    run: dict[str, Any] = {}
    assert load_batch(floodmark, run) == []
    assert floodmark.said == ["3 events are tied", "n has no type"]
    # Each is said once.
    floodmark._tell_warnings(run)
    assert len(floodmark.said) == 2


def test_under_warn_error_the_node_ends_behind_the_commit_with_all_of_them() -> None:
    floodmark = loaded(warn_error=True)
    with pytest.raises(Refused):
        load_batch(floodmark, {})
    assert floodmark.said == [f"3 events are tied; n has no type. {COMMITTED}"]


def test_tied_events_are_warned_of_later() -> None:
    floodmark = loaded(warn_error=True)
    run = {"settings": {"unique_key": ["k"], "cdc": {"scd_type": 1, "sequence": "seq"}}}
    counts = {"keyless": 0, "unordered": 0, "rows_tied": 2, "tied_keys": ['{"k":1}']}
    floodmark._check_events(run, {"counts": counts})
    [sentence] = run["warnings"]
    assert sentence.startswith("2 events have the key and the sequence of another event but other")


def test_columns_without_a_type_are_warned_of_later_and_once_a_run() -> None:
    floodmark = loaded(warn_error=True)
    run: dict[str, Any] = {}
    floodmark._note_untyped(run, ["n"])
    floodmark._note_untyped(run, ["n"])
    [sentence] = run["warnings"]
    assert sentence.startswith("the SELECT gives n without a type")
