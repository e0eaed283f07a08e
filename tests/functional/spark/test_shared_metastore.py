"""A metastore on PostgreSQL: `floodmark stream` beside builds on session and on Thrift, over the same tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from dbt_floodmark.spark.server import ThriftServer, start_server, stop_server
from tests.support.console import Console
from tests.support.harness import (
    BRIEF_SPARK_PARAMETERS,
    REPOSITORY,
    Project,
    incremental,
    run_sql,
    sentence,
    table,
)
from tests.support.postgres_server import Database, running_postgres
from tests.support.streams import stream

pytestmark = pytest.mark.edge

SCHEMA = "shared_metastore"
ROUNDS, ROWS = 3, 50
COMMAND = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"


@dataclass
class Shared:
    """A project that two targets run, each in its own process, over one metastore."""

    project: Project
    home: Path
    database: Database

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start `floodmark` on the session target in a process of its own."""
        root = str(self.project.root)
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments, "--project-dir", root],
            env={**os.environ, "NO_COLOR": "1", **self.environment, **environment},
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the processes are told in their environment."""
        return {
            "FLOODMARK_HOME": str(self.home),
            "DBT_PROFILES_DIR": str(self.project.root),
            "METASTORE_URL": self.database.url,
            "DBT_ENV_SECRET_WORD": self.database.password,
        }

    @contextmanager
    def session(self) -> Iterator[Callable[..., tuple[int, str]]]:
        """A process on the session target that runs commands in turn: exit code and what it printed."""
        console, root = Console.start(**self.environment), self.project.root

        def run(*arguments: str) -> tuple[int, str]:
            code, printed = console.run(*arguments, "--project-dir", str(root), cwd=root)
            return code, sentence(printed)

        try:
            yield run
        finally:
            console.stop()

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run it to its end: exit code and what it printed."""
        process = self.start(*arguments, **environment)
        printed = process.communicate(timeout=300)[0]
        return process.returncode, sentence(printed)

    @property
    def parameters(self) -> dict[str, str]:
        """Spark's settings for the metastore."""
        option = "spark.hadoop.javax.jdo.option.Connection"
        return BRIEF_SPARK_PARAMETERS | {
            f"{option}URL": self.database.url,
            f"{option}DriverName": "org.postgresql.Driver",
            f"{option}UserName": self.database.user,
            f"{option}Password": self.database.password,
        }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    with running_postgres() as database:
        project = Project(folder / "project", "thrift", SCHEMA, thrift_port=0)
        made = Shared(project, folder / "home", database)
        _write_profile(made, 0)
        yield made


def _write_profile(shared: Shared, port: int) -> None:
    """Two targets: `thrift` for the test's own process, `session` for others."""
    parameters = shared.parameters | {
        "spark.hadoop.javax.jdo.option.ConnectionURL": "{{ env_var('METASTORE_URL') }}",
        "spark.hadoop.javax.jdo.option.ConnectionPassword": "{{ env_var('DBT_ENV_SECRET_WORD') }}",
    }
    session = {"type": "spark", "method": "session", "host": "x", "schema": SCHEMA, "threads": 4}
    thrift = {"type": "spark", "method": "thrift", "host": "127.0.0.1", "port": port, "user": "x"}
    thrift |= {"schema": SCHEMA, "threads": 4, "poll_interval": 1, "query_retries": 0}
    outputs = {"session": session | {"server_side_parameters": parameters}, "thrift": thrift}
    profile = {"shop": {"target": "session", "outputs": outputs}}
    (shared.project.root / "profiles.yml").write_text(json.dumps(profile))
    shared.project.thrift_port = port


@pytest.fixture(scope="module")
def server(shared: Shared) -> Iterator[ThriftServer]:
    """A Thrift server on the same metastore, whose tables exist by then."""
    with shared.session() as run:
        for found in ("now has", "has"):
            code, said = run("setup", "--metastore", "session")
            assert code == 0 and f"The metastore of session {found} Hive's tables." in said, said
    started = start_server(shared.home, parameters=shared.parameters)
    _write_profile(shared, started.port)
    yield started
    stop_server(started)


def test_what_is_said_before_it_can_be_used(shared: Shared, tmp_path: Path) -> None:
    """No driver, no tables, a wrong password, a target with Derby."""
    (shared.project.root / "models" / "one.sql").write_text("select 1 as id")
    code, said = shared.run("setup", "--metastore", "nowhere")
    assert code == 2 and "does not have a target named 'nowhere'" in said
    code, said = shared.run("setup", "--metastore", "thrift")
    assert code == 1
    assert (
        "Its metastore is not in PostgreSQL: Derby and metastore servers create their tables themselves; for "
        "other databases use Hive's schematool." in said
    )
    code, said = shared.run("setup", "--metastore", "session", DBT_ENV_SECRET_WORD="wrong")
    assert code == 1
    assert (
        f"The metastore at {shared.database.url} said: FATAL: password authentication failed"
        in said
    )
    code, said = shared.run("run")
    assert code != 0
    assert (
        "The metastore's database has none of Hive's tables yet: create them once with `floodmark setup --metastore "
        "TARGET`, where TARGET is the target of the profile." in said
    )
    bare = tmp_path / "jars"
    bare.mkdir()
    from dbt_floodmark.spark.jars import JARS, jar_folder

    for name in JARS:
        (bare / name).symlink_to(jar_folder() / name)
    code, said = shared.run("run", FLOODMARK_JARS=str(bare))
    assert code != 0
    assert (
        f"The metastore is on PostgreSQL and its JDBC driver is not in {bare}: run `floodmark setup --with "
        "postgresql` once." in said
    )
    (shared.project.root / "models" / "one.sql").unlink()


def test_a_stream_beside_builds_on_session_and_thrift(shared: Shared, server: ThriftServer) -> None:
    """Rows come by builds over Thrift and on a session; a stream of another process passes them on; nothing is lost or doubled."""
    project = shared.project

    def sql(statement: str) -> list[tuple[Any, ...]]:
        return run_sql("thrift", server.port, statement)

    sql(f"create schema {SCHEMA}")
    sql(f"create table {SCHEMA}.events (seq bigint, k bigint) using delta")
    project.source("events")
    project.model("bronze", incremental(table("events"), watermark={"column": "seq"}))
    project.model(
        "streamed",
        stream(
            "select seq, k from stream({{ ref('bronze') }})",
            incremental_strategy="merge",
            unique_key="seq",
            trigger={"processing_time": "1 second"},
        ),
    )
    over_thrift = ("--select", "bronze", "--target", "thrift")

    def arrive(number: int) -> None:
        first = number * ROWS
        sql(
            f"insert into {SCHEMA}.events select id, id % 7 from range({first + 1}, {first + ROWS + 1})"
        )

    arrive(0)
    project.build(*over_thrift)
    streaming = shared.start("stream")
    try:
        _wait_for(lambda: _count(sql, "streamed") == ROWS, streaming)
        commands = [
            " ".join(process.info["cmdline"] or ())
            for process in psutil.process_iter(["name", "cmdline"])
            if process.info["name"] == "java"
        ]
        assert commands and not any(shared.database.password in one for one in commands)
        arrive(1)
        project.build(*over_thrift)
        arrive(2)
        with shared.session() as run:
            code, said = run("run", "--select", "bronze")
            assert code == 0, said
            code, said = run("doctor")
            assert "for many processes at a time" in said
            _wait_for(lambda: _count(sql, "streamed") == ROUNDS * ROWS, streaming)
            code, said = run("run", "--select", "streamed")
            assert code == 1 and f"the stream {SCHEMA}.streamed is run by process" in said, said
    finally:
        streaming.send_signal(signal.SIGTERM)
        printed = streaming.communicate(timeout=120)[0]
    assert streaming.returncode == 0, printed
    for name in ("bronze", "streamed"):
        assert sql(f"select count(*), count(distinct seq) from {SCHEMA}.{name}") == [
            (ROUNDS * ROWS, ROUNDS * ROWS)
        ]
    batches = sql(
        f"select model, batch_id, state from {SCHEMA}_floodmark.batches order by model, batch_id"
    )
    for name in ("bronze", "streamed"):
        own = [row[1:] for row in batches if row[0] == f"{SCHEMA}.{name}"]
        assert own == [(n, "committed") for n in range(1, len(own) + 1)] and len(own) >= 2, own


def _count(sql: Callable[[str], list[tuple[Any, ...]]], name: str) -> int:
    try:
        return int(sql(f"select count(*) from {SCHEMA}.{name}")[0][0])
    except Exception as exc:  # not there yet
        assert "TABLE_OR_VIEW_NOT_FOUND" in str(exc)
        return 0


def _wait_for(
    is_so: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120
) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the stream did not come so far"
        time.sleep(0.5)
