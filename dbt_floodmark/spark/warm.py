"""A warm Spark between builds: a server on the session's tables that ends when it is idle."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import FloodmarkError, ServerError, UsageError
from dbt_floodmark.spark.archive import make_in_background
from dbt_floodmark.spark.conf import is_shared_metastore, spark_conf
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.jars import JARS_VARIABLE, jar_folder, require_jars
from dbt_floodmark.spark.java import environment_elsewhere
from dbt_floodmark.spark.lock import WARM_SERVER, MetastoreLock, is_locked, one_process
from dbt_floodmark.spark.processes import is_alive
from dbt_floodmark.spark.server import (
    STOP_TIMEOUT,
    ThriftServer,
    recorded_server,
    running_server,
    start_server,
    stop_server,
)
from dbt_floodmark.versions import __version__

#: The folder of floodmark's home whose tables the server has: those of Spark in the dbt process.
SESSION = "session"
#: `--warm` sets it for a command; 0 says no where the profile says yes.
VARIABLE = "FLOODMARK_WARM"
#: The same as a setting in the profile's ``server_side_parameters``.
SETTING = "spark.floodmark.warm"
#: Minutes without a connection after which the server ends.
IDLE_SETTING = "spark.floodmark.warm.idleMinutes"
IDLE_MINUTES = 15.0

#: Seconds between two looks at who is connected.
_LOOK = 1.0
#: Seconds that another process may take to start the server we both want.
_DOOR_TIMEOUT = 180.0

_YES = ("1", "true", "yes", "on")
_NO = ("0", "false", "no", "off")


def is_wanted(home: Path, parameters: Mapping[str, Any]) -> bool:
    """Tell whether a session target works on the warm server: asked for, or one that runs.

    Raises:
        UsageError: the variable or the setting says neither yes nor no.
    """
    for name, value in (
        (VARIABLE, os.environ.get(VARIABLE)),
        (SETTING, parameters.get(SETTING)),
    ):
        said = "" if value is None else str(value).strip().lower()
        if said in _YES:
            return True
        if said in _NO:
            return False
        if said:
            raise UsageError(f"{name} is '{value}': expected 1 (warm) or 0 (not).")
    # Tables in a metastore that processes share need no server.
    return not is_shared_metastore(parameters) and running(home) is not None


def running(home: Path) -> ThriftServer | None:
    """Return the warm server of ``home``, or None where none runs."""
    return running_server(home, SESSION)


def warm_server(home: Path, parameters: Mapping[str, Any]) -> ThriftServer:
    """Return the warm server of ``home``, started if none runs with these settings.

    Args:
        home: floodmark's home.
        parameters: the target's ``server_side_parameters``.

    Raises:
        MetastoreLockedError: a dbt process has Spark on the same tables.
        ServerError: it did not come up, or one with other settings is in use.
        FloodmarkError: Java or the jars are not ready.
    """
    home = home.resolve()
    idle = _idle_minutes(parameters)
    given = {key: str(value) for key, value in parameters.items()}
    workplace = Workplace.session(home).create()
    wanted = _fingerprint(given)
    with _door(workplace):
        end_orphan(home)
        found = running(home)
        if found is not None and _read_note(workplace) == wanted:
            note_use(found)
            return found
        if found is not None:
            if is_busy(found):
                raise ServerError(
                    f"The warm server (process {found.pid}) was started with other settings, and "
                    "another process uses it: wait until that process ends, or stop the server "
                    "with `floodmark serve stop`."
                )
            stop_warm(found)
        _write_note(workplace, wanted)
        return _start_keeper(workplace, home, given, idle)


def note_use(server: ThriftServer) -> None:
    """Restart the idle timer of the server."""
    with contextlib.suppress(OSError):
        os.utime(_note_file(server.workplace))


def stop_warm(server: ThriftServer) -> None:
    """Stop the warm server, and wait until the process that watched it has gone too."""
    stop_server(server)
    deadline = time.monotonic() + STOP_TIMEOUT
    while is_locked(server.workplace.lock) and time.monotonic() < deadline:
        time.sleep(0.05)


def end_orphan(home: Path) -> None:
    """Stop a warm server whose keeper was killed: nobody would end it, and it has the metastore."""
    found = running(home)
    if found is not None and not is_locked(found.workplace.lock):
        stop_server(found)


def is_busy(server: ThriftServer) -> bool:
    """Tell whether anybody is connected to a server."""
    import psutil

    try:
        links = psutil.Process(server.pid).net_connections("tcp")
    except psutil.Error:
        return False
    return any(
        link.laddr and link.laddr.port == server.port and link.status == psutil.CONN_ESTABLISHED
        for link in links
    )


def keep(home: Path) -> None:
    """Start the server, tell where it is, and end it when it is idle: the keeper's whole life.

    It reads ``{"parameters": {...}, "idle": minutes}`` from its input and answers with one line,
    ``{"pid": ...}`` or ``{"error": class, "message": ...}``.
    """
    order = json.load(sys.stdin)
    # Ctrl-C is not for us, and whoever ends us ends the server with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    workplace = Workplace.session(home)
    lock = MetastoreLock(workplace.lock)
    try:
        end_orphan(home)
        lock.acquire(WARM_SERVER)
        server = start_server(home, parameters=order["parameters"], folder=SESSION)
    except FloodmarkError as exc:
        print(json.dumps({"error": type(exc).__name__, "message": str(exc)}), flush=True)
        return
    try:
        # Whoever asked for it may be gone by now: the server ends when it is idle, as any other.
        with contextlib.suppress(OSError):
            print(json.dumps({"pid": server.pid}), flush=True)
        lock.record_jvm(server.pid)
        _detach()
        make_in_background(spark_conf(workplace, require_jars(), order["parameters"]))
        _stop_when_idle(server, order["idle"] * 60)
    finally:
        stop_server(server)
        lock.release()


def _stop_when_idle(server: ThriftServer, idle: float) -> None:
    """Return when the server has ended, or had nobody for ``idle`` seconds."""
    used, noted = time.monotonic(), _last_noted(server.workplace)
    while is_alive(server.pid):
        time.sleep(_LOOK)
        if is_busy(server) or noted != _last_noted(server.workplace):
            used, noted = time.monotonic(), _last_noted(server.workplace)
        elif time.monotonic() - used > idle:
            # Whoever comes now waits at the door, and finds it gone.
            with _door(server.workplace):
                if not is_busy(server) and noted == _last_noted(server.workplace):
                    stop_server(server)


def _last_noted(workplace: Workplace) -> float:
    try:
        return _note_file(workplace).stat().st_mtime
    except OSError:
        return 0.0


def _detach() -> None:
    """Leave the streams of whoever started us: a pipe that we hold would never end for them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _start_keeper(
    workplace: Workplace, home: Path, parameters: Mapping[str, str], idle: float
) -> ThriftServer:
    with open(workplace.log, "ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "dbt_floodmark.spark.warm", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=workplace.root,
            env=_keeper_environment(),
            start_new_session=True,
        )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    with contextlib.suppress(BrokenPipeError), keeper.stdin as order:
        json.dump({"parameters": dict(parameters), "idle": idle}, order)
    with keeper.stdout as told:
        line = told.readline()
    answer = json.loads(line) if line else {}
    if "message" in answer:
        kinds = {one.__name__: one for one in FloodmarkError.__subclasses__()}
        raise kinds.get(answer["error"], FloodmarkError)(answer["message"])
    server = recorded_server(home, SESSION)
    if "pid" not in answer or server is None:
        raise ServerError(f"The warm server did not start: see its output in {workplace.log}.")
    return server


def _keeper_environment() -> dict[str, str]:
    # A path in it may be relative to the folder here, and the keeper is in another one.
    jars = {JARS_VARIABLE: str(jar_folder())} if os.environ.get(JARS_VARIABLE) else {}
    return {**environment_elsewhere(), **jars}


def _door(workplace: Workplace) -> AbstractContextManager[None]:
    """Let one process at a time start, find or end the server."""
    return one_process(workplace.root / "warm.lock", "the warm server", _DOOR_TIMEOUT)


def _fingerprint(parameters: Mapping[str, str]) -> str:
    """A hash of version, jars, settings and S3 keys.

    A running server with another hash must be restarted.
    """
    jars = [jar.name for jar in require_jars()]
    # With the connector of S3, Spark keeps the keys of the environment in which it was started.
    has_s3 = any(jar.startswith("hadoop-aws-") for jar in jars)
    keys = sorted(one for one in os.environ.items() if has_s3 and one[0].startswith("AWS_"))
    settings = dict(sorted(parameters.items()))
    started_with = [__version__, version("pyspark"), jars, settings, *([keys] if keys else [])]
    return hashlib.sha256(json.dumps(started_with).encode()).hexdigest()


def _idle_minutes(parameters: Mapping[str, Any]) -> float:
    given = parameters.get(IDLE_SETTING, IDLE_MINUTES)
    with contextlib.suppress(TypeError, ValueError):
        if 0 < float(given) < float("inf"):
            return float(given)
    raise UsageError(f"{IDLE_SETTING} is '{given}': expected minutes, such as 15.")


def _note_file(workplace: Workplace) -> Path:
    return workplace.root / "warm"


def _read_note(workplace: Workplace) -> str | None:
    try:
        return _note_file(workplace).read_text("ascii")
    except (OSError, ValueError):
        return None


def _write_note(workplace: Workplace, fingerprint: str) -> None:
    file = _note_file(workplace)
    file.unlink(missing_ok=True)
    # It is of passwords, too.
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(fingerprint)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
