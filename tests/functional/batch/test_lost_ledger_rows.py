"""Rows of the ledger that somebody deleted: Delta still knows the numbers, and no row is loaded twice or passed over."""

from __future__ import annotations

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
    log = f"{story.project.schema}_floodmark.batch_log"
    assert (
        f"batch 2 was planned before, and {log} has no event of it. Somebody deleted rows there"
        in said
    )
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
