"""``floodmark init``: a project that builds at once, without network."""

from __future__ import annotations

import re
import shutil
from importlib import resources
from pathlib import Path

import click

from dbt_floodmark.cli.output import console
from dbt_floodmark.errors import UsageError
from dbt_floodmark.package import package_root

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=True, path_type=Path))
def init(directory: Path) -> None:
    """Write a new project into DIR, which must be new or empty.

    \b
    Example:
        floodmark init shop
        floodmark build --project-dir shop
    """
    name = create_project(directory)
    console().print(
        f"The project {name} is in {directory}. Build it, add rows to seeds/raw_events.csv, build "
        f"again:\n\n    floodmark build --project-dir {directory}\n"
        f"    floodmark status --project-dir {directory}\n\n"
        "How a model declares its load (models/events.sql):\n\n"
        f"{(directory / 'models' / 'events.sql').read_text('utf-8')}",
        soft_wrap=True,
    )


def create_project(directory: Path) -> str:
    """Write the project's files and return its name.

    Raises:
        UsageError: the folder is not empty, or no project can be named after it.
    """
    name = project_name(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is not empty: name a new folder, or empty it first.")
    template = resources.files("dbt_floodmark") / "resources" / "project"
    with resources.as_file(template) as source:
        for file in sorted(source.rglob("*")):
            if file.is_file():
                target = directory / file.relative_to(source).with_suffix("")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(file.read_text("utf-8").replace("__name__", name), "utf-8")
    install_package(directory / "dbt_packages" / "floodmark")
    return name


def project_name(directory: Path) -> str:
    """Return the project's name: the folder's, as dbt allows it."""
    wanted = directory.resolve().name
    name = wanted.lower().replace("-", "_")
    if not _NAME.fullmatch(name) or name in ("floodmark", "dbt"):
        raise UsageError(
            f"No project can be called '{wanted}': choose a folder name of letters, digits and "
            "underscores that starts with a letter and is not floodmark or dbt."
        )
    return name


def install_package(target: Path) -> None:
    """Copy floodmark's dbt package, without the worked example."""
    root = package_root()
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / "dbt_project.yml", target / "dbt_project.yml")
    shutil.copytree(root / "macros", target / "macros", dirs_exist_ok=True)
