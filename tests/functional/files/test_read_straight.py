"""A batch whose files look clean is read in the statement that loads it; one that is not, through a staging table."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.faults import Faults, injected, once
from tests.support.files import land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

JSON = {"format": "json", "schema": "id int, name string, price decimal(6,2)"}
#: Models that are loaded without a staging table of their files: the rows of each file.
STRAIGHT = {
    "plain": {"a.json": 2, "b.json": 1},
    "merged": {"a.json": 2, "b.json": 1},
    "rescues_none": {"a.json": 2, "b.json": 1},
    "inferred": {"a.json": 2, "b.json": 1},
    "narrow": {"a.json": 2, "b.json": 1},
    "columnar": {"a.parquet": 3},
    "texts": {"a.txt": 3},
    "bytes": {"a.bin": 1},
}
#: Models whose files look clean and are not: what turns out.
UNCLEAN = {
    # The model's own condition would leave the line out before anybody has seen it.
    "hidden": '{"id": 2,, "name": "b"}\n',
    "misfit": '{"id": 3000000000, "name": "b"}\n',
    "rounded": '{"id": 2, "price": 1.999}\n',
}
CLEAN = '\ufeff{"id": 1, "name": "a", "price": 1.5}\r\n\r\n  \n{"id": 2, "name": "b"}'


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int64())}), sink)
    return sink.getvalue()


@dataclass
class Story:
    project: Project
    run: Run
    sent: dict[str, list[str]]

    def reads(self, model: str) -> list[str]:
        """The statements that wrote rows of this model's files, in order: `stage` or `table`."""
        writes = [
            sql
            for sql in self.sent[model]
            if sql.startswith(("create table", "create or", "insert", "merge"))
        ]
        kinds = {"__files": "records", "stage__": "stage", f".{model}": "table"}
        return [
            next(
                kind
                for mark, kind in kinds.items()
                if mark in sql.partition(" as")[0].partition("(")[0]
            )
            for sql in writes
            if "batch_log" not in sql
            and "__window" not in sql.partition("(")[0]
            and "quarantine" not in sql
        ]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("straight")
    for name in ("plain", "merged", "rescues_none", "inferred", "narrow"):
        land(project.root / name, {"a.json": CLEAN, "b.json": lines({"id": 3, "name": "c{}"})})
    land(project.root / "columnar", {"a.parquet": parquet()})
    land(project.root / "texts", {"a.txt": "one\n\ntwo\n"})
    land(project.root / "bytes", {"a.bin": b"\x00\x01"})
    for name, line in UNCLEAN.items():
        land(project.root / name, {"a.json": lines({"id": 1, "name": "a"}) + line})
    land(project.root / "own_error", {"a.json": lines({"id": 1})})
    project.model("plain", loader("plain", **JSON))
    project.model(
        "merged",
        loader("merged", config={"incremental_strategy": "merge", "unique_key": "id"}, **JSON),
    )
    project.model("rescues_none", loader("rescues_none", **JSON, schema_evolution="rescue"))
    project.model("inferred", loader("inferred", format="json", infer_column_types=True))
    project.model(
        "narrow", loader("narrow", select="1 as one, _metadata.file_name as file", **JSON)
    )
    for name, format in {"columnar": "parquet", "texts": "text", "bytes": "binary"}.items():
        project.model(name, loader(name, format=format))
    project.model("hidden", loader("hidden", **JSON) + " where id > 0")
    project.model("misfit", loader("misfit", **JSON, schema_evolution="rescue"))
    project.model("rounded", loader("rounded", **JSON, schema_evolution="rescue"))
    project.model(
        "own_error",
        loader("own_error", select="id, if(id > 0, raise_error('mine'), 1) as e", **JSON),
    )
    faults = Faults()
    with injected(faults):
        run = project.dbt("run")
    return Story(project, run, faults.sent)


@pytest.mark.parametrize("model", STRAIGHT)
def test_files_that_look_clean_are_read_once(story: Story, model: str) -> None:
    assert story.run.status[model] == "success", story.run.message[model]
    assert story.reads(model) == (["stage", "table"] if model == "merged" else ["table"])
    files = story.project.ledger(model, "path, rows, rows_rescued, rows_quarantined", "files")
    assert {path.rpartition("/")[2]: counts for path, *counts in files} == {
        name: [rows, 0, 0] for name, rows in STRAIGHT[model].items()
    }
    assert len(records(story.project, model)) == sum(STRAIGHT[model].values())


@pytest.mark.parametrize("model", UNCLEAN)
def test_what_is_not_clean_is_noticed_and_kept(story: Story, model: str) -> None:
    assert story.run.status[model] == "success", story.run.message[model]
    assert story.reads(model) == ["table", "records", "table"]
    rows = {row.get("id"): row for row in records(story.project, model)}
    found = (
        quarantined(story.project, model)
        if model == "hidden"
        else rescued(rows.pop(None if model == "misfit" else 2))
    )
    assert rows.keys() == {1}
    assert (
        found
        == {
            "hidden": [("a.json", 2, '{"id": 2,, "name": "b"}', "not a JSON object")],
            "misfit": {"id": 3000000000, "_file_path": "a.json"},
            "rounded": {"price": 1.999, "_file_path": "a.json"},
        }[model]
    )
    [counts] = story.project.ledger(model, "rows, rows_rescued, rows_quarantined", "files")
    assert counts == ((1, 0, 1) if model == "hidden" else (2, 1, 0))


def test_an_error_of_the_models_own_is_shown_and_not_tried_again(story: Story) -> None:
    assert story.run.status["own_error"] == "error"
    assert "mine" in story.run.message["own_error"]
    assert "not clean" not in story.run.message["own_error"]
    assert len([sql for sql in story.sent["own_error"] if sql.startswith("create or replace")]) == 1
    assert not [sql for sql in story.sent["own_error"] if "__files" in sql.partition("(")[0]]


def test_nothing_is_left_beside_the_tables(story: Story) -> None:
    left = story.project.sql(f"show tables in {story.project.schema}_floodmark like 'stage__*'")
    assert [name for _, name, *_ in left if "own_error" not in name] == []


def test_a_run_that_dies_behind_its_commit_loses_no_count(story: Story) -> None:
    """The plan tells what was in the files."""
    project = story.project
    land(project.root / "plain", {"c.json": lines({"id": 4}, {"id": 5})})
    with injected(Faults(cuts={"plain": "before: insert into .*batch_log.*'committed'"})):
        project.dbt("run", "--select", "plain")
    assert len(records(project, "plain")) == 5
    assert project.build("--select", "plain").success
    assert len(records(project, "plain")) == 5
    files = project.ledger("plain", "path, rows, state", "files")
    assert [(rows, state) for path, rows, state in files if path.endswith("c.json")] == [
        (2, "committed")
    ]


def test_a_file_that_changes_before_it_is_read_is_not_loaded_as_it_was(story: Story) -> None:
    """Its size is as it was, and its time is not: the statement notices it, and what is there now is loaded."""
    project = story.project
    folder = project.root / "inferred"
    land(folder, {"d.json": lines({"id": 6, "a": 1})})
    change = partial(land, folder, {"d.json": lines({"id": 7, "b": 2})})
    faults = Faults(cuts={"inferred": "before: insert into [^(]*inferred"}, act=once(change))
    with injected(faults):
        assert project.dbt("run", "--select", "inferred").success
    assert Story(project, story.run, faults.sent).reads("inferred") == ["table", "records", "table"]
    rows = {row["id"]: row for row in records(project, "inferred")}
    assert sorted(rows) == [1, 2, 3, 7]
    # The plan has no column for what nobody had seen then.
    assert rescued(rows[7]) == {"b": 2, "_file_path": "d.json"}


def test_a_file_that_breaks_while_a_server_elsewhere_reads_it_is_corrupt(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a task that failed, such a server tells only that it did; its footer tells nothing of broken pages."""
    monkeypatch.setattr("dbt_floodmark.adapter.connecting._log_of_own", lambda credentials: None)
    project = make_project("straight_elsewhere")
    whole = parquet()
    broken = whole[:4] + b"\xff" * 40 + whole[44:]
    land(project.root / "in", {"a.parquet": whole, "b.parquet": broken})
    project.model("loaded", loader("in", format="parquet"))
    run = project.dbt("run")
    assert run.status["loaded"] == "success", run.message["loaded"]
    assert [row["id"] for row in records(project, "loaded")] == [1, 2, 3]
    assert [file for file, *_ in quarantined(project, "loaded")] == ["b.parquet"]
