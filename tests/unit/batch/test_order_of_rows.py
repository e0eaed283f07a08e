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
    strategy: str, select: list[str], table: list[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """What is refused, and what a backfill warns of once a batch is committed."""
    floodmark = load()
    floodmark._columns_of = lambda query=None, relation=None: named(*(select if query else table))
    floodmark._backfill_reached = lambda run, asked: None
    floodmark._partition_unit = lambda run: None
    run: dict[str, Any] = {
        "settings": {"strategy": strategy, "watermark": {"column": "ts"}},
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
        "nobody can tell which row of a key is the later, since ts is not in the SELECT and in "
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


def test_events_have_a_sequence_of_their_own() -> None:
    assert backfill("cdc", ["id"], ["id"]) == ([], [])
