"""FILES.md, "After loading": what is archived or deleted, when, and what never is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.files import land, lines, loader, records
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

ODD = ["a b.json", "c,{d}.json", "e'f.json", "g[h]*.json", "i%20j.json", "ü#k.json", "l\\m.json"]
ALL = {f"2024/{name}" for name in ODD} | {"top.json"}
SELECT = "* except (_metadata), _metadata.file_path as source_file"


def archives(path: str, to: str, **files: str) -> str:
    """A model that archives at once what it has loaded."""
    at_once = {"on_loaded": "archive", "archive_to": f"archive/{to}", "after": "0 seconds"}
    return loader(path, SELECT, **at_once, **files)


def present(folder: Path) -> set[str]:
    """The files below a folder, by their paths there; Hadoop's checksums are none."""
    return {
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(".crc")
    }


@dataclass
class Story:
    project: Project
    runs: list[Run] = field(default_factory=list)

    def archived(self, model: str) -> dict[str, str | None]:
        """What the ledger says of files that are gone: their names, and where they are now."""
        found = self.project.ledger(model, "path, archived_to, archived_at", "files")
        return {path.rpartition("/")[2]: where for path, where, at in found if at is not None}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("after_loading")
    first = {f"2024/{name}": lines({"id": number}) for number, name in enumerate(ODD)}
    land(project.root / "in", first | {"top.json": lines({"id": 7}), "bad.json": "no JSON\n"})
    for folder in ("shared", "kept", "old", "streamed", "blocked", "sql"):
        land(project.root / folder, {f"{n}.json": lines({"id": n}) for n in (1, 2, 3)})
    project.model("moved", archives("in", "in"))
    project.model("mover", archives("shared", "shared", allow_overwrites="append"))
    project.model("reader", loader("shared", SELECT, glob="2*"))
    project.model("kept", loader("kept", SELECT, on_loaded="archive", archive_to="archive/kept"))
    project.model("deleted", loader("old", SELECT, on_loaded="delete", after="7 days"))
    project.model("watched", archives("streamed", "streamed"))
    project.model(
        "stream",
        "{{ config(materialized='streaming_table', files={'path': 'streamed', "
        "'schema': 'id int'}) }} select id from {{ floodmark.new_files() }}",
    )
    project.model("watched_by_sql", archives("sql", "sql"))
    project.model(
        "stream_by_sql",
        "{{ config(materialized='streaming_table') }} "
        "select id from stream(json.`./sql/[12].json`) with (schema = 'id int')",
    )
    project.model("blocked", archives("blocked", "blocked"))
    # A path that is one file.
    land(project.root, {"alone/moved.json": lines({"id": 1}), "alone/old.json": lines({"id": 2})})
    project.model("moved_alone", archives("alone/moved.json", "alone"))
    project.model(
        "deleted_alone", loader("alone/old.json", SELECT, on_loaded="delete", after="7 days")
    )
    land(project.root / "archive", {"blocked": "a file where a folder should be"})
    story = Story(project)
    story.runs.append(project.build("--exclude", "reader", "stream", "stream_by_sql"))
    return story


def test_files_are_archived_with_their_path_once_they_are_loaded(story: Story) -> None:
    root = story.project.root
    assert sorted(int(row["id"]) for row in records(story.project, "moved")) == list(range(8))
    assert present(root / "archive/in") == ALL
    assert set(story.archived("moved").values()) == {f"{root}/archive/in/{name}" for name in ALL}
    assert "8 files archived" in story.runs[0].message["moved"]
    assert present(root / "archive/alone") == {"moved.json"}
    assert story.archived("moved_alone") == {"moved.json": f"{root}/archive/alone/moved.json"}


def test_a_file_of_which_nothing_was_loaded_stays(story: Story) -> None:
    assert present(story.project.root / "in") == {"bad.json"}


def test_files_stay_until_their_time_has_come(story: Story) -> None:
    for model, folder in {"kept": "kept", "deleted": "old"}.items():
        assert present(story.project.root / folder) == {"1.json", "2.json", "3.json"}
        assert story.archived(model) == {}


def test_files_that_another_model_has_not_loaded_stay(story: Story) -> None:
    # The other model takes 2.json alone; what a stream has read nobody knows.
    assert present(story.project.root / "shared") == {"2.json"}
    assert present(story.project.root / "streamed") == {"1.json", "2.json", "3.json"}
    assert story.archived("watched") == {}
    assert present(story.project.root / "sql") == {"1.json", "2.json"}
    assert [*story.archived("watched_by_sql")] == ["3.json"]


def test_a_failure_is_a_warning_and_nothing_is_recorded(story: Story) -> None:
    [run] = story.runs[:1]
    assert run.status["blocked"] == "success"
    assert (
        f"model '{story.project.schema}.blocked': loaded files cannot be archived, and stay"
        in run.log
    )
    assert present(story.project.root / "blocked") == {"1.json", "2.json", "3.json"}
    assert story.archived("blocked") == {}


def test_a_folder_that_cannot_be_listed_is_a_warning(story: Story) -> None:
    """Neither an archive nor the folder of another model fails what is loaded."""
    project, root = story.project, story.project.root
    land(root / "lists", {"1.json": lines({"id": 1})})
    far = {"on_loaded": "archive", "archive_to": "gs://bucket/far", "after": "0 seconds"}
    project.model("lists", loader("lists", SELECT, **far))
    run = project.build("--select", "lists")
    left = "loaded files cannot be archived, and stay where they are: the folder gs://bucket/"
    assert f"{left}far cannot be listed: " in run.log
    project.model("lists", archives("lists", "lists"))
    project.model("closed", loader("gs://bucket/in", SELECT))
    run = project.build("--select", "lists")
    assert f"{left}in cannot be listed: " in run.log
    assert present(root / "lists") == {"1.json"} and story.archived("lists") == {}
    (root / "models" / "closed.sql").unlink()
    project.build("--select", "lists")
    assert present(root / "archive/lists") == {"1.json"}


@pytest.mark.parametrize("still_archives", [True, False])
def test_a_full_refresh_would_lose_what_is_archived(story: Story, still_archives: bool) -> None:
    if not still_archives:
        story.project.model("moved", loader("in", SELECT))
    run = story.project.dbt("run", "--select", "moved", "--full-refresh")
    assert run.status["moved"] == "error"
    assert (
        "8 files that it was loaded from are archived or deleted, so --full-refresh would lose their rows. "
        "To keep the table, set full_refresh=false on the model; to load all again, put the files back with their times, or let "
        "files.path name the archive too, without on_loaded and archive_to; to load only what is in the folder now, "
        "drop the table first"
    ) in run.message["moved"]
    assert len(records(story.project, "moved")) == 8


def test_a_full_refresh_would_lose_what_another_model_archived(story: Story) -> None:
    project = story.project
    land(project.root / "both", {f"{n}.json": lines({"id": n}) for n in (1, 2)})
    project.model("beside", loader("both", SELECT))
    project.build("--select", "beside")
    project.model("archiver", archives("both", "both"))
    project.build("--select", "archiver")
    assert present(project.root / "both") == set()
    land(project.root / "both", {"3.json": lines({"id": 3})})
    run = project.dbt("run", "--select", "beside", "--full-refresh")
    assert run.status["beside"] == "error"
    assert "2 files that it was loaded from are archived or deleted" in run.message["beside"]
    assert len(records(project, "beside")) == 2
    # Nothing that the other model has loaded is lost to it.
    project.build("--select", "beside")
    assert sorted(int(row["id"]) for row in records(project, "beside")) == [1, 2, 3]


def test_each_way_out_of_a_refused_full_refresh(story: Story) -> None:
    project, archive = story.project, story.project.root / "archive/outs"
    land(project.root / "outs", {f"d/{n} %.json": lines({"id": n}) for n in (1, 2)})
    project.model("outs", archives("outs", "outs"))
    project.build("--select", "outs")

    def refreshed() -> Run:
        return project.dbt("run", "--select", "outs", "--full-refresh")

    # Back in the folder, one after the other.
    (project.root / "outs/d").mkdir(parents=True, exist_ok=True)
    for number, lost in ((1, "2 files that it was"), (2, "1 file that it was")):
        assert lost in refreshed().message["outs"]
        shutil.move(archive / f"d/{number} %.json", project.root / f"outs/d/{number} %.json")
    assert refreshed().success
    assert sorted(int(row["id"]) for row in records(project, "outs")) == [1, 2]
    # From the archive.
    assert present(archive) == {"d/1 %.json", "d/2 %.json"}
    project.model("outs", loader("{outs,archive/outs}", SELECT))
    assert refreshed().success
    assert sorted(int(row["id"]) for row in records(project, "outs")) == [1, 2]
    # Without them.
    project.model("outs", archives("outs", "outs"))
    land(project.root / "outs", {"3.json": lines({"id": 3})})
    project.sql(f"drop table {project.schema}.outs")
    assert refreshed().success
    assert [int(row["id"]) for row in records(project, "outs")] == [3]


def test_a_full_refresh_would_lose_an_archived_file_that_was_forgotten(story: Story) -> None:
    project, folder = story.project, story.project.root / "forgotten"
    land(folder, {f"{n}.json": lines({"id": n}) for n in (1, 2)})
    project.model("forgotten", archives("forgotten", "forgotten"))
    project.build("--select", "forgotten")
    code, output = command(project, "files", "forgotten", "--forget", "1.json")
    assert code == 0, output
    assert (
        f"1 file will be new to {project.schema}.forgotten. Of these, 1 was archived or deleted: it "
        "loads once a file of its name is in the folder."
    ) in " ".join(output.split())
    folder.mkdir(exist_ok=True)
    for number, said in ((2, "1 file that it was loaded from is archived or deleted"), (1, None)):
        shutil.move(project.root / f"archive/forgotten/{number}.json", folder / f"{number}.json")
        run = project.dbt("run", "--select", "forgotten", "--full-refresh")
        assert run.success == (said is None), run.log
        assert said is None or said in run.message["forgotten"]
    assert sorted(int(row["id"]) for row in records(project, "forgotten")) == [1, 2]


def test_a_full_refresh_loses_nothing_of_a_file_that_was_replaced(story: Story) -> None:
    project = story.project
    given = {"allow_overwrites": "replace", "archive_to": "archive/replaced", "after": "1 hour"}
    project.model("replaced", loader("replaced", SELECT, on_loaded="archive", **given))
    land(project.root / "replaced", {"1.json": lines({"id": 1})})
    project.build("--select", "replaced")
    project.sql(
        f"update {project.schema}_floodmark.batch_log set at = at - interval 8 days "
        f"where model = '{project.schema}.replaced'"
    )
    land(project.root / "replaced", {"1.json": lines({"id": 11})})
    project.build("--select", "replaced")
    assert story.archived("replaced") == {"1.json": None}
    run = project.dbt("run", "--select", "replaced", "--full-refresh")
    assert run.status["replaced"] == "success", run.log
    assert [int(row["id"]) for row in records(project, "replaced")] == [11]


def test_files_of_a_folder_that_is_away_are_archived_when_it_is_back(story: Story) -> None:
    project, folder = story.project, story.project.root / "away"
    land(folder, {f"{n}.json": lines({"id": n}) for n in (1, 2)})
    project.model("away", loader("away", SELECT))
    project.build("--select", "away")
    folder.rename(project.root / "elsewhere")
    project.model("away", archives("away", "away"))
    run = project.build("--select", "away")
    assert (
        "the folder away has no file now, so 2 loaded files that should be in it are not recorded as gone"
    ) in run.log
    assert story.archived("away") == {}
    (project.root / "elsewhere").rename(folder)
    # Of a file that another pattern leaves out nothing is recorded either.
    project.model("away", archives("away", "away", glob="1*"))
    project.build("--select", "away")
    assert [*story.archived("away")] == ["1.json"]
    project.model("away", archives("away", "away"))
    project.build("--select", "away")
    assert sorted(story.archived("away")) == ["1.json", "2.json"]
    assert present(project.root / "archive/away") == {"1.json", "2.json"}


def test_later_runs(story: Story) -> None:
    project, root = story.project, story.project.root
    log = f"{project.schema}_floodmark.batch_log"
    project.build("--select", "reader")
    # 1.json comes again, with other rows: its name is taken in the archive.
    land(root / "shared", {"1.json": lines({"id": 11})})
    # A run died after it had moved 1.json; somebody removed 2.json; 3.json was overwritten.
    project.model("kept", archives("kept", "kept"))
    (root / "archive/kept").mkdir(parents=True)
    shutil.move(root / "kept/1.json", root / "archive/kept/1.json")
    (root / "kept/2.json").unlink()
    land(root / "kept", {"3.json": lines({"id": 33, "more": "rows"})})
    project.sql(
        f"update {log} set at = at - interval 8 days where model like '{project.schema}.deleted%'"
    )
    land(root / "old", {"4.json": lines({"id": 4})})
    run = project.build("--select", "mover kept deleted deleted_alone")
    assert {file.name for file in (root / "alone").iterdir()} == set()
    assert present(root / "shared") == set()
    again = f"{project.schema}.mover_2/1.json"
    assert present(root / "archive/shared") == {"1.json", "2.json", "3.json", again}
    assert (root / "archive/shared" / again).read_text() == lines({"id": 11})
    assert story.archived("kept") == {
        "1.json": f"{root}/archive/kept/1.json",
        "2.json": None,
        "3.json": None,
    }
    assert present(root / "kept") == {"3.json"}
    # What the same run has loaded is not a week old.
    assert present(root / "old") == {"4.json"}
    assert {file.name for file in (root / "old").iterdir()} == {"4.json"}
    assert story.archived("deleted") == dict.fromkeys(["1.json", "2.json", "3.json"])
    assert run.message["deleted"].endswith("3 files deleted")
    assert sorted(int(row["id"]) for row in records(project, "deleted")) == [1, 2, 3, 4]


#: Where a run dies that archives or deletes: files are moved and a table is left beside them, or all is done but recorded.
DEATHS = {
    "archived_moved": "after: load data",
    "archived_done": "before: insert into .*batch_log.*'archived'",
    "deleted_moved": "after: load data",
    "deleted_dropped": "before: drop database floodmark_deleted",
}


@pytest.mark.lab
def test_a_run_that_dies_while_it_tidies_is_followed_by_one_that_records_it(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("dies")
    story, root = Story(project), project.root
    deleted = [name for name in DEATHS if name.startswith("deleted")]
    for name in DEATHS:
        land(root / name, {f"{n}.json": lines({"id": n}) for n in (1, 2)})
        kept = {"on_loaded": "delete", "after": "7 days"}
        project.model(
            name, loader(name, SELECT, **kept) if name in deleted else archives(name, name)
        )
    project.build("--select", *deleted)
    log = f"{project.schema}_floodmark.batch_log"
    project.sql(f"update {log} set at = at - interval 8 days")
    with injected(Faults(cuts=DEATHS)):
        run = project.dbt("run")
    for name in DEATHS:
        verb = name.partition("_")[0]
        left = f"model '{project.schema}.{name}': loaded files cannot be {verb}, and stay"
        assert left in run.log, name
        assert not {"1.json", "2.json"} & {file.name for file in (root / name).iterdir()}, name
        assert story.archived(name) == {}, name
        land(root / name, {"3.json": lines({"id": 3})})
    project.build()
    for name in DEATHS:
        assert [row["id"] for row in records(project, name)] == ["1", "2", "3"], name
        files = project.ledger(name, "path, state, rows, archived_to", "files")
        archive, is_deleted = root / "archive" / name, name in deleted
        places = [None if is_deleted else f"{archive}/{n}.json" for n in (1, 2, 3)]
        assert sorted((path.rpartition("/")[2], *rest) for path, *rest in files) == [
            (f"{n}.json", "committed", 1, place) for n, place in enumerate(places, 1)
        ], name
        if is_deleted:
            # Of what is deleted nothing is left, in no hidden folder either. What came last is not a week old.
            assert sorted(story.archived(name)) == ["1.json", "2.json"]
            assert {file.name for file in (root / name).iterdir()} == {"3.json"}, name
            database = "floodmark_deleted_" + md5(f"{project.schema}.{name}".encode()).hexdigest()
            assert (database,) not in project.sql("show databases")
        else:
            assert len(story.archived(name)) == 3
            assert present(root / name) == set(), name
            assert present(archive) == {"1.json", "2.json", "3.json"}, name


def test_maintain_does_it_too(story: Story) -> None:
    project = story.project
    (project.root / "archive/blocked").unlink()
    for arguments, said, left in (
        (["--dry-run"], "would archive 3 files that", 3),
        ([], "archived 3 files that", 0),
        (["--dry-run"], "Nothing to do.", 0),
    ):
        code, output = command(project, "maintain", "--select", "blocked", *arguments)
        assert code == 0, output
        assert said in output
        assert len(present(project.root / "blocked")) == left
