"""What `--set` of `floodmark quarantine replay` takes for the column and for its expression."""

from __future__ import annotations

import pytest

from dbt_floodmark.cli.quarantine import _assignment
from dbt_floodmark.errors import UsageError
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
