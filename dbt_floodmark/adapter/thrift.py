"""dbt-spark's thrift method: quick polls, each statement sent once, counts kept."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import (
    CONNECTION_LOST_EXCEPTIONS,
    PyhiveConnectionWrapper,
    ThriftState,
)
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_floodmark.adapter.row_counts import RowCounts, row_counts
from dbt_floodmark.spark.messages import CANCELLED
from dbt_floodmark.spark.server_log import whole_error
from dbt_floodmark.texts import BRACKETED_COMMENT

logger = AdapterLogger("Floodmark")

#: Seconds before the second look at a statement; each wait is half as long again.
FIRST_WAIT = 0.005
_GROWTH = 1.5
#: Seconds within which the server says why a statement failed, once it says that it did.
_SAYS_WHY_WITHIN = 2.0
#: Seconds that the server has to close a session.
CLOSES_WITHIN = 10.0
_WRITES = re.compile(
    rf"^\s*(?:{BRACKETED_COMMENT}\s*|--[^\n]*\n\s*)*(merge|insert|update|delete)\b", re.IGNORECASE
)

# thrift logs a refused connection with a stack trace; we say it in a sentence.
logging.getLogger("thrift.transport.TSocket").setLevel(logging.CRITICAL)


class FloodmarkThrift(PyhiveConnectionWrapper):
    """One dbt connection to a Spark Thrift server."""

    def __init__(
        self,
        wrapped: PyhiveConnectionWrapper,
        server: str,
        is_warm: bool = False,
        find_log: Callable[[], Path | None] = lambda: None,
    ) -> None:
        """Take over the connection that dbt-spark opened to ``server`` (host:port).

        ``is_warm`` tells the warm server, which starts by itself, from one that somebody starts.
        ``find_log`` names the server's log where the server is one of ours on this machine.
        """
        super().__init__(
            wrapped.handle,
            poll_interval=wrapped.poll_interval,
            query_timeout=wrapped.query_timeout,
            query_retries=0,
        )
        self._server = server
        self._is_warm = is_warm
        self._find_log = find_log
        self._written: list[Any] | None = None
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Have the statement stopped, from any thread, and let nothing follow.

        The thread that waits for it tells the server: a Thrift connection is for one thread at a
        time, and two that write to it may both wait for ever.
        """
        self._cancelled.set()

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        """Run a statement once: sent twice, it might be applied twice."""
        self._written = None
        try:
            self._execute_with_polling(sql, bindings)
            if _WRITES.match(sql):
                self._written = list(self._cursor.fetchall())
        except CONNECTION_LOST_EXCEPTIONS as exc:
            raise DbtRuntimeError(
                f"The warm server at {self._server} went away while a statement ran, which may or "
                "may not have been applied. Run again: it starts by itself."
                if self._is_warm
                else f"The Spark Thrift server at {self._server} went away while a statement ran, "
                "which may or may not have been applied. Start it (`floodmark serve start`) and "
                "run again."
            ) from exc

    def _execute_with_polling(self, sql: str, bindings: list[Any] | None) -> None:
        text = sql.strip()
        text = text[:-1] if text.endswith(";") else sql
        if self._cancelled.is_set():
            raise DbtRuntimeError(CANCELLED)
        fixed = None if bindings is None else [self._fix_binding(value) for value in bindings]
        self._cursor.execute(text, fixed, async_=True)
        answer = self._reasoned(self._wait())
        state = answer.operationState
        if answer.errorMessage:
            log = self._find_log()
            raise DbtDatabaseError(
                whole_error(answer.errorMessage, log) if log else answer.errorMessage
            )
        if state != ThriftState.FINISHED_STATE:
            name = ThriftState._VALUES_TO_NAMES.get(state, f"Unknown<{state!r}>")
            raise DbtDatabaseError(f"Query failed with status: {name}")

    def _wait(self) -> Any:
        pending = {
            ThriftState.INITIALIZED_STATE,
            ThriftState.RUNNING_STATE,
            ThriftState.PENDING_STATE,
        }
        started = time.monotonic()
        wait = FIRST_WAIT
        answer = self._cursor.poll()
        while answer.operationState in pending:
            if self.query_timeout is not None and time.monotonic() - started > self.query_timeout:
                super().cancel()
                raise DbtRuntimeError(
                    f"Query exceeded timeout of {self.query_timeout} seconds: raise query_timeout "
                    "in the profile, or let the statement do less"
                )
            if self._cancelled.wait(min(wait, self.poll_interval)):
                super().cancel()
                raise DbtRuntimeError(CANCELLED)
            wait *= _GROWTH
            answer = self._cursor.poll()
        return answer

    def _reasoned(self, answer: Any) -> Any:
        """The answer about a statement that failed, with the reason.

        Spark's server has the state of an error before it has the error itself.
        """
        deadline = time.monotonic() + _SAYS_WHY_WITHIN
        while (
            answer.operationState == ThriftState.ERROR_STATE
            and not answer.errorMessage
            and time.monotonic() < deadline
        ):
            time.sleep(FIRST_WAIT)
            answer = self._cursor.poll()
        return answer

    def close(self) -> None:
        """Close the session. The node's work is done: a server that fails here fails no node.

        Once in a while Spark 4.2's server registers Hive's functions while it closes a session. The
        first time this ends in a NoClassDefFoundError, of a class of LLAP that Spark does not ship;
        each later one waits for the first, for ever. A session whose connection ends is closed by
        the server all the same.
        """
        transport = getattr(self.handle, "_transport", None)
        try:
            _limit(transport, CLOSES_WITHIN)
            super().close()
        except Exception as exc:
            logger.debug(f"The Thrift server at {self._server} did not close a session: {exc}")
            if transport is not None:
                transport.close()

    def fetchall(self) -> list[Any]:
        """Return the rows not fetched yet."""
        if self._written is not None:
            rows, self._written = self._written, []
            return rows
        return list(self._cursor.fetchall())

    def fetchmany(self, size: int = 1) -> list[Any]:
        """Return at most ``size`` of the rows not fetched yet."""
        if self._written is not None:
            rows, self._written = self._written[:size], self._written[size:]
            return rows
        return list(self._cursor.fetchmany(size))

    @property
    def row_counts(self) -> RowCounts | None:
        """What the last statement wrote, if it told."""
        if not self._written:
            return None
        columns = [column[0].rpartition(".")[2] for column in self._cursor.description or []]
        return row_counts(columns, self._written)


def _limit(transport: Any, seconds: float) -> None:
    """Have the socket of a connection wait no longer for an answer."""
    while transport is not None:
        if hasattr(transport, "setTimeout"):
            transport.setTimeout(int(seconds * 1000))
        inner = getattr(transport, "_trans", None)  # of SASL
        transport = inner or getattr(transport, "_TBufferedTransport__trans", None)
