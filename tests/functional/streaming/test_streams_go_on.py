"""How a stream goes on: behind older rows of a key, an emptied table, rules and constraints that are gone, no ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dbt_floodmark.streaming import checkpoint as checkpoints
from dbt_floodmark.streaming.checkpoint import Folder, Lease
from tests.support.faults import Faults, injected
from tests.support.files import land, lines
from tests.support.harness import Project, sentence
from tests.support.streams import EVENTS, arrive, event, stream

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

SELECT = "select * from stream({{ source('raw', 'events') }})"
RULES = [{"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}]
CDC = {"sequence_by": "event_id", "apply_as_deletes": "amount = 0"}
BOUND = """
config: {contract: {enforced: true}}
columns:
  - {name: key, data_type: string}
  - {name: amount, data_type: int, constraints: [{type: check, expression: "amount < 100"}]}
"""
FILES = {"path": "landing", "schema": "id int, amount int", "format": "json"}
MODELS = {
    "latest": stream(
        SELECT + " watermark at delay of interval 1 hour", output_mode="update", unique_key="key"
    ),
    "emptied": stream(SELECT),
    # Spark has its table in small letters.
    "Shouted": stream(SELECT),
    "emptied_cdc": stream(SELECT, incremental_strategy="cdc", unique_key="key", cdc=CDC),
    "bound": stream("select key, amount from stream({{ source('raw', 'events') }})"),
    "judged": stream(SELECT, expectations=RULES),
    "landed": stream(
        "select id, amount from {{ floodmark.new_files() }}", files=FILES, expectations=RULES
    ),
}
CUT = "after: insert into .*__quarantine"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    """A run of each; then two die behind their quarantine, rules and constraints go, and tables are emptied."""
    project = make_project("streams_go_on")
    project.source("events")
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    for name, sql in MODELS.items():
        project.model(name, sql, BOUND if name == "bound" else None)
    # The later row of a key comes first, within one micro-batch, too.
    arrive(project, event(1, "a", 1, 30), event(2, "a", 2, 10), event(3, "b", 3, 30))
    land(project.root / "landing", {"a.json": lines({"id": 1, "amount": 1})})
    project.build()
    arrive(project, event(4, "b", 0, 20), event(5, "c", -5, 40))
    land(
        project.root / "landing", {"b.json": lines({"id": 2, "amount": -2}, {"id": 3, "amount": 3})}
    )
    with injected(Faults(cuts={"judged": CUT, "landed": CUT})):
        assert not project.dbt("run", "--select", "judged", "landed").success
    project.build("--select", "emptied", "emptied_cdc")
    project.sql(f"delete from {project.schema}.emptied_cdc")
    project.sql(f"set {METADATA} = cleaned for ticket 12")
    project.sql(f"delete from {project.schema}.emptied")
    project.sql(f"reset {METADATA}")
    project.model("judged", stream(SELECT))
    project.model("bound", MODELS["bound"], BOUND.partition("columns:")[0].replace("true", "false"))
    arrive(project, event(6, "d", 500, 50))
    project.build()
    return project


def rows(project: Project, model: str, columns: str) -> list[tuple]:
    return sorted(project.sql(f"select {columns} from {project.schema}.{model}"))


def test_an_older_row_of_a_key_does_not_win(project: Project) -> None:
    """Without an aggregation the event time says which row is the latest, also with output_mode `update`."""
    assert rows(project, "latest", "key, event_id") == [("a", 1), ("b", 3), ("c", 5), ("d", 6)]


def test_an_event_time_that_the_select_only_gives_cast(project: Project) -> None:
    """Spark does not know it by then, so that nothing tells which row is the latest."""
    source = "stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour"
    merged = {"incremental_strategy": "merge", "unique_key": "event_id"}
    lost = "does not give the column of its event-time watermark as it is"
    project.model(
        "timed", stream(f"select event_id, cast(at as date) as day from {source}", **merged)
    )
    run = project.build("--select", "timed")
    assert lost in sentence(run.log)
    project.model("timed", stream(f"select event_id, at as happened from {source}", **merged))
    run = project.build("--select", "timed", "--full-refresh")
    assert lost not in sentence(run.log)
    once = stream(f"select event_id, cast(at as date) as day from {source}", unique_key="event_id")
    project.model("timed", once)
    run = project.dbt("run", "--select", "timed", "--full-refresh")
    said = sentence(run.message["timed"])
    assert "and its column into the SELECT, neither cast nor within an expression" in said
    (project.root / "models" / "timed.sql").unlink()


def test_a_table_that_was_emptied_is_loaded_from_the_start(project: Project) -> None:
    assert rows(project, "emptied", "event_id") == [(n,) for n in range(1, 7)]
    assert rows(project, "emptied_cdc", "key, event_id") == [("a", 2), ("c", 5), ("d", 6)]
    project.build("--select", "emptied", "emptied_cdc")
    assert len(rows(project, "emptied", "event_id")) == 6


def test_a_constraint_that_has_left_the_contract_binds_no_more(project: Project) -> None:
    assert rows(project, "bound", "amount")[-1] == (500,)


def test_a_micro_batch_ends_under_rules_that_are_gone(project: Project) -> None:
    """It was planned with them. What comes behind it is not judged."""
    assert rows(project, "judged", "event_id") == [(1,), (2,), (3,), (6,)]
    kept = rows(project, "judged__quarantine", "event_id, _floodmark_state")
    assert kept == [(4, "open"), (5, "open")]
    states = project.ledger("judged", "state")
    assert set(states) == {("committed",)}


def test_a_micro_batch_of_files_that_was_left_open_is_finished(project: Project) -> None:
    assert set(project.ledger("landed", "state")) == {("committed",)}
    assert rows(project, "landed", "id") == [(1,), (3,)]
    assert rows(project, "landed__quarantine", "id, _floodmark_state") == [(2, "open")]


def test_without_its_ledger_a_stream_stops(make_project: Callable[..., Project]) -> None:
    """Its batches would have the numbers, and the transaction ids, of those before."""
    project = make_project("streams_without_ledger")
    project.source("events")
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    project.model("merged", MODELS["latest"])
    project.model("copied", stream(SELECT))
    arrive(project, event(1, "a", 1, 30))
    project.build()
    project.sql(f"drop table {project.schema}_floodmark.batch_log")
    arrive(project, event(2, "a", 2, 40))
    run = project.dbt("run")
    assert (run.status["merged"], run.status["copied"]) == ("error", "success")
    assert (
        f"{project.schema}_floodmark.batch_log has no batch of it, and its checkpoint has passed micro-batch 0. "
        "Somebody dropped that table, or deleted rows there, so nobody can tell which rows are in "
        f"{project.schema}.merged: run it once with --full-refresh to load everything again"
    ) in sentence(run.message["merged"])
    assert rows(project, "copied", "event_id") == [(1,), (2,)]
    project.build("--select", "merged", "--full-refresh")
    assert rows(project, "merged", "event_id") == [(2,)]


def test_a_lease_that_nobody_can_read_holds_nothing(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, or a kill while it was written, leaves it cut short."""
    from pyspark.sql import SparkSession

    monkeypatch.setattr(checkpoints, "_SETTLE", 0.01)
    folder = Folder(SparkSession.getActiveSession(), str(tmp_path))
    with Lease(folder, "shop.events"):
        (lease,) = tmp_path.glob("_floodmark_lease")
        text = lease.read_bytes()
    for left in (b"", text[: len(text) // 2]):
        folder.write("_floodmark_lease", text.decode(), overwrite=True)
        lease.write_bytes(left)
        with Lease(folder, "shop.events"):
            assert folder.names() == ["_floodmark_lease"]


def test_a_stream_may_have_capitals_in_its_name(project: Project) -> None:
    """Its table is new in dbt's cache in the run that makes it: the fixture's first."""
    project.build("--select", "Shouted")
    events = project.sql(f"select event_id from {project.schema}.events")
    assert sorted(project.sql(f"select event_id from {project.schema}.shouted")) == sorted(events)
