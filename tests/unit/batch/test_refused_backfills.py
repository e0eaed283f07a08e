"""What a backfill that cannot be is told; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load


def problems_of(strategy: str, mark: str | None, sql: str = "select 1") -> list[dict[str, Any]]:
    run = {
        "settings": {"strategy": strategy, "watermark": {"column": "day"}},
        "sql": sql,
        "state": {"committed": {"mark": mark}},
        "target": {"is_empty": False},
        "full_refresh": False,
    }
    asked = {"from": "2026-01-01", "to": "2026-01-02"}
    floodmark = load()
    floodmark._orders_rows = lambda run, first: True
    return floodmark._backfill_problems(run, asked, "timestamp")


@pytest.mark.parametrize("mark", [None, "2026-02-01 00:00:00.000000"])
def test_a_part_of_a_snapshot_cannot_be_loaded(mark: str | None) -> None:
    """To run the model first, as others are told, would not help."""
    (problem,) = problems_of("snapshot_diff", mark)
    assert "snapshot_diff takes whole snapshots, in their order" in problem["expected"]
    assert problem["todo"] == "Use --full-refresh to load them again"


def test_a_model_that_was_never_loaded_is_run_first() -> None:
    (problem,) = problems_of("merge", None)
    assert problem["todo"].startswith("Run the model first")
    assert problems_of("merge", "2026-02-01 00:00:00.000000") == []


@pytest.mark.parametrize(
    ("sql", "is_refused"),
    [
        ("select * from raw.up where n not in (select n from Shop.`Orders`)", True),
        ("select * from raw.up left join\n spark_catalog.shop.orders as o using (n)", True),
        ("select shop.orders, shop.orders.n from raw.up as shop -- from shop.orders", False),
        ("select 'from shop.orders' as said from shop.orders_raw", False),
        ("select * from raw.shop.orders.history join old_shop.orders", False),
        ("select * from iceberg.shop.orders", False),
        ("select n from raw.up where ts > (select max(ts) from shop.orders)", True),
        ("select n from raw.up where not (n in (select n from shop.orders))", True),
        ("select n from raw.up where n <> all (select n from shop.orders)", True),
        ("with m as (select max(n) as n from shop.orders) select n from raw.up, m", True),
        ("select * from (select n, (select max(n) from shop.orders) as m from raw.up)", True),
        ("with x as (select n, (select max(n) from shop.orders) as m from raw.up) select *", True),
        ("select n, (select max(n) from shop.orders) as m from raw.up having n > m", True),
        # A value in each row of the SELECT leaves out none.
        (
            "select n + coalesce((select max(n) from shop.orders), 0) from raw.up where (n > 1)",
            False,
        ),
        (
            "with x as (select 1) select extract(day from ts), (select max(n) from shop.orders) from x "
            "union all select 1, (select max(n) from shop.orders) from raw.up",
            False,
        ),
        (
            "select (select max(n) from shop.orders) from raw.up where n > (select 1 from shop.orders)",
            True,
        ),
    ],
)
def test_a_select_that_reads_the_table_whose_rows_are_deleted(sql: str, is_refused: bool) -> None:
    """A merge deletes nothing."""
    mark = "2026-02-01 00:00:00.000000"
    assert problems_of("merge", mark, sql) == []
    for strategy in ("append", "insert_overwrite"):
        found = problems_of(strategy, mark, sql)
        assert bool(found) is is_refused
        assert all("not var('floodmark_backfill', none)" in problem["todo"] for problem in found)
