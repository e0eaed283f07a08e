"""The session method: sessions that do not leak, UTC, readable errors, Ctrl-C, the Derby lock."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.harness import SPARK_PARAMETERS, run_sql

SLOW = "select sum(a.id * b.id) as s from range(3000000) a join range(3000000) b on a.id % 7 = b.id % 7"


@pytest.fixture(scope="module")
def root(home: Path, attached: None):
    from dbt_floodmark.spark.gateway import root_session

    return root_session(home, SPARK_PARAMETERS)


@pytest.fixture
def connect(root):
    from dbt_floodmark.adapter.session import FloodmarkSession

    return lambda **parameters: FloodmarkSession(root, parameters)


def _rows(connection, sql):
    connection.execute(sql)
    return connection.fetchall()


def test_settings_schema_and_views_stay_in_their_session(connect):
    seen: dict[int, list] = {}
    ready = threading.Barrier(4)

    def node(number: int) -> None:
        mine = connect()
        mine.execute(f"create temporary view leak as select {number} as n")
        mine.execute(f"set floodmark.test = {number}")
        ready.wait()
        seen[number] = [
            _rows(mine, "select n from leak")[0][0],
            _rows(mine, "set floodmark.test")[0][1],
        ]

    threads = [threading.Thread(target=node, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: [number, str(number)] for number in range(4)}
    assert _rows(connect(), "show views") == []


def test_parameters_are_applied_once_and_a_later_set_holds(connect):
    mine = connect(**{"spark.sql.shuffle.partitions": "3", "spark.driver.memory": "9g"})
    assert _rows(mine, "set spark.sql.shuffle.partitions")[0][1] == "3"
    mine.execute("set spark.sql.shuffle.partitions = 5")
    assert _rows(mine, "set spark.sql.shuffle.partitions")[0][1] == "5"


def test_settings_without_a_statement_leave_what_was_there(connect):
    partitions, note = "spark.sql.shuffle.partitions", "floodmark.note"
    mine = connect(**{partitions: "3"})
    for value in ("7", "8"):
        mine.set(partitions, value)
        mine.set(note, value)
        assert _rows(mine, f"set {partitions}")[0][1] == value
    assert (mine.get(partitions), mine.get(note)) == ("8", "8")
    for key in (partitions, note):
        mine.reset(key)
    assert _rows(mine, f"set {partitions}")[0][1] == "3"
    assert mine.get(note) is None
    # What a statement set, a reset takes away as Spark's does.
    mine.execute(f"set {note} = 9")
    mine.reset(note)
    assert mine.get(note) is None


@pytest.fixture
def new_york() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


def test_timestamps_are_naive_utc_in_every_time_zone(connect, new_york):
    # 05:30 and 06:30 UTC are both 01:30 in New York, the night the clocks go back.
    moments = [
        dt.datetime(2024, 11, 3, 5, 30, 0, 123456),
        dt.datetime(2024, 11, 3, 6, 30),
        dt.datetime(1899, 12, 31, 23, 59, 59, 999999),
    ]
    literals = [f"timestamp'{moment}'" for moment in moments]
    mine = connect()
    assert _rows(mine, f"select {', '.join(literals)}") == [tuple(moments)]
    nested = (
        f"select array({literals[0]}), map('k', {literals[1]}), named_struct('t', {literals[0]})"
    )
    (row,) = _rows(mine, nested)
    assert (row[0], row[1], row[2].t) == ([moments[0]], {"k": moments[1]}, moments[0])
    assert _rows(mine, "select cast(null as timestamp)") == [(None,)]


def test_description_has_sparks_types(connect):
    mine = connect()
    mine.execute("select 1 as a, array(1L) as b, cast(1 as decimal(5,2)) as c")
    assert [(column[0], column[1]) for column in mine.description] == [
        ("a", "int"),
        ("b", "array<bigint>"),
        ("c", "decimal(5,2)"),
    ]


def test_cancel_stops_the_statement_and_lets_nothing_follow(connect):
    from dbt_common.exceptions import DbtRuntimeError

    mine, failed = connect(), []

    def run() -> None:
        try:
            mine.execute(SLOW)
        except Exception as exc:
            failed.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(3)
    began = time.monotonic()
    mine.cancel()
    thread.join(30)
    assert not thread.is_alive() and failed and time.monotonic() - began < 30
    with pytest.raises(DbtRuntimeError, match="cancelled: this statement was stopped"):
        mine.execute("select 1")
    assert _rows(connect(), "select 1") == [(1,)]


# From here on: dbt in processes of its own.

NOISE = ("\tat ", " WARN ", "Traceback", "incubator", "ivy", "SQLQueryContextLogger")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctrl_c")
    (folder / "models").mkdir()
    (folder / "dbt_project.yml").write_text(
        "{name: shop, version: 1.0.0, profile: shop, flags: {send_anonymous_usage_stats: false}}"
    )
    (folder / "profiles.yml").write_text(
        "{shop: {target: s, outputs: {s: {type: spark, method: session, host: localhost, "
        "schema: shop, threads: 2, "
        "server_side_parameters: {spark.driver.extraJavaOptions: '-XX:TieredStopAtLevel=1'}}, "
        "t: {type: spark, method: thrift, host: 127.0.0.1, user: test, "
        "port: \"{{ env_var('SHOP_PORT', '0') | as_number }}\", schema: ctrl_c, threads: 2, "
        "poll_interval: 1, query_retries: 0}}}}"
    )
    (folder / "models" / "slow.sql").write_text(
        "{{ config(materialized='table', file_format='delta') }} " + SLOW
    )
    (folder / "models" / "quick.sql").write_text("select 1 as id")
    (folder / "models" / "wrong.sql").write_text("select * from not_there")
    return folder


def _start(project: Path, models: str, *options: str, port: int = 0) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "dbt.cli.main",
        "--no-use-colors",
        "run",
        "-s",
        *models.split(),
    ]
    return subprocess.Popen(
        [*command, *options],
        cwd=project,
        env={
            **os.environ,
            "FLOODMARK_HOME": str(project / ".floodmark"),
            "SHOP_PORT": str(port),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # pytest may itself run where Ctrl-C is ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _until(process: subprocess.Popen[str], words: str) -> None:
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"dbt ended before it said {words!r}")


def _expect_ctrl_c_to_end(process: subprocess.Popen[str]) -> None:
    time.sleep(3)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 30, said
    assert "CANCEL query model.shop.slow" in said


def _expect_a_project_that_cannot_be_parsed_to_leave_no_spark(project: Path) -> None:
    """Spark starts while dbt parses: the end of dbt is also that of the JVM, and the next run has the metastore."""
    lost = project / "models" / "lost.sql"
    lost.write_text("select * from {{ ref('not_a_model') }}")
    said, _ = _start(project, "quick").communicate(timeout=60)
    lost.unlink()
    assert "depends on a node named 'not_a_model' which was not found" in said, said
    for noise in NOISE:
        assert noise not in said, said


def test_ctrl_c_lock_and_what_spark_says(project: Path) -> None:
    """Runs that end in each way, and behind each the next one; test_crash_process.py kills one."""
    process = _start(project, "slow")
    _until(process, "START sql")
    said, _ = _start(project, "quick").communicate(timeout=120)
    folder = project / ".floodmark" / "session"
    assert f"The metastore at {folder} is in use by process {process.pid} (" in said
    assert "Derby takes one process at a time: wait until it ends, or have both commands" in said
    _expect_ctrl_c_to_end(process)

    _expect_a_project_that_cannot_be_parsed_to_leave_no_spark(project)
    said, _ = _start(project, "quick wrong").communicate(timeout=180)
    assert "PASS=1" in said and "ERROR=1" in said, said
    assert "[TABLE_OR_VIEW_NOT_FOUND] The table or view `not_there` cannot be found." in said
    assert "SQLSTATE: 42P01 (line " in said
    for noise in NOISE:
        assert noise not in said, said


def test_ctrl_c_on_thrift(project, thrift_port):
    run_sql("thrift", thrift_port, "drop schema if exists ctrl_c cascade")
    process = _start(project, "slow", "-t", "t", port=thrift_port)
    _until(process, "START sql")
    _expect_ctrl_c_to_end(process)
    said, _ = _start(project, "quick", "-t", "t", port=thrift_port).communicate(timeout=180)
    assert "PASS=1" in said, said
    assert run_sql("thrift", thrift_port, "show tables in ctrl_c") == [("ctrl_c", "quick", False)]
    run_sql("thrift", thrift_port, "drop schema ctrl_c cascade")
