"""What becomes of an error in a macro that the plugin runs."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.exceptions import ContractError
from dbt_common.exceptions import CompilationError, DbtRuntimeError, EventCompilationError

from dbt_floodmark.adapter.catching import SparkRefused, attempt, outlast, try_macro
from dbt_floodmark.refusal import RefusedError, RejectedError, TryAgainError
from dbt_floodmark.spark.messages import CANCELLED


def failing(error: Exception) -> Any:
    def macro(*arguments: Any) -> None:
        raise error

    return macro


def untold(*_: Any) -> Any:
    pytest.fail("told")


def test_what_a_macro_returns_comes_back() -> None:
    assert attempt(lambda a, b: a + b, untold, untold, 1, 2) == 3
    assert try_macro(lambda a: a, 1) == {
        "value": 1,
        "error": None,
        "condition": None,
        "raised": None,
    }


def test_a_refusal_is_told_with_the_arguments_and_raised() -> None:
    told: list[Any] = []

    def on_refused(*given: Any) -> str:
        told.extend(given)
        return ""

    with pytest.raises(SparkRefused, match="no such row"):
        attempt(failing(SparkRefused("no such row")), on_refused, untold, 1, 2)
    assert told == ["no such row", 1, 2]
    refused = SparkRefused("[NO_SUCH.ROW] no such row")
    assert try_macro(failing(refused)) == {
        "value": None,
        "error": "[NO_SUCH.ROW] no such row",
        "condition": "NO_SUCH.ROW",
        "raised": refused,
    }


def test_advice_follows_the_sentence() -> None:
    with pytest.raises(DbtRuntimeError, match=r"no such row\n  run again"):
        attempt(failing(SparkRefused("no such row")), lambda *_: " run again ", untold, 1)


@pytest.mark.parametrize(
    "error",
    [
        DbtRuntimeError("cancelled"),
        CompilationError("dbt refuses"),
        RefusedError("floodmark refuses"),
        TryAgainError("another run"),
        ValueError("a defect"),
    ],
)
def test_what_is_no_refusal_is_not_told(error: Exception) -> None:
    with pytest.raises(type(error)):
        attempt(failing(error), untold, untold)
    with pytest.raises(type(error)):
        try_macro(failing(error))


def test_an_error_while_it_is_told_hides_nothing() -> None:
    with pytest.raises(SparkRefused, match="the first"):
        attempt(failing(SparkRefused("the first")), failing(SparkRefused("the second")), untold)


@pytest.mark.parametrize("may_pass", [False, True])
def test_a_rejected_batch_is_told_with_its_reason_and_the_node_shows_the_message(
    may_pass: bool,
) -> None:
    told: list[Any] = []
    rejected = RejectedError("floodmark refuses model 'm': 1 problem", "columns differ", may_pass)
    with pytest.raises(RejectedError, match="1 problem"):
        attempt(failing(rejected), untold, lambda *given: told.extend(given), 1, 2)
    assert told == ["columns differ", may_pass, 1, 2]


def test_a_broken_contract_rejects_the_batch_and_dbts_table_is_shown() -> None:
    told: list[Any] = []
    columns = [{"name": "id", "data_type": "INT"}], [{"name": "id", "data_type": "STRING"}]
    with pytest.raises(ContractError, match="data type mismatch"):
        attempt(failing(ContractError(*columns)), untold, lambda *given: told.extend(given), 1)
    assert told == ["the SELECT breaks the contract", False, 1]


def test_what_is_found_while_a_batch_is_rejected_is_shown_instead() -> None:
    """Another run has finished it meanwhile: its rows are in the table, and the next run goes on."""
    finished = failing(TryAgainError("another run has finished batch 7 meanwhile"))
    with pytest.raises(TryAgainError, match="finished batch 7"):
        attempt(failing(RejectedError("refused", "columns differ")), untold, finished, 1)


@pytest.mark.parametrize(
    "error",
    [
        SparkRefused("no  such\nrow"),
        DbtRuntimeError("no such row"),
        EventCompilationError("no such row", node=None),
    ],
)
def test_what_goes_on_outlasts_each_failure_but_a_cancelled_statement(error: Exception) -> None:
    """A conflict, and a warning under warn_error, are no refusals of Spark's."""
    assert outlast(lambda a: a, 1) == {"value": 1, "error": None}
    assert outlast(failing(error), 1) == {"value": None, "error": "no such row"}
    with pytest.raises(DbtRuntimeError, match="cancelled"):
        outlast(failing(DbtRuntimeError(CANCELLED)))
    with pytest.raises(ValueError, match="a defect"):
        outlast(failing(ValueError("a defect")))
