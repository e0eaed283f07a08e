"""Cut a dbt run before any statement that it sends: by an abort inside the process, or by SIGKILL of it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.harness import FULL

#: Whose statement it is: a node's, or that of the macro which `dbt run-operation` calls.
_NODE = re.compile(r'"(?:node_id": "\w+\.\w+\.|connection_name": "macro_)(\w+)"')
_COMMENT = re.compile(r"^\s*/\*.*?\*/\s*", re.S)
#: What one node looks up for all: whichever comes first sends it; and the second look at a table that a slow batch
#: takes (macros/table/_peak.sql). A cut beside them leaves the tables as the cut before.
_SHARED = re.compile(
    r"show table|describe table extended|describe detail|describe history \S+ limit 10$"
)
#: What the plugin has sent at the end of a run, which is no node's; the name that it has here.
AT_END = "floodmark/committed/"
_WRITES = re.compile(r"(insert|merge|create|drop|alter|comment|delete|update)\b", re.I)


@dataclass
class Faults:
    """Where to cut: node name -> the first statement that is not sent any more.

    It is named by its number (from 1), by a pattern that it matches ("before: merge into"), or
    by one that the statement ahead of it matches ("after: merge into"). ``act`` is called
    instead of the cut, and the statement is sent.
    """

    cuts: dict[str, int | str] = field(default_factory=dict)
    kill: bool = False
    act: Callable[[], None] | None = None
    sent: dict[str, list[str]] = field(default_factory=dict)

    def before(self, sql: str) -> bool:
        """Count a statement of a node, and cut the run where its time has come; whether it is not to be sent.

        Where nodes are cut, the events that the run would record at its end are lost with them, as in a process that
        dies.
        """
        found = _NODE.search(sql)
        name = found.group(1) if found else AT_END if AT_END in sql else None
        if name is None:
            return False
        text = _COMMENT.sub("", sql).strip()
        if _SHARED.match(text):
            return False
        statements = self.sent.setdefault(name, [])
        statements.append(text)
        if self._is_reached(self.cuts.get(name, 1 << 30), statements):
            if self.act is not None:
                self.act()
                return False
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError(f"cut before statement {len(statements)}")
        return name == AT_END and bool(self.cuts) and self.act is None

    @staticmethod
    def _is_reached(cut: int | str, statements: list[str]) -> bool:
        if isinstance(cut, int):
            return len(statements) >= cut
        where, _, pattern = cut.partition(": ")
        past = statements if where == "before" else statements[:-1]
        return any(re.search(pattern, sql, re.I | re.S) for sql in past)


def cut_points(statements: list[str], every: bool = False) -> list[int]:
    """Where to cut a run that sends ``statements``: before the first, and behind each that writes.

    A cut before or behind a statement that only reads leaves the tables as the cut before it
    does, so those points are one; ``every`` has them all.
    """
    points = [1]
    for number, sql in enumerate(statements, start=1):
        if number < len(statements) and (every or _WRITES.match(sql)):
            points.append(number + 1)
    return points


def open_points(statements: list[str]) -> list[int]:
    """Those cut points at which a batch is planned and not committed, or another is to follow.

    Of a model among others the ledger hears later that it is committed: then all behind its plan.
    """
    events = [i for i, sql in enumerate(statements, start=1) if re.search(r"\bbatch_log with", sql)]
    is_told = "'planned'" not in statements[events[-1] - 1]
    last = events[-1] if is_told else len(statements)
    return [point for point in cut_points(statements) if events[0] < point <= last]


def assert_cut(
    faults: Faults, status: dict[str, str], cuts: dict[str, Any], exact: bool = True
) -> None:
    """See that every model ended at its cut; `exact`: that it sent nothing behind it."""
    assert {name: status[name] for name in cuts} == dict.fromkeys(cuts, "error")
    assert not exact or {name: len(faults.sent[name]) for name in cuts} == cuts


def lab_points(statements: list[str]) -> list[int]:
    """The points of the labs beside test_crash.py, which cuts what comes before a plan and behind a commit for them."""
    return cut_points(statements) if FULL else open_points(statements)


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Let ``faults`` see every statement that floodmark's connections send."""
    from dbt_floodmark.adapter.session import FloodmarkSession
    from dbt_floodmark.adapter.thrift import FloodmarkThrift

    originals: list[tuple[Any, Any]] = []
    for connection in (FloodmarkSession, FloodmarkThrift):
        original = connection.execute

        def execute(self: Any, sql: str, bindings: Any = None, _original: Any = original) -> None:
            if not faults.before(sql):
                _original(self, sql, bindings)

        originals.append((connection, original))
        connection.execute = execute  # type: ignore[method-assign]
    try:
        yield faults
    finally:
        for connection, original in originals:
            connection.execute = original


def once(action: Callable[[], None]) -> Callable[[], None]:
    """An action that only the first call does."""
    todo = [action]
    return lambda: todo.pop()() if todo else None
