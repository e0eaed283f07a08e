"""The copy of floodmark's dbt package in a project: dbt deps deletes dbt_packages, and Git does not keep it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from dbt.cli.main import dbtRunner

from dbt_floodmark import package
from dbt_floodmark.cli import main
from dbt_floodmark.package import COPY, names_copy, package_root, renew_copy

INSTALLED = "dbt_packages/floodmark"


def floodmark(*arguments: str) -> None:
    answer = CliRunner().invoke(main, arguments, prog_name="floodmark")
    assert answer.exit_code == 0, answer.output


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, in the environment of somebody who runs plain dbt."""
    monkeypatch.setenv("FLOODMARK_PLUGIN", "0")
    monkeypatch.chdir(tmp_path)
    floodmark("init", "shop")
    monkeypatch.delenv("FLOODMARK_PACKAGE")
    monkeypatch.chdir("shop")
    return tmp_path / "shop"


def test_plain_dbt_deps_installs_the_copy_as_often_as_one_likes(shop: Path) -> None:
    for _ in range(2):
        assert dbtRunner().invoke(["deps"]).success
        assert (shop / INSTALLED / "macros" / "merge" / "_merge_sql.sql").is_file()
    shutil.rmtree(shop / "dbt_packages")
    assert dbtRunner().invoke(["deps"]).success
    assert (shop / INSTALLED / "dbt_project.yml").is_file()


def test_git_keeps_the_copy(shop: Path) -> None:
    ignored = (shop / ".gitignore").read_text().split()
    assert "dbt_packages/" in ignored and not any(COPY.startswith(one) for one in ignored)


def test_floodmarks_deps_renews_the_copy_and_installs_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOODMARK_PACKAGE", str(package_root()))  # as it is announced
    (shop / COPY / "macros" / "gone.sql").write_text("of the version before")
    (shop / COPY / "dbt_project.yml").write_text("of the version before")
    floodmark("deps", "--quiet")
    assert os.path.samefile(shop / INSTALLED, shop / COPY)
    assert not (shop / COPY / "macros" / "gone.sql").exists()
    assert (shop / COPY / "dbt_project.yml").read_text().startswith("name: floodmark\n")
    locked = yaml.safe_load((shop / "package-lock.yml").read_text())
    assert [one["local"] for one in locked["packages"]] == [COPY]
    assert os.environ["FLOODMARK_PACKAGE"] == str(package_root())


def test_floodmarks_deps_puts_a_copy_into_a_project_that_names_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOODMARK_PACKAGE", str(package_root()))
    shutil.rmtree(shop / "packages")
    shutil.rmtree(shop / "dbt_packages")
    floodmark("deps", "--quiet", "--project-dir", str(shop))
    assert (shop / INSTALLED / "macros").is_dir() and (shop / COPY / "macros").is_dir()


def test_whoever_names_another_folder_gets_it(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = shutil.copytree(shop / COPY, shop.parent / "other")
    (shop / COPY / "macros" / "mine.sql").write_text("")
    monkeypatch.setenv("FLOODMARK_PACKAGE", str(other))
    floodmark("deps", "--quiet")
    assert os.path.samefile(shop / INSTALLED, other)
    assert (shop / COPY / "macros" / "mine.sql").exists()


@pytest.mark.parametrize("what", ["checkout", "link", "file"])
def test_what_is_no_copy_stays(tmp_path: Path, what: str) -> None:
    copy = tmp_path / COPY
    copy.parent.mkdir()
    if what == "file":
        copy.touch()
    else:
        place = tmp_path / "elsewhere" if what == "link" else copy
        (place / "macros").mkdir(parents=True)
        (place / "macros" / "mine.sql").touch()
        if what == "link":
            copy.symlink_to(place)
        else:
            (copy / ".git").mkdir()
    assert not renew_copy(tmp_path)
    assert what == "file" or (copy / "macros" / "mine.sql").exists()


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"local": COPY}, True),
        ({"local": f"./{COPY}"}, True),
        ({"local": f"{{{{ env_var('FLOODMARK_PACKAGE', '{COPY}') }}}}"}, True),
        ({"local": INSTALLED}, False),
        ({"local": f"../{COPY}"}, False),
        ({"local": f"{COPY}-fork"}, False),
        ({"git": f"https://host/{COPY}.git"}, False),
    ],
)
@pytest.mark.parametrize("file", ["packages.yml", "dependencies.yml"])
def test_who_names_the_copy(tmp_path: Path, file: str, said: dict[str, str], names: bool) -> None:
    assert not names_copy(tmp_path)
    (tmp_path / file).write_text(f"# {COPY}\n{yaml.safe_dump({'packages': [said]})}")
    assert names_copy(tmp_path) is names
    (tmp_path / file).write_text(json.dumps({"packages": [said]}))
    assert names_copy(tmp_path) is names


def test_the_variable_is_announced_unless_the_user_has_set_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FLOODMARK_PACKAGE", raising=False)
    assert not package.is_announced()
    package.announce_package()
    assert package.is_announced()
    monkeypatch.setenv("FLOODMARK_PACKAGE", "/mine")
    package.announce_package()
    assert not package.is_announced() and os.environ["FLOODMARK_PACKAGE"] == "/mine"
