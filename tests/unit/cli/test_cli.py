"""What commands make of their arguments and of dbt's answers."""

from __future__ import annotations

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import GROUPS, main
from dbt_floodmark.project.ledger import NoLedgerError, NoTableError, failure
from dbt_floodmark.project.runner import select_option


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


def test_help_shows_every_command_once_in_its_group():
    headings = ["Set up", "Load", "Look", "Repair", "Keep running", "dbt's own"]
    named = [command.name for commands in GROUPS.values() for command in commands]
    assert sorted(named) == sorted(main.commands) and len(named) == len(set(named))
    lines = CliRunner().invoke(main, ["--help"]).output.splitlines()
    assert [line[:-1] for line in lines if line.rstrip(":") in GROUPS] == headings
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].isalpha()]
    assert [name for name in listed if name in main.commands] == named
    assert not [line for line in lines if line.endswith("...") and "COMMAND" not in line]
