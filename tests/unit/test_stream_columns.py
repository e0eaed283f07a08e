"""What a stream writes of its SELECT, and what it refuses before it starts; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.test_macros import Refused, load

STREAMS = SimpleNamespace(shape="shape")


def described(**columns: str) -> list[dict[str, str]]:
    return [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in columns.items()]


def stream_of(
    selected: dict[str, str], table: dict[str, str], **settings: Any
) -> tuple[SimpleNamespace, dict[str, Any]]:
    """The macros over a SELECT and a table of these columns, and the run of a stream."""
    warned: list[str] = []
    exceptions = SimpleNamespace(raise_compiler_error=refuse, warn=warned.append)
    floodmark = load(exceptions=exceptions)
    floodmark.warned = warned
    floodmark.sent = []
    floodmark._execute = floodmark.sent.extend
    floodmark._properties_of = lambda relation: {}

    def columns_of(query: str | None = None, relation: Any = None) -> list[dict[str, str]]:
        return described(**(selected if query else table))

    floodmark._columns_of = columns_of
    settings = {
        "strategy": "append",
        "unique_key": [],
        "on_schema_change": "ignore",
        "watermark": None,
        "cdc": None,
    } | settings
    run = {"settings": settings, "target": {"is_delta": True}, "request": {}}
    return floodmark, run


def refuse(message: str) -> None:
    raise Refused(message)


def test_an_append_stream_writes_the_tables_types() -> None:
    """Delta's sink casts what it gets: 12.34 became 12. Each value is checked, as in a batch."""
    floodmark, run = stream_of(
        {"f": "double", "amount": "decimal(17,2)", "id": "int", "more": "int", "d": "timestamp"},
        {"id": "bigint", "Amount": "decimal(17,0)", "d": "date", "f": "float", "other": "int"},
    )
    floodmark._align_stream(run, STREAMS)
    columns = run["request"]["columns"]
    assert [one.rsplit(" as ", 1)[1] for one in columns] == ["`id`", "`amount`", "`d`", "`f`"]
    assert columns[0] == "try_cast(`id` as bigint) as `id`"
    for column, type in zip(columns[1:], ("decimal(17,0)", "date", "float"), strict=True):
        assert f" as {type})" in column and "raise_error" in column, column


def test_equal_types_are_written_as_they_are() -> None:
    floodmark, run = stream_of({"b": "int", "a": "string"}, {"a": "varchar(3)", "b": "int"})
    floodmark._align_stream(run, STREAMS)
    assert run["request"]["columns"] == ["`a` as `a`", "`b`"]


def test_a_backtick_in_a_name() -> None:
    floodmark, run = stream_of({"ti`ck": "int"}, {"ti`ck": "int"})
    floodmark._align_stream(run, STREAMS)
    assert run["request"]["columns"] == ["`ti``ck`"]


def test_types_without_a_cast_are_refused() -> None:
    floodmark, run = stream_of({"d": "boolean"}, {"d": "date"})
    with pytest.raises(Refused, match="got \"d boolean\"; expected date, as in"):
        floodmark._align_stream(run, STREAMS)
