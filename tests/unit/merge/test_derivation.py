"""How partitions follow from the watermark, and what is asked of a table for them; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("family", "first"),
    [
        ("timestamp", "cast(unix_micros(min(cast(`ts` as timestamp))) as string)"),
        ("timestamp_ntz", "cast(min(cast(`ts` as timestamp_ntz)) as string)"),
        ("date", "cast(min(cast(`ts` as date)) as string)"),
    ],
)
def test_positions_are_of_the_upstreams_type(family: str, first: str) -> None:
    """The table may have another, such as a time without a zone, which unix_micros does not take."""
    floodmark, sent = load(), []
    found = {f"differ_{i}": 0 for i in range(9)} | {"rows": 1}
    floodmark._query_json = lambda sql: sent.append(sql) or [found]
    run = {"settings": {"watermark": {"column": "ts"}, "partition_by": ["day"]}}
    columns: list[dict[str, Any]] = [
        {"name": "ts", "type": "timestamp_ntz"},
        {"name": "day", "type": "date"},
    ]
    floodmark._derivation(run, columns, family, "shop.orders")
    (sql,) = sent
    assert f"'first', {first}, 'last', {first.replace('min(', 'max(')}, " in sql
