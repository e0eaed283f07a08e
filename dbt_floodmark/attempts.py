"""Macros that may fail: what Jinja, which cannot catch an exception, asks the plugin to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import CompilationError, DbtRuntimeError

logger = AdapterLogger("Floodmark")


class Unsettled(DbtRuntimeError):  # type: ignore[misc]
    """A statement that was stopped, lost its connection or met another writer.

    Whether it was applied is not known, or not for us to say: its batch stays open, and the next
    run finishes it.
    """


def refused(exc: Exception) -> TypeGuard[DbtRuntimeError]:
    """Tell whether Spark refused a statement: nothing of ours stopped, and nothing is in doubt."""
    return isinstance(exc, DbtRuntimeError) and not isinstance(exc, CompilationError | Unsettled)


def attempt(
    macro: Callable[..., Any], on_refused: Callable[..., str | None], *arguments: Any
) -> Any:
    """Return what ``macro(*arguments)`` returns; of a refusal ``on_refused`` hears first.

    It is called as ``on_refused(sentence, *arguments)`` and may return a sentence on what to do,
    with which the error then ends.

    Raises:
        Exception: what the macro raised, also where ``on_refused`` fails.
    """
    try:
        return macro(*arguments)
    except Exception as exc:
        if not refused(exc):
            raise
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
    """Return ``{"value", "error"}``: what a macro returns, or why a statement was refused."""
    try:
        return {"value": macro(*arguments), "error": None}
    except Exception as exc:
        if not refused(exc):
            raise
        return {"value": None, "error": str(exc.msg)}
