"""The warm server: when it is wanted, which one fits, and what goes wrong. No server."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
from pathlib import Path

import click
import pytest

from dbt_floodmark.cli.dbt_commands import without_warm
from dbt_floodmark.errors import JarsError, MetastoreLockedError, ServerError, UsageError
from dbt_floodmark.spark import warm
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.lock import WARM_SERVER, MetastoreLock, locked_sentence
from dbt_floodmark.spark.server import ThriftServer, _environment


@pytest.fixture(autouse=True)
def _not_asked_for(monkeypatch):
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    monkeypatch.setattr(warm, "require_jars", lambda: [])


@pytest.fixture
def running(tmp_path, monkeypatch):
    """A server of these settings, as far as its files tell."""
    server = ThriftServer(os.getpid(), 1, tmp_path, warm.SESSION)
    monkeypatch.setattr(warm, "running_server", lambda home, folder: server)
    monkeypatch.setattr(warm, "is_locked", lambda path: True)
    warm._write_note(Workplace.session(tmp_path).create(), warm._fingerprint({"a": "1"}))
    return server


@pytest.mark.parametrize(
    ("variable", "setting", "wanted"),
    [
        (None, None, False),
        ("1", None, True),
        (None, "true", True),
        (None, True, True),
        ("0", "true", False),
        ("1", "false", True),
        ("", "ON", True),
        (None, "no", False),
    ],
)
def test_who_asks_for_it(tmp_path, monkeypatch, variable, setting, wanted):
    if variable is not None:
        monkeypatch.setenv(warm.VARIABLE, variable)
    parameters = {} if setting is None else {warm.SETTING: setting}
    assert warm.is_wanted(tmp_path, parameters) is wanted


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://h/m"},
        {"spark.hadoop.hive.metastore.uris": "thrift://h:9083"},
    ],
)
def test_a_target_on_a_shared_metastore_has_other_tables(running, tmp_path, monkeypatch, setting):
    assert not warm.is_wanted(tmp_path, setting)
    monkeypatch.setenv(warm.VARIABLE, "1")
    assert warm.is_wanted(tmp_path, setting)


def test_one_that_runs_is_used_unless_somebody_says_no(running, tmp_path, monkeypatch):
    assert warm.is_wanted(tmp_path, {})
    assert not warm.is_wanted(tmp_path, {warm.SETTING: "false"})
    monkeypatch.setenv(warm.VARIABLE, "0")
    assert not warm.is_wanted(tmp_path, {})


def test_neither_yes_nor_no(tmp_path, monkeypatch):
    with pytest.raises(UsageError) as caught:
        warm.is_wanted(tmp_path, {warm.SETTING: "hot"})
    assert str(caught.value) == "spark.floodmark.warm is 'hot': expected 1 (warm) or 0 (not)."
    monkeypatch.setenv(warm.VARIABLE, "maybe")
    with pytest.raises(UsageError) as caught:
        warm.is_wanted(tmp_path, {})
    assert str(caught.value) == "FLOODMARK_WARM is 'maybe': expected 1 (warm) or 0 (not)."


def test_with_s3_other_keys_are_other_settings(monkeypatch, tmp_path):
    """A server keeps those of the environment in which it was started; without S3 nobody asks."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "one")
    without, jar = warm._fingerprint({}), tmp_path / "hadoop-aws-3.5.0.jar"
    monkeypatch.setattr(warm, "require_jars", lambda: [jar])
    first = warm._fingerprint({})
    assert first == warm._fingerprint({})
    monkeypatch.setenv("AWS_SESSION_TOKEN", "two")
    assert first != warm._fingerprint({})
    monkeypatch.setattr(warm, "require_jars", lambda: [])
    assert without == warm._fingerprint({})


@pytest.mark.parametrize("minutes", ["soon", "0", "-1", "inf", "nan", None, ""])
def test_minutes(tmp_path, minutes):
    with pytest.raises(UsageError) as caught:
        warm.warm_server(tmp_path, {warm.IDLE_SETTING: minutes})
    assert str(caught.value) == (
        f"spark.floodmark.warm.idleMinutes is '{minutes}': expected minutes, such as 15."
    )


def test_the_same_settings_find_it(running, tmp_path):
    before = warm._last_noted(running.workplace)
    os.utime(warm._note_file(running.workplace), (0, 0))
    assert warm.warm_server(tmp_path, {"a": 1}) == running
    assert warm._last_noted(running.workplace) >= before


def test_other_settings_beside_somebody_who_uses_it(running, tmp_path, monkeypatch):
    monkeypatch.setattr(warm, "is_busy", lambda server: True)
    with pytest.raises(ServerError) as caught:
        warm.warm_server(tmp_path, {"a": "2"})
    assert str(caught.value) == (
        f"The warm server (process {os.getpid()}) was started with other settings, and another "
        "process uses it: wait until that process ends, or stop the server with "
        "`floodmark serve stop`."
    )


def test_other_settings_begin_anew(running, tmp_path, monkeypatch):
    happened = []
    monkeypatch.setattr(warm, "is_busy", lambda server: False)
    monkeypatch.setattr(warm, "stop_warm", lambda server: happened.append("stopped"))
    monkeypatch.setattr(
        warm, "_start_keeper", lambda place, home, given, idle: happened.append((given, idle))
    )
    warm.warm_server(tmp_path, {"a": "2", warm.IDLE_SETTING: 2})
    assert happened == ["stopped", ({"a": "2", warm.IDLE_SETTING: "2"}, 2.0)]
    note = warm._note_file(running.workplace)
    assert note.read_text() == warm._fingerprint({"a": "2", warm.IDLE_SETTING: "2"})
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_a_server_without_its_keeper_is_not_used(running, tmp_path, monkeypatch):
    """Nobody would end it, and nobody else would know that the metastore is taken."""
    servers, happened = [running], []
    monkeypatch.setattr(warm, "is_locked", lambda path: False)
    monkeypatch.setattr(warm, "running_server", lambda home, folder: servers[0])
    monkeypatch.setattr(warm, "stop_server", lambda server: servers.__setitem__(0, None))
    monkeypatch.setattr(warm, "_start_keeper", lambda *given: happened.append("started"))
    warm.warm_server(tmp_path, {"a": "1"})
    assert happened == ["started"]


@pytest.mark.parametrize("kind", [JarsError, MetastoreLockedError, ServerError])
def test_what_the_keeper_says_is_the_commands_error(tmp_path, monkeypatch, kind):
    answer = json.dumps({"error": kind.__name__, "message": "why: what to do."})
    keeper_says(tmp_path, monkeypatch, f"print({answer!r})")
    with pytest.raises(kind, match=r"^why: what to do\.$"):
        warm.warm_server(tmp_path, {})


@pytest.mark.parametrize("said", ["", "raise SystemExit(3)"])
def test_a_keeper_that_dies(tmp_path, monkeypatch, said):
    keeper_says(tmp_path, monkeypatch, said)
    with pytest.raises(ServerError) as caught:
        warm.warm_server(tmp_path, {})
    assert str(caught.value) == (
        f"The warm server did not start: see its output in {tmp_path / 'session' / 'spark.log'}."
    )


def test_relative_paths_of_the_environment_are_those_of_the_command(tmp_path, monkeypatch):
    """The keeper is in the folder of the tables, and so is the server that it starts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLOODMARK_JARS", "lib/jars")
    monkeypatch.setenv("JAVA_HOME", "lib/java")
    told = "os.environ['FLOODMARK_JARS'] + ' ' + os.environ['JAVA_HOME'] + ' ' + os.getcwd()"
    code = f"import json, os; print(json.dumps({{'error': 'JarsError', 'message': {told}}}))"
    keeper_says(tmp_path, monkeypatch, code)
    with pytest.raises(JarsError) as caught:
        warm.warm_server(tmp_path / "home", {})
    lib = tmp_path / "lib"
    assert str(caught.value) == f"{lib / 'jars'} {lib / 'java'} {tmp_path / 'home' / 'session'}"
    assert _environment(Path("/spark"))["JAVA_HOME"] == str(lib / "java")
    # Those that are not there stay so.
    monkeypatch.delenv("FLOODMARK_JARS")
    monkeypatch.delenv("JAVA_HOME")
    assert not {"FLOODMARK_JARS", "JAVA_HOME"} & set(warm._keeper_environment())


def test_a_server_whose_command_died_ends_when_it_is_idle(tmp_path, monkeypatch):
    """Nobody reads where it is any more, and still it is watched and stopped."""
    server = ThriftServer(os.getpid(), 1, tmp_path, warm.SESSION)
    Workplace.session(tmp_path).create()
    happened = []
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(warm.sys, "stdin", io.StringIO('{"parameters": {}, "idle": 2}'))
    monkeypatch.setattr(warm.sys, "stdout", os.fdopen(writing, "w"))
    monkeypatch.setattr(warm.signal, "signal", lambda *given: None)
    monkeypatch.setattr(warm, "end_orphan", lambda home: None)
    monkeypatch.setattr(warm, "start_server", lambda *given, **more: server)
    monkeypatch.setattr(warm, "_detach", lambda: None)
    monkeypatch.setattr(warm, "make_in_background", lambda conf: None)
    monkeypatch.setattr(warm, "_stop_when_idle", lambda found, idle: happened.append((found, idle)))
    monkeypatch.setattr(warm, "stop_server", lambda found: happened.append("stopped"))
    warm.keep(tmp_path)
    assert happened == [(server, 120), "stopped"]
    with pytest.raises(BrokenPipeError):
        warm.sys.stdout.close()


def keeper_says(tmp_path, monkeypatch, code):
    """A keeper that runs this code instead."""
    fake = tmp_path / "python"
    fake.write_text(f"#!{sys.executable}\n{code}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(warm.sys, "executable", str(fake))


def test_who_is_connected():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = ThriftServer(os.getpid(), listening.getsockname()[1], None, warm.SESSION)
        assert not warm.is_busy(server)
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            assert warm.is_busy(server)
            accepted.close()
        assert not warm.is_busy(server)


def test_nobody_is_connected_to_a_process_that_is_gone():
    assert not warm.is_busy(ThriftServer(2**22, 1, None, warm.SESSION))


def test_who_has_the_metastore(tmp_path):
    lock = MetastoreLock(tmp_path / "lock")
    lock.acquire(WARM_SERVER)
    lock.record_jvm(1)
    assert locked_sentence(lock.path) == (
        f"The metastore at {tmp_path} is in use by the warm server (process {os.getpid()}), and "
        "Derby takes one process at a time: stop that server with `floodmark serve stop`, or have "
        "this command work on it, too, with FLOODMARK_WARM=1 in the environment (a stream cannot)."
    )
    lock.release()


def test_its_option_is_not_dbts(monkeypatch):
    """And it holds for its command alone."""
    for before in (None, "1"):
        if before:
            monkeypatch.setenv(warm.VARIABLE, before)
        with click.Context(click.Command("run")):
            assert without_warm(["-s", "a", "--warm", "b"]) == ("-s", "a", "b")
            assert os.environ[warm.VARIABLE] == "1"
            assert without_warm(["--no-warm"]) == ()
            assert os.environ[warm.VARIABLE] == "0"
            assert without_warm(["-s", "a"]) == ("-s", "a")
            assert os.environ[warm.VARIABLE] == "0"
        assert os.environ.get(warm.VARIABLE) == before
