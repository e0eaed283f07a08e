"""Which keys of a snapshot are refused, and how they are named; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

#: What a query of the keys that are refused finds.
FOUND = ['{"shop":"s1","sku":null}', '{"shop":"s2","sku":null}']


class Rows:
    """A result, and the queries that were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.rows = [{"n": 2}]
        self.columns = {"named": SimpleNamespace(values=lambda: FOUND)}

    def __call__(self, sql: str) -> Rows:
        self.asked.append(sql)
        return self


@pytest.mark.parametrize(
    ("key", "counts", "said", "queries"),
    [
        (["sku"], {"keyless": 3}, "3 rows have no sku. Nothing was written", 0),
        (["shop", "sku"], {"keyless": 1}, f"1 row has no shop or sku: {', '.join(FOUND)}. Nothing", 1),
        (["shop", "sku"], {"keyless": 2, "repeated": 2},
         f"2 rows have no shop or sku: {', '.join(FOUND)}; 2 keys come more than once in the snapshot: ", 2),
    ],
)  # fmt: skip
def test_a_key_of_which_a_part_is_null_is_named(
    key: list[str], counts: dict[str, int], said: str, queries: int
) -> None:
    """Its other parts tell the row; of a key of one column there is nothing to name."""
    rows = Rows()
    floodmark = load(run_query=rows)
    floodmark._difference_relation = lambda batch: "difference"
    floodmark._drop_staging_tables = lambda relations: None
    run: dict[str, Any] = {"settings": {"unique_key": key}, "partitions": []}
    with pytest.raises(Refused) as refused:
        floodmark._check_snapshot_keys(run, {}, counts, "select * from difference")
    assert said in str(refused.value)
    assert len(rows.asked) == queries
    if queries:
        assert (
            "_floodmark_copies is not null and (`shop` is null or `sku` is null)" in rows.asked[0]
        )
