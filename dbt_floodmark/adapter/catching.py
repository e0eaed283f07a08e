"""Macros that may fail: what Jinja, which cannot catch an exception, asks the plugin to run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.exceptions import ContractError
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.refusal import RejectedError
from dbt_floodmark.spark.messages import CANCELLED

logger = AdapterLogger("Floodmark")


class SparkRefused(DbtRuntimeError):  # type: ignore[misc]
    """Spark or Delta refused a statement, and so applied nothing of it.

    One that was stopped, lost its connection or met another writer is none: whether it was applied
    is not known, its batch stays open, and the next run finishes it.
    """


def attempt(
    macro: Callable[..., Any],
    on_refused: Callable[..., str | None],
    on_rejected: Callable[..., None],
    *arguments: Any,
) -> Any:
    """Return what ``macro(*arguments)`` returns; another macro hears first of its failure.

    Where Spark refused a statement that is ``on_refused(sentence, *arguments)``, which may return a
    sentence on what to do, with which the error then ends. Where floodmark rejected the batch, or
    its SELECT breaks the contract, it is ``on_rejected(reason, may_pass, *arguments)``.

    Raises:
        Exception: what the macro raised, also where ``on_refused`` fails; or what ``on_rejected``
            raised.
    """
    try:
        return macro(*arguments)
    except RejectedError as exc:
        on_rejected(exc.reason, exc.may_pass, *arguments)
        raise
    except ContractError:
        on_rejected("the SELECT breaks the contract", False, *arguments)
        raise
    except SparkRefused as exc:
        sentence = str(exc.msg)
        try:
            advice = on_refused(sentence, *arguments)
        except Exception as failed:
            logger.debug(f"The batch stays open, since its refusal was not recorded: {failed}")
            raise exc from None
        if not advice or not advice.strip():
            raise
        raise DbtRuntimeError(f"{sentence}\n{advice.strip()}") from None


def try_macro(macro: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return ``{"value", "error", "condition", "raised"}``: what a macro returns, or why a
    statement was refused, as a sentence, as Spark's error condition, such as `PATH_NOT_FOUND`, and
    as the exception.
    """
    try:
        return {"value": macro(*arguments), "error": None, "condition": None, "raised": None}
    except SparkRefused as exc:
        sentence = str(exc.msg)
        condition = re.search(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]", sentence)
        return {
            "value": None,
            "error": sentence,
            "condition": condition and condition[1],
            "raised": exc,
        }


def outlast(macro: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return ``{"value", "error"}``: what a macro returns, or in a sentence why it failed.

    Whatever that is: a refusal, another writer, or a warning that is an error. For what writes no
    batch, and is done for one table after the other.

    Raises:
        DbtRuntimeError: its statement was cancelled.
    """
    try:
        return {"value": macro(*arguments), "error": None}
    except DbtRuntimeError as exc:
        sentence = " ".join(str(exc.msg).split())
        if sentence == CANCELLED:
            raise
        return {"value": None, "error": sentence}
