"""The crash lab of files: a batch that adds columns, rescues and quarantines at once is cut at each of its statements.

Between cut and second run another file arrives. Each record is in the table or in the quarantine once, and table,
quarantine and schemas are those of a run that nobody disturbed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.faults import Faults, assert_cut, injected, lab_points
from tests.support.files import columns, land, lines, loader
from tests.support.harness import FULL, Project
from tests.support.selection import sample

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

DAY_1 = {"1.json": lines({"id": 1, "a": 5}, {"id": 2, "a": 6}, "cut off on day 1")}
DAY_2 = {
    "2.json": lines({"id": 3, "a": "x", "b": {"c": 1}}, {"id": 4}, "not JSON", [1], "not JSON"),
    "3.json": lines({"id": 5, "a": 7, "A": 1}, "worse"),
}
DAY_3 = {"4.json": lines({"id": 6, "b": {"c": 2, "d": 3}}, "worst")}
SCENARIOS = {
    "append": loader("in", infer_column_types=True),
    "merge": loader(
        "in", infer_column_types=True, config={"incremental_strategy": "merge", "unique_key": "id"}
    ),
    "twice": loader("in", infer_column_types=True, max_files_per_batch=1),
}


def held(
    project: Project, model: str
) -> tuple[Counter[str], Counter[tuple[str, ...]], dict[str, str]]:
    """Rows, what is open in the quarantine, and the columns."""
    rows = Counter(
        text for (text,) in project.sql(f"select to_json(struct(*)) from {project.schema}.{model}")
    )
    kept = Counter(
        tuple(row)
        for row in project.sql(
            "select _floodmark_file, cast(_floodmark_line as string), _floodmark_raw, "
            f"_floodmark_reason, _floodmark_state from {project.schema}.{model}__quarantine"
        )
    )
    return rows, kept, dict(sorted(columns(project, model).items()))


def test_each_cut_ends_as_an_undisturbed_run(make_project: Callable[..., Project]) -> None:
    project = make_project("crash")
    land(project.root / "in", DAY_1)
    scenarios = SCENARIOS if FULL else {name: SCENARIOS[name] for name in ("append", "merge")}
    for name, sql in scenarios.items():
        project.model(f"{name}_control", sql)
        # As many copies as a batch may have statements; those without a cut stay behind.
        for number in range(60 if FULL else 5):
            project.model(f"{name}_{number}", sql)
    project.build()
    land(project.root / "in", DAY_2)
    cuts: dict[str, int] = {}
    for name in scenarios:
        with injected(Faults()) as seen:
            run = project.dbt("run", "--select", f"{name}_control")
        assert run.success, run.log[-3000:]
        points = lab_points(seen.sent[f"{name}_control"])
        assert len(points) >= 8, seen.sent
        points = points if FULL else sample(points, 5)
        cuts |= {f"{name}_{number}": point for number, point in enumerate(points)}
    with injected(Faults(cuts=cuts)) as faults:
        run = project.dbt("run", "--select", *cuts)
    assert_cut(faults, run.status, cuts)
    land(project.root / "in", DAY_3)
    controls = [f"{name}_control" for name in scenarios]
    project.build("--select", *cuts, *controls)
    for name in scenarios:
        rows, kept, types = held(project, f"{name}_control")
        assert sum(rows.values()) == 6
        assert sorted(kept.values()) == [1, 1, 1, 1, 1, 1]
        for copy in (copy for copy in cuts if copy.startswith(f"{name}_")):
            assert held(project, copy) == (rows, kept, types), (copy, cuts[copy])
            files = project.ledger(copy, "rows, rows_quarantined, state", "files")
            assert sum(row[0] for row in files) == 6, files
            assert sum(row[1] for row in files) == 6, files
    states = project.sql(f"select distinct state from {project.schema}_floodmark.batches")
    assert {state for (state,) in states} <= {"committed", "failed"}
    left = project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'")
    assert left == []
