"""Paths are paths: brackets, braces and stars in folders, and any character in a file's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import Project, incremental, table
from tests.support.paths import FOLDER, NAMES, land

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

READER = {"schema": "id bigint"}
CLOCK = {"column": "ts", "lookback": "1 hour"}
STRATEGIES = {
    "merged": incremental(
        table("raw"), incremental_strategy="merge", unique_key="id", watermark=CLOCK
    ),
    "replaced": incremental(
        table("raw"),
        "*, cast(ts as date) as day",
        incremental_strategy="insert_overwrite",
        partition_by="day",
        watermark=CLOCK,
    ),
    "applied": incremental(
        table("raw"),
        incremental_strategy="cdc",
        unique_key="id",
        cdc={"sequence_by": "ts", "stored_as_scd_type": 2},
        watermark={"column": "ts"},
    ),
    "changed": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "watermark={'kind': 'version'}) }}\nselect id, ts, v from {{ floodmark.changes(source('raw', 'raw')) }}",
    "compared": "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
    "snapshot_diff={'stored_as_scd_type': 2}) }}\nselect id, v from {{ source('raw', 'raw') }}",
}


def files(path: str, **given: object) -> str:
    settings = {"path": path} | READER | given
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='append', files={settings!r}) }}}}\n"
        "select id, _metadata.file_name as file from {{ floodmark.new_files() }}"
    )


@dataclass
class Story:
    project: Project
    #: The ids of each model of files behind the first run.
    first: dict[str, list[int]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project], tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two runs of a project whose folder, tables and ledger lie in folders that read like patterns."""
    made = make_project("paths")
    root = tmp_path_factory.mktemp("odd") / FOLDER
    project = Project(root, made.target, made.schema, made.thrift_port)
    s = made.schema
    for schema in (s, f"{s}_floodmark"):
        place = str(root / "warehouse" / schema)
        project.sql(f"drop schema if exists {schema} cascade")
        project.sql(f"create schema {schema} location '{place}'")
    project.sql(
        f"create table {s}.raw (id bigint, ts timestamp, v string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.source("raw")
    project.sql(
        f"insert into {s}.raw values (1, timestamp'2024-05-01 08:00:00', 'a'), "
        "(2, timestamp'2024-05-01 09:00:00', 'b')"
    )
    for name, sql in STRATEGIES.items():
        project.model(name, sql)
    (root / "seeds" / "days.csv").write_text("id,day\n1,monday\n")
    land(root / "in", NAMES)
    land(root / "part [1]" / "day={x}", NAMES[:1])
    land(root / "part 1", ["other"], 900)
    project.model("deep", files("in", max_files_per_batch=20))
    project.model("flat", files("in", recursive=False))
    project.model("absolute", files(str(root / "in")))
    project.model("uri", files(f"file:{root}/in", glob="*.json"))
    # What is there under that very name is meant; else the name is a pattern.
    project.model("named", files("part [1]"))
    project.model("matched", files("part [0-9]*"))
    story = Story(project)
    assert project.dbt("seed").success
    project.build()
    for name in ("deep", "flat", "absolute", "uri", "named", "matched"):
        story.first[name] = ids(project, name)
    project.sql(f"insert into {s}.raw values (3, timestamp'2024-05-01 10:00:00', 'c')")
    land(root / "in", ["new: [1]"], 100)
    project.build("--select", *STRATEGIES, "deep", "flat")
    return story


def ids(project: Project, name: str) -> list[int]:
    return sorted(row[0] for row in project.sql(f"select id from {project.schema}.{name}"))


def test_every_strategy_loads_where_folders_read_like_patterns(story: Story) -> None:
    for name in STRATEGIES:
        assert ids(story.project, name) == [1, 2, 3], name
    assert ids(story.project, "days") == [1]


def test_each_file_loads_once_whatever_its_name(story: Story) -> None:
    every = list(range(len(NAMES)))
    flat = [number for number, name in enumerate(NAMES) if "/" not in name]
    assert story.first == {
        "deep": every,
        "flat": flat,
        "absolute": every,
        "uri": every,
        "named": [0],
        "matched": [900],
    }
    assert ids(story.project, "deep") == [*every, 100]
    assert ids(story.project, "flat") == [*flat, 100]
