"""dbt's own commands, passed through with the session ready."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dbt_floodmark.environment import environment_variable
from dbt_floodmark.errors import UsageError
from dbt_floodmark.package import (
    COPY,
    PACKAGE,
    PACKAGE_VARIABLE,
    is_announced,
    names_copy,
    renew_copy,
)
from dbt_floodmark.project.runner import (
    colour_options,
    default_profiles,
    exit_code,
    invoke,
    project_folder,
    usage_sentence,
)
from dbt_floodmark.spark import warm
from dbt_floodmark.spark.home import HOME_VARIABLE, resolve_home

#: dbt's commands, in the order in which `floodmark --help` lists them, and what each does.
_SHORT = {
    "build": "Load seeds, models and snapshots, and run their tests (dbt build).",
    "run": "Load models only (dbt run).",
    "test": "Run the tests.",
    "seed": "Load the CSV files of seeds/.",
    "snapshot": "Run dbt's own snapshots.",
    "compile": "Write the SQL of the models to target/.",
    "show": "Show the rows of a model or a query.",
    "docs": "Generate or serve the documentation with its lineage.",
    "list": "List the resources of the project.",
    "ls": "The same as list.",
    "parse": "Read the project and report errors.",
    "debug": "Test the connection of the profile.",
    "deps": f"Install the packages of packages.yml, floodmark's from a new copy in {COPY}.",
    "clean": "Remove the folders of clean-targets (dbt_project.yml); by default target/.",
    "clone": "Clone models into another schema.",
    "retry": "Run again what failed in the last invocation.",
    "run-operation": "Call a macro.",
    "source": "Check the freshness of sources.",
}
PASSED_THROUGH = tuple(_SHORT)
#: Those that never ask Spark.
_WITHOUT_SPARK = ("list", "ls", "parse", "deps", "clean")
_WARM = {"--warm": "1", "--no-warm": "0"}
#: Options of `floodmark` itself, whatever dbt does with them.
_OWN = ("-h", "--help", "--version")

_EXAMPLES = {
    "build": "floodmark build --warm",
    "docs": "floodmark docs generate",
    "run-operation": "floodmark run-operation my_macro --args '{day: 1}'",
    "show": "floodmark show --select silver_invoices --limit 5",
    "source": "floodmark source freshness",
}


_WARM_HELP = (
    "--warm keeps Spark running for the next commands (`method: session`). It stops after "
    f"{warm.IDLE_MINUTES:g} minutes without a connection. --no-warm starts Spark for this command "
    "only.\n\n"
)


def without_warm(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments that are dbt's, and do what --warm or --no-warm among them says."""
    for one in arguments:
        if one in _WARM:
            _set(warm.VARIABLE, _WARM[one])
    return tuple(one for one in arguments if one not in _WARM)


def behind_command(arguments: Sequence[str]) -> list[str]:
    """Return arguments with dbt's global options behind the command, where dbt takes them, too."""
    if not arguments or not arguments[0].startswith("-"):
        return list(arguments)
    from dbt.cli.main import cli

    options = [one for one in cli.params if isinstance(one, click.Option)]
    known = {name for one in options for name in (*one.opts, *one.secondary_opts)}
    with_value = {name for one in options if not one.is_flag for name in one.opts}
    given = 0
    while given < len(arguments) and arguments[given].startswith("-"):
        name, is_joined, _ = arguments[given].partition("=")
        if name not in known or name in _OWN:
            return list(arguments)
        given += 2 if name in with_value and not is_joined else 1
    return [*arguments[given : given + 1], *arguments[:given], *arguments[given + 1 :]]


def _require_word(name: str, arguments: Sequence[str]) -> None:
    """Refuse a group of dbt's commands without one of them.

    dbt would refuse the options that we add, which only its commands take.
    """
    from dbt.cli.main import cli

    group = cli.commands[name]
    if isinstance(group, click.Group) and all(one.startswith("-") for one in arguments):
        words = dict.fromkeys(str(one.name) for one in group.commands.values())
        raise UsageError(f"`floodmark {name}` needs a command behind it: {' or '.join(words)}.")


def _ready_package(project: Path) -> None:
    """Renew the project's copy of the dbt package, and have `dbt deps` install that one."""
    if names_copy(project) and is_announced() and renew_copy(project):
        # Else dbt's lock file would hold the path of this installation.
        _set(PACKAGE_VARIABLE, COPY)


def _ready_debug(project: Path) -> None:
    """Do what `dbt debug` leaves out: plugins are set up with the project, and it sets up none."""
    import dbt.adapters.spark  # noqa: F401

    from dbt_floodmark.adapter.plugin import FloodmarkPlugin

    FloodmarkPlugin(PACKAGE)
    # Its connection does not know the project's folder.
    _set(HOME_VARIABLE, str(resolve_home(project)))


_READY = {"deps": _ready_package, "debug": _ready_debug}


def _set(variable: str, value: str) -> None:
    """Set a variable of the environment until the command ends."""
    click.get_current_context().with_resource(environment_variable(variable, value))


def dbt_command(name: str) -> click.Command:
    """Return a command that hands everything to ``dbt <name>``."""
    example = _EXAMPLES.get(name, f"floodmark {name} --project-dir shop")

    @click.command(
        name,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        short_help=_SHORT[name],
        help=f"Run `dbt {name}`: every option of dbt's is passed on (`dbt {name} --help` lists "
        "them). Profiles are looked for in the project's profiles folder first.\n\n"
        f"{'' if name in _WITHOUT_SPARK else _WARM_HELP}\b\nExample:\n    {example}",
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        if name not in _WITHOUT_SPARK:
            arguments = without_warm(arguments)
        _require_word(name, arguments)
        if name in _READY:
            _READY[name](project_folder(arguments))
        added = [*default_profiles(arguments), *colour_options(arguments)]
        result = invoke([name, *arguments, *added])
        sentence = usage_sentence(result)
        if sentence:
            click.echo(f"floodmark: {sentence}", err=True)
        sys.exit(exit_code(result))

    return command
