"""A local Spark Thrift server in the background: warm, and open to many processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import MetastoreLockedError, ServerError
from dbt_floodmark.spark.archive import fast_start
from dbt_floodmark.spark.conf import log_option, spark_conf, without_secrets
from dbt_floodmark.spark.home import Workplace, pyspark_home
from dbt_floodmark.spark.jars import require_jars, require_metastore_driver
from dbt_floodmark.spark.java import environment_elsewhere, find_java
from dbt_floodmark.spark.lock import locked_sentence, one_process
from dbt_floodmark.spark.messages import NO_HIVE_TABLES, VERSION_NOT_FOUND, is_derby_locked
from dbt_floodmark.spark.processes import command_of, is_alive
from dbt_floodmark.spark.properties import properties_options

HOST = "127.0.0.1"
DEFAULT_PORT = 10000
MAIN_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"

#: Hive's server runs each statement on a new thread until it has a hundred, and each session as a
#: user of its own; either makes Hive open its metastore anew (docs/decisions/0006).
ONE_USER_FEW_THREADS = {
    "spark.hadoop.hive.server2.enable.doAs": "false",
    "spark.hadoop.hive.server2.async.exec.threads": "16",
    "spark.hadoop.hive.server2.async.exec.keepalive.time": "1h",
    "spark.hadoop.hive.server2.thrift.worker.keepalive.time": "1h",
}

#: How long the server holds an answer about a statement that still runs (Hive: five seconds); a
#: client can cancel only between two.
SHORT_POLLS = {"spark.hadoop.hive.server2.long.polling.timeout": "1s"}

#: Seconds a server may take to answer its first statement.
START_TIMEOUT = 120.0
#: Seconds it may take later to answer one; a busy server takes tens of them.
ANSWERS_WITHIN = 60.0
#: Seconds it may take to leave before it is killed.
STOP_TIMEOUT = 15.0


#: The folder of floodmark's home in which `floodmark serve start` has its server.
THRIFT = "thrift"


@dataclass(frozen=True)
class ThriftServer:
    """A running server: process id, port on 127.0.0.1, floodmark's home, and its folder there."""

    pid: int
    port: int
    home: Path
    folder: str = THRIFT

    @property
    def workplace(self) -> Workplace:
        """Its warehouse, metastore and log."""
        return Workplace(self.home / self.folder)


def start_server(
    home: Path, port: int = 0, parameters: Mapping[str, str] | None = None, folder: str = THRIFT
) -> ThriftServer:
    """Start a server with warehouse and metastore under ``home`` and wait until it answers.

    Args:
        home: floodmark's home.
        port: port on 127.0.0.1; 0 takes a free one.
        parameters: Spark settings that win over floodmark's.
        folder: the folder of ``home`` in which the server's files are.

    Raises:
        JavaError: no fitting Java.
        JarsError: the Delta jars are missing.
        MetastoreLockedError: another process has the metastore open.
        ServerError: one runs already, the port is in use, or it did not come up.
    """
    workplace = Workplace(home.resolve() / folder).create()
    seconds = START_TIMEOUT + STOP_TIMEOUT
    with one_process(workplace.root / "server.lock", "this server", seconds):
        running = running_server(home, folder)
        if running is not None:
            raise ServerError(
                f"A server already runs at {HOST}:{running.port} (process {running.pid}): use it, "
                "or stop it with `floodmark serve stop`."
            )
        find_java()
        jars = require_jars()
        chosen = port or _free_port()
        if not _is_free(chosen):
            raise ServerError(_port_is_used(chosen))
        return _start(workplace, folder, jars, chosen, parameters or {})


def _start(
    workplace: Workplace,
    folder: str,
    jars: list[Path],
    port: int,
    parameters: Mapping[str, str],
) -> ThriftServer:
    began = workplace.log.stat().st_size if workplace.log.exists() else 0
    conf = _server_conf(workplace, jars, port, parameters)
    shown, secret = without_secrets(conf)
    with properties_options(workplace, secret) as options:
        process = _launch(workplace, shown, options)
        server = ThriftServer(process.pid, port, workplace.root.parent, folder)
        try:
            _write(workplace, server)
            _wait_until_it_answers(workplace, process, port, began)
        except BaseException:
            _end(process.pid)
            _state_file(workplace).unlink(missing_ok=True)
            raise
    return server


def _port_is_used(port: int) -> str:
    return (
        f"Port {port} is in use by another program: choose another with `floodmark serve start "
        f"--port {port + 1}` and FLOODMARK_THRIFT_PORT={port + 1}, or stop that program."
    )


def stop_server(server: ThriftServer) -> bool:
    """Stop a server: it is asked to leave, and killed when it does not.

    Returns:
        False where it had ended before; a process that came to its id is left alone.
    """
    is_running = is_alive(server.pid) and _is_ours(server)
    if is_running:
        _end(server.pid)
    _state_file(server.workplace).unlink(missing_ok=True)
    return is_running


def running_server(home: Path, folder: str = THRIFT) -> ThriftServer | None:
    """Return the server that was started in ``home`` and is still alive, or None."""
    server = recorded_server(home, folder)
    return server if server and is_alive(server.pid) and _is_ours(server) else None


def recorded_server(home: Path, folder: str = THRIFT) -> ThriftServer | None:
    """Return the server that the state file names, alive or not."""
    try:
        state = json.loads(_state_file(Workplace(home.resolve() / folder)).read_text("utf-8"))
        return ThriftServer(int(state["pid"]), int(state["port"]), home.resolve(), folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def answers(port: int) -> bool:
    """Tell whether a server of `start_server` runs a statement at a port."""
    if _is_free(port):
        return False
    try:
        ask(HOST, port, username="floodmark")
    except ImportError:
        raise
    except Exception:
        # Whatever it is, refused or half started: it does not answer.
        return False
    return True


def ask(host: str, port: int, *, seconds: float = ANSWERS_WITHIN, **login: Any) -> None:
    """Have a Spark Thrift server run a statement.

    Args:
        host: where it is.
        port: and its port there.
        seconds: how long it may take; what listens may be no Thrift server and never answer.
        login: user, password and auth, as pyhive takes them.

    Raises:
        TimeoutError: no answer within ``seconds``.
        Exception: pyhive's or thrift's own, where it does not run it.
    """
    failed: list[Exception] = []

    def run() -> None:
        try:
            _select_1(host, port, **login)
        except Exception as exc:
            failed.append(exc)

    # pyhive takes no time limit, and a thread that still waits must not keep the process.
    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    asking.join(seconds)
    if asking.is_alive():
        raise TimeoutError(f"no answer within {seconds:g} s")
    if failed:
        raise failed[0]


def _select_1(host: str, port: int, **login: Any) -> None:
    import logging

    from pyhive import hive

    logging.getLogger("thrift.transport.TSocket").setLevel(logging.CRITICAL)
    link = hive.connect(host=host, port=port, **login)
    try:
        cursor = link.cursor()
        cursor.execute("select 1")
        cursor.fetchall()
    finally:
        # Spark 4.2's server may fail here, as FloodmarkThrift.close has it.
        with contextlib.suppress(Exception):
            link.close()


def is_open(host: str, port: int) -> bool:
    """Tell whether anything listens at a port."""
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def _server_conf(
    workplace: Workplace, jars: list[Path], port: int, parameters: Mapping[str, str]
) -> dict[str, str]:
    conf = spark_conf(
        workplace,
        jars,
        {
            "spark.app.name": "floodmark-thrift",
            "spark.hadoop.hive.server2.thrift.port": str(port),
            "spark.hadoop.hive.server2.thrift.bind.host": HOST,
            **ONE_USER_FEW_THREADS,
            **SHORT_POLLS,
            **parameters,
        },
    )
    require_metastore_driver(conf)
    return fast_start(conf, stays=True)


def _launch(
    workplace: Workplace, shown: Mapping[str, str], options: list[str]
) -> subprocess.Popen[bytes]:
    spark_home = pyspark_home()
    command = [str(spark_home / "bin" / "spark-submit"), "--class", MAIN_CLASS]
    for key, value in shown.items():
        command += ["--conf", f"{key}={value}"]
    command += [*options, "spark-internal"]
    with open(workplace.log, "ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=workplace.root,
            env=_environment(spark_home),
            # A Ctrl-C in the terminal that started it is not meant for the server.
            start_new_session=True,
        )


def _environment(spark_home: Path) -> dict[str, str]:
    # What Hive's own server is told in the environment (host, port) goes before our settings.
    given = environment_elsewhere()
    kept = {key: value for key, value in given.items() if not key.startswith("HIVE_SERVER2_")}
    return {**kept, "SPARK_HOME": str(spark_home)}


def _wait_until_it_answers(
    workplace: Workplace, process: subprocess.Popen[bytes], port: int, began: int
) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if process.poll() is not None:
            with open(workplace.log, "rb") as log:
                log.seek(began)
                said = log.read().decode("utf-8", "replace")
            if is_derby_locked(said):
                raise MetastoreLockedError(locked_sentence(workplace.lock))
            if VERSION_NOT_FOUND in said:
                raise ServerError(NO_HIVE_TABLES)
            raise ServerError(
                f"The server ended before it answered: see its output in {workplace.log}."
            )
        if answers(port):
            if not _listens(process.pid, port):
                # Another server came to the port while this one started.
                raise ServerError(_port_is_used(port))
            return
        time.sleep(0.2)
    raise ServerError(
        f"The server did not answer within {START_TIMEOUT:.0f} s: "
        f"see its output in {workplace.log}."
    )


def _listens(pid: int, port: int) -> bool:
    """Tell whether a process listens at a port; yes, where nobody may ask."""
    import psutil

    try:
        links = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
    return any(
        link.laddr and link.laddr.port == port and link.status == psutil.CONN_LISTEN
        for link in links
    )


def _end(pid: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + STOP_TIMEOUT
        while is_alive(pid) and time.monotonic() < deadline:
            # When it is our child it must be reaped to be gone.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.05)
        if not is_alive(pid):
            return


def _is_ours(server: ThriftServer) -> bool:
    """Tell whether its process is still the server, and not one that came to the same id."""
    return log_option(server.workplace) in command_of(server.pid)


def _state_file(workplace: Workplace) -> Path:
    return workplace.root / "server.json"


def _write(workplace: Workplace, server: ThriftServer) -> None:
    state = {**asdict(server), "home": str(server.home)}
    _state_file(workplace).write_text(json.dumps(state), "utf-8")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
