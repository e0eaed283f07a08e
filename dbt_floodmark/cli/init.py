"""``floodmark init``: a project that builds at once, without network."""

from __future__ import annotations

import os
import re
import shlex
from importlib import resources
from pathlib import Path

import click

from dbt_floodmark.cli.init_files import Look, write_model
from dbt_floodmark.cli.output import console
from dbt_floodmark.errors import UsageError
from dbt_floodmark.package import COPY, PACKAGE, install_package
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import target_options
from dbt_floodmark.secrets import PLACE, has_secret, masked

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@click.command()
@target_options
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--files", "path", metavar="PATH", help="Write a bronze model for this folder of files."
)
@click.option(
    "--format", metavar="FORMAT", help="The format of these files; without it, their names say."
)
@click.option("--model", metavar="NAME", help="The name of the new model.")
def init(
    project_dir: Path,
    profiles_dir: str | None,
    target: str | None,
    directory: Path | None,
    path: str | None,
    format: str | None,
    model: str | None,
) -> None:
    """Write a new project into DIR, or a model for a folder of files.

    DIR must be new or empty. With --files it may also be a project. The model goes into DIR,
    or else into the project here.

    \b
    Example:
        floodmark init shop
        floodmark build --project-dir shop
        floodmark init --files data/landing/invoices
    """
    if directory is None and path is None:
        raise UsageError("Name a folder for the new project, or a folder of files with --files.")
    # dbt would write the path into its log, and the model would hold it.
    if path is not None and has_secret(path):
        raise UsageError(
            f"--files got '{masked(path)}': expected a path without credentials. {PLACE}."
        )
    is_new = directory is not None and not (directory / "dbt_project.yml").is_file()
    if directory is not None and (is_new or path is None):
        name = create_project(directory)
        if path is None:
            _show_project(directory, name)
            return
        console().print(f"The project {name} is in {directory}.")
    if path is None:
        return
    # dbt goes into the project's folder; people name what they see from here.
    here = Path.cwd()
    with console(stderr=True).status("Looking at the files"):
        project = Project(directory or project_dir, profiles_dir, target)
        file, look = write_model(project, path, format, model, here)
    _show_model(project, file, look, os.path.relpath(project.folder, here.resolve()))


def _show_project(directory: Path, name: str) -> None:
    where = shlex.quote(str(directory))
    console().print(
        f"The project {name} is in {directory}. Build it, add rows to seeds/raw_events.csv, build "
        f"again:\n\n    floodmark build --project-dir {where}\n"
        f"    floodmark status --project-dir {where}\n\n"
        "How a model declares its load (models/events.sql):\n\n"
        f"{(directory / 'models' / 'events.sql').read_text('utf-8')}",
        soft_wrap=True,
    )


def _show_model(project: Project, file: Path, look: Look, folder: str) -> None:
    where = "" if folder == "." else f" --project-dir {shlex.quote(folder)}"
    table = "select * from {{ ref('" + file.stem + "') }}"
    console().print(
        f"The model {file.stem} is in {file.relative_to(project.folder)}. It loads {look.text()}.\n"
        f"\n{file.read_text('utf-8')}\n"
        "Load the files, see what each gave, and look at the table:\n\n"
        f"    floodmark build --select {file.stem}{where}\n"
        f"    floodmark files {file.stem}{where}\n"
        f'    floodmark show --inline "{table}"{where}\n',
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
    # dbt reads the second; `dbt deps` makes it anew from the first.
    for place in (COPY, f"dbt_packages/{PACKAGE}"):
        install_package(directory / place)
    return name


def project_name(directory: Path) -> str:
    """Return the project's name: the folder's, as dbt allows it."""
    wanted = directory.resolve().name
    name = wanted.lower().replace("-", "_")
    if not _NAME.fullmatch(name) or name in _dbt_words():
        raise UsageError(
            f"No project can be called '{wanted}': choose a folder name of letters, digits and "
            "underscores that starts with a letter and is not floodmark, dbt or dbt_spark, nor a "
            "word of dbt's Jinja, such as target or source."
        )
    return name


def _dbt_words() -> set[str]:
    """Names of dbt's own packages, and those that mean something in its Jinja.

    There dbt puts the macros of a project under its name, over whatever else has that name.
    """
    from dbt.context.providers import ModelContext

    beside = {"builtins", "context", "run_query", "statement"}
    return {PACKAGE, "dbt", "dbt_spark", *beside, *ModelContext._context_members_}
