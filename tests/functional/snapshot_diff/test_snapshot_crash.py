"""snapshot_diff under the crash lab: cut around every statement, run again, equal to what the oracle says.

Cut by an abort inside the process, on the warm Thrift server.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faults import Faults, assert_cut, injected, lab_points
from tests.support.harness import FULL, Project, sentence
from tests.support.rows import held
from tests.support.snapshot_oracle import scd1, scd2
from tests.support.snapshots import add, diff, land, random_series, whole

pytestmark = [pytest.mark.lab, pytest.mark.edge]

NEWEST = "where v = (select max(v) from {{ source('raw', 'snaps') }})"
#: `newest` has no watermark, so that what it reads moves on between a cut and the next run.
WAYS = {"newest": whole("snaps", where=NEWEST, version="v")}
if FULL:
    WAYS |= {
        "history": diff("snaps", stored_as_scd_type=2),
        "changes": diff("snaps", output="changes"),
    }
#: Where a default run cuts: behind the plan, behind the difference, behind the staged rows, and between MERGE and commit.
FEW = (
    "after: batch_log with",
    "after: create table .*stage__",
    "before: merge into",
    "after: merge into",
)
#: Cut points that a batch has more than a first load.
MORE = 4 if FULL else 0
DELIVERIES = ("first load", "batch", "full refresh")
#: What each is cut in: a first load sends what that of a merge does (test_crash.py), a full refresh loads every snapshot again.
CUT_IN = {way: DELIVERIES if FULL else DELIVERIES[1:2] for way in WAYS}


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_every_cut_of_a_snapshot_ends_in_the_oracles_table(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("lab")
    series = random_series(23, 30, 6)
    land(project, "snaps", [], "a string, b string, n int")
    project.source("snaps")
    for way, sql in WAYS.items():
        project.model(f"{way}_control", sql)
    copies: dict[str, str] = {}
    for delivery in DELIVERIES[: 3 if FULL else 2]:
        landed = 2 * DELIVERIES.index(delivery)
        add(project, "snaps", series[landed : landed + 1])
        options = ["--full-refresh"] if delivery == "full refresh" else []
        with injected(Faults()) as seen:
            if FULL:  # what is sent tells where to cut
                project.build("--select", *[f"{way}_control" for way in WAYS], *options)
        cuts: dict[str, int | str] = {}
        for way in WAYS:
            points = lab_points(seen.sent[f"{way}_control"]) if FULL else list(FEW)
            if delivery == "first load":  # a batch sends a few statements more
                for i in range(len(points) + MORE):
                    project.model(f"{way}_{i}", WAYS[way])
                    copies[f"{way}_{i}"] = way
            if (
                delivery == "full refresh"
            ):  # it loads every snapshot again, one batch like the other
                points = points[: sum(other == way for other in copies.values())]
            assert f"{way}_{len(points) - 1}" in copies, "raise MORE"
            if delivery in CUT_IN[way]:
                cuts |= {f"{way}_{i}": point for i, point in enumerate(points)}
        if cuts:
            with injected(Faults(cuts=cuts)) as faults:
                run = project.dbt("run", "--select", *cuts, *options)
            assert_cut(faults, run.status, cuts, exact=FULL)
        add(project, "snaps", series[landed + 1 : landed + 2])
        project.build("--select", *copies, *[f"{way}_control" for way in WAYS if FULL])
        so_far = series[: landed + 2]
        latest = {key: [row] for key, row in scd1(so_far).items()}
        history = {key: sorted(rows, key=repr) for key, rows in scd2(so_far).items()}
        for name, way in copies.items():
            if way == "history":
                assert held(project, name, "k, a, b, n, __start_at, __end_at") == history, name
            elif way == "newest":
                assert held(project, name, "k, a, b, n") == latest, name
            else:
                assert last_changes(project, name) == latest, name
    left = [
        row[1]
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert left == []


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_a_full_refresh_that_dies_keeps_the_version_that_is_in_the_table(
    make_project: Callable[..., Project],
) -> None:
    """Of a batch that a run before it did not record. An older snapshot is refused."""
    project = make_project("left_version")
    land(project, "snaps", [(1, {"a": ("x",)})], "n string")
    project.source("snaps")
    project.model("newest", WAYS["newest"])
    project.build()
    add(project, "snaps", [(2, {"a": ("y",), "b": ("z",)})])
    for cut, options in (
        ("after: merge into", []),
        ("before: create or replace table", ["--full-refresh"]),
    ):
        with injected(Faults(cuts={"newest": cut})) as faults:
            run = project.dbt("run", *options)
        assert_cut(faults, run.status, {"newest": cut}, exact=False)
    project.sql(f"delete from {project.schema}.snaps where v = 2")
    run = project.dbt("run")
    assert "the snapshot is of v 1, but 2 is loaded already" in sentence(run.message["newest"])
    assert held(project, "newest", "k, n") == {"a": [("y",)], "b": [("z",)]}


def last_changes(project: Project, model: str) -> dict[str, list[tuple[object, ...]]]:
    """What a list of changes comes to; a change stands in it once."""
    doubled = (
        f"select k, _changed_at from {project.schema}.{model} group by all having count(*) > 1"
    )
    assert project.sql(doubled) == [], model
    rows = project.sql(
        f"select k, a, b, n, _change_type from {project.schema}.{model} order by _changed_at"
    )
    state: dict[str, list[tuple[object, ...]]] = {}
    for key, *row, change in rows:
        if change == "delete":
            del state[key]
        else:
            state[key] = [tuple(row)]
    return state
