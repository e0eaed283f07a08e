"""Read the ledger's views through dbt, on whatever target the project has."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

from dbt_floodmark.errors import FloodmarkError

NO_LEDGER = "There is no ledger yet: it appears with the first `floodmark build`."

#: What floodmark's macros say, without dbt's frame around it.
_OWN = re.compile(
    r"(?:floodmark, )?((?:model|operation) '[^']+': .*?"
    r"|floodmark (?:loads (?:no|several) models?|refuses variables:) .*?)"
    r"(?: > in macro .*)?$"
)

_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")
#: What is missing where there is no ledger: its tables, or its schema.
_LEDGER = re.compile(
    r"`(?:batch_log|batches|watermarks|files|file_schemas|expectation_results)` cannot be found"
    r"|SCHEMA_NOT_FOUND"
)

Row = dict[str, Any]


class NoLedgerError(FloodmarkError):
    """Nothing has been loaded on this target yet."""


class NoTableError(FloodmarkError):
    """A table that a query reads is not there."""


def rows_of(result: Any) -> list[Row]:
    """Return the rows of a ``dbt show``."""
    table = result.result.results[0].agate_table
    return [
        {name: _plain(value) for name, value in zip(table.column_names, row, strict=True)}
        for row in table.rows
    ]


def failure(result: Any, what: str, told: str = "") -> FloodmarkError:
    """Return why a dbt invocation failed: floodmark's own sentence, or dbt's behind ``what``.

    ``told`` is what dbt's events said of it, where the result says nothing.
    """
    text = said(result) or " ".join(told.split())
    if any(condition in text for condition in _ABSENT):
        return NoLedgerError(NO_LEDGER) if _LEDGER.search(text) else NoTableError(f"{what}: {text}")
    own = _OWN.search(text)
    return FloodmarkError(own.group(1) if own else f"{what}: {text}")


def own_sentence(result: Any, what: str) -> FloodmarkError:
    """Return floodmark's own sentence of a failed invocation, even one about a missing table."""
    own = _OWN.search(said(result))
    return FloodmarkError(own.group(1)) if own else failure(result, what)


def said(result: Any) -> str:
    """Return what a failed dbt invocation said, in one line."""
    text = str(result.exception or "")
    if not text and result.result is not None:
        text = " ".join(str(one.message) for one in result.result.results if one.message)
    return " ".join(text.split())


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return value
