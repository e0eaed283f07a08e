"""Spark starts while dbt parses, where the command will need it; what goes wrong there is told by the connection."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.contracts.connection import ConnectionState
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter import ahead, connecting, warm
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.spark import gateway
from dbt_floodmark.spark import warm as warm_spark

HOME = Path("home")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked to start, in a process without Spark."""
    asked: list[Any] = []
    monkeypatch.setattr(ahead, "is_spark_here", lambda: False)
    monkeypatch.setattr(gateway, "root_session", lambda *given: asked.append(given))
    monkeypatch.setattr(warm_spark, "warm_server", lambda *given: asked.append(("server", *given)))
    return asked


def credentials(**more: Any) -> SimpleNamespace:
    return SimpleNamespace(method="session", server_side_parameters={"a": "b"}, **more)


def start(monkeypatch: pytest.MonkeyPatch, word: str | None, given: SimpleNamespace) -> None:
    monkeypatch.setattr(ahead, "get_flags", lambda: SimpleNamespace(WHICH=word))
    before = set(threading.enumerate())
    ahead.start_ahead(given, HOME)
    for thread in set(threading.enumerate()) - before:
        # dbt may end while it parses, and waits for nobody then.
        assert thread.daemon
        thread.join()


@pytest.mark.parametrize("word", ahead._CONNECTING)
def test_commands_that_connect_start_it(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    start(monkeypatch, word, credentials())
    assert started == [(HOME, {"a": "b"})]


@pytest.mark.parametrize("word", ["parse", "list", "deps", "clean", "docs", None])
def test_other_commands_do_not(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, word: str | None
) -> None:
    start(monkeypatch, word, credentials())
    assert started == []


def test_a_warm_server_is_started_too(started: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt parses a project anew when host or port of its credentials change."""
    given = credentials(_floodmark_warm=True, host="localhost", port=10000)
    given.method = "thrift"
    before = dict(vars(given))
    start(monkeypatch, "build", given)
    assert started == [("server", HOME, {"a": "b"})]
    assert vars(given) == before


def test_spark_that_is_here_is_used_as_it_is(
    started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "is_spark_here", lambda: True)
    start(monkeypatch, "build", credentials())
    assert started == []


def test_the_connection_tells_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second try could say something else: of a Spark that is half there."""
    tries: list[Path] = []
    unheard: list[Any] = []

    def refuse(home: Path, parameters: Any) -> None:
        tries.append(home)
        raise FloodmarkError(["Java was not found.", "Spark is half there."][len(tries) - 1])

    monkeypatch.setattr(ahead, "is_spark_here", lambda: False)
    monkeypatch.setattr(gateway, "root_session", refuse)
    monkeypatch.setattr(connecting, "project_home", lambda given: HOME)
    monkeypatch.setattr(threading, "excepthook", unheard.append)
    start(monkeypatch, "run", credentials())
    assert len(tries) == 1 and unheard == []
    connection = SimpleNamespace(
        credentials=credentials(), state=ConnectionState.INIT, handle=None, name="model.shop.m"
    )
    opened = connecting.open_connection_of_own(lambda cls, given: given)
    with pytest.raises(DbtRuntimeError, match="Java was not found"):
        opened(None, connection)
    assert len(tries) == 1 and connection.state == ConnectionState.FAIL
    # The next connection tries itself.
    with pytest.raises(DbtRuntimeError, match="half there"):
        opened(None, connection)


def test_spark_in_this_process_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(_active_spark_context=None)
    monkeypatch.setitem(warm.sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    assert not warm.is_spark_here()
    context._active_spark_context = object()
    assert warm.is_spark_here()
    monkeypatch.delitem(warm.sys.modules, "pyspark")
    assert not warm.is_spark_here()
