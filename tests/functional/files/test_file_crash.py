"""The crash lab of files: a batch that adds columns, rescues and quarantines at once is cut at each of its statements.

So is one whose file replaces what an earlier batch loaded of it. Between cut and second run another file arrives. Each
record is in the table or in the quarantine once, and table, quarantine, schemas and the view `files` are those of a run
that nobody disturbed. Archiving and deleting are cut in test_after_loading.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support.faults import Faults, assert_cut, injected, lab_points
from tests.support.files import columns, land, lines, loader
from tests.support.harness import FULL, Project
from tests.support.selection import sample

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

#: What lands in each folder on three days. At the end the table has six records.
DAYS = {
    "odd": (
        {"1.json": lines({"id": 1, "a": 5}, {"id": 2, "a": 6}, "cut off on day 1")},
        {
            "2.json": lines(
                {"id": 3, "a": "x", "b": {"c": 1}}, {"id": 4}, "not JSON", [1], "not JSON"
            ),
            "3.json": lines({"id": 5, "a": 7, "A": 1}, "worse"),
        },
        {"4.json": lines({"id": 6, "b": {"c": 2, "d": 3}}, "worst")},
    ),
    "clean": (
        {"1.json": lines({"id": 1, "a": 5}, {"id": 2})},
        {"2.json": lines({"id": 3}, {"id": 4}), "3.json": lines({"id": 5})},
        {"4.json": lines({"id": 6})},
    ),
    # Only the statement that reads them finds out.
    "clean_at_first_sight": (
        {"1.json": lines({"id": 1, "a": 5}, {"id": 2})},
        {"2.json": lines({"id": 3}, {"id": 4}, '{"id": 0,, "a": 1}'), "3.json": lines({"id": 5})},
        {"4.json": lines({"id": 6}, '{"id": 00}')},
    ),
    "overwritten": (
        {"1.json": lines({"id": 1}, {"id": 2}, "cut off"), "2.json": lines({"id": 3})},
        {"1.json": lines({"id": 10, "a": 1}, "not JSON"), "3.json": lines({"id": 4}, {"id": 5})},
        {"2.json": lines({"id": 30}), "4.json": lines({"id": 6}, {"id": 7})},
    ),
    "overwritten_clean": (
        {"1.json": lines({"id": 1}, {"id": 2}), "2.json": lines({"id": 3})},
        {"1.json": lines({"id": 10}), "3.json": lines({"id": 4}, {"id": 5})},
        {"2.json": lines({"id": 30}), "4.json": lines({"id": 6}, {"id": 7})},
    ),
}
#: Of each folder how many records are read, and how many cannot be.
RECORDS = {
    "odd": (6, 6),
    "clean": (6, 0),
    "clean_at_first_sight": (6, 2),
    "overwritten": (9, 2),
    "overwritten_clean": (9, 0),
}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
GIVEN = {"format": "json", "schema": "id bigint, a string"}
WITH_PATH = "* except (_metadata), _metadata.file_path as source_file"
REPLACES = {"allow_overwrites": "replace"}
#: Models, each with its folder.
SCENARIOS = {
    "append": ("odd", loader("odd", infer_column_types=True)),
    "merge": ("odd", loader("odd", infer_column_types=True, config=MERGE)),
    "twice": ("odd", loader("odd", infer_column_types=True, max_files_per_batch=1)),
    "straight": ("clean", loader("clean", **GIVEN)),
    "straight_merge": ("clean", loader("clean", config=MERGE, **GIVEN)),
    "unclean": ("clean_at_first_sight", loader("clean_at_first_sight", **GIVEN)),
    "replaced": (
        "overwritten",
        loader("overwritten", WITH_PATH, infer_column_types=True, **REPLACES),
    ),
    "replaced_straight": (
        "overwritten_clean",
        loader("overwritten_clean", WITH_PATH, **GIVEN, **REPLACES),
    ),
}
#: What a default run takes of them, and of the cuts of each.
SOME, SOME_CUTS = ("append", "merge", "straight", "unclean", "replaced"), 3


def held(
    project: Project, model: str
) -> tuple[Counter[str], Counter[tuple[str, ...]], dict[str, str], list[tuple[Any, ...]]]:
    """Rows, what is in the quarantine, the columns, and what the ledger has of each file."""
    rows = Counter(
        text for (text,) in project.sql(f"select to_json(struct(*)) from {project.schema}.{model}")
    )
    kept: Counter[tuple[str, ...]] = Counter()
    if project.sql(f"show tables in {project.schema} like '{model}__quarantine'"):
        kept.update(
            project.sql(
                "select _floodmark_file, cast(_floodmark_line as string), _floodmark_raw, "
                f"_floodmark_reason, _floodmark_state from {project.schema}.{model}__quarantine"
            )
        )
    files = project.ledger(model, "path, rows, rows_quarantined, state", "files")
    return rows, kept, dict(sorted(columns(project, model).items())), sorted(files)


@pytest.mark.parametrize("names", [[name] for name in SCENARIOS] if FULL else [SOME], ids="_".join)
def test_each_cut_ends_as_an_undisturbed_run(
    make_project: Callable[..., Project], names: Sequence[str]
) -> None:
    project = make_project(names[0])

    def day(number: int) -> None:
        for folder, days in DAYS.items():
            land(project.root / folder, days[number])

    day(0)
    scenarios = {name: SCENARIOS[name] for name in names}
    for name, (_, sql) in scenarios.items():
        project.model(f"{name}_control", sql)
        # As many copies as a batch may have statements; those without a cut stay behind.
        for number in range(40 if FULL else SOME_CUTS):
            project.model(f"{name}_{number}", sql)
    project.build()
    day(1)
    cuts: dict[str, int] = {}
    for name in scenarios:
        with injected(Faults()) as seen:
            run = project.dbt("run", "--select", f"{name}_control")
        assert run.success, run.log[-3000:]
        points = lab_points(seen.sent[f"{name}_control"])
        assert len(points) >= 3, seen.sent
        assert len(points) <= 40
        points = points if FULL else sample(points, SOME_CUTS)
        cuts |= {f"{name}_{number}": point for number, point in enumerate(points)}
    with injected(Faults(cuts=cuts)) as faults:
        run = project.dbt("run", "--select", *cuts)
    assert_cut(faults, run.status, cuts)
    day(2)
    controls = [f"{name}_control" for name in scenarios]
    project.build("--select", *cuts, *controls)
    for name, (folder, _) in scenarios.items():
        control = held(project, f"{name}_control")
        rows, kept, _, files = control
        read, corrupt = RECORDS[folder]
        assert sum(rows.values()) == 6
        assert sorted(kept.values()) == [1] * corrupt
        assert [sum(file[number] for file in files) for number in (1, 2)] == [read, corrupt], files
        for copy in (copy for copy in cuts if copy.rpartition("_")[0] == name):
            assert held(project, copy) == control, (copy, cuts[copy])
    states = project.sql(f"select distinct state from {project.schema}_floodmark.batches")
    assert {state for (state,) in states} <= {"committed", "failed"}
    left = project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'")
    assert left == []
