"""How dbt-spark's connections open, fail and are cancelled with floodmark."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, ConnectionState, LazyHandle
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_floodmark.adapter.ahead import await_start, start_ahead
from dbt_floodmark.adapter.catching import SparkRefused
from dbt_floodmark.adapter.warm import choose, find_server, is_warm
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.spark.home import Workplace, resolve_home
from dbt_floodmark.spark.lock import locked_sentence
from dbt_floodmark.spark.messages import (
    CANCELLED,
    heads,
    is_derby_locked,
    is_unsettled,
    readable,
)

logger = AdapterLogger("Floodmark")


def remember_project(original: Callable[..., None]) -> Callable[..., None]:
    """Have credentials know their project, and a session choose and start its Spark."""

    def init(self: Any, profile: Any, mp_context: Any) -> None:
        original(self, profile, mp_context)
        # Credentials travel to every connection, the project's folder does not.
        profile.credentials._floodmark_root = getattr(profile, "project_root", None)
        if profile.credentials.method == SparkConnectionMethod.SESSION:
            home = project_home(profile.credentials)
            choose(profile.credentials, home)
            start_ahead(profile.credentials, home)

    return init


def open_connection_of_own(original: Callable[..., Any]) -> Callable[..., Any]:
    """Open sessions and Thrift connections as floodmark's; others as dbt-spark does."""

    def open_connection(cls: Any, connection: Any) -> Any:
        if connection.state == ConnectionState.OPEN:
            return connection
        method = connection.credentials.method
        if method == SparkConnectionMethod.SESSION:
            return _open_session(connection)
        if method == SparkConnectionMethod.THRIFT:
            return _open_thrift(original, cls, connection)
        return original(cls, connection)

    return open_connection


def _open_session(connection: Any) -> Any:
    from dbt_floodmark.adapter.session import FloodmarkSession
    from dbt_floodmark.spark.gateway import root_session

    credentials = connection.credentials
    parameters = credentials.server_side_parameters
    home = project_home(credentials)
    _refuse_cancelled(connection)
    with _readying(connection):
        await_start(home)
        root = root_session(home, parameters)
    _refuse_cancelled(connection)
    connection.handle = FloodmarkSession(root, parameters)
    connection.state = ConnectionState.OPEN
    return connection


@contextmanager
def _readying(connection: Any) -> Generator[None, None, None]:
    """Have dbt know a connection as failed where Spark is not ready for it."""
    try:
        yield
    except FloodmarkError as exc:
        connection.handle = None
        connection.state = ConnectionState.FAIL
        raise DbtRuntimeError(str(exc)) from exc


def _open_thrift(original: Callable[..., Any], cls: Any, connection: Any) -> Any:
    from dbt_floodmark.adapter.thrift import FloodmarkThrift

    credentials = connection.credentials
    if is_warm(credentials):
        with _readying(connection):
            find_server(credentials, project_home(credentials))
    server = f"{credentials.host}:{credentials.port}"
    # Spark's server takes a session's settings under Hive's prefix alone; dbt-spark leaves it out.
    parameters = credentials.server_side_parameters
    defaults = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    for name, default in defaults.items():
        parameters[f"set:hiveconf:{name}"] = parameters.get(name, default)
    _refuse_cancelled(connection)
    try:
        opened = original(cls, connection)
    except Exception as exc:
        if "Could not connect to any of" not in str(exc):
            raise
        connection.handle = None
        connection.state = ConnectionState.FAIL
        raise DbtRuntimeError(
            f"The warm server at {server} ended. Run again: it starts by itself."
            if is_warm(credentials)
            else f"No Spark Thrift server answers at {server}: start one with "
            "`floodmark serve start`."
        ) from exc
    opened.handle = FloodmarkThrift(
        opened.handle, server, is_warm(credentials), lambda: _log_of_own(credentials)
    )
    return opened


def _log_of_own(credentials: Any) -> Path | None:
    """Return the log of the server of these credentials, where floodmark started it here."""
    from dbt_floodmark.spark.server import THRIFT, running_server
    from dbt_floodmark.spark.warm import SESSION

    running = running_server(project_home(credentials), SESSION if is_warm(credentials) else THRIFT)
    own = running is not None and str(credentials.port) == str(running.port)
    is_here = str(credentials.host) in ("127.0.0.1", "localhost")
    return running.workplace.log if running and own and is_here else None


def _refuse_cancelled(connection: Any) -> None:
    if getattr(connection, "_floodmark_cancelled", False):
        raise DbtRuntimeError(CANCELLED)


def project_home(credentials: Any) -> Any:
    """Return floodmark's home for the project that these credentials were loaded with."""
    return resolve_home(getattr(credentials, "_floodmark_root", None))


def readable_errors(original: Callable[..., Any]) -> Callable[..., Any]:
    """Say in a sentence what Spark refused; the whole of it stands in the log."""

    @contextmanager
    def exception_handler(self: Any, sql: str) -> Generator[None, None, None]:
        try:
            yield
        except Exception as exc:
            text = _text(exc)
            logger.debug(f"Error while running:\n{sql}")
            logger.debug("".join(traceback.format_exception(exc)) + text)
            if is_derby_locked(heads(text)):
                lock = Workplace.session(project_home(self.profile.credentials)).lock
                raise DbtRuntimeError(locked_sentence(lock)) from None
            if isinstance(exc, DbtRuntimeError) and not isinstance(exc, DbtDatabaseError):
                raise
            error = SparkRefused if _is_refusal(exc, text) else DbtRuntimeError
            raise error(readable(text, sql)) from None

    return exception_handler


def _is_refusal(exc: Exception, text: str) -> bool:
    """Tell whether Spark answered a statement with this error, and nothing is in doubt."""
    speaks = type(exc).__module__.partition(".")[0] in ("pyspark", "py4j", "pyhive")
    is_lost = type(exc).__name__ == "Py4JNetworkError"
    return (speaks or isinstance(exc, DbtDatabaseError)) and not is_lost and not is_unsettled(text)


def _text(exc: Exception) -> str:
    """Everything an error says; Thrift's responses carry it in their status."""
    status = getattr(exc.args[0], "status", None) if exc.args else None
    if status is not None:
        return str(status.errorMessage)
    if isinstance(exc, DbtRuntimeError):
        return str(exc.msg)
    stack = getattr(exc, "_stackTrace", None)
    return f"{exc}\n{stack}" if stack and stack not in str(exc) else str(exc)


def answer_counts(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tell dbt the rows that a node loaded."""

    def get_response(cls: Any, cursor: Any) -> AdapterResponse:
        counts = getattr(cursor, "row_counts", None)
        return counts.response() if counts is not None else original(cls, cursor)

    return get_response


def cancel_others(original: Callable[..., Any]) -> Callable[..., Any]:
    """Cancel what the other threads run, and let them start nothing new."""

    def cancel_open(self: Any) -> list[str]:
        this_connection = self.get_if_exists()
        names = []
        with self.lock:
            others = [one for one in self.thread_connections.values() if one is not this_connection]
        for connection in others:
            connection._floodmark_cancelled = True
            # Asking a lazy handle would open the very connection we want to stop.
            lazy = isinstance(connection._handle, LazyHandle)
            if not lazy and connection._handle is not None and connection.state == "open":
                self.cancel(connection)
            if connection.name is not None:
                names.append(connection.name)
        return names

    return cancel_open
