"""The log of our own Thrift server completes what the server sends of an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt_floodmark.spark.messages import readable
from dbt_floodmark.spark.server_log import whole_error

SENT = (
    "Error running query: [TASK_WRITE_FAILED] org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed "
    "while writing rows to file:/w/t. SQLSTATE: 58030"
)
LOG = """2026-01-31 06:00:00 INFO X: before
2026-01-31 06:00:01 ERROR SparkExecuteStatementOperation: Error executing query with a3b196c0, currentState RUNNING,
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/w/t. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.X.y(X.scala:843)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
2026-01-31 06:00:02 INFO X: Caused by: another thing
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "spark.log").write_text(LOG)
    return tmp_path / "spark.log"


def test_the_chain_of_causes_comes_from_the_log(log: Path) -> None:
    whole = whole_error(SENT, log)
    assert whole.startswith("org.apache.spark.SparkException") and "another thing" not in whole
    assert readable(whole).startswith(
        "the disk is full: no space was left on the device while file:/w/t"
    )


@pytest.mark.parametrize("sent", [SENT.replace("/w/t", "/w/u"), "", "no query of Hive's"])
def test_what_the_log_does_not_have_stays_as_it_came(log: Path, sent: str) -> None:
    assert whole_error(sent, log) == sent


def test_without_a_log(tmp_path: Path) -> None:
    assert whole_error(SENT, tmp_path / "none.log") == SENT
