"""dbt-spark's session method, with a Spark session of its own for each connection."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper, SparkConnectionWrapper
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.row_counts import RowCounts, row_counts
from dbt_floodmark.spark import delta_log
from dbt_floodmark.spark.messages import CANCELLED

_numbers = itertools.count(1)

#: Seconds between two attempts to stop a statement.
_CANCEL_AGAIN = 0.2

#: What a column of a cursor's description is: PEP 249's seven fields.
ColumnDescription = tuple[str, Any, None, None, None, None, bool]


class FloodmarkSession(SparkConnectionWrapper):
    """One dbt connection: one ``SparkSession.newSession()`` of the shared context.

    dbt opens a connection per node, so settings, the current schema and temporary views
    end with the node.
    """

    def __init__(self, root: Any, parameters: Mapping[str, str]) -> None:
        """Open a session beside ``root`` and apply ``parameters`` to it once."""
        self.spark = root.newSession()
        self.group = f"floodmark-{os.getpid()}-{next(_numbers)}"
        self.cancelled = False
        #: The streaming query whose micro-batches this connection writes.
        self.query: Any = None
        self._idle = threading.Event()
        self._idle.set()
        self._description: list[ColumnDescription] = []
        self._rows: list[tuple[Any, ...]] = []
        #: Settings that a statement runs with, and their values before it.
        self._kept: dict[str, str | None] = {}
        self._configure(parameters)

    def cursor(self) -> FloodmarkSession:
        """Return the connection, which is its own cursor."""
        return self

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        """Run a statement to its end and keep its rows."""
        with self.busy():
            self._run(sql, bindings)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Have what this thread runs be stopped by `cancel`.

        Raises:
            DbtRuntimeError: the connection was cancelled before.
        """
        self._idle.clear()
        try:
            # Looked at after the clear: a cancel either sees us running or is seen here.
            if self.cancelled:
                raise DbtRuntimeError(CANCELLED)
            # The group belongs to the thread, and a pool's threads change connections.
            self.spark.sparkContext.setJobGroup(self.group, "floodmark", interruptOnCancel=True)
            yield
        finally:
            self._idle.set()

    def _run(self, sql: str, bindings: list[Any] | None) -> None:
        text = sql.strip()
        text = text[:-1] if text.endswith(";") else sql
        if bindings is not None:
            fixed = [PyhiveConnectionWrapper._fix_binding(value) for value in bindings]
            # As dbt-spark's own session, whose module imports pyspark in commands that need none.
            text = text % tuple(one if isinstance(one, float) else f"'{one}'" for one in fixed)
        commits = delta_log.history(self.spark, text)
        if commits is not None:
            self._description = [_described(name, kind) for name, kind in delta_log.COLUMNS]
            self._rows = commits
            return
        frame = self.spark.sql(text)
        fields = frame.schema.fields
        self._description = [
            _described(field.name, field.dataType.simpleString(), field.nullable)
            for field in fields
        ]
        rows = frame.collect()
        converters = [utc_converter(field.dataType) for field in fields]
        self._rows = _convert_rows(rows, converters)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows not fetched yet."""
        rows, self._rows = self._rows, []
        return rows

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Return at most ``size`` of the rows not fetched yet."""
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    @property
    def description(self) -> Sequence[ColumnDescription]:
        """Name, Spark type and nullability of each column, as PEP 249 has it."""
        return self._description

    @property
    def row_counts(self) -> RowCounts | None:
        """What the last statement wrote, if it told."""
        return row_counts([column[0] for column in self._description], self._rows)

    def cancel(self) -> None:
        """Stop what this connection runs, from any thread, and let nothing follow."""
        self.cancelled = True
        self._cancel_jobs()
        threading.Thread(target=self._keep_cancelling, daemon=True).start()

    def _keep_cancelling(self) -> None:
        # A statement is many jobs, and Spark's ban on a group's future jobs does not hold for
        # the shuffle stages that adaptive execution submits one by one.
        while not self._idle.wait(_CANCEL_AGAIN):
            self._cancel_jobs()

    def _cancel_jobs(self) -> None:
        self.spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self.group)

    def set(self, key: str, value: str) -> None:
        """Set what the next statements run with, as `SET` does."""
        if key not in self._kept:
            self._kept[key] = self.spark.conf.get(key, None)
        self.spark.conf.set(key, value)

    def reset(self, key: str) -> None:
        """Take back what was set, or what Spark itself has set."""
        kept = self._kept.pop(key, None)
        if kept is None:
            self.spark.conf.unset(key)
        else:
            self.spark.conf.set(key, kept)

    def get(self, key: str) -> str | None:
        """Return a setting's value; none where it is not set."""
        value = self.spark.conf.get(key, None)
        return None if value is None else str(value)

    def close(self) -> None:
        """Let go of the rows; the session goes with the object."""
        self._rows = []
        self._description = []

    def rollback(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: Spark has no transactions over statements."""

    def _configure(self, parameters: Mapping[str, str]) -> None:
        from pyspark.errors import PySparkException

        for key, value in {"spark.sql.session.timeZone": "UTC", **parameters}.items():
            try:
                self.spark.conf.set(key, str(value))
            except PySparkException as exc:
                # Settings of the context (memory, master) were applied when it started.
                if "CANNOT_MODIFY" not in str(exc):
                    raise


def _described(name: str, spark_type: str, nullable: bool = True) -> ColumnDescription:
    return (name, spark_type, None, None, None, None, nullable)


Converter = Callable[[Any], Any]


def _convert_rows(rows: list[Any], converters: list[Converter | None]) -> list[tuple[Any, ...]]:
    if not any(converters):
        return [tuple(row) for row in rows]
    return [
        tuple(
            value if convert is None else convert(value)
            for value, convert in zip(row, converters, strict=True)
        )
        for row in rows
    ]


def to_utc(value: dt.datetime | None) -> dt.datetime | None:
    """Return a datetime of this process's time zone as a naive UTC one.

    pyspark hands timestamps over in local time, with ``fold`` set where an hour repeats.
    """
    if value is None:
        return None
    return value.astimezone(dt.timezone.utc).replace(tzinfo=None)


def utc_converter(data_type: Any) -> Converter | None:
    """Return what makes the timestamps in a value of this type UTC, or None if it has none."""
    from pyspark.sql import types

    if isinstance(data_type, types.TimestampType):
        return to_utc
    if isinstance(data_type, types.ArrayType):
        return _array_converter(utc_converter(data_type.elementType))
    if isinstance(data_type, types.MapType):
        return _map_converter(utc_converter(data_type.keyType), utc_converter(data_type.valueType))
    if isinstance(data_type, types.StructType):
        return _struct_converter([utc_converter(field.dataType) for field in data_type.fields])
    return None


def _array_converter(element: Converter | None) -> Converter | None:
    if element is None:
        return None
    return lambda value: None if value is None else [element(item) for item in value]


def _map_converter(key: Converter | None, item: Converter | None) -> Converter | None:
    if key is None and item is None:
        return None
    left, right = key or _same, item or _same
    return lambda value: (
        None if value is None else {left(name): right(one) for name, one in value.items()}
    )


def _struct_converter(fields: list[Converter | None]) -> Converter | None:
    if not any(fields):
        return None

    def convert(value: Any) -> Any:
        if value is None:
            return None
        from pyspark.sql import Row

        parts = [
            one if change is None else change(one)
            for one, change in zip(value, fields, strict=True)
        ]
        return Row(*value.__fields__)(*parts)

    return convert


def _same(value: Any) -> Any:
    return value
