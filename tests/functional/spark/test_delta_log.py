"""A session reads a short history from Delta's log itself: the rows are those that Spark answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import SPARK_PARAMETERS

SCHEMA = "delta_log"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@pytest.fixture(scope="module")
def session(home: Path, attached: None) -> Iterator[Any]:
    from dbt_floodmark.adapter.session import FloodmarkSession
    from dbt_floodmark.spark.gateway import root_session

    made = FloodmarkSession(root_session(home, SPARK_PARAMETERS), {})
    made.execute(f"drop schema if exists {SCHEMA} cascade")
    made.execute(f"create schema {SCHEMA}")
    yield made
    made.execute(f"drop schema {SCHEMA} cascade")


@pytest.fixture
def spark_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    from dbt_floodmark.spark import delta_log

    return lambda: monkeypatch.setattr(delta_log, "history", lambda spark, sql: None)


def _answer(session: Any, sql: str) -> tuple[list[Any], list[Any]]:
    session.execute(sql)
    return session.fetchall(), session.description


def _read(session: Any, sql: str) -> list[Any] | None:
    from dbt_floodmark.spark import delta_log

    return delta_log.history(session.spark, sql)


def _table(session: Any, name: str, *statements: str, properties: str = "") -> str:
    table = f"{SCHEMA}.{name}"
    session.execute(f"create table {table} (id bigint, v string) using delta {properties}")
    for statement in statements:
        session.execute(statement.format(table))
    return table


@pytest.mark.edge
def test_every_kind_of_commit_is_as_spark_has_it(session, spark_only, tmp_path):
    table = _table(
        session, "kinds", properties="tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    session.set(METADATA, 'floodmark/é"\\/7')
    session.execute(f"insert into {table} values (1, 'a'), (2, 'b\"\\\\'), (3, 'é')")
    session.reset(METADATA)
    for statement in (
        f"merge into {table} t using (select 2 as id, 'x' as v) s on s.id = t.id "
        "when matched then update set * when not matched then insert *",
        f"delete from {table} where v <=> 'é' or v like '%\"'",
        f"alter table {table} add columns (w int comment 'a \"comment\"')",
        f"alter table {table} set tblproperties ('a.b' = 'c \"d\"')",
        f"alter table {table} add constraint positive check (id > 0)",
        f"restore table {table} to version as of 1",
        f"vacuum {table}",
    ):
        session.execute(statement)
    session.spark.readStream.table(table).writeStream.format("delta").option(
        "checkpointLocation", str(tmp_path)
    ).trigger(availableNow=True).toTable(f"{SCHEMA}.streamed").awaitTermination()
    session.execute(f"create table {SCHEMA}.cloned shallow clone {table}")
    session.execute(f"create or replace table {SCHEMA}.cloned using delta as select 1 as id")
    asked = [
        f"describe history {name} limit {limit}"
        for name, limit in (
            *((table, limit) for limit in (1, 5, 19)),
            (f"{SCHEMA}.`kinds`", 20),
            (f"{SCHEMA}.streamed", 5),
            (f"{SCHEMA}.cloned", 5),
        )
    ]
    for sql in asked:
        assert _read(session, f"/* {{}} */ {sql}"), sql
    ours = [_answer(session, f"/* {{}} */\n{sql};") for sql in asked]
    spark_only()
    theirs = [_answer(session, sql) for sql in asked]
    assert ours == [(rows, [(*column[:6], True) for column in columns]) for rows, columns in theirs]
    operations = {row[4] for rows, _ in ours for row in rows}
    assert {"MERGE", "RESTORE", "VACUUM END", "STREAMING UPDATE", "CLONE"} <= operations


def test_times_go_up_whatever_the_clock_said(session, spark_only):
    table = _table(session, "clock", *["insert into {} values (1, 'a')"] * 4)
    session.execute(f"describe detail {table}")
    folder = Path(session.fetchone()[4].removeprefix("file:")) / "_delta_log"
    for version, second in enumerate((100, 300, 200, 200, 300.001)):
        os.utime(folder / f"{version:020}.json", (second, second))
    asked = [f"describe history {table} limit {limit}" for limit in (1, 2, 5)]
    assert all(_read(session, sql) for sql in asked)
    ours = [_answer(session, sql)[0] for sql in asked]
    spark_only()
    assert ours == [_answer(session, sql)[0] for sql in asked]
    assert [row[1].timestamp() - ours[2][-1][1].timestamp() for row in ours[2]] == pytest.approx(
        [200.003, 200.002, 200.001, 200, 0]
    )


def test_a_table_that_is_made_anew_or_filled_by_others_is_read_anew(session):
    table = _table(session, "anew", "insert into {} values (1, 'a')")
    asked = f"describe history {table} limit 5"
    assert [row[0] for row in _read(session, asked)] == [1, 0]
    session.execute(f"drop table {table}")
    _table(session, "anew")
    assert [row[0] for row in _read(session, asked)] == [0]
    folder = _answer(session, f"describe detail {table}")[0][0][4].removeprefix("file:")
    (Path(folder) / "_delta_log" / f"{1:020}.json").write_text(
        '{"commitInfo":{"timestamp":1,"operation":"by others","operationParameters":{"n":3,"b":true}}}\n'
    )
    newest = _read(session, asked)[0]
    assert (newest[0], newest[4], newest[5]) == (1, "by others", {"n": "3", "b": "true"})


def test_spark_answers_what_is_not_a_short_history_of_one_delta_table(session, tmp_path):
    table = _table(session, "others", "insert into {} values (1, 'a')")
    session.execute(f"create view {SCHEMA}.a_view as select * from {table}")
    session.execute(f"create table {SCHEMA}.plain using parquet as select 1 as id")
    _table(session, "timed", properties="tblproperties ('delta.enableInCommitTimestamps' = 'true')")
    session.execute(f"create table delta.`{tmp_path}/t` using delta as select 1 as id")
    for name in ("a_view", "plain", "timed", "missing"):
        assert _read(session, f"describe history {SCHEMA}.{name} limit 1") is None, name
    assert _answer(session, f"describe history {SCHEMA}.timed limit 1")[0][0][0] == 0
    for sql in (
        f"describe history {table}",
        f"describe history {table} limit 0",
        f"describe history {table} limit 21",
        f"describe history delta.`{tmp_path}/t` limit 1",
        f"describe history spark_catalog.{table} limit 1",
        f"describe detail {table}",
        f"select 'describe history {table} limit 1' as v",
    ):
        assert _read(session, sql) is None, sql
    assert len(_read(session, f"describe history {table} limit 20")) == 2


def test_a_commit_that_tells_nothing_is_sparks(session):
    table = _table(session, "silent")
    folder = _answer(session, f"describe detail {table}")[0][0][4].removeprefix("file:")
    log = Path(folder) / "_delta_log"
    (log / f"{1:020}.json").write_text('{"txn":{"appId":"a","version":1}}\n')
    assert _read(session, f"describe history {table} limit 1") is None
    (log / f"{2:020}.json").write_text(
        '{"commitInfo":{"timestamp":1,"operation":"WRITE","operationParameters":{},"job":{"jobId":"7"}}}\n'
    )
    assert _read(session, f"describe history {table} limit 1") is None
    assert [row[0] for row in _answer(session, f"describe history {table} limit 2")[0]] == [2, 1]


def test_another_catalog_is_asked_through_spark(session):
    table = _table(session, "elsewhere")
    asked = f"describe history {table} limit 1"
    assert _read(session, asked)
    other = session.spark.newSession()
    other.conf.set("spark.sql.catalog.spark_catalog", "org.example.Other")
    from dbt_floodmark.spark import delta_log

    assert delta_log.history(other, asked) is None
    other = session.spark.newSession()
    for key, value in {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": "jdbc:derby:memory:mine;create=true",
        ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }.items():
        other.conf.set(f"spark.sql.catalog.mine{key}", value)
    assert delta_log.history(other, asked)
    other.sql("use mine")
    assert delta_log.history(other, asked) is None
