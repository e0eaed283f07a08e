"""Rows that one commit of an upstream replaces, and names of columns that SQL of ours could take for its own marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harness import Project, incremental, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

MAPPED = {"tblproperties": {"delta.columnMapping.mode": "name"}}


def of_changes(select: str, **cdc: Any) -> str:
    """SQL of a cdc model over the changes of `source`."""
    settings = {"sequence_by": "_commit_version", "apply_as_deletes": "_change_type = 'delete'"}
    return (
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', "
        f"watermark={{'kind': 'version'}}, cdc={settings | cdc!r}) }}}}\n"
        f"select {select} from {{{{ floodmark.changes(source('raw', 'source')) }}}}"
    )


def of_events(key: str, value: str, **cdc: Any) -> str:
    """SQL of a cdc model that ignores NULLs, over events with odd names."""
    return incremental(
        table("events"),
        f"k as `{key}`, p as `{value}`, items, n",
        incremental_strategy="cdc",
        unique_key=key,
        watermark={"column": "n"},
        cdc={"sequence_by": "n", "ignore_null_updates": True} | cdc,
        **MAPPED,
    )


MODELS = {
    "by_time": of_changes("*", sequence_by=["at", "_commit_version"]),
    "partial": of_changes("*", ignore_null_updates=True),
    "history": of_changes("*", ignore_null_updates=True, stored_as_scd_type=2),
    "narrow": of_changes("*"),
}
#: Over events of no feed, with columns that are called like those of a feed.
NAMED = {
    name: incremental(
        table("named"),
        incremental_strategy="cdc",
        unique_key="k",
        watermark={"column": "n"},
        cdc={"sequence_by": "n", "apply_as_deletes": "_change_type = 'delete'"} | cdc,
    )
    for name, cdc in {"own_names": {}, "own_names_history": {"stored_as_scd_type": 2}}.items()
}
ODD = {
    "hashed": of_events("order#", "a#b"),
    "hashed_history": of_events("order#", "a#b", stored_as_scd_type=2),
    "at": of_events("@id", "@v"),
    "at_history": of_events("@id", "@v", stored_as_scd_type=2),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("replaced_rows")
    project.source("source", "events", "named")
    s = project.schema
    project.sql(
        f"create table {s}.source (k int, p int, q int, at int) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(
        f"create table {s}.events (k int, p int, items array<struct<`a#b`: int>>, n bigint) using delta"
    )
    project.sql(
        f"create table {s}.named (k int, _change_type string, _commit_version bigint, n bigint) using delta"
    )
    for name, sql in (MODELS | ODD | NAMED).items():
        project.model(name, sql)
    project.sql(
        f"insert into {s}.source values {values([(1, 1, 2, 9), (2, 1, 2, 9), (3, 1, 2, 9)])}"
    )
    project.sql(
        f"insert into {s}.events values (1, 1, array(named_struct('a#b', 1)), 1), (2, 1, null, 1)"
    )
    events = [(1, "insert", 1, 1), (1, "delete", 1, 2), (2, "insert", 1, 1)]
    events.append((2, "update_preimage", 1, 2))
    project.sql(f"insert into {s}.named values {values(events)}")
    project.build()
    project.model("narrow", of_changes("* except (p)"))
    # One commit takes all rows of the keys away and adds others, one of them with an earlier time.
    project.sql(f"insert overwrite {s}.source values {values([(1, None, 3, 5), (2, None, 3, 10)])}")
    project.sql(
        f"insert into {s}.events values (1, null, array(named_struct('a#b', 5)), 2), (2, 7, null, 2)"
    )
    project.build()
    return project


def rows(project: Project, model: str, columns: str, where: str = "true") -> list[tuple]:
    found = project.sql(f"select {columns} from {project.schema}.{model} where {where}")
    return sorted(found, key=str)


def test_a_row_that_is_replaced_is_not_deleted(project: Project) -> None:
    """Though the sequence of the row that came is below the one of its delete: it is an older one. The third key is gone."""
    assert rows(project, "by_time", "k, q") == [(1, 2), (2, 3)]


def test_a_row_that_is_replaced_keeps_what_was_not_sent(project: Project) -> None:
    assert rows(project, "partial", "k, p, q") == [(1, 1, 3), (2, 1, 3)]
    assert rows(project, "history", "k, p, q", "__end_at is null") == [(1, 1, 3), (2, 1, 3)]


def test_a_row_that_is_replaced_keeps_columns_that_have_left_the_select(project: Project) -> None:
    assert rows(project, "narrow", "k, p, q") == [(1, 1, 3), (2, 1, 3)]


def test_columns_called_like_those_of_a_feed_are_values(project: Project) -> None:
    """Of events in a table of the analyst's own, a delete that shares a number with an insert is one all the same."""
    kept = (2, "update_preimage")
    assert rows(project, "own_names", "k, _change_type") == [kept]
    assert rows(project, "own_names_history", "k, _change_type", "__end_at is null") == [kept]


@pytest.mark.parametrize(
    ("model", "key", "value"), [("hashed", "order#", "a#b"), ("at", "@id", "@v")], ids=["#", "@"]
)
@pytest.mark.parametrize("kind", ["", "_history"])
def test_names_are_taken_as_they_are(
    project: Project, model: str, key: str, value: str, kind: str
) -> None:
    now = "__end_at is null" if kind else "true"
    columns = f"`{key}`, `{value}`, items[0].`a#b`"
    assert rows(project, model + kind, columns, now) == [(1, 1, 5), (2, 7, None)]
