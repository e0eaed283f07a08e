"""How partitions follow from the watermark, and what is asked of a table for them; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
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


@pytest.mark.parametrize(("is_empty", "low"), [(True, 40), (False, 24)])
def test_rows_below_start_are_looked_for_where_there_are_some(is_empty: bool, low: int) -> None:
    """An empty table that somebody made may not have the columns yet by which they are found."""
    sent: list[str] = []
    floodmark = load(
        run_query=lambda sql: sent.append(sql) or SimpleNamespace(rows=[[1]]), this="shop.orders"
    )
    floodmark._future_cap = lambda watermark: 70
    floodmark._position_unit = lambda family: 1
    run = {
        "settings": {"watermark": SimpleNamespace(column="ts", sql=None), "partition_by": ["day"]},
        "target": {"is_empty": is_empty},
    }
    batch = {"family": "timestamp", "start_position": 41, "low_position": None, "high_position": 60}
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "day", "type": "date"}]
    found = {"least": "1970-01-02", "greatest": "1970-01-03"}
    edges = {"low": 25, "high": 73}
    bounds = floodmark._rounded_bounds(run, batch, columns, found, edges)
    assert bounds == {"low_position": low, "high_position": 70}
    assert len(sent) == (0 if is_empty else 1)
