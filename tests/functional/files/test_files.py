"""DESIGN.md, "files", first cut: each file once, in one batch, with its rows, or not at all."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import Project, Run

pytestmark = pytest.mark.long("thrift")

ODD = 'it\'s 100% "ünï cöde".json'
ODD_PRINTED = "it's%20100%25%20%22ünï%20cöde%22.json"  # as Spark's _metadata prints it
DAY_1 = {
    "plain.json": b'{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n',
    ODD: b'{"id": 3, "name": "c"}\n',
    "windows.json": b'\xef\xbb\xbf{"id": 4, "name": "d"}\r\n\r\n  \r\n{"id": 5, "name": "e"}\r\n',
    "nothing.json": b"",  # Spark lists no empty file: it is new once it holds something
    "mark.json": b"\xef\xbb\xbf",  # neither has a line
    "nothing.json.gz": gzip.compress(b""),
    "deep/er/no_line_end.json": '{"id": 6, "name": "é\\"\\\\"}'.encode(),
}
DAY_2 = {
    "old.json": b'{"id": 7, "name": "old"}\n',
    "new.json": b'{"id": 8, "name": "new"}\n',
    "nothing.json": b'{"id": 10, "name": "filled"}\n',
}
FILES = {**DAY_1, **DAY_2}
BAD = b'{"id": 2, "name": "b"}\nnot json\n'
MODELS = ("bronze", "batched", "merged", "strict")
TEXT_1 = {
    "windows.csv": b'\xef\xbb\xbfid,name\r\n1,"a, ""b"""\r\n\r\n  \r\n2,\xef\xbb\xbf',
    "deep/odd.csv": b"\xef\xbb\xbfnot, a \\ line of\tany {kind}\n\xef\xbb\xbf  spaces  \n",
}
TEXT_2 = {"more.csv": b"id,name\n3,c\n"}


def land(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


LINES = """\
{{ config(materialized='incremental', files={'path': 'landing/text', 'format': 'text', 'glob': '*.csv'}) }}
select * except (_metadata), _metadata.file_name as file from {{ floodmark.new_files() }}
"""


def reader(path: str, **config: Any) -> str:
    files: dict[str, Any] = {"path": path, "format": "json", "schema": "id bigint, name string"}
    for name, setting in (("most", "max_files_per_batch"), ("on_corrupt", "on_corrupt")):
        files |= {setting: config.pop(name)} if name in config else {}
    settings = {"materialized": "incremental", "files": files} | config
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"{{{{ config({arguments}) }}}}\nselect id, name, _metadata.file_name as file, "
        "_metadata.file_size as size from {{ floodmark.new_files() }}\n"
    )


@dataclass
class Story:
    project: Project
    landing: Path
    runs: list[Run] = field(default_factory=list)
    rows: list[dict[str, Counter[tuple[Any, ...]]]] = field(default_factory=list)
    versions: list[dict[str, int]] = field(default_factory=list)
    states: list[list[tuple[Any, ...]]] = field(default_factory=list)

    def run(self, *args: str) -> None:
        self.runs.append(self.project.dbt("run", *args))
        rows: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in MODELS}
        schema = self.project.schema
        for name, *row in self.project.sql(
            " union all ".join(f"select '{m}', id, name, file from {schema}.{m}" for m in MODELS)
        ):
            rows[name][tuple(row)] += 1
        self.rows.append(rows)
        self.versions.append({name: self.project.commits(name) for name in MODELS})
        self.states.append(self.project.ledger("strict", "batch_id, state"))

    def ids(self, model: str, run: int) -> list[int]:
        return sorted(row[0] for row in self.rows[run][model].elements())


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Day 1; day 2 with an old file and a corrupt one; day 3 with it mended; a full refresh."""
    project = make_project("story")
    landing = project.root / "landing"
    land(landing / "in", DAY_1)
    land(landing / "strict", {"one.json": b'{"id": 1, "name": "a"}\n'})
    project.model("bronze", reader("landing/in"))
    project.model("batched", reader(str(landing / "in"), most=4))
    project.model(
        "merged", reader("landing/in", incremental_strategy="merge", unique_key=["id", "name"])
    )
    project.model("strict", reader("landing/strict", on_corrupt="fail"))
    land(landing / "text", TEXT_1 | {"passed.json": b"{}\n"})
    project.model("lines", LINES)
    story = Story(project, landing)
    story.run()
    land(landing / "in", DAY_2)
    land(landing / "text", TEXT_2)
    os.utime(landing / "in" / "old.json", (10**9, 10**9))
    land(landing / "strict", {"two.json": BAD, "three.json": b'{"id": 3, "name": "c"}\n'})
    story.run()
    land(landing / "strict", {"two.json": BAD.replace(b"not json", b'{"id": 9, "name": "i"}')})
    story.run()
    story.run("--full-refresh", "--select", "bronze")
    return story


def test_each_file_is_loaded_once_with_its_rows(story: Story) -> None:
    assert story.rows[0]["bronze"] == Counter(
        {
            (1, "a", "plain.json"): 1,
            (2, "b", "plain.json"): 1,
            (3, "c", ODD_PRINTED): 1,
            (4, "d", "windows.json"): 1,
            (5, "e", "windows.json"): 1,
            (6, 'é"\\', "no_line_end.json"): 1,
        }
    )
    assert story.ids("bronze", 2) == [1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_an_empty_file_is_loaded_once_it_holds_something(story: Story) -> None:
    assert (10, "filled", "nothing.json") in story.rows[1]["bronze"]


def test_an_old_modification_time_loses_nothing(story: Story) -> None:
    assert (7, "old", "old.json") in story.rows[1]["bronze"]


@pytest.mark.parametrize("model", ["batched", "merged"])
def test_batches_and_merge_load_the_same(story: Story, model: str) -> None:
    assert [rows[model] for rows in story.rows[:3]] == [rows["bronze"] for rows in story.rows[:3]]


def test_max_files_per_batch_makes_several_batches_in_one_run(story: Story) -> None:
    batches = story.project.ledger("batched", "batch_id, state")
    assert batches == [(number, "committed") for number in range(1, 4)]
    assert "2 batches" in story.runs[0].message["batched"]
    files = story.project.ledger("batched", "batch_id", "files")
    assert Counter(batch for (batch,) in files) == {1: 4, 2: 2, 3: 3}


def test_a_run_with_nothing_new_makes_no_commit(story: Story) -> None:
    quiet = ("bronze", "batched", "merged")
    assert [story.versions[2][m] for m in quiet] == [story.versions[1][m] for m in quiet]
    assert story.runs[2].message["bronze"] == "APPEND nothing new"


def test_the_ledger_names_every_file_with_its_rows(story: Story) -> None:
    files = story.project.ledger("merged", "path, size, batch_id, state, rows", "files")
    found = {path.rsplit("/", 1)[1]: rest for path, *rest in files}
    assert len(files) == len(FILES)
    assert found["plain.json"] == [len(DAY_1["plain.json"]), 1, "committed", 2]
    assert found["windows.json"][3] == 2
    assert found["nothing.json"] == [len(FILES["nothing.json"]), 2, "committed", 1]
    assert found["mark.json"] == [3, 1, "committed", 0]
    assert found["nothing.json.gz"] == [len(FILES["nothing.json.gz"]), 1, "committed", 0]
    assert found["old.json"] == [len(DAY_2["old.json"]), 2, "committed", 1]
    [(modified,)] = story.project.sql(
        f"select cast(unix_seconds(modified_at) as string) from {story.project.schema}_floodmark."
        f"files where model = '{story.project.schema}.merged' and path like '%old.json'"
    )
    assert modified == str(10**9)


def test_a_corrupt_line_fails_the_batch_and_nothing_of_it_is_loaded(story: Story) -> None:
    assert story.runs[1].status["strict"] == "error"
    assert "1 of 3 records is corrupt" in story.runs[1].message["strict"]
    assert story.ids("strict", 1) == [1]
    assert story.versions[1]["strict"] == story.versions[0]["strict"]


def test_the_mended_file_loads_with_the_others(story: Story) -> None:
    assert story.runs[2].status["strict"] == "success"
    assert story.ids("strict", 2) == [1, 2, 3, 9]


def test_a_full_refresh_loads_every_file_again(story: Story) -> None:
    assert story.rows[3]["bronze"] == story.rows[2]["bronze"]
    batches = story.project.ledger("bronze", "batch_id, kind")
    assert batches == [(1, "first_load"), (2, "incremental"), (3, "full_refresh")]
    third = story.project.ledger("bronze", "path, batch_id", "files")
    assert [batch for _, batch in third] == [3] * len(FILES)


def test_each_line_of_a_text_file_is_a_row(story: Story) -> None:
    found = story.project.sql(f"select value, file from {story.project.schema}.lines")
    assert Counter(found) == Counter(
        [
            ("id,name", "windows.csv"),
            ('1,"a, ""b"""', "windows.csv"),
            ("", "windows.csv"),
            ("  ", "windows.csv"),
            ("2,\ufeff", "windows.csv"),
            ("not, a \\ line of\tany {kind}", "odd.csv"),
            ("\ufeff  spaces  ", "odd.csv"),
            ("id,name", "more.csv"),
            ("3,c", "more.csv"),
        ]
    )


def test_text_has_one_column_beside_metadata(story: Story) -> None:
    columns = story.project.sql(f"describe {story.project.schema}.lines")
    assert [tuple(column[:2]) for column in columns] == [("value", "string"), ("file", "string")]


def test_text_files_are_loaded_once(story: Story) -> None:
    batches = story.project.ledger("lines", "batch_id, state, rows_read")
    assert batches == [(1, "committed", 7), (2, "committed", 2)]
    assert "nothing new" in story.runs[2].message["lines"]
    files = story.project.ledger("lines", "path, batch_id, rows", "files")
    assert {(path.rsplit("/", 1)[1], *rest) for path, *rest in files} == {
        ("windows.csv", 1, 5),
        ("odd.csv", 1, 2),
        ("more.csv", 2, 2),
    }
