"""A version of which rows are held back is read again: they may have been corrected; without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.macros import load

DAY = "2024-05-02 00:00:00.000000"
SETTINGS: dict[str, Any] = {
    "snapshot": {"version": "day", "scope": None, "allow_empty": False},
    "watermark": None,
}


def run_of(scope: str | None = None, **committed: Any) -> dict[str, Any]:
    state = {"committed": {"mark": DAY, "family": "date"} | committed}
    return {"settings": SETTINGS | {"snapshot": SETTINGS["snapshot"] | {"scope": scope}}, "state": state}  # fmt: skip


@pytest.mark.parametrize(
    ("committed", "is_known"),
    [
        ({"rows_read": 2, "rows_kept": 2}, True),
        ({"rows_read": 2, "rows_kept": 1}, False),
        ({"rows_read": 2, "rows_kept": 0}, False),
        ({"rows_read": 0, "rows_kept": 0}, False),
        # Of a ledger of before.
        ({"rows_read": 2, "rows_kept": None}, True),
        ({"rows_read": 2}, True),
    ],
)
def test_a_version_is_known_once_all_of_it_is_loaded(
    committed: dict[str, Any], is_known: bool
) -> None:
    floodmark = load()
    counts = {"rows_read": 2, "least": "2024-05-02", "greatest": "2024-05-02", "unversioned": 0}
    floodmark._read_counts = lambda run, source, sql: dict(counts)
    floodmark._loaded_scopes = lambda relation: None
    batch: dict[str, Any] = {"begins": False}
    found = floodmark._snapshot_counts(run_of(**committed), batch, {"family": "date"}, "select 1")
    assert found["is_known"] is is_known
    assert batch["high"] == DAY


@pytest.mark.parametrize(
    ("known", "kept", "scopes"),
    [
        (["N"], 2, None),
        (["N", "S"], 2, None),
        (["S"], 2, ["S", "N"]),
        (["N", "S"], 1, ["S"]),
        (["S"], 1, None),
    ],
)
def test_a_scope_of_which_rows_are_held_back_is_not_loaded(
    known: list[str], kept: int, scopes: list[str] | None
) -> None:
    """None: as they are known."""
    floodmark, sent = load(this="t"), []
    floodmark._loaded_scopes = lambda relation: [DAY, known]
    floodmark._set_properties = sent.append
    position = floodmark._position_from_text("2024-05-02", "date")
    source = {"family": "date", "counts": {"version": position}}
    floodmark._add_scope(run_of("N"), source, {"rows_read": 2, "rows_kept": kept})
    written = [json.loads(floodmark._from_property(one["floodmark.scopes"])) for one in sent]
    assert written == ([[DAY, scopes]] if scopes else [])


def test_the_ledger_is_asked_for_what_was_kept() -> None:
    floodmark, asked = load(), []
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._query_json = lambda sql: asked.append(sql) or []
    floodmark._newest_events(["m"])
    assert "rows_read, rows_kept, " in asked[0]
