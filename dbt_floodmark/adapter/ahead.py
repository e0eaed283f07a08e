"""Spark starts while dbt parses the project (decision 18)."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.flags import get_flags

from dbt_floodmark.adapter.warm import is_spark_here, is_warm

#: dbt's commands that open a connection whatever the project looks like.
_CONNECTING = ("build", "run", "test", "seed", "snapshot", "run-operation", "retry")


def start_ahead(credentials: Any, home: Path) -> None:
    """Start the Spark of these credentials on a thread of its own, where the command will need it.

    The first connection waits for it. If Spark does not start, that connection tries again and
    says why.
    """
    if getattr(get_flags(), "WHICH", None) in _CONNECTING and not is_spark_here():
        threading.Thread(target=_start, args=(credentials, home), daemon=True).start()


def _start(credentials: Any, home: Path) -> None:
    from dbt_floodmark.spark.gateway import root_session
    from dbt_floodmark.spark.warm import warm_server

    with suppress(Exception):
        if is_warm(credentials):
            # Its address stays out of the credentials: dbt parses a project anew when they change.
            warm_server(home, credentials.server_side_parameters)
        elif credentials.method == SparkConnectionMethod.SESSION:
            root_session(home, credentials.server_side_parameters)
