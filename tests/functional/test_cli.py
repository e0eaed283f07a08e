"""The command: a new project builds, status and doctor tell, the server starts and stops."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dbt_floodmark.errors import ServerError
from dbt_floodmark.serve import ThriftServer, start_server, stop_server
from tests.harness import BRIEF_SPARK_PARAMETERS


def _floodmark(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("FLOODMARK_HOME", "FLOODMARK_THRIFT_PORT")
    }
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env={**clean, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    assert _floodmark("init", "shop", cwd=folder).returncode == 0
    profiles = folder / "shop" / "profiles" / "profiles.yml"
    written = yaml.safe_load(profiles.read_text())
    written["shop"]["outputs"]["session"]["server_side_parameters"] = BRIEF_SPARK_PARAMETERS
    profiles.write_text(yaml.safe_dump(written))
    return folder / "shop"


def test_no_ledger_yet(shop):
    answer = _floodmark("status", cwd=shop)
    assert answer.stdout.strip() == (
        "There is no ledger yet: it appears with the first `floodmark build`."
    ), answer.stderr


def test_a_new_project_loads_only_what_is_new(shop):
    first = _floodmark("build", "--project-dir", "shop", cwd=shop.parent)
    assert first.returncode == 0, first.stdout + first.stderr
    with open(shop / "seeds" / "raw_events.csv", "a", encoding="utf-8") as seed:
        seed.write("4,Barbara,1.00,2024-05-03 12:00:00\n")
    second = _floodmark(
        "build", "--project-dir", "shop", "--profiles-dir", "shop/profiles", cwd=shop.parent
    )
    assert second.returncode == 0, second.stdout + second.stderr
    answer = _floodmark("history", "events", "--json", cwd=shop)
    batches = json.loads(answer.stdout)["batches"]
    assert batches[0]["high"] == "2024-05-03 12:00:00.000000"
    assert [(one["kind"], one["state"], one["rows_read"]) for one in batches] == [
        ("incremental", "committed", 1),
        ("first_load", "committed", 3),
    ]


def test_exit_codes_are_dbts(shop):
    assert _floodmark("build", "--nope", cwd=shop).returncode == 2
    assert _floodmark("run", "-t", "nope", cwd=shop).returncode == 2


def test_doctor(shop):
    assert _floodmark("doctor", cwd=shop).returncode == 0
    answer = _floodmark("doctor", "-t", "thrift", cwd=shop, FLOODMARK_THRIFT_PORT="1")
    assert answer.returncode == 1
    assert "none answers at 127.0.0.1:1" in answer.stdout
    assert "run `floodmark serve start`" in answer.stdout


def test_no_server_answers(shop):
    answer = _floodmark("run", "-t", "thrift", cwd=shop, FLOODMARK_THRIFT_PORT="1")
    assert answer.returncode == 2
    assert (
        "No Spark Thrift server answers at 127.0.0.1:1: start one with `floodmark serve start`."
    ) in answer.stdout


def test_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerError) as caught:
            start_server(tmp_path, port)
    assert str(caught.value) == (
        f"Port {port} is in use by another program: choose another with `floodmark serve start "
        f"--port {port + 1}` and FLOODMARK_THRIFT_PORT={port + 1}, or stop that program."
    )


def test_a_foreign_process_is_left_alone(tmp_path):
    server = ThriftServer(os.getpid(), 1, tmp_path)
    with pytest.raises(ServerError) as caught:
        stop_server(server)
    assert str(caught.value) == (
        f"Process {os.getpid()} is not floodmark's server any more and is left alone: remove "
        f"{tmp_path / 'thrift' / 'server.json'} if the server is gone."
    )


def test_serve(shop):
    assert _floodmark("serve", "status", cwd=shop).returncode == 1
    started = _floodmark("serve", "start", "--port", "0", cwd=shop)
    try:
        assert started.stdout.startswith("A Spark Thrift server answers at 127.0.0.1:")
        assert not started.stderr
        assert "answers" in _floodmark("serve", "status", cwd=shop).stdout
        again = _floodmark("serve", "start", cwd=shop)
        assert again.returncode == 1
        assert "use it, or stop it with `floodmark serve stop`." in again.stderr
    finally:
        stopped = _floodmark("serve", "stop", cwd=shop)
    assert stopped.stdout.strip() == "The Spark Thrift server is stopped."
    assert "No server was started in" in _floodmark("serve", "stop", cwd=shop).stdout
