"""A machine's clock is a day ahead, and is set back: what was loaded stays loaded, and what is new is loaded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.cdc import Feed, cdc
from tests.support.clocks import ahead, date_newest_commit_ahead
from tests.support.faults import Faults, injected
from tests.support.harness import Project, incremental, table
from tests.support.snapshots import whole

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

ROWS = "id int, day date, n int, at timestamp"
MODELS = {
    "appended": incremental(
        table("src"), incremental_strategy="append", watermark={"column": "at"}
    ),
    "merged": incremental(
        table("src"),
        incremental_strategy="merge",
        unique_key="id",
        watermark={"column": "at", "lookback": "1 hour"},
    ),
    "numbered": incremental(
        table("src"),
        incremental_strategy="merge",
        unique_key="id",
        watermark={"column": "n", "gaps": "wait", "gap_timeout": "1 hour"},
    ),
    "parted": incremental(
        table("src"),
        incremental_strategy="insert_overwrite",
        partition_by="day",
        watermark={"column": "at"},
    ),
    "versioned": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "watermark={'kind': 'version'}) }}\nselect * from {{ floodmark.changes(source('raw', 'src')) }}",
    "latest": cdc("src", key="id", step=None, sequence_by="n", apply_as_deletes=None,
                  except_column_list=None).replace("arrived", "n"),
    "histories": cdc("src", key="id", step=None, sequence_by="n", apply_as_deletes=None,
                   except_column_list=None, stored_as_scd_type=2).replace("arrived", "n"),
    "compared": whole("src", key="id", stored_as_scd_type=2),
}  # fmt: skip


def arrive(project: Project, numbers: range) -> None:
    """Rows of three keys, each row a minute after the one before."""
    rows = [
        f"({n % 3}, date'2024-05-01', {n}, timestamp'2024-05-01 08:00:00' + interval {n} minutes)"
        for n in numbers
    ]
    project.sql(f"insert into {project.schema}.src values {', '.join(rows)}")


def test_every_strategy_loads_on(make_project: Callable[..., Project]) -> None:
    project = make_project("back")
    s = project.schema
    project.sql(
        f"create table {s}.src ({ROWS}) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.source("src")
    for name, sql in MODELS.items():
        project.model(name, sql)
    arrive(project, range(1, 4))
    project.build()

    project.sql(f"delete from {s}.src where n < 4")
    arrive(project, range(4, 7))
    with ahead(days=1):
        project.build()
    for name in ("src", *MODELS):
        date_newest_commit_ahead(project, f"{s}.{name}", days=1)
    date_newest_commit_ahead(project, f"{s}_floodmark.batch_log", days=1)

    # The clock is right again.
    project.build()
    project.sql(f"delete from {s}.src where n < 7")
    arrive(project, range(7, 10))
    project.build()

    def numbers(name: str, where: str = "true") -> list[int]:
        return sorted(row[0] for row in project.sql(f"select n from {s}.{name} where {where}"))

    assert numbers("appended") == list(range(1, 10))
    for name in ("merged", "numbered", "versioned", "latest"):
        assert numbers(name) == [7, 8, 9], name
    assert numbers("parted") == [7, 8, 9]
    for name in ("histories", "compared"):
        assert numbers(name) == list(range(1, 10)), name
        assert numbers(name, "__end_at is null") == [7, 8, 9], name
        assert not project.sql(f"select * from {s}.{name} where __end_at <= __start_at"), name
    versions = {name: project.version(name) for name in MODELS}
    project.build()
    assert {name: project.version(name) for name in MODELS} == versions
    assert {state for (state,) in project.ledger("merged", "state")} == {"committed"}


WAYS = {
    "latest": cdc("feed", step=None),
    "history": cdc("feed", step=None, stored_as_scd_type=2),
}
HALF = "after: (insert|merge) into [^ ]*__cdc_state"
FENCED = "after: merge into .* on false"


@pytest.mark.long("session")
@pytest.mark.parametrize("died_at", [HALF, "after: batch_log with"])
def test_a_batch_of_cdc_is_taken_over_by_a_run_whose_clock_is_behind(
    make_project: Callable[..., Project], died_at: str
) -> None:
    """Its transaction ids carry the attempt's time: they must go on ascending."""
    project = make_project("attempts_" + ("half" if died_at == HALF else "planned"))
    feed = Feed(project)
    project.source("feed")
    for way, sql in WAYS.items():
        project.model(way, sql)
    feed.arrive(20)
    project.build()
    feed.arrive(20)
    with injected(Faults(cuts=dict.fromkeys(WAYS, died_at))):
        run = project.dbt("run", "--select", *WAYS)
    assert {way: run.status[way] for way in WAYS} == dict.fromkeys(WAYS, "error")
    with ahead(days=1), injected(Faults(cuts=dict.fromkeys(WAYS, FENCED))):
        run = project.dbt("run", "--select", *WAYS)
    assert {way: run.status[way] for way in WAYS} == dict.fromkeys(WAYS, "error")
    feed.arrive(5)
    project.build()
    feed.expect({way: way for way in WAYS})
    for way in WAYS:
        assert [row[0] for row in project.ledger(way, "state")] == ["committed"] * 3
