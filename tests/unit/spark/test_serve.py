"""The Thrift server's process: what it is started with, and which one is ours. No server."""

from __future__ import annotations

import os
import subprocess

import pytest

from dbt_floodmark.spark import server as serve
from dbt_floodmark.spark.conf import without_secrets
from dbt_floodmark.spark.home import Workplace
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
