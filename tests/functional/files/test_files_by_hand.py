"""`floodmark files`: what operators see of files, skip, forget, and set back; and what the next run would add."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.files import columns, land, lines, loader, records
from tests.support.harness import Project

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

GOOD = {"1.json": lines({"id": 1}), "2.json": lines({"id": 2})}
BENT = {"bent.json": lines({"id": 3, "ID2": 1, "oops": {"x": 1}})}


def ids(project: Project, model: str) -> list[int]:
    return sorted(int(row["id"]) for row in records(project, model) if "id" in row)


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("by_hand")
    land(project.root / "in", GOOD | {"broken.json": lines({"id": 666})})
    project.model("bronze", loader("in", infer_column_types=True))
    project.model("plain", "select 1 as id")
    # The ledger comes with the first run, whatever it loads.
    project.build("--select", "plain")
    return project


def run(project: Project, *args: str) -> str:
    """A command that must succeed; what it prints."""
    code, output = command(project, *args)
    assert code == 0, output
    return output


def test_the_story(project: Project) -> None:
    out = run(project, "files", "bronze", "--skip", "broken.json", "--reason", "sent again")
    assert f"1 file will be left out by {project.schema}.bronze." in out
    project.build()
    assert ids(project, "bronze") == [1, 2]
    listed = json.loads(run(project, "files", "bronze", "--json"))["files"]
    found = {
        one["path"].rpartition("/")[2]: (one["state"], one["rows"], one["reason"]) for one in listed
    }
    assert found == {
        "1.json": ("committed", 1, None),
        "2.json": ("committed", 1, None),
        "broken.json": ("skipped", None, "sent again"),
    }
    # A file that bends the schema, seen before it is loaded.
    land(project.root / "in", BENT)
    [plan] = json.loads(run(project, "plan", "--select", "bronze", "--json"))["models"]
    assert (plan["files"], plan["new_columns"]) == (1, [["ID2"], ["oops"]])
    assert plan["bytes"] == len(BENT["bent.json"])
    assert [path.rpartition("/")[2] for path in plan["paths"]] == list(BENT)
    shown = run(project, "plan", "--select", "bronze")
    assert "ID2, oops" in shown and f"bronze: {next(iter(BENT))}" in shown
    project.build()
    assert list(columns(project, "bronze")) == ["id", "_rescued_data", "ID2", "oops"]
    schemas = json.loads(run(project, "files", "bronze", "--schema", "--json"))["schemas"]
    assert [(one["version"], one["schema"]) for one in schemas] == [
        (2, "struct<id:bigint,ID2:bigint,oops:struct<x:bigint>>"),
        (1, "struct<id:bigint>"),
    ]
    # Back to the first one: what is not in it is new again, or rescued.
    out = run(project, "files", "bronze", "--reset-schema", "1", "--reason", "one bad file")
    assert "have the schema of version 1 again, as version 3" in out
    land(project.root / "in", {"4.json": lines({"id": 4})})
    project.build()
    [newest] = json.loads(run(project, "files", "bronze", "--schema", "--json"))["schemas"][:1]
    assert (newest["version"], newest["schema"], newest["reason"]) == (
        3,
        "struct<id:bigint>",
        "one bad file",
    )
    # What is forgotten is loaded again; so is what was skipped.
    out = run(project, "files", "bronze", "--forget", "broken.json", "--forget", "1.json")
    assert "2 files will be new" in out
    project.build()
    assert ids(project, "bronze") == [1, 1, 2, 3, 4, 666]
    listed = json.loads(run(project, "files", "bronze", "--json"))["files"]
    assert sum(one["path"].endswith("/1.json") for one in listed) == 1
    # Who did it, of each.
    [(user,)] = project.sql("select current_user()")
    told = project.sql(
        "select event, recorded_by, reason from "
        f"{project.schema}_floodmark.batch_log where model = '{project.schema}.bronze' "
        "and event in ('skipped', 'forgotten', 'schema') order by at"
    )
    assert user and told == [
        ("skipped", user, "sent again"),
        ("schema", user, "one bad file"),
        ("forgotten", user, None),
    ]


def test_files_of_a_run_that_died_are_planned(project: Project) -> None:
    land(project.root / "died", {"1.json": lines({"id": 1})})
    project.model("died", loader("died"))
    project.build("--select", "died")
    land(project.root / "died", {"2.json": lines({"id": 2}, {"id": 3})})

    def listed() -> list[tuple[str, str, int | None]]:
        found = json.loads(run(project, "files", "died", "--json"))["files"]
        return [(one["path"].rpartition("/")[2], one["state"], one["batch_id"]) for one in found]

    with injected(Faults(cuts={"died": "after: insert into .*batch_log.*'planned'"})):
        assert not project.dbt("run", "--select", "died").success
    assert listed() == [("2.json", "planned", 2), ("1.json", "committed", 1)]
    code, output = command(project, "files", "died", "--skip", "2.json")
    assert code != 0
    assert "batch 2 is unfinished: run the model first, which finishes it" in " ".join(
        output.split()
    )
    project.build("--select", "died")
    assert listed() == [("2.json", "committed", 2), ("1.json", "committed", 1)]
    assert ids(project, "died") == [1, 2, 3]


def test_schemas_of_failed_batches_and_of_tables_before_are_none_of_its_own(
    project: Project,
) -> None:
    folder = project.root / "judged"
    rule = {"name": "good", "expect": "id < 100", "on_violation": "fail"}
    project.model(
        "judged", loader("judged", config={"expectations": [rule]}, infer_column_types=True)
    )

    def schemas() -> list[tuple[int, str]]:
        found = json.loads(run(project, "files", "judged", "--schema", "--json"))["schemas"]
        return [(one["version"], one["schema"]) for one in found]

    land(folder, {"1.json": lines({"id": 1})})
    project.build("--select", "judged")
    land(folder, {"2.json": lines({"id": 200, "bad": 1})})
    assert not project.dbt("run", "--select", "judged").success
    assert schemas() == [(1, "struct<id:bigint>")]
    code, output = command(project, "files", "judged", "--reset-schema", "2")
    assert code != 0
    assert "its files have no schema of version 2: they have 1" in " ".join(output.split())
    land(folder, {"2.json": lines({"id": 2, "good": "x"})})
    project.build("--select", "judged")
    assert schemas() == [(2, "struct<id:bigint,good:string>"), (1, "struct<id:bigint>")]
    (folder / "1.json").unlink()
    project.build("--select", "judged", "--full-refresh")
    assert [version for version, _ in schemas()] == [1]
    assert "good:string" in schemas()[0][1]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["bronze", "--skip", "none.json"], "'none.json' is not in the folder in"),
        (
            ["bronze", "--forget", "none.json"],
            "'none.json' is not among the files that the ledger knows: `floodmark files <model>` lists the files",
        ),
        (["bronze", "--reset-schema", "9"], "its files have no schema of version 9: they have"),
        (["bronze", "--skip", "a", "--forget", "b"], "Give one of --skip, --forget, --schema"),
    ],
)
def test_what_is_refused(project: Project, args: list[str], sentence: str) -> None:
    code, output = command(project, "files", *args)
    assert code != 0
    assert sentence in " ".join(output.split())
