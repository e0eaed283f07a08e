"""What Spark and Delta say of a row, a column and a file reaches the node's message, on both targets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table

pytestmark = pytest.mark.edge


@pytest.fixture(scope="module")
def run(make_project: Callable[..., Project]) -> Run:
    """A run of two models that fail."""
    project = make_project("messages")
    s = project.schema
    project.sql(f"create table {s}.src (id int, t timestamp, v int) using delta")
    project.sql(f"insert into {s}.src values (1, timestamp'2024-05-01 08:00:00', 1)")
    project.source("src")
    settings = {"incremental_strategy": "append", "watermark": {"column": "t"}}
    project.model("checked", incremental(table("src"), **settings))
    project.build()
    project.sql(f"alter table {s}.checked add constraint small check (v < 10)")
    project.sql(f"insert into {s}.src values (2, timestamp'2024-05-02 08:00:00', 50)")
    (project.root / "bad.parquet").write_bytes(b"PAR1 no parquet at all PAR1")
    project.model("broken", f"select * from parquet.`{project.root}/bad.parquet`")
    return project.dbt("run")


def test_the_row_that_a_constraint_refuses(run: Run) -> None:
    said = sentence(run.message["checked"])
    assert "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint small (v < 10)" in said
    assert "with values: v : 50" in said
    assert "org.apache" not in said and "scala:" not in said


def test_a_file_that_cannot_be_read(run: Run) -> None:
    said = sentence(run.message["broken"])
    assert "reading file" in said and "bad.parquet. Could not read footer" in said
    assert "(cause: corrupted file: the footer index is not within the file" in said
    assert "org.apache" not in said and "scala:" not in said
