"""FILES.md, "Discovery": a file that grows, vanishes or appears between listing and reading is never half counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faults import Faults, injected, once
from tests.support.files import land, lines, loader, records
from tests.support.harness import Project

pytestmark = pytest.mark.long("session")

PLANNED = "after: insert into .*batch_log.*'planned'"


def ids(project: Project, model: str) -> list[int]:
    return sorted(int(row["id"]) for row in records(project, model))


def test_a_file_that_changes_is_loaded_as_a_whole_or_not(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("changing")
    folders = {name: project.root / name for name in ("grown", "vanished", "appeared", "emptied")}
    for name, folder in folders.items():
        land(folder, {"a.json": lines({"id": 1}), "b.json": lines({"id": 2})})
        project.model(name, loader(name, format="json", schema="id bigint"))
    changes: dict[str, Callable[[], object]] = {
        "grown": lambda: land(folders["grown"], {"b.json": lines({"id": 2}, {"id": 3})}),
        "vanished": lambda: (folders["vanished"] / "b.json").unlink(),
        "appeared": lambda: land(folders["appeared"], {"c.json": lines({"id": 3})}),
        "emptied": lambda: land(folders["emptied"], {"b.json": ""}),
    }
    for name, change in changes.items():
        with injected(Faults(cuts={name: PLANNED}, act=once(change))):
            run = project.dbt("run", "--select", name)
        if name == "grown":
            assert not run.success
            assert (
                "/grown/b.json has changed since the batch was planned (10 bytes then, 20 now)"
                in (run.message[name])
            )
        else:
            assert run.success, run.log[-3000:]
    assert ids(project, "vanished") == [1]
    # Spark lists no empty file.
    assert ids(project, "emptied") == [1]
    assert ids(project, "appeared") == [1, 2]
    for name in ("vanished", "emptied"):
        files = project.ledger(name, "path, rows", "files")
        assert [path.rpartition("/")[2] for path, _ in files] == ["a.json"], name
        land(folders[name], {"b.json": lines({"id": 2})})
    project.build()
    assert ids(project, "grown") == [1, 2, 3]
    assert ids(project, "vanished") == ids(project, "emptied") == [1, 2]
    assert ids(project, "appeared") == [1, 2, 3]
