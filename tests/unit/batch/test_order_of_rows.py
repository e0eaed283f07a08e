"""Rows that are read again put no older row back: SELECT and table need the column that orders them; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

RANGE = {"from": "2024-01-01", "to": "2024-01-02"}


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "int", "ddl": "int"} for name in names]


def backfill(strategy: str, select: list[str], table: list[str]) -> list[dict[str, Any]]:
    floodmark = load()
    floodmark._columns_of = lambda query=None, relation=None: named(*(select if query else table))
    run = {
        "settings": {"strategy": strategy, "watermark": {"column": "ts"}},
        "state": {"committed": {"mark": "2024-01-03 00:00:00"}},
        "target": SimpleNamespace(is_empty=False), "full_refresh": False, "sql": "select",
    }  # fmt: skip
    return floodmark._backfill_problems(run, RANGE, "timestamp")


@pytest.mark.parametrize("strategy", ["merge", "append", "insert_overwrite"])
@pytest.mark.parametrize(("select", "table"), [(["id"], ["id", "ts"]), (["id", "TS"], ["id"])])
def test_a_backfill_needs_the_column_in_both(
    strategy: str, select: list[str], table: list[str]
) -> None:
    (problem,) = backfill(strategy, select, table)
    assert problem["setting"] == "watermark.column"
    todo = "put older rows over newer ones" if strategy == "merge" else "deletes and inserts by it"
    assert todo in problem["todo"]


@pytest.mark.parametrize("strategy", ["merge", "append", "insert_overwrite"])
def test_a_backfill_by_the_column(strategy: str) -> None:
    assert backfill(strategy, ["id", "ts"], ["id", "Ts"]) == []


def test_events_have_a_sequence_of_their_own() -> None:
    assert backfill("cdc", ["id"], ["id"]) == []


def nulls(
    select: list[str],
    table: list[str],
    mode: str | None = "include",
    replaces: bool = False,
    column: str | None = "ts",
) -> list[dict[str, Any]]:
    run = {
        "settings": {"watermark": {"column": column}},
        "table_columns": None if replaces else named(*table),
    }
    return load()._unordered_nulls_problems(
        run, {"nulls": mode, "replaces": replaces}, named(*select)
    )


@pytest.mark.parametrize(
    ("select", "table", "replaces"),
    [(["id"], ["id"], False), (["id"], ["id", "ts"], False), (["id", "ts"], ["id"], False), (["id"], [], True)],
)  # fmt: skip
def test_rows_without_a_value_need_it_too(
    select: list[str], table: list[str], replaces: bool
) -> None:
    """They are read in every run, and would replace rows that have a value."""
    (problem,) = nulls(select, table, replaces=replaces)
    assert (problem["setting"], problem["got"]) == ("watermark.nulls", "include")


def test_rows_without_a_value_beside_it() -> None:
    assert nulls(["id", "ts"], ["id", "TS"]) == []
    assert nulls(["id", "ts"], [], replaces=True) == []
    for mode in ("exclude", "error", None):
        assert nulls(["id"], ["id"], mode) == []
    # Kind `version` has no column, and no rows without a value.
    assert nulls(["id"], ["id"], None, column=None) == []
