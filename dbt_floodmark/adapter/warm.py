"""A session target on the warm server: dbt-spark's thrift method, on the session's tables."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.errors import UsageError

_finding = threading.Lock()


def choose(credentials: Any, home: Path) -> None:
    """Have the credentials of a session target mean the warm server, where that is wanted.

    Raises:
        DbtRuntimeError: what the user said of it is neither yes nor no.
    """
    if is_spark_here():
        return
    from dbt_floodmark.spark.warm import is_wanted

    try:
        wanted = is_wanted(home, credentials.server_side_parameters)
    except UsageError as exc:
        raise DbtRuntimeError(str(exc)) from exc
    if wanted:
        credentials.method = SparkConnectionMethod.THRIFT
        credentials.user = "floodmark"
        credentials.poll_interval = 1
        credentials.query_retries = 0
        credentials._floodmark_warm = True


def is_spark_here() -> bool:
    """Tell whether Spark runs in this process: somebody else's, or that of a command before."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context, "_active_spark_context", None) is not None


def is_warm(credentials: Any) -> bool:
    """Tell whether `choose` had these credentials mean the warm server."""
    return bool(getattr(credentials, "_floodmark_warm", False))


def find_server(credentials: Any, home: Path) -> None:
    """Put the warm server's address into the credentials; it is started where none runs.

    Raises:
        FloodmarkError: it did not start, with the reason.
    """
    from dbt_floodmark.spark.server import HOST
    from dbt_floodmark.spark.warm import note_use, warm_server

    with _finding:
        found = getattr(credentials, "_floodmark_server", None)
        if found is None:
            found = warm_server(home, credentials.server_side_parameters)
            credentials._floodmark_server = found
            credentials.host, credentials.port = HOST, found.port
    note_use(found)
