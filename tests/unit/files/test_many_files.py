"""What a batch of ten thousand files must not do for each of them. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

PATHS = ["file:/in/a.json", "file:/in/it's.json", "file:/in/b\\n${c}.json", "s3a://in/d%0Ae.json"]


def test_paths_are_the_literals_of_each() -> None:
    floodmark = load()
    files = [{"path": path} for path in PATHS]
    each = ", ".join(floodmark._string_literal(path) for path in PATHS)
    assert floodmark._path_literals(files) == each
    assert floodmark._path_literals(files[:1]) == "'file:/in/a.json'"


def test_a_literal_is_not_written_file_by_file() -> None:
    floodmark = load()
    written: list[Any] = []
    literal = floodmark._string_literal
    floodmark._string_literal = lambda value: (written.append(value), literal(value))[1]
    floodmark._path_literals([{"path": f"file:/in/{n}.json"} for n in range(100)])
    assert len(written) == 1


def test_folders_are_looked_at_once() -> None:
    """Their columns are those of all files, whatever lies beside each."""
    floodmark = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    asked: list[str] = []
    values = floodmark._partition_values
    floodmark._partition_values = lambda settings, path: (
        asked.append(path),
        values(settings, path),
    )[1]
    floodmark._partition_type = lambda settings, name, values: f"type of {values}"
    settings = {"path": "in", "partition_columns": None, "schema_evolution": "add_new_columns"}
    files = [
        {"path": f"file:/work/in/day={day}/{n}.json"} for n in range(50) for day in ("1", "2%25")
    ]
    columns = floodmark._partitions(
        {"settings": {"files": settings}}, None, [*files, {"path": "file:/work/in/z=3.json"}]
    )
    assert columns == [{"name": "day", "type": "type of ['1', '2%']"}]
    assert asked == ["file:/work/in/day=1/", "file:/work/in/day=2%25/", "file:/work/in/"]
    [column] = floodmark._folder_columns(settings, columns, files)
    assert "(?:day)=([^/]*)/" in column["text"]


@pytest.mark.parametrize(
    ("reader", "described"),
    [
        (None, "select id from (read 10,000 files)"),
        (
            {"sql": "(read 10,000 files)", "described": "(read none)"},
            "select id from (read none)",
        ),
    ],
)
def test_columns_are_described_without_files(reader: dict[str, str] | None, described: str) -> None:
    floodmark = load()
    queries: list[str] = []

    def columns_of(query: str) -> list[dict[str, str]]:
        queries.append(query)
        return [{"name": "id"}]

    floodmark._columns_of = columns_of
    run = {} if reader is None else {"reader": reader}
    for _ in range(2):
        found = floodmark._select_columns(run, "select id from (read 10,000 files)")
        assert found == [{"name": "id"}]
    assert queries == [described]
