"""Which runs put a table right that somebody restored; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

SETTINGS: dict[str, Any] = {"watermark": None, "files": None}
COMMITTED: dict[str, Any] = {"mark": None, "kind": "incremental"}


@pytest.mark.parametrize("strategy", ["merge", "snapshot_diff"])
def test_what_compares_all_rows_finds_those_that_are_missing(strategy: str) -> None:
    floodmark = load()
    settings = SETTINGS | {"strategy": strategy}
    assert floodmark._mends_table(settings, COMMITTED) is True
    for kept in (
        floodmark._mends_table(settings, COMMITTED | {"mark": "2024-01-01"}),
        floodmark._mends_table(settings | {"watermark": {"column": "ts"}}, COMMITTED),
        # What a ledger of files has loaded comes no second time, nor does what a stream has read.
        floodmark._mends_table(settings | {"files": {"path": "in"}}, COMMITTED),
        floodmark._mends_table(settings, COMMITTED | {"kind": "stream"}),
    ):
        assert not kept


@pytest.mark.parametrize("strategy", ["append", "insert_overwrite", "cdc"])
def test_what_adds_to_the_table_does_not(strategy: str) -> None:
    assert not load()._mends_table(SETTINGS | {"strategy": strategy}, COMMITTED)


def sent(settings: dict[str, Any], committed: dict[str, Any]) -> list[str]:
    """What a run says of its target that was restored."""
    floodmark = load(config={})
    said: list[str] = []
    floodmark._ways_out = lambda **_: "the ways out"
    floodmark._stop = lambda sentence, **_: said.append(sentence)
    floodmark._upstream_disturbed = lambda run: None
    floodmark._snapshot_lost_mark = lambda run: None
    target = {"is_empty": False, "exists": True, "is_delta": True, "id": "t"}
    run = {
        "settings": SETTINGS | settings, "upstream": None, "full_refresh": False,
        "target": target | {"disturbed": "was restored to version 1"},
        "state": {"committed": {"family": None, "target_id": "t"} | committed, "landed": {"batch_id": 3}},
    }  # fmt: skip
    floodmark._check_target(run)
    return said


def test_a_run_goes_on_only_where_it_puts_the_table_right() -> None:
    assert sent({"strategy": "merge"}, COMMITTED) == []
    (said,) = sent({"strategy": "cdc"}, COMMITTED)
    assert "was restored to version 1 after batch 3, so rows below the mark are missing" in said
