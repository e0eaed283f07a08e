"""What `--set` of `floodmark quarantine replay` takes, and what `list` shows where it cannot read; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt_floodmark.cli.quarantine import _assignment, _open_rows
from dbt_floodmark.errors import FloodmarkError, UsageError
from tests.support.macros import load


@pytest.mark.parametrize(
    ("text", "column", "expression"),
    [
        ("amount = abs(amount)", "amount", "abs(amount)"),
        ("a b=a >= 1", "a b", "a >= 1"),
        (" `a b` = 'x'\n ", "a b", "'x'"),
        ("`a=b` = 1", "a=b", "1"),
        ("`ti``ck` = `ti``ck`", "ti`ck", "`ti``ck`"),
        ('"total" = 0', "total", "0"),
    ],
)
def test_a_column_and_its_expression(text: str, column: str, expression: str) -> None:
    given = dict([_assignment(text)])
    floodmark = load(var=lambda name, default=None: {"set": given})
    assert floodmark._replay_asked()["set"] == {column: expression}


@pytest.mark.parametrize("text", ["amount", "= 1", "amount = ", "  ="])
def test_what_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        _assignment(text)


def listed(*broken: str) -> list[dict[str, Any]]:
    """The open rows of two models, some of whose quarantines cannot be read."""

    def query(text: str) -> list[dict[str, Any]]:
        asked = [name for name in ("orders", "stores") if f"model.shop.{name}" in text]
        if set(asked) & set(broken):
            raise FloodmarkError("its files are gone")
        return [{"model": f"shop.{name}", "rule": "r", "rows": 1, "oldest": ""} for name in asked]

    models = {
        f"model.shop.{name}": SimpleNamespace(
            unique_id=f"model.shop.{name}", model_id=f"shop.{name}"
        )
        for name in ("stores", "orders")
    }
    return _open_rows(cast(Any, SimpleNamespace(models=models, query=query)))


def test_a_quarantine_that_cannot_be_read_hides_no_other() -> None:
    kept = {"rule": "r", "rows": 1, "oldest": "", "error": None}
    lost = {"rule": None, "rows": None, "oldest": None, "error": "its files are gone"}
    assert listed() == [{"model": "shop.orders"} | kept, {"model": "shop.stores"} | kept]
    assert listed("orders") == [{"model": "shop.orders"} | lost, {"model": "shop.stores"} | kept]
    # It is not the quarantines' fault.
    with pytest.raises(FloodmarkError, match="its files are gone"):
        listed("orders", "stores")
