"""The members that floodmark adds to ``adapter`` for macros.

Macros test for them with `adapter.floodmark_plugin is defined`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.catching import attempt, outlast, try_macro
from dbt_floodmark.adapter.following import follow
from dbt_floodmark.adapter.warm import is_warm
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.package import PACKAGE
from dbt_floodmark.paths import LOCAL_FILES, is_local, path_pattern
from dbt_floodmark.refusal import RefusedError, RejectedError, TryAgainError
from dbt_floodmark.versions import __version__


def _plugin_version(adapter: Any) -> str:
    return __version__


def _method(adapter: Any) -> str:
    """Return the profile's method: session, thrift, ...; of a session on the warm server, warm."""
    credentials = adapter.config.credentials
    return "warm" if is_warm(credentials) else str(credentials.method)


def _project_root(adapter: Any) -> str:
    """Return the project's folder, without symbolic links."""
    return _real_path(str(adapter.config.project_root))


@cache
def _real_path(path: str) -> str:
    """Return a path without symbolic links, looked up once: macros ask for each file."""
    return os.path.realpath(path)


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


def _variable(adapter: Any, name: str) -> Any:
    """Return a variable of dbt's as the project sets it; None where it does not.

    dbt's own `var` gives a variable within a package's scope to the nodes of that package alone: a
    hook of floodmark's and the project's models would not agree.
    """
    config = adapter.config
    variables = config.vars.to_dict()
    for scope in (
        config.cli_vars,
        variables.get(config.project_name),
        variables.get(PACKAGE),
        variables,
    ):
        if isinstance(scope, Mapping) and name in scope:
            return scope[name]
    return None


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


def _outlast(adapter: Any, macro: Any, *arguments: Any) -> dict[str, Any]:
    """Return what a macro returns, or in a sentence why it failed, whatever that is."""
    return outlast(macro, *arguments)


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
        raise RejectedError(message, rejects, is_passing)
    raise TryAgainError(message) if is_passing else RefusedError(message)


FOR_MACROS: dict[str, Callable[..., Any]] = {
    "floodmark_plugin": _plugin_version,
    "floodmark_method": _method,
    "floodmark_streams": _streams,
    "floodmark_project_root": _project_root,
    "floodmark_path_pattern": _path_pattern,
    "floodmark_local_files": _local_files,
    "floodmark_described": _described,
    "floodmark_conf": _conf,
    "floodmark_variable": _variable,
    "floodmark_on_top": _on_top,
    "floodmark_ends_runs": _ends_runs,
    "floodmark_follow": follow,
    "floodmark_attempt": _attempt,
    "floodmark_try": _try,
    "floodmark_outlast": _outlast,
    "floodmark_raise": _raise,
    "floodmark_refuse": _refuse,
}
