"""A warehouse that earlier code made, with an unfinished batch of every strategy, goes on under the code of today.

tests/support/story_of_before.py has its models and rows, make_warehouse_of_before.py makes it. Streams run on the session alone.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.harness import REPOSITORY, Project
from tests.support.story_of_before import SCHEMA, deliver, models, wrong

pytestmark = pytest.mark.edge

ARCHIVE = REPOSITORY / "tests" / "support" / "warehouse_of_before.tar.xz"
LEDGER = f"{SCHEMA}_floodmark"


def _unpack(project: Project, scratch: Path) -> list[Path]:
    """Put the warehouse where this target has its own, and tell the metastore; the logs of its Delta tables."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(scratch, filter="data")
    manifest = json.loads((scratch / "manifest.json").read_text())
    project.sql(f"create schema {LEDGER}")
    folders = {}
    for schema in (SCHEMA, LEDGER):
        described = dict(row[:2] for row in project.sql(f"describe schema {schema}"))
        folders[schema] = Path(described["Location"].removeprefix("file:"))
        folders[schema].parent.mkdir(parents=True, exist_ok=True)
        if folders[schema].exists():
            folders[schema].rmdir()
        shutil.move(scratch / schema, folders[schema])
    logs = []
    for table in manifest["tables"]:
        folder = folders[table["schema"]] / table["name"]
        project.sql(table["sql"].replace("{location}", str(folder)))
        if table["has_size"]:
            project.sql(
                f"analyze table {table['schema']}.{table['name']} compute statistics noscan"
            )
        if (folder / "_delta_log").exists() and table["name"] != "batch_log":
            logs.append(folder / "_delta_log")
    for name, text in manifest["views"].items():
        project.sql(f"create view {name} as {text}")
    # The ledger knows files by their whole names, and their folder has moved.
    landing = f"file:{project.root}/landing"
    project.sql(
        f"update {LEDGER}.batch_log set files = transform(files, f -> named_struct('path', "
        f"replace(f.path, 'file:/landing', '{landing}'), 'size', f.size, "
        "'modified_at', f.modified_at, 'rows', f.rows)) where files is not null"
    )
    return logs


_RANGE = {"from": "2025-01-01", "to": "2025-01-03 06:00:00"}


def _plan_backfills(project: Project) -> None:
    """Let the ledger have backfills of a model that is gone: only their sentences tell the range."""
    sentence = f"backfill from {_RANGE['from']} to {_RANGE['to']}"
    rows = [(1, "incremental", "''"), (2, "backfill", f"'{sentence}'")]
    rows.append((3, "backfill", f"'{sentence} by 12 hours'"))
    values = ", ".join(
        f"('any', {number}, 'failed', '{kind}', {why})" for number, kind, why in rows
    )
    project.sql(
        f"insert into {LEDGER}.batch_log (model, batch_id, event, kind, reason) values {values}"
    )


def _take_models(project: Project, kept: Path) -> dict[str, str]:
    """Put the models, as they were, and the folder of files into the project; model -> way."""
    there = {
        name: way
        for name, way in models().items()
        if project.target == "session" or not way.startswith("stream_")
    }
    for name in [*there, "sources"]:
        (file,) = (kept / "models").glob(f"{name}.*")
        file.rename(project.root / "models" / file.name)
    (kept / "landing").rename(project.root / "landing")
    return there


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project], home: Path) -> Iterator[Project]:
    """The ledger names the schema, so one target at a time has it."""
    with FileLock(home / f"{SCHEMA}.lock"):
        project = make_project("kept", schema=SCHEMA)
        yield project
        for schema in (SCHEMA, LEDGER):
            project.sql(f"drop schema if exists {schema} cascade")


@pytest.mark.long("session")
def test_it_is_finished_and_goes_on(project: Project, tmp_path: Path) -> None:
    logs = _unpack(project, tmp_path)
    there = _take_models(project, tmp_path / "project")
    deliver(project, 3)

    _plan_backfills(project)

    run = project.dbt("run")

    asked = project.sql(f"select asked from {LEDGER}.batches where model = 'any' order by batch_id")
    assert [json.loads(text or "null") for (text,) in asked] == [
        None,
        {"backfill": _RANGE},
        {"backfill": _RANGE | {"step": "12 hours"}},
    ]
    failed = {name: run.message[name] for name in there if run.status[name] != "success"}
    assert failed == {}
    assert wrong(project, there) == {}
    unfinished = project.sql(f"select model from {LEDGER}.batches where state = 'planned'")
    assert [name for (name,) in unfinished if name.partition(".")[2] in there] == []

    commits = {log: len(list(log.glob("*.json"))) for log in logs}
    quiet = project.build()
    for name, way in there.items():
        # An extract without a watermark is read again, and the ledger says so; its table stays as it is.
        said = "4 read" if way == "extract" else "nothing new"
        assert quiet.message[name].endswith(said), (name, quiet.message[name])
    assert {log: len(list(log.glob("*.json"))) for log in logs} == commits
