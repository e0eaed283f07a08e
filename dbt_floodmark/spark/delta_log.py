"""What a Delta log says, read in the driver.

Spark sends a job for the history of a table, which takes five times as long (decision 20).
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbt_floodmark.texts import BRACKETED_COMMENT

#: The statement that is answered here: a table, and how many commits.
_HISTORY = re.compile(
    rf"(?:\s*{BRACKETED_COMMENT})*\s*describe\s+history\s+(\S+)\s+limit\s+(\d{{1,9}})"
    rf"(?:\s*{BRACKETED_COMMENT})*\s*",
    re.IGNORECASE,
)
#: Commits up to which the driver reads one after the other; Spark reads more of them at once.
MOST = 20
#: Its tables are those that Spark's session catalog has.
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
#: The columns of DESCRIBE HISTORY that a commit has in its file, with their Spark types.
_IN_COMMIT = {
    "userId": "string",
    "userName": "string",
    "operation": "string",
    "operationParameters": "map<string,string>",
    "job": "struct<jobId:string,jobName:string,jobRunId:string,runId:string,jobOwnerId:string,"
    "triggerType:string>",
    "notebook": "struct<notebookId:string>",
    "clusterId": "string",
    "readVersion": "bigint",
    "isolationLevel": "string",
    "isBlindAppend": "boolean",
    "operationMetrics": "map<string,string>",
    "userMetadata": "string",
    "engineInfo": "string",
}
#: All columns of DESCRIBE HISTORY: name and Spark type.
COLUMNS = [("version", "bigint"), ("timestamp", "timestamp"), *_IN_COMMIT.items()]

Row = tuple[Any, ...]


def newest_version(spark: Any, path: str) -> int:
    """Return the newest version of the Delta table in a folder."""
    log = _delta(spark).DeltaLog.forTable(spark._jsparkSession, path)
    return int(_updated(spark, log).version())


def history(spark: Any, sql: str) -> list[Row] | None:
    """Return the rows of a `describe history <table> limit <n>`, newest first, times in UTC.

    None where Spark is to answer: another statement, more than `MOST` commits, a table that is not
    Delta's or is of another catalog, commits with times of their own, whatever else we do not know.
    """
    asked = _HISTORY.fullmatch(sql)
    if asked is None or not 0 < int(asked[2]) <= MOST:
        return None
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with _active(spark):
            return _newest_commits(spark, asked[1], int(asked[2]))
    except (Py4JError, PySparkException, LookupError, TypeError, ValueError):
        # Spark's own answer says what is wrong.
        return None


@contextmanager
def _active(spark: Any) -> Iterator[None]:
    """Have Spark and Delta take their settings from this session."""
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _newest_commits(spark: Any, name: str, limit: int) -> list[Row] | None:
    session = spark._jsparkSession.sessionState()
    catalogs = session.catalogManager()
    if spark.conf.get("spark.sql.catalog.spark_catalog", "") != _DELTA_CATALOG or not (
        catalogs.currentCatalog().equals(catalogs.catalog("spark_catalog"))
    ):
        return None
    table = session.catalog().getTableMetadata(session.sqlParser().parseTableIdentifier(name))
    if table.provider().isEmpty() or table.provider().get().lower() != "delta":
        return None
    delta = _delta(spark)
    log = delta.DeltaLog.forTable(spark._jsparkSession, table)
    snapshot = _updated(spark, log, table)
    newest = int(snapshot.version())
    if newest < 0 or "enableInCommitTimestamps" in snapshot.metadata().configuration().toString():
        return None
    conf = log.newDeltaHadoopConf()
    files = delta.util.DeltaCommitFileProvider.apply(snapshot)
    rows: list[Row] = []
    at = -1
    for version in range(max(0, newest - limit + 1), newest + 1):
        file = files.deltaFile(version)
        found = delta.DeltaHistoryManager.getCommitInfoOpt(log.store(), file, conf)
        modified = file.getFileSystem(conf).getFileStatus(file).getModificationTime()
        # As Delta has it: each commit is later than the one before, whatever the clocks say.
        at = max(at + 1, int(modified))
        rows.insert(0, _row(version, at, json.loads(found.get().json())["commitInfo"]))
    return rows


def _row(version: int, at: int, commit: dict[str, Any]) -> Row:
    if commit.get("job") or commit.get("notebook"):
        raise ValueError("Spark knows their types")
    time = dt.datetime.fromtimestamp(at // 1000, dt.timezone.utc).replace(
        tzinfo=None, microsecond=at % 1000 * 1000
    )
    held = {**commit, "operationParameters": _texts(commit.get("operationParameters"))}
    held["operationMetrics"] = _texts(commit.get("operationMetrics"))
    return (version, time, *(held.get(name) for name in _IN_COMMIT))


def _texts(values: dict[str, Any] | None) -> dict[str, str | None] | None:
    """Return what Spark's map of texts has for these values: numbers and booleans as JSON's."""
    if values is None:
        return None
    return {
        name: value if value is None or isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def _delta(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.delta


def _updated(spark: Any, log: Any, table: Any = None) -> Any:
    """Return a table's newest snapshot."""
    option = spark._jvm.scala.Option
    return log.update(False, option.empty(), option.apply(table))
