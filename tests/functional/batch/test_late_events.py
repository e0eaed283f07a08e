"""Events that a batch is committed wait for the next plan, or the end of the run: no process that dies loses one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.faults import AT_END, Faults, injected
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = pytest.mark.long("session")

MODELS = {
    "appended": incremental(table("events"), watermark={"column": "n"}),
    "merged": incremental(
        table("events"), incremental_strategy="merge", unique_key="k", watermark={"column": "n"}
    ),
    "stepped": incremental(
        table("events"),
        incremental_strategy="merge",
        unique_key="k",
        watermark={"column": "n", "step": 2},
    ),
    "overwritten": incremental(
        table("days"),
        incremental_strategy="insert_overwrite",
        partition_by="day",
        watermark={"column": "day"},
    ),
}
#: Loaded one after the other, so that the plan of one takes the event of the one before.
ORDERED = {
    "second": incremental("{{ ref('appended') }}", watermark={"column": "n"}),
    "third": incremental("{{ ref('second') }}", watermark={"column": "n"}),
}
COUNTS = (
    "batch_id, state, rows_read, rows_inserted, rows_updated, rows_tied, target_version is not null"
)


@dataclass
class Story:
    """A project loaded twice, and what it sent into the ledger the second time."""

    project: Project
    inserts: list[tuple[str, str]]
    after: dict[str, list]


def land(project: Project, first: int, last: int) -> None:
    """Rows of numbers `first` to `last`, of three keys, and each day twice."""
    rows = [(n, f"k{n % 3}", f"v{n}") for n in range(first, last + 1)]
    days = [(f"2024-01-{n:02}", n * 10 + i) for n in range(first, last + 1) for i in range(2)]
    project.sql(f"insert into {project.schema}.events values {values(rows)}")
    project.sql(
        f"insert into {project.schema}.days select cast(c0 as date), c1 from values {values(days)} t(c0, c1)"
    )


def told(project: Project) -> dict[str, list]:
    """The batches of each model in the ledger, and the events of each batch."""
    return {name: project.ledger(name, COUNTS) for name in (*MODELS, *ORDERED)}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("late_events")
    project.source("events", "days")
    project.sql(f"create table {project.schema}.events (n bigint, k string, v string) using delta")
    project.sql(f"create table {project.schema}.days (day date, v bigint) using delta")
    for name, sql in (MODELS | ORDERED).items():
        project.model(name, sql)
    land(project, 1, 5)
    project.build()
    land(project, 6, 9)
    with injected(Faults()) as faults:
        project.build()
    inserts = [
        (node, sql) for node, sent in faults.sent.items() for sql in sent if "batch_log with" in sql
    ]
    return Story(project, inserts, told(project))


@pytest.mark.edge
def test_the_ledger_says_all_of_it_when_the_run_has_ended(story: Story) -> None:
    assert story.after == {
        "appended": [(1, "committed", 5, 5, 0, 0, True), (2, "committed", 4, 4, 0, 0, True)],
        "second": [(1, "committed", 5, 5, 0, 0, True), (2, "committed", 4, 4, 0, 0, True)],
        "third": [(1, "committed", 5, 5, 0, 0, True), (2, "committed", 4, 4, 0, 0, True)],
        "merged": [(1, "committed", 5, 3, 0, 0, True), (2, "committed", 4, 0, 3, 0, True)],
        "stepped": [
            (1, "committed", 2, 2, 0, 0, True),
            (2, "committed", 2, 1, 1, 0, True),
            (3, "committed", 1, 0, 1, 0, True),
            (4, "committed", 2, 0, 2, 0, True),
            (5, "committed", 2, 0, 2, 0, True),
        ],
        "overwritten": [(1, "committed", 10, 10, 0, 0, True), (2, "committed", 8, 8, 0, 0, True)],
    }
    s = story.project.schema
    times = story.project.sql(
        f"select count(*) from {s}_floodmark.batches where finished_at < started_at "
        "or finished_at > current_timestamp() or finished_at is null"
    )
    assert times == [(0,)]
    # An event stands twice where its model's next plan and another node took it: both say the same.
    (events,) = story.project.sql(
        "select count(distinct model, batch_id, event), "
        "count(distinct model, batch_id, event, coalesce(rows_read, -1), coalesce(target_version, -1)) "
        f"from {s}_floodmark.batch_log"
    )
    assert events[0] == events[1]


@pytest.mark.edge
def test_they_go_with_plans_and_with_the_end(story: Story) -> None:
    """Seven batches: a plan each, and no insert that says no more than that one batch is committed."""
    nodes = [node for node, _ in story.inserts]
    assert sorted(nodes) == sorted(
        ["appended", "second", "third", "merged", "stepped", "stepped", "overwritten", AT_END]
    )
    # What was loaded before it goes with the plan of the third.
    (plan,) = [sql for node, sql in story.inserts if node == "third"]
    assert f"'{story.project.schema}.second', 2, 'committed'" in plan


@pytest.mark.edge
def test_a_process_that_dies_before_loses_none(story: Story) -> None:
    """The next run finds the tables' commits: with what was read, though the staging tables are gone."""
    project = story.project
    land(project, 10, 13)
    with injected(Faults(cuts={AT_END: 1})):
        run = project.build()
    assert "cut before statement 1" in run.log
    assert "Their rows are in the tables, and the next run of each model records it." in sentence(
        run.log
    )
    names = (*MODELS, *ORDERED)
    before = told(project)
    open_ = {name for name in names if before[name][-1][1] == "planned"}
    assert open_ >= {"third"}, before
    assert not project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'")
    # The next run of `third` records what its table has, and so loads nothing until more comes.
    planned = project.dbt("compile", "--select", "third", "--vars", "{floodmark_plan: true}")
    assert planned.success, planned.log[-3000:]
    compiled = (project.root / "target/compiled/shop/models/third.sql").read_text()
    assert '"kind": "nothing new"' in compiled, compiled
    land(project, 14, 14)
    project.build()
    after = told(project)
    for name in names:
        assert {state for _, state, *_ in after[name]} == {"committed"}, after[name]
        # Of `stepped` two batches had the four rows, and each day has two.
        read = [
            row[2] for row in after[name][len(before[name]) - (2 if name == "stepped" else 1) :]
        ]
        assert (sum(read[:-1]), read[-1]) == ((8, 2) if name == "overwritten" else (4, 1)), read
    for name in ("appended", "second", "third"):
        rows = project.sql(f"select n from {project.schema}.{name}")
        assert sorted(rows) == [(n,) for n in range(1, 15)]


@pytest.mark.edge
def test_open_rows_of_a_feed_are_not_looked_for_in_a_staging_table_that_is_gone(
    make_project: Callable[..., Project],
) -> None:
    """The rule of the row is gone, so the event of the batch waits, and its staging table does not."""
    project = make_project("late_events_of_feeds")
    project.source("orders")
    orders = f"{project.schema}.orders"
    project.sql(
        f"create table {orders} (id int, amount int) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(f"insert into {orders} values (1, 1), (2, -2)")
    rule = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}

    def model(rules: list) -> str:
        config = f"watermark={{'kind': 'version'}}, unique_key='id', expectations={rules}"
        return (
            "{{ config(materialized='incremental', incremental_strategy='merge', "
            f"{config}) }}}}\nselect * from {{{{ floodmark.changes(source('raw', 'orders')) }}}}\n"
        )

    for name in ("mirror", "beside"):
        project.model(name, model([rule]))
    project.build()
    for name in ("mirror", "beside"):
        project.model(name, model([]))
    project.sql(f"insert into {orders} values (3, 3)")
    with injected(Faults(cuts={AT_END: 1})):
        project.build()
    names = ("mirror", "beside")
    assert "planned" in [project.ledger(name, "state")[-1][0] for name in names]
    project.sql(f"update {orders} set amount = 20 where id = 2")
    project.build()
    for name in names:
        found = project.sql(f"select id, amount from {project.schema}.{name}")
        assert sorted(found) == [(1, 1), (2, 20), (3, 3)], name
        assert {state for (state,) in project.ledger(name, "state")} == {"committed"}, name
        held = project.sql(f"select id, _floodmark_state from {project.schema}.{name}__quarantine")
        assert held == [(2, "superseded")], name
