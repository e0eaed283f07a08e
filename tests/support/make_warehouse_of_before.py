"""Make the warehouse that test_warehouse_of_before.py loads on: with the code of an earlier commit.

The archive beside this file was made by commit a86f958. To make one of another commit:

    git worktree add ../before a86f958
    cd ../before && PYTHONPATH=. python <this repository>/tests/support/make_warehouse_of_before.py

It holds the folders of the tables, the ledger, its staging tables and the checkpoints of streams; the models; and a
manifest of what the metastore knew of each table. Streams read Delta tables, which their checkpoints know by an id:
one of a folder of files has the files' whole paths, and cannot move. So has the ledger of a model of files: there the
folder's path is replaced by `file:/landing`, for which the test puts in its own.

Delta tells the time of a commit from its file, and the ledger knows tables by it: the archive keeps it by the millisecond.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from story_of_before import (
    CUTS,
    FIRST_CUTS,
    RESTATED_CUTS,
    RESTATED_FROM,
    SCHEMA,
    WAYS,
    cuts,
    deliver,
    make_tables,
    models,
)

try:
    from tests.support.faults import Faults, injected
    from tests.support.harness import Project
except ModuleNotFoundError:  # the earlier commit's own, which had them elsewhere
    from tests.functional.faults import Faults, injected
    from tests.harness import Project

ARCHIVE = Path(__file__).with_name("warehouse_of_before.tar.xz")
LEDGER = f"{SCHEMA}_floodmark"


def main() -> None:
    """Load, leave unfinished, and pack."""
    with tempfile.TemporaryDirectory(prefix="before-") as folder:
        root = Path(folder)
        os.environ["FLOODMARK_HOME"] = str(root / "home")
        project = Project(root / "project", "session", SCHEMA, 0, threads=2)
        load(project)
        project.sql(
            f"update {LEDGER}.batch_log set files = transform(files, f -> named_struct('path', "
            f"replace(f.path, 'file:{project.root}/landing', 'file:/landing'), 'size', f.size, "
            "'modified_at', f.modified_at, 'rows', f.rows)) where files is not null"
        )
        pack(project)
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size:,} bytes")


def load(project: Project) -> None:
    """Two deliveries to their end, and a third until its cuts."""
    project.sql(f"create schema {SCHEMA}")
    make_tables(project)
    for name in cuts(CUTS) | cuts(RESTATED_CUTS):
        project.model(name, WAYS[models()[name]])
    for number in (0, 1):
        deliver(project, number)
        project.build()
    for name in cuts(FIRST_CUTS):
        project.model(name, WAYS[models()[name]])
    deliver(project, 2)
    restated = cuts(RESTATED_CUTS)
    cut(project, cuts(CUTS) | cuts(FIRST_CUTS), "--exclude", *restated)
    asked = json.dumps({"floodmark_restate": {"from": RESTATED_FROM}})
    cut(project, restated, "--select", *restated, "--vars", asked)


def cut(project: Project, cuts: dict[str, str], *words: str) -> None:
    """Run these models, each until its cut."""
    with injected(Faults(cuts=dict(cuts))) as faults:
        run = project.dbt("run", *words)
    wrong = {
        name: (run.status.get(name), run.message.get(name), faults.sent.get(name, [])[-3:])
        for name in cuts
        if "cut before statement" not in run.message.get(name, "")
    }
    assert not wrong, json.dumps(wrong, indent=2)


def pack(project: Project) -> None:
    """Write the archive."""
    manifest: dict[str, Any] = {"made_by": commit(), "tables": [], "views": {}}
    # What the ledger's log has given up (its compaction, and the paths from before they were replaced) stays here.
    rows = project.sql(f"select distinct input_file_name() from {LEDGER}.batch_log")
    current = {name.rpartition("/")[2] for (name,) in rows}
    as_kept = partial(kept, current=current)
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for schema in (SCHEMA, LEDGER):
            for _, name, _ in project.sql(f"show tables in {schema}"):
                described = {
                    row[0]: row[1]
                    for row in project.sql(f"describe table extended {schema}.{name}")
                }
                if described["Type"] == "VIEW":
                    manifest["views"][f"{schema}.{name}"] = described["View Text"]
                    continue
                manifest["tables"].append(of_metastore(project, schema, name, described))
                location = Path(described["Location"].removeprefix("file:"))
                archive.add(location, f"{schema}/{name}", filter=as_kept)
        archive.add(
            warehouse(project, LEDGER) / "_checkpoints", f"{LEDGER}/_checkpoints", filter=as_kept
        )
        for name in ("models", "landing"):
            archive.add(project.root / name, f"project/{name}", filter=as_kept)
        text = project.root / "manifest.json"
        text.write_text(json.dumps(manifest, indent=1))
        archive.add(text, "manifest.json", filter=as_kept)


def of_metastore(
    project: Project, schema: str, name: str, described: dict[str, str]
) -> dict[str, Any]:
    """How a table is registered again; `{location}` is its folder."""
    is_delta = described["Provider"] == "delta"
    made = f"create table {schema}.{name} using delta"
    if not is_delta:
        made = project.sql(f"show create table {schema}.{name}")[0][0]
        # Spark prints a collation that nobody gave, and with it the type would be another one.
        made = made.replace(" COLLATE UTF8_BINARY", "")
    return {
        "schema": schema,
        "name": name,
        "sql": f"{made} location '{{location}}'",
        # CREATE TABLE AS notes the size of a table that is not Delta's.
        "has_size": not is_delta and "Statistics" in described,
    }


def warehouse(project: Project, schema: str) -> Path:
    """The folder of a schema."""
    described = dict(project.sql(f"describe schema {schema}"))
    return Path(described["Location"].removeprefix("file:"))


def kept(entry: tarfile.TarInfo, current: set[str]) -> tarfile.TarInfo | None:
    """A member without owner; none for checksums, and for files of the ledger that are not `current`.

    Half a millisecond more survives what becomes of a time as a fraction.
    """
    folder, _, name = entry.name.rpartition("/")
    if name.endswith(".crc") or (
        folder.endswith("/batch_log") and entry.isfile() and name not in current
    ):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(entry.mtime * 1000) / 1000 + 0.0005
    return entry


def commit() -> str:
    """The commit whose code made the warehouse."""
    import dbt_floodmark

    folder = Path(dbt_floodmark.__file__).parent
    words = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
