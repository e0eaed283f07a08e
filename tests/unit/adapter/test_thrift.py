"""The thrift method's wrapper, without a server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark.connections import PyhiveConnectionWrapper, ThriftState
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from dbt_floodmark.adapter import thrift
from dbt_floodmark.adapter.thrift import FloodmarkThrift


def _connection(
    cursor: Any, close: Callable[[], None] = lambda: None, is_warm: bool = False
) -> FloodmarkThrift:
    handle = SimpleNamespace(cursor=lambda: cursor, close=close)
    wrapped = PyhiveConnectionWrapper(handle, poll_interval=1, query_timeout=None, query_retries=0)
    return FloodmarkThrift(wrapped, "127.0.0.1:10000", is_warm)


@pytest.mark.parametrize(
    ("is_warm", "said"),
    [
        (
            False,
            "The Spark Thrift server at 127.0.0.1:10000 went away while a statement ran, which may "
            "or may not have been applied. Start it (`floodmark serve start`) and run again.",
        ),
        (
            True,
            "The warm server at 127.0.0.1:10000 went away while a statement ran, which may or may "
            "not have been applied. Run again: it starts by itself.",
        ),
    ],
)
def test_a_server_that_goes_away(is_warm, said):
    def execute(*given: Any, **more: Any) -> None:
        raise BrokenPipeError

    cursor = SimpleNamespace(execute=execute, cancel=lambda: None, close=lambda: None)
    connection = _connection(cursor, is_warm=is_warm)
    connection.cursor()
    with pytest.raises(DbtRuntimeError) as caught:
        connection.execute("select 1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "is_read"),
    [
        ("/* {} */ -- x\n insert into t values (1)", True),
        (f"{'/* a * / */ ' * 200}MERGE into t", True),
        (f"{'/* a */' * 200}select 1", False),
        ("/* insert into t */ select 1", False),
    ],
)
def test_counts_are_read_of_statements_that_write(monkeypatch, sql, is_read):
    cursor = SimpleNamespace(fetchall=lambda: [(1,)], description=[["num_affected_rows"]])
    connection = _connection(cursor)
    connection.cursor()
    monkeypatch.setattr(connection, "_execute_with_polling", lambda sql, bindings: None)
    connection.execute(sql)
    assert (connection.row_counts is not None) == is_read


def test_a_server_that_cannot_close_a_session_fails_no_node():
    closed = []

    def close() -> None:
        closed.append(True)
        raise RuntimeError("NoClassDefFoundError: org/apache/hadoop/hive/llap/security/LlapSigner")

    _connection(SimpleNamespace(), close).close()
    assert closed == [True]


@pytest.mark.parametrize("wraps", [TBufferedTransport, lambda socket: SimpleSasl(socket)])
def test_a_server_that_never_closes_a_session_holds_no_node(monkeypatch, wraps):
    """It takes the connection and says nothing, as one that waits for Hive's functions."""
    monkeypatch.setattr(thrift, "CLOSES_WITHIN", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        to_server = TSocket("127.0.0.1", server.getsockname()[1])
        to_server.open()
        transport = wraps(to_server)

        def close() -> None:
            to_server.read(4)

        connection = _connection(SimpleNamespace(), close)
        connection.handle._transport = transport
        started = time.monotonic()
        connection.close()
        assert time.monotonic() - started < 5
        assert not to_server.isOpen()


class SimpleSasl:
    """A transport with its inner one where SASL's has it."""

    def __init__(self, inner: TSocket) -> None:
        self._trans = inner

    def close(self) -> None:
        self._trans.close()


class _RunsForEver:
    """A cursor whose statement never ends, and who used it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.polled = threading.Event()

    def _note(self, call: str) -> None:
        self.calls.append((call, threading.current_thread().name))

    def execute(self, *args: Any, **kwargs: Any) -> None:
        self._note("execute")

    def poll(self) -> Any:
        self._note("poll")
        self.polled.set()
        return SimpleNamespace(operationState=ThriftState.RUNNING_STATE, errorMessage=None)

    def cancel(self) -> None:
        self._note("cancel")


def test_the_thread_that_waits_cancels_for_the_thread_that_asks():
    cursor, failed = _RunsForEver(), []
    connection = _connection(cursor)
    connection.cursor()

    def run() -> None:
        try:
            connection.execute("select 1")
        except DbtRuntimeError as exc:
            failed.append(exc)

    node = threading.Thread(target=run, name="node")
    node.start()
    assert cursor.polled.wait(5)
    connection.cancel()
    node.join(5)
    assert [exc.msg for exc in failed] == ["cancelled: this statement was stopped before it ended"]
    assert cursor.calls[-1] == ("cancel", "node")
    assert {thread for _, thread in cursor.calls} == {"node"}

    with pytest.raises(DbtRuntimeError, match="cancelled: this statement was stopped"):
        connection.execute("select 2")
    assert cursor.calls[-1] == ("cancel", "node")


class _Fails:
    """A cursor whose statement fails; the server has the reason after so many polls."""

    def __init__(self, polls: int) -> None:
        self.polls = polls

    def execute(self, *args: Any, **kwargs: Any) -> None:
        pass

    def poll(self) -> Any:
        self.polls -= 1
        why = "it is red" if self.polls < 0 else None
        return SimpleNamespace(operationState=ThriftState.ERROR_STATE, errorMessage=why)


def test_a_server_that_says_later_why_a_statement_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    for polls in (0, 1, 5):
        connection = _connection(_Fails(polls))
        connection.cursor()
        with pytest.raises(DbtDatabaseError, match="it is red"):
            connection.execute("select 1")
    monkeypatch.setattr(thrift, "_SAYS_WHY_WITHIN", 0.05)
    connection = _connection(_Fails(1_000_000))
    connection.cursor()
    with pytest.raises(DbtDatabaseError, match="Query failed with status: ERROR_STATE"):
        connection.execute("select 1")
