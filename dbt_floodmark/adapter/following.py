"""A dbt command that follows an operation: what only a run of a model can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbt.artifacts.schemas.results import RunStatus
from dbt.events.types import RunningOperationCaughtError
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.texts import yaml_text

#: Commands that wait for the operation at hand to end: words, and variables.
_waiting: list[tuple[list[str], dict[str, Any]]] = []


def follow(adapter: Any, words: Sequence[str], variables: Mapping[str, Any]) -> None:
    """Run ``dbt`` with these words and variables once the operation at hand has ended."""
    _waiting.append(([str(word) for word in words], dict(variables)))


def run_what_follows(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operation of dbt so that the commands queued by `follow` run after it.

    They run in this process, with the same project, profile and target. Where one fails, the
    operation fails.
    """

    def run(self: Any) -> Any:
        _waiting.clear()
        result = original(self)
        while _waiting:
            try:
                _run(*_waiting.pop(0), self.args)
            except DbtRuntimeError as exc:
                _fail(result.results[0], exc)
                break
        return result

    return run


def _fail(operation: Any, error: DbtRuntimeError) -> None:
    """Let an operation fail as if its macro had: dbt then ends with 1, since it did run."""
    fire_event(RunningOperationCaughtError(exc=str(error)))
    operation.status, operation.failures = RunStatus.Error, 1
    operation.message = str(error.msg)


def _run(words: list[str], variables: dict[str, Any], flags: Any) -> None:
    from dbt.cli.main import dbtRunner

    options = ["--project-dir", str(flags.PROJECT_DIR), "--profiles-dir", str(flags.PROFILES_DIR)]
    for option, value in (("--profile", flags.PROFILE), ("--target", flags.TARGET)):
        if value:
            options += [option, str(value)]
    given = yaml_text({**(flags.VARS or {}), **variables})
    if not dbtRunner().invoke([*words, "--vars", given, *options]).success:
        raise DbtRuntimeError(f"dbt {' '.join(words)} failed, as it says above")
