"""What insert_overwrite reads of a first load behind an is_incremental() guard; without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(("guarded", "read"), [(True, "select 1"), (False, "whole")])
def test_a_select_without_bounds_gives_its_partitions_whole(guarded: bool, read: str) -> None:
    """It has no place for other bounds, and nothing that must wait may come in by them."""
    floodmark = load()
    floodmark._whole_partitions_select = lambda *_: "whole"
    floodmark._conformed_select = lambda run, batch, sql: sql
    floodmark._staged_select = lambda run, batch, sql: sql
    run = {"settings": {"strategy": "insert_overwrite"}, "guarded": guarded}
    batch = {"replaces": False, "kind": "first_load"}
    assert floodmark._overwrite_reads(run, batch, "select 1") == read
    assert floodmark._overwrite_staged(run, batch, "select 1") == read
