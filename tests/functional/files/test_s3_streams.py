"""Streams of files in S3: each object once, whatever its name; what fails says why, and no checkpoint holds a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import lines, records, rescued
from tests.support.harness import Project, Run, sentence
from tests.support.s3_server import EVERYTHING, S3, Keys, configure, settings
from tests.support.spark_host import SparkHost

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

#: Names of objects, the id of the row in each by its place.
NAMES = (
    "a b.json",
    "a%20b.json",
    "a+b#c.json",
    "p?q*r.json",
    "[x]{y}.json",
    "ü ñ 日本.json",
    "2024-05-01T08:00:00.json",
    "deep/er/a b.json",
)


def stream(path: str, select: str = "* except (_metadata)", **files: Any) -> str:
    settings = {"path": path, "format": "json", "schema": "id bigint", **files}
    return (
        "{{ config(materialized='streaming_table', checkpoint_location='checkpoints', "
        f"files={settings!r}) }}}}\n"
        f"select {select} from {{{{ floodmark.new_files() }}}}\n"
    )


@dataclass
class Streams:
    """A project whose streams read a bucket, its two runs, and the keys that nothing may show."""

    project: Project
    first: Run
    second: Run
    keys: tuple[Keys, ...]

    def ids(self, model: str) -> list[int | None]:
        return [row.get("id") for row in records(self.project, model, "id")]


@pytest.fixture(scope="module")
def streams(make_project: Callable[..., Project], s3: S3, spark_host: SparkHost) -> Streams:
    project = make_project("streamed_buckets")
    keys = s3.user("streams", EVERYTHING)
    wrong = Keys("AKIAWRONGWRONG", "wr0ngSecret/1")
    for bucket, its in {"streams": keys, "nowhere": keys, "refused": wrong}.items():
        configure(spark_host, settings(s3, bucket, its))
    # So that a listing has several answers.
    configure(spark_host, {"fs.s3a.bucket.streams.paging.maximum": "3"})
    models = {
        "named": stream(
            "s3a://streams/names", "id, _metadata.file_path as source", max_files_per_batch=3
        ),
        "rescued": stream("s3a://streams/odd", rescued_data_column="_rescued_data"),
        "matched": stream("s3a://streams/shops/*/in", glob="*.json"),
        "by_path": "{{ config(materialized='streaming_table') }}\n"
        "select id from stream(json.`s3a://streams/by path`) with (schema = 'id bigint')\n",
        "nowhere": stream("s3a://nowhere/in"),
        "refused": stream("s3a://refused/in"),
    }
    for name, sql in models.items():
        project.model(name, sql)
    land = s3.land
    land("streams", {f"names/{name}": lines({"id": id}) for id, name in enumerate(NAMES)})
    land("streams", {"odd/a.json": '{"id":1}\nno JSON\n{"id":"q","more":2}\n'})
    land("streams", {"shops/a b/in/1.json": lines({"id": 1}), "shops/c/in/2.txt": "2"})
    land("streams", {"by path/1.json": lines({"id": 1})})
    first = project.dbt("run")
    # An object that is overwritten is the same file, as on a disk.
    land("streams", {"names/a b.json": lines({"id": 0}), "names/late.json": lines({"id": 100})})
    land("streams", {"shops/d/in/3.json": lines({"id": 3}), "by path/2.json": lines({"id": 2})})
    return Streams(project, first, project.dbt("run"), (keys, wrong))


LOADED = ("named", "rescued", "matched", "by_path")


def test_each_object_is_read_once_whatever_its_name(streams: Streams) -> None:
    for run in (streams.first, streams.second):
        assert {name: run.message[name] for name in LOADED if run.status[name] != "success"} == {}
    assert "3 batches" in streams.first.message["named"]
    assert streams.ids("named") == [*range(len(NAMES)), 100]
    assert streams.ids("matched") == [1, 3]
    assert streams.ids("by_path") == [1, 2]


def test_a_row_names_its_object(streams: Streams) -> None:
    sources = {row["id"]: row["source"] for row in records(streams.project, "named")}
    assert sources[0] == "s3a://streams/names/a%20b.json"
    assert sources[1] == "s3a://streams/names/a%2520b.json"


def test_what_does_not_fit_is_rescued(streams: Streams) -> None:
    assert sorted(map(str, streams.ids("rescued"))) == ["1", "None", "None"]
    found = [rescued(row) for row in records(streams.project, "rescued")]
    assert sorted(filter(None, found), key=str) == [
        {"_corrupt_record": "no JSON", "_file_path": "a.json"},
        {"id": "q", "more": 2, "_file_path": "a.json"},
    ]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nowhere", "the bucket nowhere does not exist. Correct its name in the path"),
        ("refused", "S3 denies access to s3a://refused/in: the key is wrong, or its"),
    ],
)
def test_what_fails_says_why(streams: Streams, model: str, said: str) -> None:
    for run in (streams.first, streams.second):
        assert run.status[model] == "error"
        told = sentence(run.message[model])
        assert said in told
        assert "software.amazon" not in told and "SQLSTATE" not in told


def test_no_key_is_written(streams: Streams, home: Path) -> None:
    """Neither the right nor the wrong one."""
    project = streams.project
    # The folder of the ledger's schema has the checkpoints that are not given a place.
    files = [*project.root.rglob("*"), *home.rglob(f"{project.schema}_floodmark*/**/*")]
    texts = {str(file): file.read_text("utf-8", "replace") for file in files if file.is_file()}
    for folder in ("/checkpoints/", "/_checkpoints/"):
        assert any(folder in name and "/sources/" in name for name in texts)
    log = project.sql(f"select to_json(struct(*)) from {project.schema}_floodmark.batch_log")
    texts |= {"ledger": str(log), "first": streams.first.log, "second": streams.second.log}
    secrets = [part for keys in streams.keys for part in (keys.id, keys.secret)]
    assert len(secrets) == 4 and all(secrets)
    assert [name for name, text in texts.items() if any(one in text for one in secrets)] == []
