"""What a stream stands on shifts: folders that move, checkpoints that are damaged, tables that change, names of any kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dbt_floodmark.streaming import checkpoint as checkpoints
from dbt_floodmark.streaming import position
from tests.support.harness import FULL, Project, sentence
from tests.support.paths import FOLDER, NAMES, land
from tests.support.streams import stream

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

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
    listed = {"path": "in", "schema": "id bigint"}
    gathered = "select id from {{ floodmark.new_files() }}"
    models = {
        "deep": files("in", ", recursiveFileLookup = true"),
        "by_three": files("in", ", recursiveFileLookup = true, maxFilesPerTrigger = 3"),
        "shallow": files("in"),
        "level": files("flat", ", maxFilesPerTrigger = 9"),
        "merged": files("flat", incremental_strategy="merge", unique_key="id"),
        "whole": files(str(project.root / "flat")),
        "named": files("part [1]"),
        "globbed": files("part ?1?"),
        "gathered": stream(gathered, files=listed),
        "surface": stream(gathered, files=listed | {"recursive": False}),
        "parted": stream(
            "select id, day from stream(json.`parts`) with (schema = 'id bigint, day date')"
        ),
    }
    # Each of the others reads a folder as one of the rest does.
    left_out = () if FULL else ("by_three", "merged", "whole", "gathered")
    for name in left_out:
        del models[name]
    for name, sql in models.items():
        project.model(name, sql)
    project.build()
    level = list(range(len(flat)))
    for name, expected in {
        "deep": every, "by_three": every, "shallow": flat, "level": level, "merged": level, "whole": level,
        "named": [7, 8], "globbed": [7, 8], "gathered": every, "surface": flat, "parted": [0, 1, 2],
    }.items():  # fmt: skip
        assert name in left_out or ids(project, name) == expected, name
    ledger = project.root / "warehouse" / f"{project.schema}_floodmark"
    assert (ledger / "_checkpoints" / f"{project.schema}.deep").is_dir()
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
    land(project.root / "also", ["d"], 3)
    project.model("gone", files("landing"))
    listed = "select id from {{ floodmark.new_files() }}"
    both = f"select id from {READ.format('landing', '')} union all select id from {READ.format('also', '')}"
    twice = f"{listed} where id < 1 union all {listed} where id >= 1"
    project.model("pair", stream(f"with b as ({both}) select id from b"))
    project.model("twice", stream(twice, files={"path": "landing", "schema": "id bigint"}))
    # A path that is a pattern once its folder is gone.
    land(project.root / "old [1]", ["e"], 4)
    project.model("gone_too", files("old [1]"))
    project.build("--select", "gone", "gone_too", "pair", "twice")
    first, second = both.split(" union all ")
    project.model("pair", stream(f"{second} union all {first}"))
    run = project.dbt("run", "--select", "pair", "twice")
    assert "put the sources back in their order" in sentence(run.message["pair"])
    assert run.status["twice"] == "success", run.message["twice"]
    assert ids(project, "pair") == [0, 1, 3] and ids(project, "twice") == [0, 1]
    (project.root / "landing").rename(project.root / "arrivals")
    (project.root / "old [1]").rename(project.root / "older [1]")
    run = project.dbt("run", "--select", "gone", "gone_too")
    for name, folder in (("gone", "landing"), ("gone_too", "old [1]")):
        assert run.status[name] == "error", run.log[-3000:]
        assert (
            f"the folder {project.root}/{folder}, which it reads, is not there: create it, or put it back if it was renamed "
            "or moved. To read another folder, change the path and run the model once with --full-refresh: every file there "
            "counts as new" in sentence(run.message[name])
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
    # Put back, it goes on, and so does a wider pattern over the same files, also where it matches nothing for a while.
    project.model("gone", files("land*"))
    (project.root / "landing").rename(project.root / "arrivals")
    project.build("--select", "gone")
    (project.root / "arrivals").rename(project.root / "landing")
    land(project.root / "landing", ["c"], 2)
    project.build("--select", "gone")
    assert ids(project, "gone") == [0, 1, 2]
    project.model("gone", files("nowhere/*"))
    assert f"the folder {project.root}/nowhere, which it reads, is not there" in fails(
        project, "gone"
    )
    (project.root / "landing").rename(project.root / "arrivals")
    project.model("gone", files("arrivals"))
    project.build("--select", "gone", "--full-refresh")
    assert ids(project, "gone") == [0, 1, 2]


def test_a_folder_of_a_partition_that_comes_while_a_stream_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has listed it as one that is not read. The next run reads the micro-batch again, with the columns of its path."""
    folder = project.root / "later"
    models = {"later": {}, "later_merged": {"incremental_strategy": "merge", "unique_key": "id"}}
    read = "select id, day from stream(json.`later`) with (schema = 'id bigint, day date')"
    for name, config in models.items():
        project.model(name, stream(read, **config))
    # A name that Spark takes for a pattern, beside a folder below which a partition lies.
    odd = "select id, day from stream(json.`odd`) with (schema = 'id bigint, day date')"
    project.model("odd", stream(odd))
    land(folder, ["a"])
    land(project.root / "odd" / "eu" / "day=2024-05-01", ["b[1]", "c"])
    project.build("--select", *models, "odd")
    assert days(project, "odd") == [(0, "2024-05-01"), (1, "2024-05-01")]
    has_moved = position.refuse_moved

    def arrives(*given: object) -> None:
        """Behind the look at the folder, and before the query starts."""
        land(folder / "day=2024-05-01", ["b"], 1)
        has_moved(*given)

    with monkeypatch.context() as patched:
        patched.setattr(position, "refuse_moved", arrives)
        run = project.dbt("run", "--select", *models)
    for name in models:
        assert run.status[name] == "error", name
        said = sentence(run.message[name])
        assert "later/day=2024-05-01/b.json is in a folder such as day=2026-01-31, and the" in said
        assert "run again, and the stream reads such folders" in said
        assert days(project, name) == [(0, None)]
    project.build("--select", *models)
    for name in models:
        assert days(project, name) == [(0, None), (1, "2024-05-01")], name


def days(project: Project, name: str) -> list[tuple[object, ...]]:
    found = project.sql(f"select id, cast(day as string) from {project.schema}.{name}")
    return sorted(found)


EMPTY, CUT, GONE = "is empty", "is cut short, or holds something else", "is gone"
#: A file of a checkpoint, how it is damaged, and what it holds then. A kill leaves a commit or an offset away: the
#: first is written again, of the second the table knows.
DAMAGES: list[tuple[str, str, bytes | None]] = [
    (child, what, holds)
    for child in ("metadata", "offsets/0", "offsets/1", "commits/1", "sources/0/1", "sources/0/0")
    for what, holds in ((EMPTY, b""), (CUT, b'{"id'), (GONE, None), (CUT, b"\xff\xfe\x00garbage\n"))
    if what != GONE or child not in ("commits/1", "offsets/1")
]
if not FULL:  # each file once, each damage once
    DAMAGES = [
        ("metadata", EMPTY, b""),
        ("offsets/0", GONE, None),
        ("offsets/1", CUT, b'{"id'),
        ("commits/1", CUT, b"\xff\xfe\x00garbage\n"),
        ("sources/0/1", GONE, None),
        ("sources/0/0", EMPTY, b""),
    ]


def test_a_checkpoint_that_is_damaged(project: Project) -> None:
    """With a checksum beside each file, as Hadoop writes it, and without, as object stores do."""
    models = {
        "damaged_append": {},
        "damaged_merge": {"incremental_strategy": "merge", "unique_key": "id"},
    }
    for name, config in models.items():
        project.model(name, files("damaged", **config))
    for number, file in enumerate(("a", "b")):
        land(project.root / "damaged", [file], number)
        project.build("--select", *models)
    land(project.root / "damaged", ["c"], 2)
    folders = {name: checkpoint(project, name) for name in models}
    for child, what, holds in DAMAGES:
        files_of = {name: folder / child for name, folder in folders.items()}
        whole = {name: file.read_bytes() for name, file in files_of.items()}
        without = files_of["damaged_append"]
        (without.parent / f".{without.name}.crc").unlink(missing_ok=True)
        for file in files_of.values():
            if holds is None:
                file.unlink()
            else:
                file.write_bytes(holds)
        run = project.dbt("run", "--select", *models)
        for name, file in files_of.items():
            assert run.status[name] == "error", run.log[-3000:]
            said = sentence(run.message[name])
            assert (
                f"its checkpoint is damaged: the file {file} {what}. Put it back from a copy of the checkpoint, "
                "or run the model once with --full-refresh to load everything again"
                in said.replace("file:/", "/")
            ), said
            file.write_bytes(whole[name])
    for name in models:
        assert ids(project, name) == [0, 1]
    project.build("--select", *models)
    for name in models:
        assert ids(project, name) == [0, 1, 2]


def test_a_compacted_log_that_is_damaged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark compacts each tenth log. Behind its head it is looked at where Spark could not read it."""
    land(project.root / "many", [f"f{number}" for number in range(10)])
    project.model("compacted", files("many", ", maxFilesPerTrigger = 1"))
    project.build("--select", "compacted")
    file = checkpoint(project, "compacted") / "sources/0/9.compact"
    whole = file.read_bytes()
    land(project.root / "many", ["more"], 10)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    monkeypatch.setattr(checkpoints, "HEAD", 100)
    for holds, what in ((whole[:-3], CUT), (None, GONE)):
        file.unlink()
        if holds is not None:
            file.write_bytes(holds)
        said = fails(project, "compacted").replace("file:/", "/")
        assert f"its checkpoint is damaged: the file {file} {what}. Put it back from a copy" in said
    file.write_bytes(whole)
    project.build("--select", "compacted")
    assert ids(project, "compacted") == list(range(11))
