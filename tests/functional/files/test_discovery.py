"""FILES.md, "Settings", "Discovery" and "Partition columns": which files a batch takes, and what their folders say."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from tests.support.files import columns, land, lines, loader, quarantined, records
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

JSON = {"format": "json", "schema": "id bigint"}
IN = {f"{number}.json": lines({"id": number}) for number in range(1, 6)}
PARTS = {
    "day=2024-05-01/store=7/a.json": lines({"id": 1, "store": "data"}),
    "day=2024-05-02/store=__HIVE_DEFAULT_PARTITION__/a.json": lines({"id": 2}),
    "day=2024-05-02/store=8/a b%2F+ü.json": lines({"id": 3}),
    "day=2024-05-03/store=9/name=a%2Fb 100%25+ü/a.json": lines({"id": 4}),
}
MORE_PARTS = {"day=2024-05-04/store=10/kind=late/a.json": lines({"id": 5})}
#: Endings of files that are spoilt once they are loaded.
CLOSED = ("json", "csv", "parquet", "orc")
#: Two files, the second one larger: Spark's own order of files is that of their sizes, the largest first.
TIES = {"a.json": lines({"id": 1}), "b.json": lines({"id": 2, "more": "bytes"})}
WAITING = {"inferred": loader("nowhere"), "given": loader("nowhere", **JSON)}
MODELS = {
    "bytes": loader("in", **JSON, max_bytes_per_batch=20),
    "words": loader("in", **JSON, max_bytes_per_batch="1 kb", max_files_per_batch=2),
    "after": loader("in", **JSON, modified_after="2024-05-02 00:00:00"),
    "before": loader("in", **JSON, modified_before="2024-05-03"),
    "fresh": loader("in", **JSON, include_existing=False),
    "unborn": loader("in", format="json", include_existing=False),
    "again": loader("over", "id, _metadata.file_path as path", **JSON, allow_overwrites="append"),
    "replaced": loader(
        "over",
        "id, _metadata.file_path like '%.csv' as is_csv, _metadata.file_path as path",
        **JSON,
        allow_overwrites="replace",
    ),
    "once": loader("over", **JSON),
    "parts": loader("parts", infer_column_types=True),
    "listed": loader("parts", infer_column_types=True, partition_columns=["store"]),
    "hinted": loader("parts", schema_hints="store string, day date"),
    "whole": loader("parts", partition_columns=[]),
    "fixed": loader("parts", format="json", schema="id bigint"),
    "by_name": loader("named"),
    "ties": loader("ties", **JSON, max_files_per_batch=1),
    **{f"closed_{ending}": loader(f"closed_{ending}") for ending in CLOSED},
    **WAITING,
}


def at(folder: Any, *names: str, day: int) -> None:
    """Set the time of files: noon of a day in May 2024, UTC."""
    for name in names:
        moment = 1714564800 + (day - 1) * 86400
        os.utime(folder / name, (moment, moment))


def closed(ending: str, id: int) -> tuple[str, bytes]:
    """Name and bytes of a file with one record, in a form of which a reader knows garbage; JSON and CSV are packed."""
    if ending in ("json", "csv"):
        text = lines({"id": id}) if ending == "json" else f"id\n{id}\n"
        return f"{id}.{ending}.gz", gzip.compress(text.encode())
    into = io.BytesIO()
    (parquet if ending == "parquet" else orc).write_table(pa.table({"id": [id]}), into)
    return f"{id}.{ending}", into.getvalue()


def spoil(file: Path) -> None:
    """Put garbage into a file, and leave it its size and its time."""
    before = file.stat()
    file.write_bytes(b"\xff" * before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@dataclass
class Story:
    project: Project
    runs: list[Run] = field(default_factory=list)
    rows: list[dict[str, list[dict[str, Any]]]] = field(default_factory=list)

    def run(self, *names: str) -> None:
        """Run these models and read what is in their tables, of those that have one."""
        self.runs.append(self.project.build("--select", *names))
        made = {row[1] for row in self.project.sql(f"show tables in {self.project.schema}")}
        self.rows.append({name: records(self.project, name) for name in names if name in made})

    def ids(self, model: str, run: int) -> list[int]:
        return sorted(int(row["id"]) for row in self.rows[run][model])


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("discovery")
    root = project.root
    for name, sql in MODELS.items():
        project.model(name, sql)
    land(root / "in", IN)
    for number, name in enumerate(IN, 1):
        at(root / "in", name, day=number)
    land(root / "over", {"a.json": lines({"id": 1}, {"id": 2}), "b.json": lines({"id": 3})})
    land(root / "parts", PARTS)
    land(root / "named", {"a.jsonl": lines({"x": 1}), "b.json.gz.json": lines({"x": 2})})
    land(root / "ties", TIES)
    at(root / "ties", *TIES, day=1)
    for ending in CLOSED:
        land(root / f"closed_{ending}", dict([closed(ending, 1)]))
    story = Story(project)
    story.run(*MODELS)
    for ending in CLOSED:
        spoil(root / f"closed_{ending}" / closed(ending, 1)[0])
        land(root / f"closed_{ending}", dict([closed(ending, 2)]))
    # The time goes back: a file is known by its path.
    land(root / "in", {"6.json": lines({"id": 6})})
    at(root / "in", "6.json", day=1)
    land(root / "over", {"a.json": lines({"id": 10}, "not JSON"), "c.json": lines({"id": 4})})
    land(root / "parts", MORE_PARTS)
    land(root / "nowhere", {"a.json": lines({"id": 1})})
    story.run(*MODELS)
    land(root / "over", {"a.json": "\n"})
    story.run("again", "replaced", "once")
    return story


def test_a_batch_takes_files_until_their_sum_reaches_the_bytes(story: Story) -> None:
    # 10 bytes each: the second one reaches 20.
    for model in ("bytes", "words"):
        batches = [batch for (batch,) in story.project.ledger(model, "batch_id", "files")]
        assert batches == [1, 1, 2, 2, 3, 4], model


def test_the_oldest_files_come_first(story: Story) -> None:
    found = story.project.ledger("words", "path, batch_id", "files")
    assert [
        path.rpartition("/")[2] for path, _ in sorted(found, key=lambda row: (row[1], row[0]))
    ] == [
        "1.json",
        "2.json",
        "3.json",
        "4.json",
        "5.json",
        "6.json",
    ]


def test_files_of_one_time_come_in_the_order_of_their_paths(story: Story) -> None:
    found = story.project.ledger("ties", "path, batch_id", "files")
    assert [(path.rpartition("/")[2], batch) for path, batch in found] == [
        ("a.json", 1),
        ("b.json", 2),
    ]


@pytest.mark.parametrize("ending", CLOSED)
def test_only_new_files_are_opened(story: Story, ending: str) -> None:
    """What is loaded may be garbage by now."""
    model = f"closed_{ending}"
    assert story.ids(model, 1) == [1, 2]
    files = story.project.ledger(model, "batch_id, rows, rows_quarantined, state", "files")
    assert files == [(1, 1, 0, "committed"), (2, 1, 0, "committed")]


def test_modified_after_and_before_are_strict(story: Story) -> None:
    assert story.ids("after", 0) == [2, 3, 4, 5]
    assert story.ids("before", 0) == [1, 2]
    assert story.ids("before", 1) == [1, 2, 6]


def test_what_was_there_before_is_skipped_and_recorded(story: Story) -> None:
    assert story.ids("fresh", 0) == []
    assert story.ids("fresh", 1) == [6]
    found = story.project.ledger("fresh", "path, state, reason", "files")
    assert [(path.rpartition("/")[2], *rest) for path, *rest in sorted(found)] == [
        *((name, "skipped", "it was there before the first load") for name in sorted(IN)),
        ("6.json", "committed", None),
    ]


def test_without_a_schema_a_table_waits_for_its_first_file(story: Story) -> None:
    for name, path in (("inferred", "nowhere"), ("unborn", "in")):
        assert story.runs[0].status[name] == "success"
        assert story.runs[0].message[name] == f"APPEND waits for the first file in {path}"
        assert name not in story.rows[0]
        assert len(story.rows[1][name]) == 1
    assert story.ids("inferred", 1) == [1]
    assert story.ids("unborn", 1) == [6]


def test_with_a_schema_the_table_is_empty(story: Story) -> None:
    assert story.rows[0]["given"] == []
    assert story.ids("given", 1) == [1]


def test_an_overwritten_file_is_known_by_its_path(story: Story) -> None:
    assert story.ids("once", 2) == [1, 2, 3, 4]


def test_append_loads_an_overwritten_file_again(story: Story) -> None:
    assert story.ids("again", 1) == [1, 2, 3, 4, 10]
    assert story.ids("again", 2) == [1, 2, 3, 4, 10]


def test_replace_deletes_the_rows_of_the_earlier_load(story: Story) -> None:
    assert story.ids("replaced", 1) == [3, 4, 10]
    # A file of nothing has no rows, and nothing stays of it.
    assert story.ids("replaced", 2) == [3, 4]
    assert quarantined(story.project, "replaced") == []
    # Rows of other files that lie in one Parquet file with replaced ones are written again: these are not counted.
    counts = "rows_read, rows_inserted, rows_deleted, rows_quarantined"
    assert story.project.ledger("replaced", counts)[:2] == [(3, 3, 0, 0), (3, 2, 2, 1)]
    [(line,)] = [row[1:2] for row in quarantined(story.project, "again")]
    assert line == 2


def test_folders_give_columns_and_the_path_beats_the_data(story: Story) -> None:
    assert columns(story.project, "parts") == {
        "id": "bigint",
        "day": "date",
        "store": "int",
        "name": "string",
        "_rescued_data": "string",
        "kind": "string",
    }
    assert story.rows[1]["parts"] == [
        {"id": 1, "day": "2024-05-01", "store": 7},
        {"id": 2, "day": "2024-05-02"},
        {"id": 3, "day": "2024-05-02", "store": 8},
        {"id": 4, "day": "2024-05-03", "store": 9, "name": "a/b 100%+ü"},
        {"id": 5, "day": "2024-05-04", "store": 10, "kind": "late"},
    ]


def test_a_list_names_the_folders_that_are_columns(story: Story) -> None:
    assert list(columns(story.project, "listed")) == ["id", "store", "_rescued_data"]
    assert list(columns(story.project, "whole")) == ["id", "store", "_rescued_data"]
    assert [row.get("store") for row in story.rows[1]["whole"]] == ["data", None, None, None, None]


def test_hints_type_the_folders(story: Story) -> None:
    types = columns(story.project, "hinted")
    assert (types["store"], types["day"]) == ("string", "date")


def test_a_level_that_appears_later_is_left_out_with_a_warning(story: Story) -> None:
    assert list(columns(story.project, "fixed")) == ["id", "day", "store", "name"]
    assert "the folders have a level 'kind=', and the table has no such column" in story.runs[1].log


def test_the_format_is_that_of_the_names(story: Story) -> None:
    assert [row["x"] for row in story.rows[0]["by_name"]] == ["1", "2"]


def test_names_that_do_not_agree_ask_for_the_format(story: Story) -> None:
    project = story.project
    project.model("mixed", loader("mixed"))
    land(project.root / "mixed", {"a.json": "{}\n", "b.csv": "a\n", "c": "x"})
    run = project.dbt("run", "--select", "mixed")
    (project.root / "models" / "mixed.sql").unlink()
    assert not run.success
    assert "files.format: got null; expected one of json, csv" in run.message["mixed"]
    assert "a.json is json, b.csv is csv, c may be anything" in run.message["mixed"]


def test_a_later_name_that_tells_another_format_asks_for_it_too(story: Story) -> None:
    """Be it in the next run, or in the next batch of the first one."""
    project, folder = story.project, story.project.root / "turned"
    said = "what was loaded before is csv, b.json is json). Add it, or leave files of another"
    land(folder, {"a.csv": "id\n1\n"})
    project.model("turned", loader("turned"))
    project.build("--select", "turned")
    land(folder, {"b.json": lines({"id": 2}), "c": "id\n3\n"})
    at(folder, "a.csv", day=1)
    at(folder, "b.json", "c", day=2)
    project.model("turned_at_once", loader("turned", max_files_per_batch=1))
    run = project.dbt("run", "--select", "turned", "turned_at_once")
    for name in ("turned", "turned_at_once"):
        assert run.status[name] == "error" and said in run.message[name]
        assert [row["id"] for row in records(project, name)] == ["1"]
    # A name that tells nothing is of the known format.
    project.model("turned", loader("turned", glob="[ac]*"))
    project.build("--select", "turned")
    assert sorted(row["id"] for row in records(project, "turned")) == ["1", "3"]
    (project.root / "models" / "turned.sql").unlink()
    (project.root / "models" / "turned_at_once.sql").unlink()
