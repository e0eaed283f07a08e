"""The staging table of a batch's records, where Spark could not read a file. Without Spark."""

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
