"""A ledger that somebody deleted rows from, put an older copy of in its place, or exchanged for another: no row is loaded
twice or passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of
from tests.support.ways import merged

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

#: Models whose last batch, or all of whose batches, the ledger loses.
LAST = {"appended": incremental(table("src"), watermark={"column": "ts"}), "merged": merged("src")}
ALL = {"forgotten": merged("src"), "gone": merged("src")}
#: Models whose table is ahead of the ledger: one was loaded with another ledger, one has no mark.
AHEAD = {
    "copied": incremental(table("src"), watermark={"column": "ts"}),
    "elsewhere": incremental(table("src"), watermark={"column": "ts"}),
    "whole": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "expectations=[{'name': 'counted', 'expect': 'id > 0'}]) }}\n"
    + f"select * from {table('src')}",
}


@dataclass
class Story:
    project: Project
    run: Run
    reset: Run
    full: Run
    after: Run


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Two batches of each model; then the ledger loses events, a row comes, and each way out is gone."""
    project = make_project("lost")
    s = project.schema
    project.sql(f"create table {s}.src (id int, ts timestamp) using delta")
    project.sql(f"insert into {s}.src values (1, {AT})")
    project.source("src")
    for name, sql in (LAST | ALL).items():
        project.model(name, sql)
    project.build()
    project.sql(f"insert into {s}.src values (2, {AT} + interval 1 hour)")
    project.build()
    log = f"{s}_floodmark.batch_log"
    for name in LAST:
        project.sql(f"delete from {log} where model = '{s}.{name}' and batch_id = 2")
    for name in ALL:
        project.sql(f"delete from {log} where model = '{s}.{name}'")
    project.sql(f"drop table {s}.gone")
    project.sql(f"insert into {s}.src values (3, {AT} + interval 2 hours)")
    run = project.dbt("run")
    mark = "{model: appended, to: '2024-05-01 09:00:00', reason: found again}"
    reset = project.dbt("run-operation", "floodmark.reset", "--args", mark)
    full = project.dbt("run", "--full-refresh", "--select", "merged", "forgotten")
    project.sql(f"insert into {s}.src values (4, {AT} + interval 3 hours)")
    return Story(project, run, reset, full, project.dbt("run"))


@pytest.mark.parametrize("name", LAST)
def test_the_run_stops_and_names_what_was_done_and_the_ways_out(story: Story, name: str) -> None:
    said = sentence(story.run.message[name])
    s = story.project.schema
    assert re.search(
        rf"{s}\.{name} has batch 2 in its version \d+ \(floodmark/{s}\.{name}/\S+/2\), and {s}_floodmark\.batch_log "
        "has no event of it. The ledger is older than the table",
        said,
    ), said
    assert (
        f"run it once with --full-refresh to load everything again, or set the mark with `floodmark reset {name}"
        in said
    )


def test_a_dropped_table_is_loaded_anew(story: Story) -> None:
    assert story.run.status["gone"] == "success", story.run.message["gone"]


def test_both_ways_out_work(story: Story) -> None:
    assert story.reset.success, story.reset.log
    assert story.full.success, story.full.log
    assert story.after.success, story.after.log


@pytest.mark.parametrize("name", LAST | ALL)
def test_each_row_is_there_once(story: Story, name: str) -> None:
    assert [row["id"] for row in rows_of(story.project, name, "id")] == [1, 2, 3, 4]


def test_numbers_go_on_behind_those_that_were_lost(story: Story) -> None:
    for name in ("appended", "merged", "gone"):
        numbers = [number for (number,) in story.project.ledger(name, "batch_id")]
        assert numbers == sorted(set(numbers)) and numbers[-1] > 2, name


def _arrives(project: Project, number: int) -> None:
    project.sql(
        f"insert into {project.schema}.src values ({number}, {AT} + interval {number - 1} hours)"
    )


@pytest.fixture(scope="module")
def ahead(make_project: Callable[..., Project]) -> Story:
    """A batch of each model; two more, which the ledger does not have; a run, the ways out, and a run."""
    project = make_project("ahead")
    s = project.schema
    log, other = f"{s}_floodmark.batch_log", ("--vars", f"{{floodmark_schema: {s}_other}}")
    project.sql(f"drop schema if exists {s}_other cascade")
    project.sql(f"create table {s}.src (id int, ts timestamp) using delta")
    _arrives(project, 1)
    project.source("src")
    for name, sql in AHEAD.items():
        project.model(name, sql)
    project.build()
    project.sql(f"create table {s}.kept using delta as select * from {log}")
    for number in (2, 3):
        _arrives(project, number)
        project.build("--select", "copied", "whole")
    # Another ledger has no mark for a table with rows, and gets one.
    project.dbt("run", "--select", "elsewhere", *other)
    arguments = ("--args", "{model: elsewhere, to: '2024-05-01 08:00:00'}")
    assert project.dbt("run-operation", "floodmark.reset", *arguments, *other).success
    project.build("--select", "elsewhere", *other)
    project.sql(f"drop table {log}")
    project.sql(f"create table {log} using delta as select * from {s}.kept")
    _arrives(project, 4)
    run = project.dbt("run")
    arguments = ("--args", "{model: copied, to: '2024-05-01 10:00:00'}")
    reset = project.dbt("run-operation", "floodmark.reset", *arguments)
    full = project.dbt("run", "--full-refresh", "--select", "elsewhere")
    _arrives(project, 5)
    after = project.dbt("run")
    project.sql(f"drop schema {s}_other cascade")
    return Story(project, run, reset, full, after)


@pytest.mark.parametrize("name", ["copied", "elsewhere"])
def test_a_table_that_is_ahead_of_the_ledger_is_not_loaded_further(ahead: Story, name: str) -> None:
    """Delta skips a batch whose number is used up, and the mark would pass over its rows; or they would come twice."""
    said = sentence(ahead.run.message[name])
    s = ahead.project.schema
    assert f"{s}_floodmark.batch_log has no event of it. The ledger is older than the table" in said
    assert f"or set the mark with `floodmark reset {name} --to <value>`" in said


def test_what_compares_all_rows_goes_on_behind_a_table_that_is_ahead(ahead: Story) -> None:
    assert ahead.run.status["whole"] == "success", ahead.run.message["whole"]
    assert ahead.project.ledger("whole", "batch_id") == [(1,), (4,), (5,)]


def test_the_ways_out_work_for_a_table_that_is_ahead(ahead: Story) -> None:
    assert ahead.reset.success, ahead.reset.log
    assert ahead.full.success, ahead.full.log
    assert ahead.after.success, ahead.after.log


@pytest.mark.parametrize("name", AHEAD)
def test_each_row_of_a_table_that_is_ahead_is_there_once(ahead: Story, name: str) -> None:
    assert [row["id"] for row in rows_of(ahead.project, name, "id")] == [1, 2, 3, 4, 5]
