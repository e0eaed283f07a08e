"""The Thrift server's process: what it is started with, and which one is ours. No server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError

from dbt_floodmark.errors import FloodmarkError, ServerError
from dbt_floodmark.spark import gateway
from dbt_floodmark.spark import server as serve
from dbt_floodmark.spark.conf import without_secrets
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.lock import one_process
from dbt_floodmark.spark.server import ThriftServer


def launch(workplace: Workplace) -> None:
    serve._launch(workplace, serve._server_conf(workplace, [], 10001, {}), [])


def test_what_the_environment_tells_hives_server_is_not_for_ours(tmp_path, monkeypatch):
    started = {}
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **given: started.update(given, command=command)
    )
    monkeypatch.setenv("HIVE_SERVER2_THRIFT_BIND_HOST", "0.0.0.0")
    monkeypatch.setenv("HIVE_SERVER2_THRIFT_PORT", "10000")
    monkeypatch.setenv("JAVA_OPTIONS_OF_MINE", "kept")
    launch(Workplace.thrift(tmp_path).create())
    assert not [name for name in started["env"] if name.startswith("HIVE_")]
    assert started["env"]["JAVA_OPTIONS_OF_MINE"] == "kept"
    assert "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1" in started["command"]


@pytest.mark.parametrize("folder", ["home", "a home"])
def test_only_a_process_with_our_log_is_our_server(tmp_path, monkeypatch, folder):
    home, started, ended = tmp_path / folder, [], []
    workplace = Workplace.thrift(home).create()
    monkeypatch.setattr(subprocess, "Popen", lambda command, **given: started.extend(command))
    launch(workplace)
    server = ThriftServer(os.getpid(), 10001, home)
    serve._write(workplace, server)
    monkeypatch.setattr(serve, "_end", ended.append)

    another = f"java -Dfloodmark.log=/other/thrift/spark.log {serve.MAIN_CLASS} spark-submit"
    monkeypatch.setattr(serve, "command_of", lambda pid: another)
    assert serve.running_server(home) is None
    assert not serve.stop_server(server)
    assert not ended and serve.recorded_server(home) is None
    serve._write(workplace, server)

    monkeypatch.setattr(serve, "command_of", lambda pid: " ".join(started))
    assert serve.running_server(home) == server
    assert serve.stop_server(server)
    assert ended == [os.getpid()]


@pytest.fixture
def starting(tmp_path, monkeypatch):
    """`start_server` in a home where a process of ours would be the server: what was ended."""
    ended: list[int] = []
    process = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
    monkeypatch.setattr(serve, "find_java", lambda: None)
    monkeypatch.setattr(serve, "require_jars", lambda: [])
    monkeypatch.setattr(serve, "_launch", lambda workplace, shown, options: process)
    monkeypatch.setattr(serve, "answers", lambda port: True)
    monkeypatch.setattr(serve, "_end", ended.append)
    return SimpleNamespace(home=tmp_path, ended=ended)


def test_the_answer_of_another_server_is_not_ours(starting):
    """It came to the port while ours was starting."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerError) as caught:
        serve.start_server(starting.home, port)
    assert str(caught.value).startswith(f"Port {port} is in use by another program: choose")
    assert starting.ended == [os.getpid()]
    assert serve.recorded_server(starting.home) is None


def test_a_process_that_listens_is_the_server(starting, monkeypatch):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert serve._listens(os.getpid(), port)
        assert not serve._listens(os.getpid(), 1)
        assert not serve._listens(2**22 + 1, port)
        monkeypatch.setattr(serve, "_is_free", lambda port: True)
        server = serve.start_server(starting.home, port)
    assert server == serve.recorded_server(starting.home) and not starting.ended


def test_a_server_that_cannot_be_recorded_is_ended(starting, monkeypatch):
    def full(workplace, server):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(serve, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        serve.start_server(
            starting.home, parameters={"spark.hadoop.javax.jdo.option.ConnectionPassword": "hush"}
        )
    assert starting.ended == [os.getpid()]
    assert not list((starting.home / "thrift").glob("secret-*"))


def test_one_process_at_a_time_starts_a_server(starting, monkeypatch):
    monkeypatch.setattr(serve, "START_TIMEOUT", 0.1)
    monkeypatch.setattr(serve, "STOP_TIMEOUT", 0.9)
    workplace = Workplace.thrift(starting.home).create()
    with (
        one_process(workplace.root / "server.lock", "it", 1.0),
        pytest.raises(ServerError) as caught,
    ):
        serve.start_server(starting.home)
    assert str(caught.value) == (
        "Another process has been starting this server for 1 s: see `floodmark serve status`."
    )
    assert not starting.ended


@pytest.mark.parametrize("before", [None, "/opt/another-spark"])
def test_a_session_is_pysparks_own_spark(tmp_path, monkeypatch, before):
    """Whatever SPARK_HOME says: another Spark does not fit the jars of Delta."""
    if before:
        monkeypatch.setenv("SPARK_HOME", before)
    else:
        monkeypatch.delenv("SPARK_HOME", raising=False)
    seen = []

    def launch_gateway(*given, **named):
        seen.append(os.environ["SPARK_HOME"])
        raise PySparkRuntimeError("far enough")

    # Tests before may have started one.
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
    with pytest.raises(FloodmarkError, match=r"Spark's JVM ended before it was ready"):
        gateway.launch_jvm(Workplace.session(tmp_path).create(), {})
    assert seen == [os.path.dirname(pyspark.__file__)]
    assert os.environ.get("SPARK_HOME") == before


@pytest.mark.parametrize(
    ("before", "conf", "python"),
    [
        (None, {"spark.master": "local[*]"}, sys.executable),
        (None, {"spark.master": "local[2]", "spark.pyspark.python": "/p/python"}, "/p/python"),
        ("/e/python", {"spark.master": "local[*]"}, "/e/python"),
        # The machines of a cluster have their own.
        (None, {"spark.master": "spark://host:7077"}, None),
    ],
)
def test_workers_on_this_machine_run_on_the_python_of_the_venv(monkeypatch, before, conf, python):
    if before:
        monkeypatch.setenv("PYSPARK_PYTHON", before)
    else:
        monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with gateway._python_of_workers(conf):
        assert os.environ.get("PYSPARK_PYTHON") == python
    assert os.environ.get("PYSPARK_PYTHON") == before


@pytest.mark.parametrize("before", [None, "--jars /a b.jar pyspark-shell"])
def test_a_session_gets_what_no_command_line_may_show(monkeypatch, before):
    """All options of the JVM, where one of them has a password in it."""
    if before:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", before)
    else:
        monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with gateway._submit_options(["--properties-file", "/a home/secret-1"]):
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == (
            f"--properties-file '/a home/secret-1' {before or 'pyspark-shell'}"
        )
    assert os.environ.get("PYSPARK_SUBMIT_ARGS") == before
    with gateway._submit_options([]):
        assert os.environ.get("PYSPARK_SUBMIT_ARGS") == before


@pytest.mark.parametrize(
    "name",
    [
        "fs.s3a.secret.key",
        "fs.s3a.access.key",
        "fs.s3a.encryption.key",
        "spark.sql.catalog.c.s3.access-key-id",
        "fs.azure.account.key.shop.dfs.core.windows.net",
        "fs.azure.sas.in.shop.blob.core.windows.net",
        "fs.azure.sas.fixed.token",
        "fs.gs.auth.service.account.private.key",
        "fs.gs.auth.service.account.private.key.id",
        "javax.jdo.option.ConnectionPassword",
    ],
)
def test_secrets_are_on_no_command_line(name):
    key = name if name.startswith("spark.") else f"spark.hadoop.{name}"
    assert without_secrets({key: "x", "spark.a": "b"}) == ({"spark.a": "b"}, {key: "x"})


def test_what_is_no_secret_is_shown(tmp_path):
    conf = serve.spark_conf(Workplace.thrift(tmp_path), [], serve.ONE_USER_FEW_THREADS)
    assert without_secrets(conf) == (conf, {})
