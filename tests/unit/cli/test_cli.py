"""What commands make of their arguments and of dbt's answers."""

from __future__ import annotations

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import GROUPS, dbt_commands, main
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


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--warn-error", "run", "--select", "x"], ["run", "--warn-error", "--select", "x"]),
        (["--log-level", "debug", "-q", "build"], ["build", "--log-level", "debug", "-q"]),
        (["--log-level=debug", "ls"], ["ls", "--log-level=debug"]),
        (["--no-partial-parse", "docs", "generate"], ["docs", "--no-partial-parse", "generate"]),
        (["--log-level", "run", "build"], ["build", "--log-level", "run"]),
        (["run", "--warn-error"], ["run", "--warn-error"]),
    ],
)
def test_dbts_global_options_stand_before_the_command(
    monkeypatch: pytest.MonkeyPatch, given: list[str], passed: list[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(dbt_commands, "default_profiles", lambda arguments: ())
    monkeypatch.setattr(dbt_commands, "colour_options", lambda arguments: ())
    monkeypatch.setattr(
        dbt_commands,
        "invoke",
        lambda arguments: (asked.append(arguments), SimpleNamespace(success=True, exception=None))[
            1
        ],
    )
    assert CliRunner().invoke(main, given).exit_code == 0
    assert asked == [passed]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--nope", "run"], "--nope"),
        (["--warn-error"], "--warn-error"),
        (["--quiet", "status"], "--quiet"),
    ],
)
def test_other_options_are_refused_where_they_stand(given: list[str], named: str) -> None:
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2
    assert "No such option" in result.output and named in result.output


def test_help_and_version_are_floodmarks_own() -> None:
    assert CliRunner().invoke(main, ["--version"]).output.startswith("floodmark, version")
    assert "Set up:" in CliRunner().invoke(main, ["-h"]).output
