"""`floodmark init` writes a whole project, or says in a sentence why not."""

import re

import pytest
import yaml
from click.testing import CliRunner

from dbt_floodmark.cli import main


def _floodmark(*arguments):
    return CliRunner().invoke(main, list(arguments), prog_name="floodmark")


def test_files(tmp_path):
    shop = tmp_path / "my-Shop"
    answer = _floodmark("init", str(shop))
    assert answer.exit_code == 0, answer.output
    written = {
        str(path.relative_to(shop))
        for path in shop.rglob("*")
        if path.is_file() and not {"dbt_packages", "packages"} & set(path.parts)
    }
    assert written == {
        ".gitignore",
        "dbt_project.yml",
        "macros/floodmark.sql",
        "models/events.sql",
        "models/events.yml",
        "packages.yml",
        "profiles/profiles.yml",
        "seeds/raw_events.csv",
        "seeds/raw_events.yml",
    }
    project = yaml.safe_load((shop / "dbt_project.yml").read_text())
    assert (project["name"], project["profile"]) == ("my_shop", "my_shop")
    assert project["clean-targets"] == ["target", "dbt_packages"]
    assert project["dispatch"] == [
        {"macro_namespace": "dbt", "search_order": ["my_shop", "floodmark", "dbt"]}
    ]
    profiles = yaml.safe_load((shop / "profiles" / "profiles.yml").read_text())
    assert set(profiles["my_shop"]["outputs"]) == {"session", "thrift"}
    for place in ("dbt_packages", "packages"):
        package = shop / place / "floodmark"
        assert {path.name for path in package.iterdir()} == {"dbt_project.yml", "macros"}
    assert "{{ floodmark.watermark_filter() }}" in answer.output


@pytest.mark.parametrize("name", ["on", "no", "true", "null", "y", "shop_1"])
def test_a_name_that_yaml_takes_for_something_else(tmp_path, name):
    shop = tmp_path / name
    assert _floodmark("init", str(shop)).exit_code == 0
    project = yaml.safe_load((shop / "dbt_project.yml").read_text())
    assert (project["name"], project["profile"]) == (name, name)
    assert list(project["models"]) == list(project["seeds"]) == [name]
    [[profile, settings]] = yaml.safe_load((shop / "profiles/profiles.yml").read_text()).items()
    assert profile == name
    assert [output["schema"] for output in settings["outputs"].values()] == [name, name]


def test_the_next_steps_can_be_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = _floodmark("init", "my dir/shop")
    assert answer.exit_code == 0, answer.output
    for word in ("build", "status"):
        assert f"\n    floodmark {word} --project-dir 'my dir/shop'\n" in answer.output


def test_the_rule_that_is_commented_out_is_one(tmp_path):
    shop = tmp_path / "shop"
    assert _floodmark("init", str(shop)).exit_code == 0
    page = (shop / "models/events.yml").read_text()
    [model] = yaml.safe_load(re.sub(r"(?m)^    # (?=[ -]|config:)", "    ", page))["models"]
    [rule] = model["config"]["meta"]["floodmark"]["expectations"]
    assert (rule["expect"], rule["on_violation"]) == ("amount > 0", "quarantine")


def test_not_empty(tmp_path):
    (tmp_path / "here").write_text("")
    answer = _floodmark("init", str(tmp_path))
    assert answer.exit_code == 2
    assert f"floodmark: {tmp_path} is not empty: name a new folder, or empty it first." in (
        answer.output
    )


@pytest.mark.parametrize(
    "name",
    [
        "1shop",
        "floodmark",
        "dbt",
        "dbt-spark",
        "a b",
        "target",
        "Source",
        "ref",
        "schema",
        "run-query",
        "context",
    ],
)
def test_no_name(tmp_path, name):
    answer = _floodmark("init", str(tmp_path / name))
    assert answer.exit_code == 2
    assert answer.output.strip() == (
        f"floodmark: No project can be called '{name}': choose a folder name of letters, digits "
        "and underscores that starts with a letter and is not floodmark, dbt or dbt_spark, nor a "
        "word of dbt's Jinja, such as target or source."
    )
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_no_project(tmp_path, command):
    answer = _floodmark(command, "--project-dir", str(tmp_path))
    assert answer.exit_code == 2
    assert answer.output.strip() == (
        f"floodmark: There is no dbt_project.yml in {tmp_path}: go to a project, name one with "
        "--project-dir, or make one with `floodmark init DIR`."
    )


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_has_help_with_an_example(command):
    answer = _floodmark(command, "--help")
    assert answer.exit_code == 0
    assert "Example:" in answer.output and f"floodmark {command}" in answer.output


def test_wrong_option_of_dbt(tmp_path):
    answer = _floodmark("build", "--nope")
    assert answer.exit_code == 2
    assert answer.output.strip() == "floodmark: No such option '--nope'."


def test_a_path_with_a_key_in_it(tmp_path, monkeypatch):
    """Nobody writes it down: neither dbt into its log, nor we into a model."""
    monkeypatch.chdir(tmp_path)
    answer = _floodmark("init", "shop", "--files", "s3a://AKIA1:PW/w0rd@bucket/in")
    assert answer.exit_code == 2
    said = " ".join(answer.output.split())
    assert (
        "--files got 's3a://AKIA1:***@bucket/in': expected a path without credentials. Put them in "
        "the profile's server_side_parameters" in said
    )
    assert "PW" not in said and list(tmp_path.iterdir()) == []
