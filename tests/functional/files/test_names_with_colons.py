"""Files with a colon in their name, which Hadoop cannot list by a pattern: every format, corrupt files, the archive."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.files import land, lines, loader
from tests.support.harness import Project, Run, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

#: Names as exports write them, the second in a folder of its own.
HOURS = ("2024-05-01T08:00:00", "sub/2024-05-01T09:00:00", "2024-05-01T10:00:00")


def texts(ending: str, make: Callable[[int], str]) -> dict[str, str]:
    return {f"{name}.{ending}": make(at) for at, name in enumerate(HOURS, start=1)}


FOLDERS = {
    "jsons": texts("json", lambda at: lines({"id": at, "n": at * 10})),
    "csvs": texts("csv", lambda at: f"id,n\n{at},{at * 10}\n"),
    "xmls": texts("xml", lambda at: f"<rows><row><id>{at}</id><n>{at * 10}</n></row></rows>"),
}
TYPED = {"infer_column_types": True}
MODELS = {
    "jsons": loader("jsons", format="json", options={"allowSingleQuotes": "true"}, **TYPED),
    "csvs": loader("csvs", format="csv", **TYPED),
    "xmls": loader("xmls", format="xml", options={"rowTag": "row"}, **TYPED),
    "parquets": loader("parquets", format="parquet"),
    "cut": loader("cut", format="json"),
    "tidied": loader(
        "tidied", format="json", on_loaded="archive", archive_to="archive", after="0 seconds"
    ),
}


@dataclass
class Story:
    project: Project
    runs: list[Run]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Two runs; before the second each folder gets the last file."""
    project = make_project("colons")
    for name, sql in MODELS.items():
        project.model(name, sql)
    runs = []
    for some in (slice(0, 2), slice(2, 3)):
        for folder, files in FOLDERS.items():
            land(project.root / folder, dict(list(files.items())[some]))
        for at, name in list(enumerate(HOURS, start=1))[some]:
            place = project.root / "parquets" / f"{name}.parquet"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_parquet(at))
            whole = gzip.compress(lines({"id": at}).encode())
            land(
                project.root / "cut", {f"{name}.json.gz": whole, f"{name}.cut.json.gz": whole[:-9]}
            )
        first = some.start == 0
        names = ("a.json", "2024-05-01T08:00:00.json", "b.json") if first else ("c.json", "d.json")
        land(project.root / "tidied", {name: lines({"id": len(name)}) for name in names})
        runs.append(project.dbt("run"))
    return Story(project, runs)


def _parquet(at: int) -> bytes:
    import io

    import pyarrow as pa
    from pyarrow import parquet

    into = io.BytesIO()
    parquet.write_table(pa.table({"id": [at], "n": [at * 10]}), into)
    return into.getvalue()


@pytest.mark.parametrize("model", ["jsons", "csvs", "parquets"])
def test_each_format_is_read_and_typed(story: Story, model: str) -> None:
    for run in story.runs:
        assert run.status[model] == "success", run.message[model]
    found = story.project.sql(f"select id, n from {story.project.schema}.{model} order by id")
    assert found == [(1, 10), (2, 20), (3, 30)]


def test_xml_with_a_colon_is_held_back_and_the_others_beside_it_are_loaded(story: Story) -> None:
    project = story.project
    for run in story.runs:
        assert run.status["xmls"] == "success", run.message["xmls"]
    held = "select _floodmark_reason from {}.xmls__quarantine where _floodmark_state = 'open'"
    reasons = project.sql(held.format(project.schema))
    assert reasons == [("its path has a colon, by which Spark finds no XML: rename it",)] * 3
    folder = project.root / "xmls"
    land(folder, {f"{at}.xml": f"<row><id>{at}</id><n>{at * 10}</n></row>" for at in (1, 2)})
    renamed = folder / f"{HOURS[2]}.xml"
    renamed.rename(folder / "3.xml")
    project.build("--select", "xmls")
    found = project.sql(f"select id, n from {project.schema}.xmls order by id")
    assert found == [(1, 10), (2, 20), (3, 30)]


def test_a_packed_file_that_is_cut_off_is_corrupt_and_the_others_are_loaded(story: Story) -> None:
    project = story.project
    for run in story.runs:
        assert run.status["cut"] == "success", run.message["cut"]
    assert project.sql(f"select id from {project.schema}.cut order by id") == [
        ("1",),
        ("2",),
        ("3",),
    ]
    held = project.sql(f"select _floodmark_file from {project.schema}.cut__quarantine")
    assert len(held) == 3 and all(file.endswith(".cut.json.gz") for (file,) in held)


def test_the_others_are_archived(story: Story) -> None:
    """The one with the colon stays, and a warning names it."""
    project = story.project
    left = sorted(file.name for file in (project.root / "tidied").rglob("*") if file.is_file())
    moved = sorted(file.name for file in (project.root / "archive").rglob("*") if file.is_file())
    assert [name for name in left if not name.startswith(".")] == ["2024-05-01T08:00:00.json"]
    assert [name for name in moved if not name.startswith(".")] == [
        "a.json",
        "b.json",
        "c.json",
        "d.json",
    ]
    for run in story.runs:
        assert (
            "1 loaded file has a colon in the path, which Hadoop cannot move, and stays where it is, such as "
            in sentence(run.log)
        )
    states = project.sql(
        f"select count(*), count_if(archived_at is not null) from {project.schema}_floodmark.files "
        "where model like '%.tidied'"
    )
    assert states == [(5, 4)]
