"""The crash lab: a run is cut at every point, runs again, and is compared with an undisturbed run.

The cut is an abort inside the process. Between cut and second run new rows arrive, so that a batch which read twice
would show. A default run cuts the merge at two of its points, and one of the other scenarios at one, behind its plan or
before its commit, in the first load or in the run behind it: each commit picks others.
FLOODMARK_LAB=full has all of them, cuts before and behind reading statements too (faults.cut_points says why that
is the same), and on Thrift cuts by SIGKILL of the dbt process against the warm server, where each point needs a process
of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.faults import Faults, assert_cut, cut_points, injected, open_points
from tests.support.harness import FULL, Project
from tests.support.selection import sample
from tests.support.zygote import Zygote

SCENARIOS = ["merge", *sample(["append", "files", "version", "catch_up", "overwrite"], 1)]
#: The runs that are cut: a default run cuts one of them, others with each commit.
DAYS = ["first load", "incremental"]
#: Those whose dbt process is killed on Thrift (test_crash_process kills by default).
KILLED = SCENARIOS if FULL else []

APPEND = """
{{ config(materialized='incremental', watermark={'column': 'seq', 'gaps': 'ignore'}) }}
select seq, v from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}
"""
MERGE = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='k',
          watermark={'column': 'at', 'lookback': '2 hours'}) }}
select seq % 7 as k, at, v from {{ source('raw', 'events') }}
{% if is_incremental() %} where {{ floodmark.watermark_filter() }} {% endif %}
"""
CATCH_UP = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='seq',
          watermark={'column': 'seq', 'step': 6, 'gaps': 'ignore'}) }}
select seq, v from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}
"""
VERSION = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='k', watermark={'kind': 'version'}) }}
select seq as k, at, v, _change_type, _commit_version from {{ floodmark.changes(source('raw', 'events')) }}
"""
OVERWRITE = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day',
          watermark={'column': 'at'}) }}
select seq, v, at, cast(at as date) as day from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}
"""
FILES = """
{{ config(materialized='incremental', files={'path': '%s', 'schema': 'id bigint, v string'}) }}
select id, v, _metadata.file_name as file from {{ floodmark.new_files() }}
"""


@dataclass
class Lab:
    """A project whose models come in copies, one a cut point."""

    project: Project
    landing: Path
    zygote: Zygote | None
    copies: dict[str, int] = field(default_factory=dict)
    next_seq: int = 1

    def sql_of(self, scenario: str) -> str:
        """The model of a scenario."""
        texts = {
            "append": APPEND,
            "merge": MERGE,
            "catch_up": CATCH_UP,
            "version": VERSION,
            "overwrite": OVERWRITE,
            "files": FILES % self.landing,
        }
        return texts[scenario]

    def arrive(self, count: int) -> None:
        """New rows, half of the keys seen before, and a new file."""
        rows = [
            (seq, f"timestamp'2026-01-01 00:00:00+00:00' + make_dt_interval(0, {seq})", f"v{seq}")
            for seq in range(self.next_seq, self.next_seq + count)
        ]
        text = ", ".join(f"({seq}, {at}, '{v}')" for seq, at, v in rows)
        self.project.sql(f"insert into {self.project.schema}.events values {text}")
        lines = [json.dumps({"id": seq, "v": v}) for seq, _, v in rows]
        (self.landing / f"{self.next_seq:05d}.json").write_text("\n".join(lines) + "\n")
        self.next_seq += count

    def names(self) -> list[str]:
        """Every copy."""
        return [f"{s}_{i}" for s, count in self.copies.items() for i in range(count)]

    def cut(self, points: dict[str, list[int]]) -> None:
        """Run every copy, each cut at its own point."""
        killed = KILLED if self.zygote else []
        aborts, kills = (
            {
                f"{scenario}_{i}": point
                for scenario, found in points.items()
                if (scenario in killed) == is_kill
                for i, point in enumerate(found)
            }
            for is_kill in (False, True)
        )
        if aborts:
            with injected(Faults(cuts=aborts)) as faults:
                run = self.project.dbt("run", "--select", *aborts)
            assert_cut(faults, run.status, aborts)
        requests = [
            {
                "args": ["run", "--select", name],
                "root": str(self.project.root),
                "cuts": {name: point},
            }
            for name, point in kills.items()
        ]
        for pair in (requests[i : i + 2] for i in range(0, len(requests), 2)):
            for request, answer in zip(pair, self.zygote.run(*pair), strict=True):
                assert answer["status"] == -9, (request["cuts"], answer["log"][-3000:])

    def expect_equal(self) -> None:
        """Every copy holds what its undisturbed control holds."""
        for scenario, count in self.copies.items():
            names = [f"{scenario}_control", *(f"{scenario}_{i}" for i in range(count))]
            held: dict[str, Counter[str]] = {name: Counter() for name in names}
            every = " union all ".join(
                f"select '{name}', to_json(struct(*)) from {self.project.schema}.{name}"
                for name in names
            )
            for name, row in self.project.sql(every):
                held[name][row] += 1
            for name in names:
                assert held[name] == held[names[0]] != Counter(), name


@pytest.fixture(scope="module")
def lab(
    make_project: Callable[..., Project], target: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    project = make_project("lab")
    landing = tmp_path_factory.mktemp("landing")
    project.sql(
        f"create table {project.schema}.events (seq bigint, at timestamp, v string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.source("events")
    zygote = Zygote.start() if target == "thrift" and KILLED else None
    lab = Lab(project, landing, zygote)
    yield lab
    if zygote:
        zygote.stop()


@pytest.mark.long("thrift")
@pytest.mark.lab
def test_every_cut_ends_in_the_tables_of_an_undisturbed_run(lab: Lab) -> None:
    project = lab.project
    for scenario in SCENARIOS:
        project.model(f"{scenario}_control", lab.sql_of(scenario))
    cut_days = sample(DAYS, 1)
    for day in DAYS[: DAYS.index(cut_days[-1]) + 1]:
        lab.arrive(10)
        with injected(Faults()) as seen:
            project.build("--select", *[f"{s}_control" for s in SCENARIOS])
        points = {}
        for scenario in SCENARIOS:
            sent = seen.sent[f"{scenario}_control"]
            whole = FULL or scenario == "merge"
            found = cut_points(sent, FULL) if whole else open_points(sent)
            assert len(found) >= (4 if whole else 2), (day, scenario, sent)
            found = sample(found, 2) if whole else sample([found[0], found[-1]], 1)
            if day == "first load":
                lab.copies[scenario] = len(found)
                for i in range(len(found)):
                    project.model(f"{scenario}_{i}", lab.sql_of(scenario))
            points[scenario] = found[: lab.copies[scenario]]
            # what an incremental run has more of is cut in copies of its own
            lab.copies[scenario] = max(lab.copies[scenario], len(points[scenario]))
        if day in cut_days:
            lab.cut(points)
            lab.arrive(5)
        project.build()
        lab.expect_equal()
        events = project.sql(
            f"select seq % 7 as k, max(seq) from {project.schema}.events group by 1"
        )
        merged = project.sql(
            f"select k, cast(substr(v, 2) as bigint) from {project.schema}.merge_control"
        )
        assert Counter(merged) == Counter(events)
        states = project.sql(
            f"select distinct state, error from {project.schema}_floodmark.batches"
        )
        died = ("failed", "the run died before the table was replaced")
        # a sample may hold no first load that is cut between its plan and its table
        ends = set(states) if FULL else {*states, died}
        assert ends == {("committed", None), died}, states
    stages = [
        row
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert stages == []


@pytest.mark.edge
@pytest.mark.long("thrift")
def test_a_full_refresh_that_dies_leaves_the_table_or_replaces_it(lab: Lab) -> None:
    """Of the lab's own copies, which hold what their control holds."""
    project = lab.project
    if "merge" not in lab.copies:
        project.model("merge_control", MERGE)
    lab.arrive(3)
    project.build("--select", "merge_control")
    with injected(Faults()) as seen:
        project.build("--select", "merge_control", "--full-refresh")
    sent = seen.sent["merge_control"]
    found = cut_points(sent, FULL) if FULL else open_points(sent)
    names = [f"merge_{i}" for i in range(len(found))]
    for name in names:
        project.model(name, MERGE)
    project.build("--select", *names)
    before = project.rows("merge_control")
    with injected(Faults(cuts=dict(zip(names, found, strict=True)))):
        project.dbt("run", "--full-refresh", "--select", *names)
    for name in names:
        assert project.rows(name) == before
    lab.arrive(3)
    project.build("--select", "merge_control", *names)
    for name in names:
        assert project.rows(name) == project.rows("merge_control")
    failed = project.sql(
        f"select error from {project.schema}_floodmark.batches where state = 'failed'"
    )
    assert set(failed) == {("the run died before the table was replaced",)}
