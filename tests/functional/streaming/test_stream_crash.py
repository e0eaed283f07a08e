"""Streams under the crash lab: cut around every statement of a micro-batch, and killed in the middle; then run again.

Spark sends a micro-batch again until its checkpoint has it. What the macros write under it, and what Delta's own sink
writes, must count once whatever died in between.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dbt_floodmark.streaming import checkpoint as checkpoints
from dbt_floodmark.streaming.checkpoint import CheckpointInUseError, Folder, Holder, Lease
from tests.support.cdc import Feed
from tests.support.faults import Faults, assert_cut, cut_points, injected, open_points
from tests.support.harness import FULL, Project, run_sql
from tests.support.rows import held
from tests.support.selection import sample
from tests.support.soak import Soak, soak
from tests.support.streams import rows, stream

pytestmark = pytest.mark.lab

#: Streams run where Spark lives in the dbt process.
ON_SESSION = pytest.mark.parametrize("target", ["session"], scope="module")

FEED = "stream({{ source('raw', 'feed') }})"
WAYS = {
    "copied": stream(f"select * from {FEED}"),
    "merged": stream(
        f"select k, count(*) as n, max(seq) as seq from {FEED} group by k",
        output_mode="update",
        unique_key="k",
    ),
    "history": stream(
        f"select * from {FEED}",
        incremental_strategy="cdc",
        unique_key="k",
        cdc={
            "sequence_by": "seq",
            "apply_as_deletes": "op = 'd'",
            "stored_as_scd_type": 2,
            "column_list": ["k", "v"],
        },
    ),
}
WRITES_ROWS = re.compile(r"(insert|merge)\b", re.I)
COLUMNS = {"copied": "k, seq, op, coalesce(v, '-')", "merged": "k, n, seq"}


def expect(project: Project, feed: Feed, models: dict[str, str]) -> None:
    """Every model, by its way, holds what all events so far make."""
    source = rows(project, "feed", COLUMNS["copied"])
    groups = project.sql(
        f"select concat_ws(' ', k, count(*), max(seq)) from {project.schema}.feed group by k order by 1"
    )
    expected = {"copied": source, "merged": [row[0] for row in groups]}
    history = feed.history()
    for model, way in models.items():
        if way == "history":
            assert held(project, model, "k, v, __start_at, __end_at") == history, model
        else:
            assert rows(project, model, COLUMNS[way]) == expected[way], model
        states = {row[0] for row in project.ledger(model, "state")}
        assert states == {"committed"}, (model, states)
        # Each micro-batch of a checkpoint stands in the ledger once.
        marks = [row[0] for row in project.ledger(model, "high")]
        assert marks == [str(number) for number in range(len(marks))], (model, marks)


@dataclass
class Lab:
    """A project of streams over one feed, and the copies that were cut: model -> its way."""

    project: Project
    feed: Feed
    copies: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def lab(make_project: Callable[..., Project]) -> Lab:
    project = make_project("lab")
    feed = Feed(project)
    project.source("feed")
    for way, sql in WAYS.items():
        project.model(f"{way}_control", sql)
    feed.arrive(12)
    return Lab(project, feed)


def points_of(way: str, sent: list[str]) -> list[int]:
    """Where to cut a way: the history behind each statement that writes rows, since the others are cut everywhere."""
    if FULL or way != "history":
        return sample(cut_points(sent), 4)
    points = [point for point in open_points(sent) if WRITES_ROWS.match(sent[point - 2])]
    assert len(points) >= 2, sent  # the plan and the table at least
    return points


def cuts_of(lab: Lab) -> dict[str, int | str]:
    """Run the models that are not cut: where to cut the next ones, a copy of its way for each point."""
    with injected(Faults()) as seen:
        lab.project.build("--select", *[f"{way}_control" for way in WAYS])
    cuts: dict[str, int | str] = {}
    for way, sql in WAYS.items():
        for i, point in enumerate(points_of(way, seen.sent[f"{way}_control"])):
            cuts[f"{way}_{i}"] = point
            if f"{way}_{i}" not in lab.copies:
                lab.project.model(f"{way}_{i}", sql)
                lab.copies[f"{way}_{i}"] = way
    return cuts


@pytest.mark.edge
@ON_SESSION
def test_every_cut_of_a_micro_batch_counts_once(lab: Lab) -> None:
    project, feed, copies = lab.project, lab.feed, lab.copies
    # A first load is a batch upon an empty table: with the statement that makes it.
    for is_first in (True, False) if FULL else (True,):
        if is_first:
            cuts = cuts_of(lab)
        else:
            feed.arrive(6)
            cuts = cuts_of(lab)
            project.build("--select", *cuts)
            feed.arrive(6)
        with injected(Faults(cuts=cuts)) as faults:
            run = project.dbt("run", "--select", *cuts)
        assert_cut(faults, run.status, cuts)
        feed.arrive(6)
        project.build("--select", *copies)
        expect(project, feed, copies)
    # What a run that died between commit and drop left is dropped by the next; Delta's own sink stages nothing.
    project.build("--select", *[name for name, way in copies.items() if FULL or way != "copied"])
    left = [
        row[1]
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert left == []


@ON_SESSION
@pytest.mark.edge
def test_a_full_refresh_that_dies_starts_over(lab: Lab) -> None:
    """One commit empties the table and turns to another checkpoint: no cut leaves the old rows with the new one."""
    project, feed = lab.project, lab.feed
    with injected(Faults()) as seen:
        project.build("--full-refresh", "--select", "history_control")
    # Behind the new table's first plan the cuts are those of any micro-batch.
    planned = next(i for i, sql in enumerate(seen.sent["history_control"]) if "'planned'" in sql)
    found = [
        point for point in cut_points(seen.sent["history_control"]) if FULL or point <= planned + 2
    ]
    cuts = {f"history_{i}": cut for i, cut in enumerate(found)}
    if missing := [name for name in cuts if name not in lab.copies]:
        for name in missing:
            project.model(name, WAYS["history"])
        project.build("--select", *missing)
    feed.arrive(12)
    with injected(Faults(cuts=dict(cuts))):
        run = project.dbt("run", "--full-refresh", "--select", *cuts)
    assert {name: run.status[name] for name in cuts} == dict.fromkeys(cuts, "error")
    feed.arrive(6)
    project.build("--select", *cuts)
    history = feed.history()
    for name in cuts:
        assert held(project, name, "k, v, __start_at, __end_at") == history, name


@pytest.mark.edge
def test_streams_killed_while_files_land(attached: None, tmp_path: Path) -> None:
    """`floodmark stream` in a process of its own: SIGKILL, started again, SIGTERM; the counts agree.

    Beside them a stream upon a table that comes later waits for it, with longer and longer pauses, and a wrong setting
    ends at once.
    """
    made = Soak(tmp_path, counted_by=lambda sql: run_sql("session", 0, sql))
    made.project.model("wrong", stream("select 1 from stream({{ ref('landed') }})", trigger="soon"))
    made.project.model(
        "eager",
        stream(
            "select * from stream({{ source('raw', 'later') }})",
            trigger={"processing_time": "1 second"},
        ),
    )
    made.project.source("later")
    soak(made, seconds=12, kills=1, status=1)
    printed = made.printed()
    (started,) = {line for line in printed.splitlines() if line.startswith("Streaming ")}
    assert started.endswith(". Ctrl-C ends each after its batch in flight.")
    names = started.removeprefix("Streaming ").partition(".")[0].split(", ")
    assert sorted(names) == ["counted", "eager", "landed", "merged", "wrong"]
    assert "  soak.landed  batch 0  10 rows in" in printed
    assert "  lag 0 versions" in printed
    assert "  soak.eager  failed, starts again in 1 s: " in printed
    assert "  soak.eager  failed, starts again in 2 s: " in printed
    assert "TABLE_OR_VIEW_NOT_FOUND" in printed
    # What ends for good is told while the others run.
    ended = printed.index("trigger: got \"soon\"; expected 'available_now'")
    assert ended < printed.index("Stopping after the batches in flight; once more stops at once.")
    assert printed.endswith("All streams have ended.\n")


def test_one_process_a_checkpoint(
    attached: None, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt_floodmark.spark.gateway import root_session

    spark = root_session(home, {})
    folder = Folder(spark, str(tmp_path / "check point"))
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        while "time.sleep" not in checkpoints.command_of(other.pid):
            time.sleep(0.05)
        holder = Holder(Holder.this_process().host, other.pid, checkpoints.command_of(other.pid), 0)
        monkeypatch.setattr(Holder, "this_process", lambda: holder)
        left = Lease(folder, "shop.events")
        left.__enter__()
        monkeypatch.undo()
        with pytest.raises(CheckpointInUseError) as refused, Lease(folder, "shop.events"):
            pass
        assert str(refused.value) == (
            f"the stream shop.events is run by process {other.pid} on {holder.host} ({holder.command}), and a checkpoint "
            f"takes one process at a time: stop that process, or let it continue. The checkpoint is {folder.path}"
        )
        other.send_signal(signal.SIGKILL)
        other.wait()
        # A killed process holds nothing.
        with Lease(folder, "shop.events"):
            assert folder.names() == ["_floodmark_lease"]
        assert folder.names() == []
    elsewhere = Holder("another-machine", 1, "floodmark stream", time.time())
    monkeypatch.setattr(Holder, "this_process", lambda: elsewhere)
    Lease(folder, "shop.events").__enter__()
    monkeypatch.undo()
    with (
        pytest.raises(CheckpointInUseError, match="by process 1 on another-machine"),
        Lease(folder, "x"),
    ):
        pass
    # One on another machine that gave no sign of life for a minute is gone.
    monkeypatch.setattr(checkpoints, "LEFT_BEHIND", -1.0)
    with Lease(folder, "shop.events"):
        pass
