"""What a stream stands on shifts: folders that move, checkpoints that are damaged, tables that change, names of any kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.test_odd_paths import FOLDER, NAMES, land
from tests.functional.test_streams import stream
from tests.harness import Project, sentence

pytestmark = pytest.mark.parametrize("target", ["session"], scope="module")

READ = "stream(json.`{}`) with (schema = 'id bigint'{})"


def files(path: str, options: str = "", **config: object) -> str:
    return stream(f"select id from {READ.format(path, options)}", **config)


def ids(project: Project, name: str) -> list[int]:
    return sorted(row[0] for row in project.sql(f"select id from {project.schema}.{name}"))


def fails(project: Project, name: str) -> str:
    run = project.dbt("run", "--select", name)
    assert run.status[name] == "error", run.log[-3000:]
    return sentence(run.message[name])


def checkpoint(project: Project, name: str) -> Path:
    """The folder of a model's newest checkpoint."""
    place = project.sql(f"describe schema {project.schema}_floodmark")
    folder = Path(dict((row[0], row[1]) for row in place)["Location"].removeprefix("file:"))
    of_model = folder / "_checkpoints" / f"{project.schema}.{name}"
    return max(
        (one for one in of_model.iterdir() if one.is_dir()), key=lambda one: one.stat().st_mtime
    )


def test_each_file_is_streamed_once_whatever_its_name(
    make_project: Callable[..., Project], tmp_path: Path
) -> None:
    made = make_project("names")
    project = Project(tmp_path / FOLDER, "session", made.schema, 0)
    for schema in (made.schema, f"{made.schema}_floodmark"):
        project.sql(f"drop schema if exists {schema} cascade")
        project.sql(f"create schema {schema} location '{project.root / 'warehouse' / schema}'")
    every = list(range(len(NAMES)))
    flat = [number for number, name in enumerate(NAMES) if "/" not in name]
    land(project.root / "in", NAMES)
    land(project.root / "flat", [name for name in NAMES if "/" not in name])
    land(project.root / "parts" / "day=2024-05-01", ["a[1]", "b", "c:d"])
    land(project.root / "part [1]", ["x", "y"], 7)
    project.model("deep", files("in", ", recursiveFileLookup = true"))
    project.model("by_three", files("in", ", recursiveFileLookup = true, maxFilesPerTrigger = 3"))
    project.model("shallow", files("in"))
    project.model("level", files("flat", ", maxFilesPerTrigger = 9"))
    project.model("merged", files("flat", incremental_strategy="merge", unique_key="id"))
    project.model("whole", files(str(project.root / "flat")))
    project.model("named", files("part [1]"))
    project.model("globbed", files("part ?1?"))
    project.model("gathered", stream("select id from {{ floodmark.new_files() }}",
                                     files={"path": "in", "schema": "id bigint"}))  # fmt: skip
    project.model("surface", stream("select id from {{ floodmark.new_files() }}",
                                    files={"path": "in", "schema": "id bigint", "recursive": False}))  # fmt: skip
    project.model("parted", stream(
        "select id, day from stream(json.`parts`) with (schema = 'id bigint, day date')"))  # fmt: skip
    project.build()
    level = list(range(len(flat)))
    for name, expected in {
        "deep": every, "by_three": every, "shallow": flat, "level": level, "merged": level, "whole": level,
        "named": [7, 8], "globbed": [7, 8], "gathered": every, "surface": flat, "parted": [0, 1, 2],
    }.items():  # fmt: skip
        assert ids(project, name) == expected, name
    assert project.sql(f"select distinct cast(day as string) from {project.schema}.parted") == [
        ("2024-05-01",)
    ]
    land(project.root / "in", ["more [1]", "more {2}"], 100)
    project.build("--select", "deep", "shallow", "surface")
    assert ids(project, "deep") == [*every, 100, 101]
    assert ids(project, "shallow") == ids(project, "surface") == [*flat, 100, 101]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project("ground")


def test_a_folder_that_is_gone(project: Project) -> None:
    land(project.root / "landing", ["a", "b"])
    project.model("gone", files("landing"))
    project.build("--select", "gone")
    (project.root / "landing").rename(project.root / "arrivals")
    said = fails(project, "gone")
    assert (
        f"the folder {project.root}/landing, which it reads, is not there: create it, or put it back where it was renamed "
        "or moved. To read another folder, change the path and run the model once with --full-refresh: every file there "
        "is new" in said
    )
    project.model("gone", files("arrivals"))
    said = fails(project, "gone")
    assert "its checkpoint " in said
    assert (
        f"has read files of another folder, such as file:{project.root}/landing/" in said
        and f" and none of {project.root}/arrivals, so every file there would be loaded as a new one: name the folder as it "
        "was before, or run the model once with --full-refresh to load everything again"
        in said
    )
    assert ids(project, "gone") == [0, 1]
    (project.root / "arrivals").rename(project.root / "landing")
    project.model("gone", files("landing"))
    land(project.root / "landing", ["c"], 2)
    project.build("--select", "gone")
    assert ids(project, "gone") == [0, 1, 2]
    (project.root / "landing").rename(project.root / "arrivals")
    project.model("gone", files("arrivals"))
    project.build("--select", "gone", "--full-refresh")
    assert ids(project, "gone") == [0, 1, 2]
    # A wider pattern over the same files goes on.
    project.model("gone", files("arriv*"))
    land(project.root / "arrivals", ["d"], 3)
    project.build("--select", "gone")
    assert ids(project, "gone") == [0, 1, 2, 3]


DAMAGE = {"is empty": "", "is cut short, or holds something else": '{"id', "is gone": None}


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_checkpoint_that_is_damaged(project: Project, strategy: str) -> None:
    name = f"damaged_{strategy}"
    config = {"incremental_strategy": "merge", "unique_key": "id"} if strategy == "merge" else {}
    land(project.root / name, ["a"])
    project.model(name, files(name, **config))
    project.build("--select", name)
    land(project.root / name, ["b"], 1)
    project.build("--select", name)
    land(project.root / name, ["c"], 2)
    folder = checkpoint(project, name)
    for child in ("metadata", "offsets/1", "commits/1", "sources/0/1", "sources/0/0"):
        whole = (folder / child).read_bytes()
        if strategy == "append":
            # With a checksum beside it, as Hadoop writes it, and without, as object stores do.
            place = (folder / child).parent / f".{(folder / child).name}.crc"
            place.unlink(missing_ok=True)
        for what, text in DAMAGE.items():
            if what == "is gone" and child in ("commits/1", "offsets/1"):
                continue  # as a kill leaves them: the first is written again, of the second the table knows
            if text is None:
                (folder / child).unlink()
            else:
                (folder / child).write_text(text)
            said = fails(project, name)
            assert (
                f"its checkpoint is damaged: the file {folder}/{child} {what}. Put it back from a copy of the checkpoint, "
                "or run the model once with --full-refresh to load everything again"
                in said.replace("file:/", "/")
            ), said
            (folder / child).write_bytes(whole)
        (folder / child).write_bytes(b"\xff\xfe\x00garbage\n")
        assert f"{child} is cut short, or holds something else" in fails(project, name)
        (folder / child).write_bytes(whole)
    assert ids(project, name) == [0, 1]
    project.build("--select", name)
    assert ids(project, name) == [0, 1, 2]
