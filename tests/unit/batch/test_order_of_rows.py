"""Whether a backfill can tell which row of a key is the later; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

RANGE = {"from": "2024-01-01", "to": "2024-01-02"}


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "int", "ddl": "int"} for name in names]


def backfill(
    strategy: str, select: list[str], table: list[str], nulls: str = "error", **rows: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """What is refused, and what a backfill warns of once a batch is committed; `rows`: what the table has."""

    def run_query(sql: str) -> SimpleNamespace:
        if sql.endswith(" where `ts` is null limit 1"):
            return SimpleNamespace(rows=[(1,)] * rows.get("without", False))
        assert sql.endswith(" where `ts` <= timestamp'2024-01-01 00:00:00.000000+00:00' limit 1")
        return SimpleNamespace(rows=[(1,)] * rows["first"])

    floodmark = load(run_query=run_query)
    floodmark._columns_of = lambda query=None, relation=None: named(*(select if query else table))
    floodmark._backfill_reached = lambda run, asked: None
    floodmark._partition_unit = lambda run: None
    run: dict[str, Any] = {
        "settings": {"strategy": strategy, "watermark": {"column": "ts", "nulls": nulls}},
        "state": {"committed": {"mark": "2024-01-03 00:00:00"}},
        "upstream": {"family": "timestamp", "relation": "shop.events"},
        "target": SimpleNamespace(is_empty=False), "full_refresh": False, "sql": "select",
        "backfill": RANGE,
    }  # fmt: skip
    problems = floodmark._backfill_problems(run, RANGE, "timestamp")
    if not problems:
        floodmark._begin_backfill(run)
    return problems, run.get("warnings", [])


LACKING = [(["id"], ["id", "ts"]), (["id", "TS"], ["id"]), (["id"], ["id"])]


@pytest.mark.parametrize(("select", "table"), LACKING)
def test_merge_warns_where_nobody_can_tell_which_row_is_the_later(
    select: list[str], table: list[str]
) -> None:
    problems, (said,) = backfill("merge", select, table)
    assert not problems
    assert said.startswith(
        "nobody can tell which row of a key is the later, since ts is not in the SELECT and in each row of "
    )
    assert "where shop.events has older rows of a key in the range, they replace newer ones" in said


@pytest.mark.parametrize("strategy", ["append", "insert_overwrite"])
@pytest.mark.parametrize(("select", "table"), LACKING)
def test_others_delete_and_insert_by_it(strategy: str, select: list[str], table: list[str]) -> None:
    ((problem,), _) = backfill(strategy, select, table)
    assert problem["setting"] == "watermark.column"
    assert "deletes and inserts by it" in problem["todo"]


@pytest.mark.parametrize("strategy", ["merge", "append", "insert_overwrite"])
def test_a_backfill_by_the_column(strategy: str) -> None:
    assert backfill(strategy, ["id", "ts"], ["id", "Ts"]) == ([], [])


@pytest.mark.parametrize("strategy", ["append", "insert_overwrite"])
@pytest.mark.parametrize("first", [True, False])
def test_rows_from_before_the_column_came(strategy: str, first: bool) -> None:
    """They lie below all rows with a value: where the range begins at one of these, it does not reach them."""
    problems, _ = backfill(strategy, ["id", "ts"], ["id", "ts"], without=True, first=first)
    assert len(problems) == (0 if first else 1)
    for problem in problems:
        assert problem["expected"].endswith("with a value in each row that may be of the range")
        assert "load the table once with --full-refresh" in problem["todo"]


@pytest.mark.parametrize(("nulls", "warns"), [("error", True), ("include", False)])
def test_merge_cannot_tell_how_late_they_are(nulls: str, warns: bool) -> None:
    """Where rows without a value are loaded, NULL is one."""
    problems, said = backfill("merge", ["id", "ts"], ["id", "ts"], nulls, without=True)
    assert not problems
    assert ["nobody can tell which row of a key is the later" in one for one in said] == [
        True
    ] * warns


def test_events_have_a_sequence_of_their_own() -> None:
    assert backfill("cdc", ["id"], ["id"]) == ([], [])
