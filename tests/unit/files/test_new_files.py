"""Which files of a folder are new: what is asked, and what is recorded. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

A, B = ({"path": f"file:/in/{name}.json", "size": 1, "modified_at": 1} for name in "ab")


@pytest.mark.parametrize(
    ("which", "is_empty", "sample", "recorded"),
    [
        ("run", False, None, 1),
        ("run", True, None, 0),
        ("run", False, "1 day", 0),
        ("compile", False, None, 0),
    ],
)
def test_only_a_run_records_what_it_skips(
    which: str, is_empty: bool, sample: str | None, recorded: int
) -> None:
    floodmark = load(
        flags=SimpleNamespace(WHICH=which, EMPTY=is_empty), invocation_args_dict={"sample": sample}
    )
    skipped: list[Any] = []
    floodmark._skip_existing = skipped.append
    floodmark._ledger_has = lambda _: False
    floodmark._unseen_files = lambda *_: []
    floodmark._plan_whole = lambda files, is_last: {"files": files}
    floodmark._plan_schema = lambda *_: {"record": None}
    files = {"include_existing": False, "max_files_per_batch": 10, "max_bytes_per_batch": None}
    run = {"settings": {"files": files}, "full_refresh": False}
    assert floodmark._plan_files(run, True) == {"files": [], "record": None}
    assert len(skipped) == recorded
