"""Which project, profile and target our own words take: those that dbt takes. No Spark."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from dbt_floodmark.cli import dbt_commands, main
from dbt_floodmark.project import runner

SPARK = {"type": "spark", "host": "127.0.0.1", "schema": "s", "user": "u"}
HERE = {**SPARK, "method": "session"}
THERE = {**SPARK, "method": "thrift", "port": 1}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in [*os.environ]:
        if name.startswith("DBT_") or name == "NO_COLOR":
            monkeypatch.delenv(name)


def _write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project with its profiles; one works in its models."""
    shop = tmp_path / "shop"
    outputs = {"here": HERE, "there": THERE}
    _write(shop / "dbt_project.yml", {"name": "shop", "version": "1.0", "profile": "shop"})
    _write(
        shop / "profiles" / "profiles.yml",
        {name: {"target": "here", "outputs": outputs} for name in ("shop", "shop_again")},
    )
    _write(
        tmp_path / "elsewhere" / "profiles.yml", {"shop": {"target": "x", "outputs": {"x": HERE}}}
    )
    (shop / "models").mkdir()
    monkeypatch.chdir(shop / "models")
    return shop


@click.command()
@runner.target_options
def word(project_dir, profiles_dir, target):
    profile = runner.load_profile(runner.require_project(project_dir), profiles_dir, target)
    click.echo(
        f"{profile.profile_name} {profile.target_name} {runner.require_project(project_dir)}"
    )


def _told(*arguments, **environment):
    answer = CliRunner().invoke(word, arguments, env=environment, catch_exceptions=False)
    return answer.output.split()


def test_a_project_above_with_its_profiles(shop):
    assert _told() == ["shop", "here", str(shop)]
    assert runner.default_profiles([]) == ["--profiles-dir", str(shop / "profiles")]


@pytest.mark.parametrize("prefix", ["DBT", "DBT_ENGINE"])
def test_what_the_environment_names(shop, tmp_path, monkeypatch, prefix):
    named = {f"{prefix}_PROJECT_DIR": str(shop), f"{prefix}_TARGET": "there"}
    named[f"{prefix}_PROFILE"] = "shop_again"
    monkeypatch.chdir(tmp_path)
    assert _told(**named) == ["shop_again", "there", str(shop)]
    assert _told("-t", "here", **named) == ["shop_again", "here", str(shop)]
    elsewhere = {f"{prefix}_PROFILES_DIR": str(tmp_path / "elsewhere")}
    assert _told("--project-dir", str(shop), **elsewhere) == ["shop", "x", str(shop)]
    monkeypatch.setenv(f"{prefix}_PROJECT_DIR", str(shop))
    assert runner.default_profiles([]) == ["--profiles-dir", str(shop / "profiles")]
    monkeypatch.setenv(f"{prefix}_PROFILES_DIR", str(tmp_path / "elsewhere"))
    assert runner.default_profiles([]) == []


def test_dbts_newer_variables_go_first(shop):
    assert _told(DBT_TARGET="nope", DBT_ENGINE_TARGET="there")[1] == "there"


def test_a_profile_that_is_not_there_is_wrong_input(shop, monkeypatch):
    """As a target that is not there: dbt calls the first an error of the project."""
    monkeypatch.setenv("FLOODMARK_PLUGIN", "0")
    for told in ({"DBT_PROFILE": "nope"}, {"DBT_TARGET": "nope"}):
        answer = CliRunner().invoke(main, ["status"], env=told)
        assert answer.exit_code == 2 and "nope" in answer.output, answer.output


def test_doctor_takes_dbts_target(shop, monkeypatch):
    monkeypatch.setenv("FLOODMARK_JARS", str(shop / "no [/jars]"))
    answer = CliRunner().invoke(main, ["doctor"], env={"DBT_TARGET": "there"})
    assert "shop, target there, method thrift" in answer.output
    assert "none answers at 127.0.0.1:1" in answer.output
    assert f"not in {shop / 'no [/jars]'}" in answer.output
    assert answer.exit_code == 1


def test_setup_finds_the_target_in_the_project_above(shop, monkeypatch):
    asked = []
    # The package has the command under the module's name.
    setup = import_module("dbt_floodmark.cli.setup")
    monkeypatch.setattr(setup, "missing_jars", list)
    monkeypatch.setattr(setup, "make_metastore", lambda home, parameters: asked.append(home))
    monkeypatch.delenv("FLOODMARK_HOME", raising=False)
    answer = CliRunner().invoke(main, ["setup", "--metastore", "here"])
    assert answer.exit_code == 0, answer.output
    assert asked == [shop / ".floodmark"]


@pytest.mark.parametrize(
    ("no_color", "arguments", "added"),
    [
        ("1", (), ["--no-use-colors"]),
        ("", (), []),
        ("1", ("--use-colors",), []),
        ("1", ("--no-use-colors",), []),
    ],
)
def test_dbt_honours_no_color(shop, monkeypatch, no_color, arguments, added):
    invoked = []
    monkeypatch.setattr(dbt_commands, "invoke", lambda given: invoked.append(given))
    monkeypatch.setattr(dbt_commands, "usage_sentence", lambda result: None)
    monkeypatch.setattr(dbt_commands, "exit_code", lambda result: 0)
    CliRunner().invoke(main, ["build", *arguments], env={"NO_COLOR": no_color})
    profiles = ["--profiles-dir", str(shop / "profiles")]
    assert invoked == [["build", *arguments, *profiles, *added]]
    monkeypatch.setenv("NO_COLOR", no_color)
    assert runner.colour_options(arguments) == added
    monkeypatch.setenv("DBT_USE_COLORS", "1")
    assert runner.colour_options(arguments) == []
