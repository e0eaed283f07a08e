"""A guarded first load whose rows must wait, over a SELECT that puts rows together; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


@pytest.mark.parametrize(
    ("sql", "depends"),
    [
        ("select id, ts from t", False),
        ("select id, exists(tags, t -> t = 'x') as e, ts from s.t", False),
        ("select * from s.t where region in (select max(r) from s.regions)", False),
        (
            "with d as (select k, count(*) as n from s.dim group by k) select * from s.t join d",
            False,
        ),
        ("with x as (select * from s.t) select * from x where ts = (select max(ts) from x)", True),
        ("select distinct id, ts, 'group by' as said from t -- over (", False),
        ("select id, over, limits, maximum(v), ts from t order by ts", False),
        ("select id, max(ts) as ts from t group by id", True),
        ("select MAX (ts) as ts, count(*) as n from t", True),
        ("select id, ts, row_number() over(partition by id order by ts) as n from t", True),
        ("select id, ts, rank() over w as n from t window w as (partition by id)", True),
        ("select * from t as a where not exists (select 1 from t as b where b.ts > a.ts)", True),
        ("select * from t where ts = (select max(ts) from t)", True),
        ("select * from t order by ts desc limit 10", True),
    ],
)
def test_what_holds_a_row_back_may_take_no_others_with_it(
    floodmark: SimpleNamespace, sql: str, depends: bool
) -> None:
    run = {"settings": {"watermark": {"nulls": "exclude"}}, "sql": sql}
    nothing = {"rows_future": 0, "rows_null": 0, "upstream": "s.t"}
    floodmark._check_held_back(run, nothing)
    floodmark._check_held_back(
        {**run, "settings": {"watermark": {"nulls": "include"}}}, nothing | {"rows_null": 1}
    )
    for held in ({"rows_future": 1}, {"rows_null": 1}):
        if not depends:
            floodmark._check_held_back(run, nothing | held)
            continue
        with pytest.raises(
            Refused, match=r"^floodmark, .*rows of s\.t must wait .* Remove the guard$"
        ):
            floodmark._check_held_back(run, nothing | held)


@pytest.mark.parametrize(
    ("given", "held", "batch", "got"),
    [
        ("timestamp", "timestamp", {}, None),
        ("timestamp", None, {"replaces": True}, None),
        ("timestamp", None, {}, "ts"),
        ("timestamp", "timestamp_ntz", {"replaces": True}, None),
        ("timestamp", "timestamp_ntz", {}, "ts timestamp_ntz in shop.orders"),
        ("timestamp", "string", {}, "ts string in shop.orders"),
        ("date", "timestamp", {}, "ts date in the SELECT"),
        (None, "timestamp", {}, "ts"),
    ],
)
def test_a_mark_is_read_from_a_column_of_the_upstreams_type(
    given: str | None, held: str | None, batch: dict[str, Any], got: str | None
) -> None:
    """From the rows that were loaded: in the SELECT, and in a table that somebody else made."""
    macros = load(this="shop.orders")

    def typed(kind: str | None) -> list[dict[str, str]]:
        return [{"name": "ts", "type": kind}] if kind else []

    macros._table_columns = lambda run: typed(held)
    problems: list[Any] = []
    macros._refuse = lambda found, rejects: problems.extend(found)
    run = {"settings": settings()}
    batch = {"replaces": False, "family": "timestamp", "upstream": "s.src"} | batch
    macros._marking_column(run, batch, typed(given))
    assert [problem["got"] for problem in problems] == ([got] if got else [])
    assert all("is_incremental() guard" in problem["todo"] for problem in problems)


def settings(strategy: str = "append", on_schema_change: str = "ignore") -> SimpleNamespace:
    return SimpleNamespace(
        strategy=strategy,
        on_schema_change=on_schema_change,
        watermark=SimpleNamespace(column="ts"),
    )


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        (settings(), True),
        (settings(on_schema_change="fail"), True),
        (settings(on_schema_change="append_new_columns"), False),
        (settings(on_schema_change="sync_all_columns"), False),
        (settings("merge"), False),
        (settings("insert_overwrite"), False),
        (settings("cdc"), False),
    ],
)
def test_a_table_without_the_watermark_column_gives_append_no_mark(
    given: SimpleNamespace, refused: bool
) -> None:
    """The next run would add all rows again; the other ways write them a second time as they are."""
    macros = load(this="shop.orders")
    macros._table_columns = lambda run: [{"name": "id", "type": "int"}]
    run = {"settings": given}
    batch = {"replaces": False, "family": "timestamp", "upstream": "s.src"}
    columns = [{"name": "ts", "type": "timestamp"}]
    if refused:
        with pytest.raises(Refused, match=r"expected a column of shop\.orders.* run again, since"):
            macros._marking_column(run, batch, columns)
    else:
        macros._marking_column(run, batch, columns)
