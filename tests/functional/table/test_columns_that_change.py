"""Columns with names and types that tables treat apart: quoted partitions, types that come late, names like types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.harness import Project, Runs, incremental, table

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

AT = {"watermark": {"column": "at"}}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
MAPPED = {"tblproperties": {"delta.columnMapping.mode": "name"}}
NOT_NULL = """
config: {contract: {enforced: true}}
constraints: [{type: not_null, columns: [id, label]}]
columns:
  - {name: id, data_type: int}
  - {name: label, data_type: string}
  - {name: at, data_type: timestamp}
"""


def named(select: str, **config: object) -> str:
    return incremental(table("raw"), select, **(AT | config))


#: What each model reads in its first runs, and what it reads once another column has come or is typed.
MODELS = {
    "parted": named(
        "id, label as `land-code`, at",
        incremental_strategy="merge",
        unique_key=["id", "land-code"],
        partition_by=["land-code"],
        watermark={"column": "at", "lookback": "30 days"},
        **MAPPED,
    ),
    "late": named("id, at", **MERGE),
    "strict": named("id, at", on_schema_change="fail", **MERGE),
    "grown": named("id, at", on_schema_change="append_new_columns", **MERGE),
    "void": named("id, at, null as n", merge_update_columns=["at", "n"], **MERGE),
    "of_model": named("id, label, at", on_schema_change="append_new_columns"),
    "aggregate": named(
        "id as `rate@(eur)`, at", incremental_strategy="merge", unique_key="rate@(eur)", **MAPPED
    ),
}
UNTYPED = {name: MODELS[name].replace("id, at", "id, at, null as n") for name in ("late", "strict")}
TYPED = {
    **{name: MODELS[name].replace("id, at", "id, at, 'x' as n") for name in ("late", "strict")},
    "grown": MODELS["grown"].replace(
        "id, at", "id, at, label as `variant`, named_struct('timestamp_ntz', 1) as s"
    ),
    "void": MODELS["void"].replace("null as n", "timestamp_ntz'2024-01-01 00:00:00' as n"),
}


@pytest.fixture(scope="module")
def runs(make_project: Callable[..., Project]) -> Runs:
    project = make_project("columns_that_change")
    project.source("raw")
    project.sql(
        f"create table {project.schema}.raw (id int, label string, at timestamp) using delta"
    )
    project.sql(f"create table {project.schema}.void (id int, at timestamp, n void) using delta")
    for name, sql in MODELS.items():
        project.model(name, sql, NOT_NULL if name == "of_model" else None)
    runs = Runs(project)

    def arrive(id: int, label: str) -> None:
        project.sql(
            f"insert into {project.schema}.raw values ({id}, {label}, timestamp'2024-05-0{id} 08:00:00')"
        )

    arrive(1, "''")
    runs.run("first")
    for name, sql in UNTYPED.items():
        project.model(name, sql)
    arrive(2, "'b'")
    runs.run("untyped")
    for name, sql in TYPED.items():
        project.model(name, sql)
    arrive(3, "null")
    runs.run("typed")
    runs.run("again")
    return runs


def features(project: Project, name: str) -> str:
    return str(project.sql(f"describe detail {project.schema}.{name}"))


def test_a_partition_whose_name_is_quoted_is_one(runs: Runs) -> None:
    """An empty text of a partition is NULL: a row that is read again meets itself."""
    rows = runs.project.sql(f"select id, `land-code` from {runs.project.schema}.parted")
    assert sorted(rows, key=str) == [(1, None), (2, "b"), (3, None)]
    assert sum(count for (count,) in runs.project.ledger("parted", "rows_inserted")) == 3


@pytest.mark.parametrize("name", ["late", "strict"])
def test_a_column_that_was_untyped_in_a_later_run_comes_once_it_is_typed(
    runs: Runs, name: str
) -> None:
    assert runs.runs["untyped"].status[name] == "success"
    assert runs.runs["typed"].status[name] == "success", runs.said("typed", name)
    rows = runs.project.sql(f"select id, n from {runs.project.schema}.{name}")
    assert sorted(rows) == [(1, None), (2, None), (3, "x")]


def test_a_column_called_like_a_type_needs_no_feature(runs: Runs) -> None:
    assert runs.runs["typed"].status["grown"] == "success"
    assert "variantType" not in features(runs.project, "grown")
    assert "timestampNtz" not in features(runs.project, "grown")
    rows = runs.project.sql(
        f"select id, `variant`, s.timestamp_ntz from {runs.project.schema}.grown"
    )
    assert sorted(rows) == [(1, None, None), (2, None, None), (3, None, 1)]


def test_a_column_without_a_type_becomes_a_time_without_a_zone(runs: Runs) -> None:
    assert runs.runs["typed"].status["void"] == "success", runs.said("typed", "void")
    rows = runs.project.sql(f"select id, cast(n as string) from {runs.project.schema}.void")
    assert sorted(rows, key=str) == [(1, None), (2, None), (3, "2024-01-01 00:00:00")]


def test_not_null_of_the_model_rejects_as_that_of_a_column(runs: Runs) -> None:
    assert runs.runs["untyped"].status["of_model"] == "success"
    assert runs.runs["typed"].status["of_model"] == "error"
    assert "label_not_null" in runs.said("typed", "of_model")
    assert runs.project.rows("of_model", "id") == {('{"id":1}',): 1, ('{"id":2}',): 1}


def test_a_key_whose_name_looks_like_a_call(runs: Runs) -> None:
    assert {run.status["aggregate"] for run in runs.runs.values()} == {"success"}
    rows = runs.project.sql(f"select `rate@(eur)` from {runs.project.schema}.aggregate")
    assert sorted(rows) == [(1,), (2,), (3,)]
