"""What becomes of an error in a macro that the plugin runs."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_floodmark.adapter.attempts import SparkRefused, attempt, try_macro


def failing(error: Exception) -> Any:
    def macro(*arguments: Any) -> None:
        raise error

    return macro


def test_what_a_macro_returns_comes_back() -> None:
    assert attempt(lambda a, b: a + b, lambda *_: pytest.fail("not refused"), 1, 2) == 3
    assert try_macro(lambda a: a, 1) == {"value": 1, "error": None}


def test_a_refusal_is_told_with_the_arguments_and_raised() -> None:
    told: list[Any] = []

    def on_refused(*given: Any) -> str:
        told.extend(given)
        return ""

    with pytest.raises(SparkRefused, match="no such row"):
        attempt(failing(SparkRefused("no such row")), on_refused, 1, 2)
    assert told == ["no such row", 1, 2]
    assert try_macro(failing(SparkRefused("no such row")))["error"] == "no such row"


def test_advice_follows_the_sentence() -> None:
    with pytest.raises(DbtRuntimeError, match=r"no such row\n  run again"):
        attempt(failing(SparkRefused("no such row")), lambda *_: " run again ", 1)


@pytest.mark.parametrize(
    "error",
    [DbtRuntimeError("cancelled"), CompilationError("floodmark refuses"), ValueError("a defect")],
)
def test_what_is_no_refusal_is_not_told(error: Exception) -> None:
    with pytest.raises(type(error)):
        attempt(failing(error), lambda *_: pytest.fail("told"))
    with pytest.raises(type(error)):
        try_macro(failing(error))


def test_an_error_while_it_is_told_hides_nothing() -> None:
    with pytest.raises(SparkRefused, match="the first"):
        attempt(failing(SparkRefused("the first")), failing(SparkRefused("the second")))
