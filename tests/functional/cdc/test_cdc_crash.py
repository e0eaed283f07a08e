"""cdc under the crash lab: cut around every statement, run again, equal to an undisturbed run.

A batch of cdc takes two statements, so between a cut and the next run new events arrive for the same keys: a run that
read its stage anew for the second statement would show. Cut by an abort inside the process, on the warm Thrift server.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.cdc import Feed, cdc
from tests.support.faults import Faults, assert_cut, injected, lab_points
from tests.support.harness import FULL, Project, sentence

pytestmark = [pytest.mark.lab, pytest.mark.edge]

WAYS = {
    "latest": cdc("feed", step=None),
    "history": cdc("feed", step=None, stored_as_scd_type=2),
    "partial": cdc("feed", step=None, ignore_null_updates=True),
}
#: Cut points that a batch has more than a first load.
MORE = 2
DELIVERIES = ("first load", "batch", "full refresh")
#: What each is cut in: SCD 2 sends the same statements as SCD 1, and dies between its two in the test below.
CUT_IN = {"latest": DELIVERIES[1:2]}
if FULL:
    CUT_IN = dict.fromkeys(WAYS, DELIVERIES)


def sampled(points: list[int]) -> list[int]:
    """Behind the plan, in the middle, and ahead of the ledger's commit: test_crash.py has them all, of the protocol that cdc shares."""
    return points if FULL else [points[0], points[len(points) // 2], points[-1]]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_every_cut_of_cdc_ends_in_the_oracles_table(make_project: Callable[..., Project]) -> None:
    project = make_project("lab")
    feed = Feed(project)
    project.source("feed")
    for way in CUT_IN:
        project.model(f"{way}_control", WAYS[way])
    copies: dict[str, str] = {}
    for delivery in DELIVERIES[: 3 if FULL else 2]:
        feed.arrive(12)
        options = ["--full-refresh"] if delivery == "full refresh" else []
        with injected(Faults()) as seen:
            project.build("--select", *[f"{way}_control" for way in CUT_IN], *options)
        cuts: dict[str, int | str] = {}
        for way in CUT_IN:
            points = sampled(lab_points(seen.sent[f"{way}_control"]))
            if delivery == "first load":
                for i in range(len(points) + (MORE if FULL else 0)):
                    project.model(f"{way}_{i}", WAYS[way])
                    copies[f"{way}_{i}"] = way
            assert f"{way}_{len(points) - 1}" in copies, "raise MORE"
            if delivery in CUT_IN[way]:
                cuts |= {f"{way}_{i}": point for i, point in enumerate(points)}
        if cuts:
            with injected(Faults(cuts=cuts)) as faults:
                run = project.dbt("run", "--select", *cuts, *options)
            assert_cut(faults, run.status, cuts)
        if cuts or FULL:
            feed.arrive(6)
        project.build("--select", *copies)
        feed.expect(copies)
        if FULL:
            project.build("--select", *[f"{way}_control" for way in CUT_IN])
            feed.expect({f"{way}_control": way for way in CUT_IN})
    left = [
        row[1]
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert left == []


HALF = "after: (insert|merge) into [^ ]*__cdc_state"


#: One gets a full refresh and a new column (which SCD 2's resolved events lack), the other a reset and a refused setting.
ROLES = [("history", "latest")] + ([("latest", "history")] if FULL else [])


@pytest.mark.parametrize("target", ["thrift"], scope="module")
@pytest.mark.parametrize(("one", "other"), ROLES)
def test_what_is_half_written_is_taken_back(
    make_project: Callable[..., Project], one: str, other: str
) -> None:
    """A run dies between the two statements, and what follows gives the batch up."""
    project = make_project(f"halves_{one}")
    s = project.schema
    feed = Feed(project)
    project.source("feed")
    ways = (one, other)
    for way in ways:
        project.model(way, WAYS[way])
    feed.arrive(20)
    project.build()

    def states(way: str) -> list[str]:
        return [row[0] for row in project.ledger(way, "state")]

    def die_half_way() -> None:
        feed.arrive(20)
        with injected(Faults(cuts=dict.fromkeys(ways, HALF))):
            run = project.dbt("run")
        assert {way: run.status[way] for way in ways} == dict.fromkeys(ways, "error")
        for way in ways:
            assert states(way)[-1] == "planned"

    def build(*args: str) -> None:
        project.build(*args)
        feed.expect({way: way for way in ways})

    # A full refresh that dies too, before it has made the table; a reset.
    die_half_way()
    with injected(Faults(cuts={one: "before: create or replace table"})):
        run = project.dbt("run", "--full-refresh", "--select", one)
    assert run.status[one] == "error"
    run = project.dbt("run-operation", "floodmark.reset", "--args", f"{{model: {other}, to: '1'}}")
    assert run.success, run.log[-3000:]
    assert states(other)[-2:] == ["failed", "committed"]
    feed.arrive(5)
    build()
    # Nothing, though somebody adds a column that what was resolved lacks: the next run finishes it.
    # A setting that refuses it: it is failed, and its rows are read again.
    project.sql(f"alter table {s}.{other} add columns (more int)")
    die_half_way()
    project.sql(f"alter table {s}.{one} add columns (extra int)")
    project.model(other, WAYS[other].replace("config(", "config(on_schema_change='fail', "))
    run = project.dbt("run")
    assert (run.status[one], run.status[other]) == ("success", "error")
    message = sentence(run.message[other])
    assert "differ (gone: more): on_schema_change is 'fail'" in message
    assert states(other)[-1] == "failed"
    project.model(other, WAYS[other])
    build()
    # Stages that somebody drops: what is half written cannot be finished, and the run says what helps.
    die_half_way()
    for _, name, _ in project.sql(f"show tables in {s}_floodmark like 'stage__*'"):
        project.sql(f"drop table {s}_floodmark.{name}")
    run = project.dbt("run")
    for way in ways:
        assert "cannot be resumed. If another run finished it, run again. " in sentence(
            run.message[way]
        )
    build("--full-refresh")
