"""A dbt command that follows an operation, and what dbt ends with where it fails; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt.artifacts.schemas.results import RunStatus
from dbt.task.run_operation import RunOperationTask

from dbt_floodmark.adapter import following

FLAGS = SimpleNamespace(
    PROJECT_DIR="/shop", PROFILES_DIR="/profiles", PROFILE=None, TARGET="t", VARS={"a": 1}
)


@pytest.mark.parametrize("succeeds", [True, False])
def test_the_operation_ends_as_the_run_that_follows(
    monkeypatch: pytest.MonkeyPatch, succeeds: bool
) -> None:
    invoked: list[list[str]] = []
    said: list[str] = []

    class Runner:
        def invoke(self, arguments: list[str]) -> object:
            invoked.append(arguments)
            return SimpleNamespace(success=succeeds)

    def operation(task: object) -> object:
        following.follow(None, ["run", "--select", "m"], {"floodmark_replay": {"rule": "r"}})
        return SimpleNamespace(
            results=[SimpleNamespace(status=RunStatus.Success, message=None, failures=0)]
        )

    monkeypatch.setattr("dbt.cli.main.dbtRunner", Runner)
    monkeypatch.setattr(following, "fire_event", lambda event: said.append(event.exc))
    result = following.run_what_follows(operation)(SimpleNamespace(args=FLAGS))
    [arguments] = invoked
    assert arguments[:5] == [
        "run", "--select", "m", "--vars", "{a: 1, floodmark_replay: {rule: r}}"
    ]  # fmt: skip
    assert arguments[-2:] == ["--target", "t"]
    # Where it fails, dbt's command has a result and no exception: it ends with 1.
    assert RunOperationTask.interpret_results(result) is succeeds
    if not succeeds:
        assert result.results[0].message == "dbt run --select m failed, as it says above"
        assert "dbt run --select m failed, as it says above" in said[0]
