"""A dbt command that follows an operation: what only a run of a model can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

_waiting: list[list[str]] = []


def follow(adapter: Any, arguments: Sequence[str]) -> None:
    """Run ``dbt`` with these arguments once the operation at hand has ended."""
    _waiting.append([str(one) for one in arguments])


def run_what_follows(original: Callable[..., Any]) -> Callable[..., Any]:
    """Run it in this process, which holds the session: of the same project, profile and target."""

    def run(self: Any) -> Any:
        _waiting.clear()
        result = original(self)
        while _waiting:
            _run(_waiting.pop(0), self.args)
        return result

    return run


def _run(arguments: list[str], flags: Any) -> None:
    from dbt.cli.main import dbtRunner

    options = ["--project-dir", str(flags.PROJECT_DIR), "--profiles-dir", str(flags.PROFILES_DIR)]
    if getattr(flags, "TARGET", None):
        options += ["--target", str(flags.TARGET)]
    outcome = dbtRunner().invoke([*arguments, *options])
    if not outcome.success:
        raise DbtRuntimeError(f"dbt {' '.join(arguments)} failed, as it says above")
