"""The staging table of a batch's records: how it is made, and what is counted in it. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


def staged(condition: str | None) -> list[str]:
    """What is done where the statement that writes the records fails with this condition."""
    floodmark = load()
    done: list[str] = []
    told = {"error": condition and f"[{condition}]", "condition": condition}
    floodmark._tried = lambda *_: (done.append("tried"), told)[1]
    floodmark._execute = lambda _: done.append("sent again")
    floodmark._stage_readable = lambda *_: done.append("read without files that cannot be read")
    floodmark._file_format = lambda _: {"groups": lambda *_: [{"sql": "select 1"}]}
    for name in ("_files_conf", "_set_conf", "_reset_conf", "_drop_staging_tables"):
        setattr(floodmark, name, lambda *_: {})
    floodmark._with_folder_columns = lambda _, batch: batch
    floodmark._records_sql = lambda *_: "select 1"
    batch: dict[str, Any] = {"look": {"files": {}}, "files": []}
    floodmark._stage_records({"settings": {"files": {}}}, batch, "stage")
    return done


@pytest.mark.parametrize(
    ("condition", "done"),
    [
        (None, ["tried"]),
        ("FAILED_READ_FILE.NO_HINT", ["tried", "read without files that cannot be read"]),
        # What a Thrift server says of it that floodmark has not started.
        ("TASK_WRITE_FAILED", ["tried", "read without files that cannot be read"]),
        ("DIVIDE_BY_ZERO", ["tried", "sent again"]),
    ],
)
def test_a_file_may_be_at_fault(condition: str | None, done: list[str]) -> None:
    assert staged(condition) == done


@pytest.mark.parametrize(
    ("error", "rejects"),
    [
        (None, []),
        ("[PATH_NOT_FOUND]", []),
        ("S3 denies access", [("a file cannot be read", True)]),
    ],
)
def test_a_batch_fails_whose_file_its_store_does_not_give(
    error: str | None, rejects: list[tuple[str, bool]]
) -> None:
    """Only then can the file be left out of the next one (_record_files_event)."""
    told: list[tuple[str, bool]] = []
    floodmark = load(
        adapter=SimpleNamespace(
            floodmark_refuse=lambda said, may_pass, reason: told.append((reason, may_pass))
        ),
        exceptions=SimpleNamespace(raise_compiler_error=lambda said: None),
    )
    condition = error and error.strip("[]")
    floodmark._tried = lambda *_: {"error": error, "condition": condition}
    floodmark._files_options = lambda _: ""
    floodmark._masked = lambda text: text
    floodmark._check_bytes({}, {"path": "s3a://b/in/1.parquet"})
    assert told == rejects


#: What the table of records has of a file that was overwritten since its batch was planned.
READ = {"path": "a", "rows": 2, "rows_quarantined": 0, "size": 20, "modified_at": 2}


@pytest.mark.parametrize(
    ("stage", "counts"),
    [(["id", "_Rescued_Data"], "count_if(`_Rescued_Data`"), (["id"], "bigint(0)")],
)
def test_what_a_batch_that_landed_gave_is_counted_whatever_became_of_its_files_and_settings(
    stage: list[str], counts: str
) -> None:
    """Its rows are in the table: nothing stops the run that records it."""
    sent: list[str] = []
    described = SimpleNamespace(rows=[(name, "string", None) for name in stage])
    floodmark = load(run_query=lambda _: described)
    floodmark._query_json = lambda sql: (sent.append(sql), [READ])[1]
    floodmark._file_format = lambda _: {"look": True}
    planned = [{"path": path, "size": 10, "modified_at": 1} for path in ("a", "b", "c")]
    # Neither gave a row: what lies there now of `b` was read, and of `c` it was not.
    there = [planned[1], planned[2] | {"modified_at": 3}]
    floodmark._present_files = lambda *_: there
    run: dict[str, Any] = {"settings": {"files": {"rescued_data_column": "_rescued_data"}}}
    counted = floodmark._counted_files(run, {"files": planned}, "stage", True)
    assert [(one["path"], one["rows"], one["modified_at"]) for one in counted] == [
        ("a", 2, 2),
        ("b", 0, 1),
    ]
    assert counts in sent[0]
    assert "1 file of the batch was left out" in run["warnings"][0]


@pytest.mark.parametrize(
    ("format", "record", "columns"),
    [
        # Files without columns have rows all the same.
        ("parquet", "struct<>", "(`_floodmark_none` string) using parquet"),
        ("parquet", "struct<id:int>", "(`id` int) using parquet"),
        ("json", "struct<>", "(`_floodmark_bad` string) using json"),
    ],
)
def test_no_window_is_without_columns(format: str, record: str, columns: str) -> None:
    floodmark = load()
    sent: list[str] = []
    floodmark._execute = sent.extend
    floodmark._stage_relation = lambda _: "stage"
    files = {"format": format, "path": "/in", "glob": "*", "options": {}}
    floodmark._make_window(
        {"settings": {"files": files | {"single_variant_column": None}}},
        {},
        0,
        {"record": record, "files": [], "options": {}},
    )
    assert f"create table stage__window0 {columns} options (" in sent[0]


def test_a_format_with_columns_of_its_own_is_read_with_all_of_them() -> None:
    """Also in a batch that earlier code planned without those that a folder gives."""
    floodmark = load()
    settings = {"format": "binary", "single_variant_column": None}
    [group] = floodmark._one_group(
        {"settings": {"files": settings}}, {"record": "struct<path:string>", "files": []}, None
    )
    assert group["record"] == floodmark._binary_files()["columns"]
