"""Files in S3, on a real server: each once, whatever its name; what fails says why, and nothing shows a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dbt_floodmark.spark.home import Workplace
from tests.support.commands import command
from tests.support.faults import Faults, injected, once
from tests.support.files import columns, lines, loader, quarantined, records
from tests.support.harness import Project, Run, sentence
from tests.support.s3_server import EVERYTHING, S3, Keys, configure, settings
from tests.support.servers import free_ports
from tests.support.spark_host import SparkHost

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

#: Names of objects, the id of the row in each by its place.
NAMES = (
    "a b.json",
    "a  b.json",
    "a+b.json",
    "a%20b.json",
    "a%b.json",
    "100%25.json",
    "k=v.json",
    "a#b.json",
    "a&b;c@d!$.json",
    "p?q.json",
    "st*r.json",
    "[x]{y}.json",
    "x,y.json",
    "q'\"x.json",
    "a\\b.json",
    "ü ñ 日本.json",
    "2024-05-01T08:00:00.json",
    "~t.json",
    "deep/er/a b.json",
)
#: What S3 lists, and Spark passes over.
HIDDEN = ("_hidden.json", ".hidden.json", "_folder/a.json", "marker/")
PARTS = {
    "day=2024-05-01/shop=a b/1.csv": "id,v\n1,x\n",
    "day=2024-05-02/shop=c%2Fd+e ü/a b.csv": 'id,v\n2,"y,z"\n',
}
MORE_PARTS = {"day=2024-05-03/shop=f/kind=late/2.csv": "id,v,w\n3,x,new\n4\n"}


@dataclass
class Story:
    """A project whose models read the buckets of a server, and what its runs said."""

    project: Project
    s3: S3
    #: Keys, none of which may be seen anywhere.
    keys: list[Keys]
    home: Path
    runs: list[Run] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)

    @property
    def bucket(self) -> str:
        return f"landing-{self.project.target}"

    def path(self, folder: str) -> str:
        return f"s3a://{self.bucket}/{folder}"

    def land(self, folder: str, files: dict[str, Any]) -> None:
        self.s3.land(self.bucket, {f"{folder}/{name}": body for name, body in files.items()})

    def parquet(self) -> bytes:
        """A file with `id` 1, which Spark writes into the bucket."""
        made = f"insert overwrite directory '{self.path('made')}' using parquet select 1L as id"
        self.project.sql(made)
        listed = self.s3.client().list_objects_v2(Bucket=self.bucket, Prefix="made/part-")
        [name] = [one["Key"] for one in listed["Contents"]]
        return bytes(self.s3.client().get_object(Bucket=self.bucket, Key=name)["Body"].read())

    def run(self, *models: str) -> None:
        self.runs.append(
            self.project.dbt("run", "--write-json", *(("--select", *models) if models else ()))
        )

    def command(self, *words: str) -> str:
        code, output = command(self.project, *words)
        assert code == 0, output
        return output

    def ids(self, model: str) -> list[int]:
        return sorted(int(row["id"]) for row in records(self.project, model))


GROWING = ("named", "parts", "replaced", "waiting")
LOADED = (*GROWING, "tables", "matched")
#: Models that fail in the first run, and the bucket of each.
FAILING = {
    "no_bucket": "nowhere",
    "wrong_key": "wrong-key",
    "wrong_secret": "wrong-secret",
    "silent": "silent",
}


def write_models(story: Story) -> None:
    json_ids = {"format": "json", "schema": "id bigint"}
    paths = "id, _metadata.file_path as source"
    models = {
        "named": loader(story.path("names"), paths, infer_column_types=True),
        "parts": loader(story.path("parts/"), infer_column_types=True),
        "tables": loader(story.path("tables")),
        "replaced": loader(story.path("over"), paths, **json_ids, allow_overwrites="replace"),
        "matched": loader(story.path("shops/*/in"), **json_ids, glob="*.json"),
        "waiting": loader(story.path("nothing yet")),
        "closed": loader(story.path("closed")),
        "gs": loader("gs://bucket/in"),
        "s3": loader(f"s3://{story.bucket}/names"),
    } | {
        name: loader(f"s3a://{bucket}-{story.project.target}/in", **json_ids)
        for name, bucket in FAILING.items()
    }
    for name, sql in models.items():
        story.project.model(name, sql)


def prepare(s3: S3, host: SparkHost, target: str) -> list[Keys]:
    """Make users and buckets, and have Spark know them; the keys."""
    closed = {"Action": "s3:GetObject", "Resource": f"arn:aws:s3:::landing-{target}/closed/denied*"}
    user = s3.user(f"floodmark-{target}", EVERYTHING, {"Effect": "Deny"} | closed)
    wrong = {
        "wrong-key": Keys("AKIAWRONGWRONG", "wr0ngSecret/1"),
        "wrong-secret": Keys(user.id, "wr0ngSecret+2"),
    }
    for bucket in ("landing", "nowhere", "silent", *wrong):
        configure(host, settings(s3, f"{bucket}-{target}", wrong.get(bucket, user)))
    # So that a listing has several answers.
    configure(host, {f"fs.s3a.bucket.landing-{target}.paging.maximum": "5"})
    [nobody] = free_ports(1)
    silent = f"fs.s3a.bucket.silent-{target}."
    configure(
        host, {f"{silent}endpoint": f"http://127.0.0.1:{nobody}", f"{silent}retry.limit": "1"}
    )
    return [s3.admin, user, *wrong.values()]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project], s3: S3, spark_host: SparkHost, home: Path) -> Story:
    project = make_project("buckets")
    story = Story(project, s3, prepare(s3, spark_host, project.target), home)
    write_models(story)
    story.land("names", {name: lines({"id": number}) for number, name in enumerate(NAMES)})
    story.land("names", dict.fromkeys(HIDDEN, lines({"id": 666})) | {"marker/": ""})
    story.land("parts", PARTS)
    whole = story.parquet()
    odd = "a b+c%20#[1] {ü}.parquet"
    broken = b"PAR1 no parquet PAR1"
    story.land("tables", {"a.parquet": whole, odd: whole, "broken.parquet": broken})
    story.land("closed", {"open.parquet": whole, "denied.parquet": whole})
    story.land("over", {"a b.json": lines({"id": 1}, {"id": 2}), "c.json": lines({"id": 3})})
    story.land("shops", {"a b/in/1.json": lines({"id": 1}), "c+d/in/2.json": lines({"id": 2})})
    story.land("shops", {"e/out/3.json": lines({"id": 3}), "e/in/4.txt": "4"})
    story.run()
    story.land("parts", MORE_PARTS)
    story.land("over", {"a b.json": lines({"id": 10})})
    story.land("names", {"late.json": lines({"id": 100}), "left out.json": lines({"id": 666})})
    story.land("nothing yet", {"1.json": lines({"id": 1})})
    left_out = story.path("names/left out.json")
    story.said["skip"] = story.command("files", "named", "--skip", left_out, "--reason", "twice")
    story.said["plan"] = story.command("plan", "--select", "named", "parts", "--json")
    story.run(*GROWING)
    # A name as the list shows it, and its end.
    story.command("files", "named", "--forget", "a%2520b.json", "--forget", "left out.json")
    s3.allow(f"floodmark-{project.target}", EVERYTHING)
    story.run("named", "closed")
    story.said["files"] = story.command("files", "named", "--json")
    return story


def statuses(run: Run, names: Sequence[str]) -> dict[str, str]:
    return {name: run.message[name] for name in names if run.status[name] != "success"}


def test_each_file_loads_once_whatever_its_name(story: Story) -> None:
    assert statuses(story.runs[0], LOADED) == statuses(story.runs[1], GROWING) == {}
    again = NAMES.index("a%20b.json")
    assert story.ids("named") == sorted([*range(len(NAMES)), 100, again, 666])
    assert story.runs[1].message["waiting"].startswith("APPEND 1 read")


def test_the_table_and_the_list_know_a_file_by_one_path(story: Story) -> None:
    listed = {one["path"] for one in json.loads(story.said["files"])["files"]}
    rows = {row["source"] for row in records(story.project, "named")}
    assert rows == listed and len(rows) == len(NAMES) + 2
    assert story.path("names/a%20b.json") in listed
    assert story.path("names/a%2520b.json") in listed


def test_folders_are_columns(story: Story) -> None:
    assert columns(story.project, "parts") == {
        "id": "int",
        "v": "string",
        "day": "date",
        "shop": "string",
        "_rescued_data": "string",
        "w": "string",
        "kind": "string",
    }
    assert records(story.project, "parts", "id") == [
        {"id": 1, "v": "x", "day": "2024-05-01", "shop": "a b"},
        {"id": 2, "v": "y,z", "day": "2024-05-02", "shop": "c/d+e ü"},
        {"id": 3, "v": "x", "w": "new", "day": "2024-05-03", "shop": "f", "kind": "late"},
    ]
    assert quarantined(story.project, "parts") == [
        ("2.csv", 3, "4", "another number of fields than in the header")
    ]


def test_patterns_of_folders_and_names(story: Story) -> None:
    assert story.ids("matched") == [1, 2]


def test_an_object_that_is_overwritten_replaces_its_rows(story: Story) -> None:
    assert story.ids("replaced") == [3, 10]


def test_a_folder_without_files_is_waited_for(story: Story) -> None:
    path = story.path("nothing yet")
    assert story.runs[0].message["waiting"] == f"APPEND waits for the first file in {path}"
    assert story.ids("waiting") == [1]


def test_a_corrupt_file_is_quarantined(story: Story) -> None:
    assert story.ids("tables") == [1, 1]
    [(file, _, _, reason)] = quarantined(story.project, "tables")
    assert file == "broken.parquet" and "Could not read footer" in reason


def test_a_file_that_s3_does_not_hand_out_is_not_corrupt(story: Story) -> None:
    path = story.path("closed/denied.parquet")
    assert story.runs[0].status["closed"] == "error"
    said = sentence(story.runs[0].message["closed"])
    assert f"the file {path} cannot be read from where it is: S3 denies access to {path}" in said
    # Once access is given, nothing is missing.
    assert story.ids("closed") == [1, 1]


def test_a_file_that_is_denied_once_its_batch_is_planned_can_be_left_out(story: Story) -> None:
    project, s3, whole = story.project, story.s3, story.parquet()
    project.model("late", loader(story.path("late")))
    story.land("late", {"1.parquet": whole})
    story.run("late")
    story.land("late", {"2.parquet": whole, "denied.parquet": whole})
    path = story.path("late/denied.parquet")
    user = f"floodmark-{project.target}"
    denied = {"Action": "s3:GetObject", "Resource": path.replace("s3a://", "arn:aws:s3:::")}
    deny = once(lambda: s3.allow(user, EVERYTHING, {"Effect": "Deny"} | denied))
    with injected(Faults(cuts={"late": "after: insert into .*batch_log.*'planned'"}, act=deny)):
        story.run("late")
    said = sentence(story.runs[-1].message["late"])
    assert f"S3 denies access to {path}" in said
    assert project.ledger("late", "state") == [("committed",), ("failed",)], project.ledger(
        "late", "state, error"
    )
    story.command("files", "late", "--skip", "denied.parquet")
    story.run("late")
    s3.allow(user, EVERYTHING)
    assert story.runs[-1].status["late"] == "success"
    assert story.ids("late") == [1, 1]


def test_what_operators_see_and_do(story: Story) -> None:
    plans = {one["name"]: one for one in json.loads(story.said["plan"])["models"]}
    assert (plans["named"]["files"], plans["parts"]["files"]) == (1, 1)
    assert plans["parts"]["new_columns"] == [["w"]]
    assert "1 file will be left out" in story.said["skip"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("no_bucket", "the bucket nowhere-{target} does not exist. Correct its name in the path"),
        ("wrong_key", "S3 denies access to s3a://wrong-key-{target}/in: the key is wrong, or its"),
        ("wrong_secret", "S3 denies access to s3a://wrong-secret-{target}/in: the key is wrong"),
        ("silent", "S3 does not answer for s3a://silent-{target}/in: Connect to 127.0.0.1:"),
        ("gs", "Spark has no connector for this path: the class org.apache.hadoop.fs.gs."),
        ("s3", "Spark reads S3 by paths that begin with s3a://. Write s3a:// instead of s3://"),
    ],
)
def test_what_fails_says_why(story: Story, model: str, said: str) -> None:
    assert story.runs[0].status[model] == "error"
    told = sentence(story.runs[0].message[model])
    assert " cannot be listed: " + said.format(target=story.project.target) in told
    assert "software.amazon" not in told and "SQLSTATE" not in told


def test_no_key_is_written(story: Story) -> None:
    """Not by runs that succeed, nor by those that fail."""
    root, schema = story.project.root, story.project.schema
    workplace = Workplace.thrift(story.home).root
    files = [
        *(one for folder in ("target", "logs") for one in (root / folder).rglob("*.*")),
        *workplace.glob("*.log"),
        *story.home.glob("*.log"),
    ]
    texts = {str(file): file.read_text("utf-8", "replace") for file in files if file.is_file()}
    assert any(name.endswith("dbt.log") for name in texts)
    assert any(name.endswith("manifest.json") for name in texts)
    for _, table, *_ in story.project.sql(f"show tables in {schema}_floodmark"):
        rows = story.project.sql(f"select to_json(struct(*)) from {schema}_floodmark.{table}")
        texts[f"table {table}"] = "\n".join(text for (text,) in rows)
    texts |= {f"run {number}": run.log for number, run in enumerate(story.runs)}
    assert f"s3a://{story.bucket}/names" in texts["table batch_log"]
    secrets = [part for keys in story.keys for part in (keys.secret, keys.id)]
    assert len(secrets) == 8 and all(secrets)
    seen = [(name, secret) for name, text in texts.items() for secret in secrets if secret in text]
    assert seen == []
