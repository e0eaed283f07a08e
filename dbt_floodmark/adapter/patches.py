"""The changes floodmark makes to dbt-spark, each put on once and only where it fits."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from dbt.adapters.contracts.connection import AdapterResponse, ConnectionState, LazyHandle
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import connections, session
from dbt.adapters.spark.__version__ import version as dbt_spark_version
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod
from dbt.adapters.spark.impl import SparkAdapter
from dbt.task.run import RunTask
from dbt.task.run_operation import RunOperationTask
from dbt_common.clients.jinja import MacroFuzzEnvironment
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.attempts import SparkRefused, attempt, try_macro
from dbt_floodmark.adapter.following import follow, run_what_follows
from dbt_floodmark.adapter.listing import list_whole
from dbt_floodmark.adapter.macro_code import compile_once
from dbt_floodmark.adapter.macro_trees import parse_once
from dbt_floodmark.adapter.warm import find_server, is_warm
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.paths import LOCAL_FILES, is_local, path_pattern
from dbt_floodmark.refusal import RefusedError, RejectedError, TryAgainError
from dbt_floodmark.spark.home import Workplace, resolve_home
from dbt_floodmark.spark.lock import locked_sentence
from dbt_floodmark.spark.messages import CANCELLED, is_derby_locked, is_unsettled, readable
from dbt_floodmark.versions import DBT_SPARK, __version__

logger = AdapterLogger("Floodmark")

_MARK = "_floodmark_original"

#: What we rely on in dbt-spark: (owner, member, parameters it must have).
_EXPECTED: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (SparkConnectionManager, "open", ("connection",)),
    (SparkConnectionManager, "exception_handler", ("self", "sql")),
    (SparkConnectionManager, "get_response", ("cursor",)),
    (SparkConnectionManager, "cancel_open", ("self",)),
    (SparkConnectionManager, "__init__", ("self", "profile", "mp_context")),
    (session, "SessionConnectionWrapper", ("handle",)),
    (getattr(session, "SessionConnectionWrapper", None), "_fix_binding", ("value",)),
    (
        connections,
        "PyhiveConnectionWrapper",
        ("handle", "poll_interval", "query_timeout", "query_retries"),
    ),
    (connections, "CONNECTION_LOST_EXCEPTIONS", ()),
    (connections, "ThriftState", ()),
    (SparkAdapter, "python_submission_helpers", ()),
    (SparkAdapter, "default_python_submission_method", ()),
    (SparkAdapter, "list_relations_without_caching", ("self", "schema_relation")),
    (RunTask, "after_run", ("self", "adapter", "results")),
    (RunOperationTask, "run", ("self",)),
)


def unknown_inside() -> list[str]:
    """Return what is not as expected in the installed dbt-spark; empty when we know it."""
    problems = []
    if not dbt_spark_version.startswith(f"{DBT_SPARK}."):
        problems.append(f"it is not {DBT_SPARK}")
    for owner, name, parameters in _EXPECTED:
        member = getattr(owner, name, None)
        label = f"{getattr(owner, '__name__', owner).rpartition('.')[2]}.{name}"
        if member is None and name != "ThriftState":
            problems.append(f"{label} is missing")
        elif parameters and _parameters(member) != parameters:
            problems.append(f"{label} takes other arguments")
    return problems


def _parameters(member: Any) -> tuple[str, ...]:
    original = getattr(member, _MARK, member)
    return tuple(inspect.signature(original).parameters)


def apply() -> None:
    """Put every patch on; those that are on stay as they are."""
    _replace(SparkConnectionManager, "__init__", _init)
    _replace(SparkConnectionManager, "open", _open, classmethod)
    _replace(SparkConnectionManager, "exception_handler", _exception_handler)
    _replace(SparkConnectionManager, "get_response", _get_response, classmethod)
    _replace(SparkConnectionManager, "cancel_open", _cancel_open)
    _replace(RunTask, "after_run", _after_run)
    _replace(RunOperationTask, "run", run_what_follows)
    _replace(MacroFuzzEnvironment, "parse", parse_once)
    _replace(MacroFuzzEnvironment, "compile", compile_once)
    _replace(SparkAdapter, "python_submission_helpers", _python_helpers, property)
    _replace(SparkAdapter, "default_python_submission_method", _python_method, property)
    _replace(SparkAdapter, "list_relations_without_caching", list_whole)
    # What macros can ask without a statement: `adapter.floodmark_plugin is defined`.
    SparkAdapter.floodmark_plugin = _plugin_version
    SparkAdapter.floodmark_method = _method
    SparkAdapter.floodmark_streams = _streams
    SparkAdapter.floodmark_project_root = _project_root
    SparkAdapter.floodmark_path_pattern = _path_pattern
    SparkAdapter.floodmark_local_files = _local_files
    SparkAdapter.floodmark_described = _described
    SparkAdapter.floodmark_conf = _conf
    SparkAdapter.floodmark_on_top = _on_top
    SparkAdapter.floodmark_ends_runs = _ends_runs
    SparkAdapter.floodmark_follow = follow
    SparkAdapter.floodmark_attempt = _attempt
    SparkAdapter.floodmark_try = _try
    SparkAdapter.floodmark_raise = _raise
    SparkAdapter.floodmark_refuse = _refuse
    SparkAdapter._available_ = SparkAdapter._available_ | _FOR_MACROS


def _plugin_version(adapter: Any) -> str:
    return __version__


def _method(adapter: Any) -> str:
    """Return the profile's method: session, thrift, ...; of a session on the warm server, warm."""
    credentials = adapter.config.credentials
    return "warm" if is_warm(credentials) else str(credentials.method)


def _project_root(adapter: Any) -> str:
    """Return the project's folder, without symbolic links."""
    return os.path.realpath(str(adapter.config.project_root))


def _path_pattern(adapter: Any, path: str) -> str:
    """Return a path as a pattern: what exists under that very name means itself."""
    return path_pattern(path)


def _local_files(adapter: Any, path: str) -> dict[str, str]:
    """Return Spark's options of a read by which local files of any name are read."""
    return LOCAL_FILES if is_local(path) else {}


def _described(adapter: Any, query: str) -> str | None:
    """Return a query of the same columns that DESCRIBE takes; None where Spark cannot analyse it.

    Streams are analysed in the dbt process alone.
    """
    try:
        if adapter.config.credentials.method == SparkConnectionMethod.SESSION:
            streams = _streams(adapter)
            return str(streams.described(query, _project_root(adapter)))
        adapter.execute(f"describe query {query}", fetch=True)
        return query
    except (DbtRuntimeError, FloodmarkError):
        return None


def _streams(adapter: Any) -> Any:
    """Return the streaming queries of this thread's connection."""
    from dbt_floodmark.streaming.streams import Streams

    return Streams(adapter.connections.get_thread_connection().handle)


def _conf(adapter: Any) -> Any:
    """Return what sets and reads the settings of this thread's session; None where statements do.

    It has ``set(key, value)``, ``reset(key)`` and ``get(key)``.
    """
    from dbt_floodmark.adapter.session import FloodmarkSession

    handle = adapter.connections.get_thread_connection().handle
    return handle if isinstance(handle, FloodmarkSession) else None


def _ends_runs(adapter: Any) -> bool:
    """Tell macros that `record_events` is called when all nodes have ended."""
    return True


def _on_top(adapter: Any, macro: Any) -> Any:
    """Run a materialization as if no macro had called it."""
    from dbt_floodmark.adapter.python_models import on_top

    return on_top(macro)


def _attempt(adapter: Any, macro: Any, on_refused: Any, on_rejected: Any, *arguments: Any) -> Any:
    """Run a macro; the others hear of a refused statement, and of a batch that we reject."""
    return attempt(macro, on_refused, on_rejected, *arguments)


def _try(adapter: Any, macro: Any, *arguments: Any) -> dict[str, Any]:
    """Return what a macro returns, or the sentence of the statement that failed in it."""
    return try_macro(macro, *arguments)


def _raise(adapter: Any, raised: Exception) -> NoReturn:
    """Raise what `floodmark_try` caught."""
    raise raised


def _refuse(
    adapter: Any, message: str, is_passing: bool = False, rejects: str | None = None
) -> NoReturn:
    """Stop with a message of floodmark's.

    `is_passing`: the next try may find the cause gone. `rejects`: why the batch at hand fails.
    """
    if rejects is not None:
        raise RejectedError(message, rejects)
    raise TryAgainError(message) if is_passing else RefusedError(message)


#: What the plugin adds to `adapter` in Jinja.
_FOR_MACROS = frozenset(
    {
        "floodmark_plugin",
        "floodmark_method",
        "floodmark_streams",
        "floodmark_project_root",
        "floodmark_path_pattern",
        "floodmark_local_files",
        "floodmark_described",
        "floodmark_conf",
        "floodmark_on_top",
        "floodmark_ends_runs",
        "floodmark_follow",
        "floodmark_attempt",
        "floodmark_try",
        "floodmark_raise",
        "floodmark_refuse",
    }
)
#: What is patched, so that it can be taken off again.
_PATCHED = (
    *(
        (SparkConnectionManager, name)
        for name in ("__init__", "open", "exception_handler", "get_response", "cancel_open")
    ),
    (RunTask, "after_run"),
    (RunOperationTask, "run"),
    (MacroFuzzEnvironment, "parse"),
    (MacroFuzzEnvironment, "compile"),
    (SparkAdapter, "python_submission_helpers"),
    (SparkAdapter, "default_python_submission_method"),
    (SparkAdapter, "list_relations_without_caching"),
)


def remove() -> None:
    """Take every patch off again."""
    SparkAdapter._available_ = SparkAdapter._available_ - _FOR_MACROS
    for owner, name in _PATCHED:
        saved = owner.__dict__.get(f"{_MARK}_{name}")
        if saved is None:
            continue
        delattr(owner, f"{_MARK}_{name}")
        if saved is _INHERITED:
            delattr(owner, name)
        else:
            setattr(owner, name, saved)


_INHERITED = object()


def _replace(
    owner: type, name: str, make: Callable[[Callable[..., Any]], Any], wrap: Any = None
) -> None:
    keep = f"{_MARK}_{name}"
    if keep in owner.__dict__:
        return
    original = getattr(owner, name)
    function = getattr(original, "fget", None) or getattr(original, "__func__", original)
    patched = functools.wraps(function)(make(function))
    setattr(patched, _MARK, original)
    setattr(owner, keep, owner.__dict__.get(name, _INHERITED))
    setattr(owner, name, wrap(patched) if wrap else patched)


def _init(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, profile: Any, mp_context: Any) -> None:
        original(self, profile, mp_context)
        # Credentials travel to every connection, the project's folder does not.
        profile.credentials._floodmark_root = getattr(profile, "project_root", None)
        if profile.credentials.method == SparkConnectionMethod.SESSION:
            from dbt_floodmark.adapter.warm import choose

            choose(profile.credentials, project_home(profile.credentials))

    return init


def _open(original: Callable[..., Any]) -> Callable[..., Any]:
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
    _refuse_cancelled(connection)
    with _readying(connection):
        root = root_session(project_home(credentials), parameters)
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
    zone = credentials.server_side_parameters.get("spark.sql.session.timeZone", "UTC")
    credentials.server_side_parameters["set:hiveconf:spark.sql.session.timeZone"] = zone
    _refuse_cancelled(connection)
    try:
        opened = original(cls, connection)
    except Exception as exc:
        if "Could not connect to any of" not in str(exc):
            raise
        connection.handle = None
        connection.state = ConnectionState.FAIL
        raise DbtRuntimeError(
            f"No Spark Thrift server answers at {server}: start one with `floodmark serve start`."
        ) from exc
    opened.handle = FloodmarkThrift(opened.handle, server, lambda: _log_of_own(credentials))
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


def _exception_handler(original: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def exception_handler(self: Any, sql: str) -> Generator[None, None, None]:
        try:
            yield
        except Exception as exc:
            text = _text(exc)
            logger.debug(f"Error while running:\n{sql}")
            logger.debug("".join(traceback.format_exception(exc)) + text)
            if is_derby_locked(text):
                lock = Workplace.session(project_home(self.profile.credentials)).lock
                raise DbtRuntimeError(locked_sentence(lock)) from None
            if isinstance(exc, DbtRuntimeError) and not _is_database(exc):
                raise
            error = SparkRefused if _is_refusal(exc, text) else DbtRuntimeError
            raise error(readable(text, sql)) from None

    return exception_handler


def _is_refusal(exc: Exception, text: str) -> bool:
    """Tell whether Spark answered a statement with this error, and nothing is in doubt."""
    speaks = type(exc).__module__.partition(".")[0] in ("pyspark", "py4j", "pyhive")
    is_lost = type(exc).__name__ == "Py4JNetworkError"
    return (speaks or _is_database(exc)) and not is_lost and not is_unsettled(text)


def _is_database(exc: Exception) -> bool:
    from dbt_common.exceptions import DbtDatabaseError

    return isinstance(exc, DbtDatabaseError)


def _text(exc: Exception) -> str:
    """Everything an error says; Thrift's responses carry it in their status."""
    status = getattr(exc.args[0], "status", None) if exc.args else None
    if status is not None:
        return str(status.errorMessage)
    if isinstance(exc, DbtRuntimeError):
        return str(exc.msg)
    stack = getattr(exc, "_stackTrace", None)
    return f"{exc}\n{stack}" if stack and stack not in str(exc) else str(exc)


def _after_run(original: Callable[..., Any]) -> Callable[..., Any]:
    def after_run(self: Any, adapter: Any, results: Any) -> None:
        # Where the macros keep what an invocation knows (macros/nodes/_invocation_memory.sql).
        memory = (self.manifest.flat_graph or {}).get("floodmark") or {}
        if memory.get("events"):
            try:
                with adapter.connection_named("floodmark"):
                    adapter.execute_macro("record_events", self.manifest, "floodmark")
            except DbtRuntimeError as exc:
                logger.warning(
                    f"The ledger does not say yet that {len(memory['events'])} batches are "
                    f"committed ({exc}). Their rows are in the tables, and the next run of each "
                    "model records it."
                )
        original(self, adapter, results)

    return after_run


def _get_response(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_response(cls: Any, cursor: Any) -> AdapterResponse:
        counts = getattr(cursor, "row_counts", None)
        return counts.response() if counts is not None else original(cls, cursor)

    return get_response


def _python_helpers(original: Callable[..., Any]) -> Callable[..., Any]:
    def python_submission_helpers(self: Any) -> dict[str, Any]:
        from dbt_floodmark.adapter.python_models import SESSION, SessionPythonJob

        return {**original(self), SESSION: functools.partial(SessionPythonJob, self)}

    return python_submission_helpers


def _python_method(original: Callable[..., Any]) -> Callable[..., Any]:
    def default_python_submission_method(self: Any) -> str:
        # dbt-spark's own helpers are Databricks', behind method http or odbc.
        own = self.config.credentials.method in (
            SparkConnectionMethod.SESSION,
            SparkConnectionMethod.THRIFT,
        )
        return "session" if own else str(original(self))

    return default_python_submission_method


def _cancel_open(original: Callable[..., Any]) -> Callable[..., Any]:
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
