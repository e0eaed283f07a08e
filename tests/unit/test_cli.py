"""What commands make of their arguments and of dbt's answers."""

from __future__ import annotations

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from dbt_floodmark.cli.ledger import NoLedgerError, NoTableError, failure
from dbt_floodmark.cli.runner import select_option


@pytest.mark.parametrize(
    "arguments",
    [
        ["-s", "one", "two"],
        ["--select", "one two"],
        ["-s", "one", "--select", "two"],
        ["--select", "one", "two"],
    ],
)
def test_select_takes_one_or_several_as_dbts_does(arguments: list[str]) -> None:
    @click.command()
    @select_option
    def shown(select: tuple[str, ...]) -> None:
        click.echo(repr(select))

    assert CliRunner().invoke(shown, arguments).output == "('one', 'two')\n"
    assert CliRunner().invoke(shown, []).output == "()\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `s_floodmark`.`batches` cannot be found.",
            NoLedgerError,
        ),
        ("[SCHEMA_NOT_FOUND] The schema `s_floodmark` cannot be found.", NoLedgerError),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `s`.`stores` cannot be found.",
            NoTableError,
        ),
    ],
)
def test_a_table_of_ones_own_is_no_ledger(text: str, kind: type[Exception]) -> None:
    error = failure(SimpleNamespace(exception=text, result=None), "dbt could not read")
    assert type(error) is kind
    assert ("There is no ledger yet" in str(error)) == (kind is NoLedgerError)
