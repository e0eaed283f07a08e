"""Rows that come again in merge: corrections in place, the user's own predicates and columns, names as dbt-spark users write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.harness import Project, incremental, sentence, table

AT = "timestamp'2024-05-01 08:00:00Z'"


def rows_of(project: Project, model: str, columns: str = "*") -> list[dict[str, Any]]:
    """The rows of a table, sorted by their text."""
    return [json.loads(text) for (text,) in sorted(project.rows(model, columns).elements())]


def merged(upstream: str, select: str = "*", **config: Any) -> str:
    watermark = {"column": "ts", "lookback": "1 day"} | config.pop("watermark", {})
    settings = {"incremental_strategy": "merge", "unique_key": "id"} | config
    return incremental(table(upstream), select, watermark=watermark, **settings)


#: Ways in which a merge may meet a correction: model -> what its row shows of `v`.
CORRECTED = {
    "plain": merged("src"),
    "guarded": merged("src", guard=True),
    "updates": merged("src", merge_update_columns=["v"]),
    "excludes": merged("src", merge_exclude_columns=["id"]),
    "stepped": merged("src", watermark={"step": "1 hour"}),
    "unbounded": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "watermark={'column': 'ts', 'nulls': 'include', 'lookback': '1 day'}) }} "
    "select * from {{ source('raw', 'src') }} where {{ floodmark.watermark_filter() }}",
    "nested": merged("src", "id, ts, map(array(v), struct(v as v)) as v"),
}


@pytest.mark.long("thrift")
def test_a_correction_in_place_is_followed_both_ways(make_project: Callable[..., Project]) -> None:
    """Of two rows of one time the one that was read later stays, whatever their hashes say."""
    project = make_project("corrected")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, ts timestamp, v string) using delta")
    project.sql(
        f"insert into {schema}.src values (7, {AT}, 'p'), (8, {AT} + interval 2 hours, 'x')"
    )
    project.source("src")
    for name, sql in CORRECTED.items():
        project.model(name, sql)
    project.build()
    for value in ("q", "p", "r"):
        project.sql(f"update {schema}.src set v = '{value}' where id = 7")
        project.build()
        for name in CORRECTED:
            (found,) = [row for row in rows_of(project, name) if row["id"] == 7]
            assert value in json.dumps(found["v"]), (name, found)
            assert len(rows_of(project, name)) == 2, name
    before = {name: project.version(name) for name in CORRECTED}
    project.sql(f"insert into {schema}.src select * from {schema}.src where false")
    project.build()
    assert {name: project.version(name) for name in CORRECTED} == before


@pytest.mark.long("session")
def test_a_correction_below_the_mark_by_backfill_and_after_a_crash(
    make_project: Callable[..., Project],
) -> None:
    """Neither a backfill nor a batch that another run finishes lets an older reading win."""
    from tests.functional.faults import Faults, injected

    project = make_project("repaired")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, ts timestamp, v string) using delta")
    project.sql(f"insert into {schema}.src values (7, {AT}, 'p'), (9, {AT} + interval 9 days, 'z')")
    project.source("src")
    project.model("backfilled", merged("src"))
    project.model("cut", merged("src", watermark={"lookback": "20 days"}))
    project.build()
    day = "{floodmark_backfill: {from: '2024-05-01', to: '2024-05-02'}}"
    for value in ("q", "p"):
        project.sql(f"update {schema}.src set v = '{value}' where id = 7")
        project.build("--select", "backfilled", "--vars", day)
        assert rows_of(project, "backfilled")[0]["v"] == value
    # A batch that read 'a' is staged, the source is corrected, the next run applies it and reads again.
    project.sql(f"update {schema}.src set v = 'a' where id = 7")
    with injected(Faults({"cut": "before: merge into"})):
        assert not project.dbt("run", "--select", "cut").success
    for value in ("b", "a"):
        project.sql(f"update {schema}.src set v = '{value}' where id = 7")
        project.build("--select", "cut")
        assert rows_of(project, "cut")[0]["v"] == value


@pytest.mark.long("thrift")
def test_within_a_batch_the_hash_decides_and_ties_are_counted(
    make_project: Callable[..., Project],
) -> None:
    """Rows of one key and one time that stay upstream side by side: one wins, in every run the same."""
    project = make_project("tied")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, ts timestamp, v string) using delta")
    project.sql(f"insert into {schema}.src values (7, {AT}, 'p'), (7, {AT}, 'q'), (7, {AT}, 'r')")
    project.source("src")
    project.model("tied", merged("src"))
    project.build()
    first = rows_of(project, "tied")
    for _ in range(2):
        project.sql(f"insert into {schema}.src values (1, {AT}, 'new')")
        project.build()
        assert [row for row in rows_of(project, "tied") if row["id"] == 7] == first
    assert project.ledger("tied", "rows_tied")[0] == (2,)


PREDICATES = {
    "or_list": {
        "incremental_predicates": ["DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1"]
    },
    "or_text": {"incremental_predicates": "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1"},
    "dbt_word": {"predicates": ["DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1"]},
    "commented": {
        "incremental_predicates": [
            "DBT_INTERNAL_DEST.a is null /* ) */ or DBT_INTERNAL_DEST.a > 1 -- or true\n;"
        ]
    },
    "two": {
        "incremental_predicates": [
            "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 1",
            "DBT_INTERNAL_DEST.a is null or DBT_INTERNAL_DEST.a > 0",
        ]
    },
}


@pytest.mark.long("thrift")
def test_a_predicate_with_an_or_touches_no_other_row(make_project: Callable[..., Project]) -> None:
    """What the user joins to the key stands in parentheses."""
    project = make_project("predicates")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, a int, ts timestamp) using delta")
    project.sql(
        f"insert into {schema}.src values (1, null, {AT}), (2, 5, {AT}), (3, 7, {AT}), (4, 9, {AT})"
    )
    project.source("src")
    for name, config in PREDICATES.items():
        project.model(name, merged("src", **config))
    project.build()
    project.sql(f"insert into {schema}.src values (2, 6, {AT} + interval 1 hour)")
    project.build()
    for name in PREDICATES:
        assert {row["id"]: row.get("a") for row in rows_of(project, name)} == {
            1: None,
            2: 6,
            3: 7,
            4: 9,
        }, name


BROKEN = {
    "unbalanced": ({"incremental_predicates": ["a > 1)"]}, "incremental_predicates", "a parenthesis"),
    "opened": ({"predicates": ["(a > 1"]}, "predicates", "a parenthesis"),
    "semicolon": ({"incremental_predicates": ["a > 1; drop table x"]}, "incremental_predicates", "a semicolon"),
    "quote": ({"incremental_predicates": ["a > 'x"]}, "incremental_predicates", "a quote or a comment without an end"),
    "comment": ({"incremental_predicates": ["a > 1 /* x"]}, "incremental_predicates", "a quote or a comment without an end"),
    "nothing": ({"incremental_predicates": [" -- a > 1"]}, "incremental_predicates", "no SQL"),
    "high": ({"watermark": {"sql": "max(ts)) from x --"}}, "watermark.sql", "a parenthesis"),
    "scope": (
        {"incremental_strategy": "snapshot_diff", "watermark": None, "snapshot_diff": {"scope": "a > (1"}},
        "snapshot_diff.scope",
        "a parenthesis",
    ),
    "deletes": (
        {"incremental_strategy": "cdc", "cdc": {"sequence_by": "ts", "apply_as_deletes": "a = 1; --"}},
        None,
        None,
    ),
    "truncates": (
        {"incremental_strategy": "cdc", "cdc": {"sequence_by": "ts)", "apply_as_truncates": "a = '"}},
        "cdc.apply_as_truncates",
        "a quote or a comment without an end",
    ),
}  # fmt: skip


@pytest.mark.long("session")
def test_a_clause_that_would_break_out_is_refused(make_project: Callable[..., Project]) -> None:
    """Before anything is sent; a semicolon and a comment behind the clause do no harm."""
    project = make_project("clauses")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, a int, ts timestamp) using delta")
    project.source("src")
    for name, (config, _, _) in BROKEN.items():
        settings = {key: value for key, value in config.items() if value is not None}
        if "snapshot_diff" in settings:
            arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
            project.model(
                name,
                f"{{{{ config(materialized='incremental', unique_key='id', {arguments}) }}}} select * from {table('src')}",
            )
        else:
            watermark = settings.pop("watermark", {})
            cdc = "cdc" in settings
            base = {"lookback": None} if cdc else {}
            project.model(name, merged("src", watermark=base | watermark, **settings))
    run = project.dbt("run")
    for name, (_, setting, wrong) in BROKEN.items():
        if setting is None:
            assert run.status[name] == "success", run.message[name]
            continue
        said = sentence(run.message[name])
        assert (
            f"{setting}: got" in said
            and f"expected an expression of SQL, and this has {wrong}" in said
        )


OWN_NAMES = {
    "merged": {"incremental_strategy": "merge", "unique_key": "id"},
    "events": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "ts"}},
    "periods": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2},
    },
    "appended": {},
}


@pytest.mark.long("thrift")
def test_columns_called_like_those_of_a_change_feed_stay(
    make_project: Callable[..., Project],
) -> None:
    """Only what changes() puts beside a row is ours; a table with such columns has no feed of its own."""
    project = make_project("names")
    schema = project.schema
    project.sql(
        f"create table {schema}.src (id int, _change_type string, _commit_version bigint, ts timestamp) using delta"
    )
    project.source("src")
    for name, config in OWN_NAMES.items():
        project.model(name, incremental(table("src"), watermark={"column": "ts"}, **config))
    project.model(
        "fed",
        incremental(
            table("src"),
            watermark={"column": "ts"},
            incremental_strategy="merge",
            unique_key="id",
            change_feed=True,
        ),
    )
    for hour, kind in enumerate(("insert", "delete")):
        project.sql(
            f"insert into {schema}.src values (1, '{kind}', {hour}, {AT} + interval {hour} hours)"
        )
        run = project.dbt("run")
        assert {run.status[name] for name in OWN_NAMES} == {"success"}, run.log[-3000:]
        said = sentence(run.message["fed"])
        assert "change_feed: got true; expected no column _change_type or _commit_version" in said
    for name in OWN_NAMES:
        newest = [row for row in rows_of(project, name) if row["_commit_version"] == 1]
        assert [row["_change_type"] for row in newest] == ["delete"], name


@pytest.mark.long("thrift")
def test_names_in_quotes_and_semicolons_as_dbt_spark_users_write_them(
    make_project: Callable[..., Project],
) -> None:
    """``id`` in backticks or double quotes is the column id, and a SELECT may end in a semicolon."""
    project = make_project("quoted")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, v string, day date, ts timestamp) using delta")
    project.source("src")
    mark = {"column": '"ts"'}
    models: dict[str, dict[str, Any]] = {
        "key": {"incremental_strategy": "merge", "unique_key": "`id`"},
        "keys": {"incremental_strategy": "merge", "unique_key": ['"id"', "`day`"]},
        "only": {"incremental_strategy": "merge", "unique_key": '"id"', "merge_update_columns": ["`v`", '"ts"']},
        "parted": {"incremental_strategy": "insert_overwrite", "partition_by": '"day"'},
        "latest": {
            "incremental_strategy": "cdc",
            "unique_key": "`id`",
            "cdc": {"sequence_by": '"ts"', "except_column_list": ["`day`"]},
        },
        "periods": {
            "incremental_strategy": "cdc",
            "unique_key": "`id`",
            "cdc": {
                "sequence_by": ["`ts`", '"id"'],
                "stored_as_scd_type": 2,
                "track_history_column_list": ['"v"'],
                "start_at": "`valid_from`",
            },
        },
    }  # fmt: skip
    for name, config in models.items():
        sql = incremental(table("src"), watermark=mark, **config)
        project.model(name, sql.rstrip("\n") + "\n;  -- the end;\n/* of ; all */ ;\n")
    project.model(
        "extract",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='`id`', "
        "snapshot_diff={'except_columns': ['\"ts\"']}) }} "
        f"select id, max_by(v, ts) as v, max(day) as day, max(ts) as ts from {table('src')} group by id; -- x",
    )
    for hour, value in enumerate("ab"):
        project.sql(
            f"insert into {schema}.src values (1, 'x;{value}', date'2024-05-01', {AT} + interval {hour} hours)"
        )
        run = project.dbt("run")
        assert run.success, run.log[-4000:]
    for name in ("key", "keys", "only", "latest", "extract"):
        assert [row["v"] for row in rows_of(project, name)] == ["x;b"], name
    assert sorted(row["v"] for row in rows_of(project, "periods")) == ["x;a", "x;b"]
    assert "valid_from" in rows_of(project, "periods")[0]
    assert len(rows_of(project, "parted")) == 2
