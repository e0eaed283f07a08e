"""What belongs to the user is neither landed on nor written over."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import init_files, main
from dbt_floodmark.cli.init_files import Look, write_model
from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.runner import project_settings

#: The module, which has the name of its command.
demo = importlib.import_module("dbt_floodmark.cli.demo")
EXAMPLE = Path("models/bronze/bronze_invoices.sql")


def made(folder: Path, settings: str, model: Path = EXAMPLE) -> Path:
    (folder / model).parent.mkdir(parents=True)
    (folder / model).write_text("select 1")
    (folder / "dbt_project.yml").write_text(settings)
    return folder


def test_the_example_is_a_project_of_floodmarks_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`floodmark init --files data/landing/invoices` writes a model of that name into any project."""
    own = made(tmp_path / "own", "name: shop\n")
    checkout = made(tmp_path / "checkout", "name: floodmark\n")
    monkeypatch.setattr(demo, "package_root", lambda: tmp_path / "nothing")
    with pytest.raises(UsageError) as caught:
        demo.example_project(own)
    assert str(caught.value) == (
        "The worked example is not here: run `floodmark demo` in a checkout of floodmark, or name "
        "one with --project-dir."
    )
    assert demo.example_project(checkout) == checkout
    monkeypatch.setattr(demo, "package_root", lambda: checkout)
    assert demo.example_project(own) == checkout


@pytest.mark.parametrize("text", [None, "[", "a list", "- a\n"])
def test_settings_of_a_project_that_cannot_be_read_are_none(
    tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "dbt_project.yml").write_text(text)
    assert project_settings(tmp_path) == {}


@pytest.mark.parametrize("folder", [None, "transform"])
def test_a_model_goes_where_dbt_looks_and_over_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    """A model that is disabled, or in a folder that dbt does not read, is not in the manifest."""
    settings = "name: shop\n" + (f"model-paths: [{folder}, other]\n" if folder else "")
    (tmp_path / "dbt_project.yml").write_text(settings)
    monkeypatch.setattr(
        init_files, "look_at", lambda *_: Look("in", "json", 1, 10, [("id", "int")])
    )
    project = SimpleNamespace(folder=tmp_path, manifest=SimpleNamespace(nodes={}))
    file, _ = write_model(project, "in", None, None, tmp_path)
    assert file == tmp_path / (folder or "models") / "bronze" / "bronze_in.sql"
    file.write_text("{{ config(enabled=false) }} select 'mine'")
    with pytest.raises(UsageError) as caught:
        write_model(project, "in", None, None, tmp_path)
    assert str(caught.value) == f"There is a {file} already: name another model with --model."
    assert "mine" in file.read_text()


def test_the_demo_is_the_same_in_every_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's profile has no target of its kind, and the warm server rejects streams."""
    example = made(tmp_path, "name: floodmark\n")
    others = {"FLOODMARK_WARM": "1", "DBT_PROFILE": "shop", "DBT_PROFILES_DIR": "/elsewhere"}
    others |= {"DBT_ENGINE_PROFILE": "shop", "DBT_ENGINE_PROFILES_DIR": "/elsewhere"}
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    seen: dict[str, str] = {}
    monkeypatch.setattr(demo, "_run", lambda *_: seen.update(os.environ))
    monkeypatch.setattr(demo, "_show", lambda *_: None)
    arguments = ["demo", "--resume", "--project-dir", str(example)]
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 0, answer.output
    assert seen["FLOODMARK_HOME"] == str(example / ".floodmark" / "demo")
    assert seen["FLOODMARK_WARM"] == "0"
    # dbt takes these before DBT_PROFILE and DBT_PROFILES_DIR.
    assert seen["DBT_ENGINE_PROFILE"] == "floodmark"
    assert seen["DBT_ENGINE_PROFILES_DIR"] == str(example / "profiles")
    assert {name: os.environ[name] for name in others} == others
