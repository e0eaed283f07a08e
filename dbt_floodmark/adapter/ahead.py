"""Spark starts while dbt parses the project (decision 18)."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.flags import get_flags

from dbt_floodmark.adapter.warm import is_spark_here, is_warm

#: dbt's commands that open a connection whatever the project looks like.
_CONNECTING = ("build", "run", "test", "seed", "snapshot", "run-operation", "retry")
#: Starts of Spark that no connection has waited for yet, by floodmark's home.
_starts: dict[Path, Future[None]] = {}


def start_ahead(credentials: Any, home: Path) -> None:
    """Start the Spark of these credentials on a thread of its own, for commands that need it."""
    if getattr(get_flags(), "WHICH", None) in _CONNECTING and not is_spark_here():
        start = _starts[home] = Future()
        threading.Thread(target=_start, args=(credentials, home, start), daemon=True).start()


def await_start(home: Path) -> None:
    """Wait for a start of Spark, and raise what went wrong there: the first to ask gets to know."""
    start = _starts.pop(home, None)
    if start is not None:
        start.result()


def _start(credentials: Any, home: Path, start: Future[None]) -> None:
    try:
        from dbt_floodmark.spark.gateway import root_session
        from dbt_floodmark.spark.warm import warm_server

        if is_warm(credentials):
            # Its address stays out of the credentials: dbt parses a project anew when they change.
            with suppress(Exception):
                warm_server(home, credentials.server_side_parameters)
        elif credentials.method == SparkConnectionMethod.SESSION:
            root_session(home, credentials.server_side_parameters)
    except Exception as exc:
        start.set_exception(exc)
    else:
        start.set_result(None)
