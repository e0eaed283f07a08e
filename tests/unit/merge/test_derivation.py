"""How partitions follow from the watermark, and what is asked of a table for them; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


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


@pytest.fixture
def bounded() -> SimpleNamespace:
    """The macros with what is found, by the table that is asked, in `rows`; `sent` is what was asked."""
    sent: list[str] = []
    rows: dict[str, list[int]] = {"ledger.batch_log": [], "shop.orders": []}

    def run_query(sql: str) -> SimpleNamespace:
        sent.append(sql)
        return SimpleNamespace(rows=rows[sql.split(" from ")[1].split(" ")[0]])

    floodmark = load(run_query=run_query, this="shop.orders")
    floodmark.sent, floodmark.rows = sent, rows
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._model_id = lambda: "shop.orders"
    floodmark._future_cap = lambda watermark: 70
    return floodmark


def run_from(start: str | None, sql: str | None = None, is_empty: bool = False) -> dict[str, Any]:
    watermark = SimpleNamespace(column="ts", sql=sql, start=start, step=None, lookback=None)
    return {
        "settings": {"watermark": watermark, "partition_by": ["day"]},
        "target": {"is_empty": is_empty},
        "state": {"committed": {"generation": "g", "mark": "1970-01-01 00:00:00.000065"}},
        "upstream": {"family": "timestamp"},
    }


AT_41 = "1970-01-01 00:00:00.000041"


@pytest.mark.parametrize(
    ("is_empty", "found", "low", "asked"),
    [
        (True, None, 40, 0),
        (False, None, 40, 2),
        # `start` had another value.
        (False, "shop.orders", 24, 2),
        # A backfill: the rows of an aggregate may carry a later time.
        (False, "ledger.batch_log", 24, 1),
    ],
)
def test_rows_below_start_come_where_the_table_has_some(
    bounded: SimpleNamespace, is_empty: bool, found: str | None, low: int, asked: int
) -> None:
    """An empty table that somebody made may not have the columns yet by which they are found."""
    if found:
        bounded.rows[found].append(1)
    run = run_from(AT_41, is_empty=is_empty)
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "day", "type": "date"}]
    partitions = {"least": "1970-01-02", "greatest": "1970-01-03"}
    edges = {"low": 25, "high": 73}
    for mark in (None, 40, 60):
        batch = {"family": "timestamp", "low_position": mark, "high_position": 60}
        bounds = bounded._rounded_bounds(run, batch, columns, partitions, edges)
        assert bounds == {"low_position": low, "high_position": 70}
    assert len(bounded.sent) == 3 * asked
    # A mark that was set below it counts.
    batch = {"family": "timestamp", "low_position": 39, "high_position": 60}
    assert bounded._rounded_bounds(run, batch, columns, partitions, edges)["low_position"] == 24


@pytest.mark.parametrize(
    ("sql", "start", "found", "expected"),
    [
        (None, None, False, (24, 70)),
        # Nothing above the mark, which `sql` may not let pass yet.
        ("max(ts)", None, False, (24, 65)),
        (None, AT_41, False, (40, 70)),
        (None, AT_41, True, (24, 70)),
    ],
)
def test_the_range_of_a_backfill(
    bounded: SimpleNamespace,
    sql: str | None,
    start: str | None,
    found: bool,
    expected: tuple[int, int],
) -> None:
    if found:
        bounded.rows["ledger.batch_log"].append(1)
    bounded._partition_unit = lambda run: "day"
    bounded._edge_positions = lambda query, family: {"low": 25, "high": 73}
    bounds = bounded._whole_partitions_range(run_from(start, sql), 44, 60)
    assert (bounds["low"], bounds["high"]) == expected


@pytest.mark.parametrize(
    ("kind", "kept", "said"),
    [
        (
            "replay",
            {"column": "day", "ways": ["month", "day"]},
            'floodmark_replay.set: got {"at": "now()"}; expected day to follow from at by day in each row, as in shop.t. '
            "Set day as well when you replay: an expression sees the row as it is in the quarantine, not what another "
            "one gives",
        ),
        ("replay", None, "expected day to follow from at in each row, as in shop.t. Set day"),
        # What changed is the model.
        ("replay", {"column": "month", "ways": ["month"]}, "expected month by month as the rows"),
        (
            "incremental",
            {"column": "day", "ways": ["day"]},
            'partition_by: got "day by month"; expected day by day as the rows of shop.t have them. Change',
        ),
        ("incremental", None, "expected partitions as the rows of shop.t have them. Change"),
    ],
)
def test_what_is_said_of_partitions_that_do_not_follow(
    kind: str, kept: dict[str, Any] | None, said: str
) -> None:
    floodmark = load(this="shop.t")
    floodmark._model_id = lambda: "shop.t"
    run = {"settings": {"watermark": {"column": "at"}}}
    batch = {"kind": kind, "asked": {"replay": {"set": {"at": "now()"}}, "part": "rows"}}
    staged = None if kind == "replay" else ["month"]
    with pytest.raises(Refused) as refused:
        floodmark._refuse_partitions(run, batch, {"name": "day"}, kept, staged)
    assert said in " ".join(str(refused.value).split())
