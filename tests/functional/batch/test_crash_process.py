"""Whole processes die: the dbt process with its Spark inside, and the Thrift server under a running build."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from dbt_floodmark.spark.home import Workplace
from tests.support.console import floodmark
from tests.support.faults import Faults, injected
from tests.support.harness import BRIEF_SPARK_PARAMETERS, FULL, REPOSITORY, Project, run_sql

pytestmark = [pytest.mark.edge, pytest.mark.lab]

SOURCE = """
{{ config(materialized='table', file_format='delta') }}
select id as seq, id % 5 as k, timestamp'2026-01-01 00:00:00+00:00' + make_dt_interval(0, 0, id) as at
from range({{ var('n') }})
"""
APPEND = """
{{ config(materialized='incremental', watermark={'column': 'seq'}) }}
select seq, k from {{ ref('events') }} where {{ floodmark.watermark_filter() }}
"""
MERGE = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='k',
          watermark={'column': 'at', 'lookback': '1 minute'}) }}
select k, seq, at from {{ ref('events') }}
{% if is_incremental() %} where {{ floodmark.watermark_filter() }} {% endif %}
"""

STREAM = """
{{ config(materialized='streaming_table', incremental_strategy='merge', unique_key='seq') }}
select seq, k from stream({{ ref('m_append') }})
"""
KILLS = [
    ("m_append", "after: insert into .*batch_log.*'planned'"),
    ("m_append", "before: (create or replace table|insert into) crash_process.m_append"),
    ("m_append", "after: (create or replace table|insert into) crash_process.m_append"),
    # The ledger has not heard yet that m_append is committed.
    ("m_stream", "before: insert into .*batch_log.*'planned'"),
    ("m_merge", "after: insert into .*batch_log.*'planned'"),
    ("m_merge", "before: create table .*stage__"),
    ("m_merge", "after: create table .*stage__"),
    ("m_merge", "before: (create or replace table crash_process.m_merge|merge into)"),
    ("m_merge", "after: (create or replace table crash_process.m_merge|merge into)"),
    # Inside foreachBatch: Spark sends the micro-batch again.
    ("m_stream", "after: insert into .*batch_log.*'planned'"),
    ("m_stream", "before: merge into"),
    ("m_stream", "after: merge into"),
    ("m_stream", "after: insert into .*batch_log.*'committed'"),
]
# The others are cut in process by test_crash.py; m_merge runs beside m_append and dies anywhere.
if not FULL:
    KILLS = [KILLS[number] for number in (3, 11)]


def write_models(project: Project) -> None:
    """One source that grows with variable n, an append and a merge of it."""
    project.model("events", SOURCE)
    project.model("m_append", APPEND)
    project.model("m_merge", MERGE)


def test_sigkill_of_a_session_process(attached: None, tmp_path: Path) -> None:
    project = Project(tmp_path / "project", "session", "crash_process", thrift_port=0)
    project.write_profile(server_side_parameters=BRIEF_SPARK_PARAMETERS)
    write_models(project)
    project.model("m_stream", STREAM)
    home = tmp_path / "home"
    for number, (node, cut) in enumerate(KILLS, start=1):
        assert run_child(project, home, number * 10, {node: cut}) == -signal.SIGKILL, (node, cut)
    assert run_child(project, home, 200, {}) == 0
    assert read(Workplace.session(home).warehouse / "crash_process.db") == {
        "m_append": [[seq, seq % 5] for seq in range(200)],
        "m_merge": [[k, 195 + k] for k in range(5)],
        "m_stream": [[seq, seq % 5] for seq in range(200)],
    }


def run_child(project: Project, home: Path, rows: int, cuts: dict[str, str]) -> int:
    """`dbt run` in a process of its own, killed where ``cuts`` says; its exit status."""
    request = {"args": ["run", "--vars", json.dumps({"n": rows})], "root": str(project.root)}
    return child(home, {**request, "cuts": cuts}).returncode


def read(warehouse: Path) -> dict[str, list[list[int]]]:
    """The tables that the killed processes left, read by the suite's Spark: seq, k (of m_merge k, seq), in order."""
    pair = "seq, k"
    tables = {"m_append": pair, "m_merge": "k, seq", "m_stream": pair}
    return {
        table: sorted(
            [int(value) for value in row]
            for row in run_sql("session", 0, f"select {columns} from delta.`{warehouse / table}`")
        )
        for table, columns in tables.items()
    }


def child(home: Path, request: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """One dbt run in a process of its own, with its own metastore."""
    return subprocess.run(
        [sys.executable, "-m", "tests.support.one_run", json.dumps(request)],
        env={**os.environ, "FLOODMARK_HOME": str(home)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_thrift_server_killed_under_a_merge_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what `floodmark serve` says of one that was never started, one that runs, and one that died."""
    from dbt_floodmark.spark.server import running_server, start_server, stop_server

    monkeypatch.delenv("FLOODMARK_HOME", raising=False)

    def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
        return floodmark("serve", *arguments, cwd=tmp_path, FLOODMARK_HOME=str(tmp_path))

    assert serve("status").returncode == 1
    server = start_server(tmp_path, parameters=BRIEF_SPARK_PARAMETERS)
    try:
        assert "answers" in serve("status").stdout
        again = serve("start")
        assert again.returncode == 1
        assert "use it, or stop it with `floodmark serve stop`." in again.stderr
        project = Project(tmp_path / "project", "thrift", "server_killed", server.port)
        write_models(project)
        project.build("--vars", '{"n": 50}')

        def kill_soon() -> None:
            threading.Timer(0.2, os.kill, (server.pid, signal.SIGKILL)).start()

        with injected(Faults(cuts={"m_merge": "before: merge into"}, act=kill_soon)) as faults:
            run = project.dbt("run", "--vars", '{"n": 100}')
        assert faults.sent["m_merge"][-1].startswith(("merge into", "reset", "describe", "insert"))
        assert not run.success
        started = serve("start", "--port", str(server.port))
        assert started.stdout.startswith("A Spark Thrift server answers at 127.0.0.1:")
        assert not started.stderr
        project.build("--vars", '{"n": 120}')
        rows = project.sql("select seq, k from server_killed.m_append")
        assert Counter(rows) == Counter((seq, seq % 5) for seq in range(120))
        assert Counter(project.sql("select k, seq from server_killed.m_merge")) == Counter(
            (k, 115 + k) for k in range(5)
        )
        assert serve("stop").stdout.strip() == "The Spark Thrift server is stopped."
        assert "No server was started in" in serve("stop").stdout
    finally:
        if running := running_server(tmp_path):
            stop_server(running)
