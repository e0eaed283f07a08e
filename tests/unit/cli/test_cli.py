"""What commands make of their arguments and of dbt's answers."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from types import SimpleNamespace

import click
import jinja2
import pytest
from click.testing import CliRunner
from dbt.adapters.spark.connections import SparkConnectionManager

from dbt_floodmark.adapter import patches
from dbt_floodmark.cli import GROUPS, dbt_commands, main
from dbt_floodmark.cli.output import console, table
from dbt_floodmark.project.ledger import NoLedgerError, NoTableError, failure
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import (
    given_variables,
    select_option,
    target_options,
    uninterrupted,
)
from dbt_floodmark.texts import named_text


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


def test_a_file_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    answer = CliRunner().invoke(main, ["init", str(in_the_way / "shop")])
    assert answer.exit_code == 1
    assert answer.output == f"floodmark: {in_the_way / 'shop'}: Not a directory.\n"


def test_ctrl_c_while_dbt_runs_ends_the_command() -> None:
    """dbt returns it as the reason why a query failed."""
    for told in (None, ValueError("x")):
        result = SimpleNamespace(exception=told)
        assert uninterrupted(result) is result
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(SimpleNamespace(exception=KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], {}),
        (["--vars", "{a: 1, b: [x]}"], {"a": 1, "b": ["x"]}),
        (["--vars", "{}"], {}),
    ],
)
def test_every_command_takes_dbts_variables(arguments: list[str], found: dict[str, object]) -> None:
    @click.command()
    @target_options
    def shown(**_: object) -> None:
        click.echo(repr(given_variables()))

    assert CliRunner().invoke(shown, arguments).output == f"{found!r}\n"
    assert given_variables() == {}


def test_variables_that_are_no_mapping_are_refused() -> None:
    @click.command()
    @target_options
    def shown() -> None: ...

    answer = CliRunner().invoke(shown, ["--vars", "x"])
    assert answer.exit_code == 2 and "--vars" in answer.output


def test_a_run_has_the_commands_variables_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    invoked: list[list[str]] = []

    class Runner:
        def __init__(self, **_: object) -> None: ...

        def invoke(self, arguments: list[str]) -> object:
            invoked.append(arguments)
            return SimpleNamespace(exception=None)

    monkeypatch.setattr("dbt.cli.main.dbtRunner", Runner)
    project = Project.__new__(Project)
    project.manifest, project.options = SimpleNamespace(nodes={}), ["--target", "t"]
    project.variables = {"a": dt.date(2026, 1, 31)}
    project.invoke(["run"], floodmark_restate={"from": "x"})
    project.variables = {}
    project.invoke(["run"])
    given = "{a: 2026-01-31, floodmark_restate: {from: x}}"
    assert invoked == [["run", "--vars", given, "--target", "t"], ["run", "--target", "t"]]


def test_a_query_calls_no_macro_while_dbt_parses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def invoke(arguments: list[str]) -> SimpleNamespace:
        asked.append(arguments[arguments.index("--inline") + 1])
        return SimpleNamespace(success=True)

    monkeypatch.setattr("dbt_floodmark.project.project.rows_of", lambda result: [])
    project = Project.__new__(Project)
    monkeypatch.setattr(project, "invoke", invoke)
    project.query(named_text("due", "select '{% endif %}'") + "{{ sql_of(due) }}")
    (sql,) = map(jinja2.Template, asked)
    assert sql.render(execute=False) == "select 1"
    assert sql.render(execute=True, sql_of=str.upper) == "SELECT '{% ENDIF %}'"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["docs"], "generate or serve"),
        (["docs", "--no-partial-parse"], "generate or serve"),
        (["source"], "freshness"),
    ],
)
def test_a_group_of_dbts_commands_names_them(given: list[str], words: str) -> None:
    answer = CliRunner().invoke(main, given)
    assert answer.exit_code == 2
    assert (
        answer.output == f"floodmark: `floodmark {given[0]}` needs a command behind it: {words}.\n"
    )


def test_a_terminal_of_another_encoding_shows_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> None:
        console().print(table("", [("a", "left"), ("b", "left")], [[None, "é"]]))

    monkeypatch.setitem(main.commands, "shown", click.Command("shown", callback=shown))
    answer = CliRunner(charset="latin-1").invoke(main, ["shown"], catch_exceptions=False)
    assert answer.output.splitlines()[-1] == "?  é"


@pytest.mark.parametrize("arguments", [["--warm"], ["--connection"]])
def test_debug_asks_floodmarks_spark_in_the_projects_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """dbt debug sets up no plugins, and its connection does not know the project."""
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    monkeypatch.delenv("FLOODMARK_HOME", raising=False)
    monkeypatch.delenv("FLOODMARK_WARM", raising=False)
    monkeypatch.setenv("DBT_PROJECT_DIR", str(tmp_path))
    seen: list[tuple[str | None, str | None, bool]] = []

    def invoke(_: list[str]) -> SimpleNamespace:
        said = (os.environ.get("FLOODMARK_HOME"), os.environ.get("FLOODMARK_WARM"))
        seen.append((*said, hasattr(SparkConnectionManager.open, "_floodmark_original")))
        return SimpleNamespace(success=True, exception=None)

    monkeypatch.setattr(dbt_commands, "invoke", invoke)
    were_on = hasattr(SparkConnectionManager.open, "_floodmark_original")
    try:
        patches.remove()
        answer = CliRunner().invoke(main, ["debug", *arguments])
    finally:
        patches.remove()
        if were_on:
            patches.apply()
    assert answer.exit_code == 0, answer.output
    warm = "1" if arguments == ["--warm"] else None
    assert seen == [(str(tmp_path / ".floodmark"), warm, True)]
    assert "FLOODMARK_HOME" not in os.environ


def test_a_look_leaves_dbts_manifest_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dbt's own state comparison reads it: it is of the last build."""
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    invoked: list[list[str]] = []

    class Runner:
        def invoke(self, arguments: list[str]) -> object:
            invoked.append(arguments)
            manifest = SimpleNamespace(nodes={})
            return SimpleNamespace(success=True, exception=None, result=manifest)

    monkeypatch.setattr("dbt.cli.main.dbtRunner", Runner)
    Project(tmp_path, None, None)
    ((word, *options),) = invoked
    assert word == "parse" and "--no-write-json" in options


def test_a_part_of_a_snapshot_is_not_backfilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is run: no order of commands would load it."""
    chosen = SimpleNamespace(strategy="snapshot_diff", watermark={"column": "day"})
    project = SimpleNamespace(one=lambda model: chosen)
    monkeypatch.setattr("dbt_floodmark.project.project.Project", lambda *given: project)
    words = ["backfill", "products", "--from", "2026-01-01", "--to", "2026-01-02"]
    answer = CliRunner().invoke(main, [*words, "--project-dir", str(tmp_path)])
    assert answer.exit_code == 2
    assert "products takes whole snapshots, in their order" in answer.output
    assert "--full-refresh" in answer.output
