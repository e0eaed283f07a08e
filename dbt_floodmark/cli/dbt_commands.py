"""dbt's own commands, passed through with the session ready."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from dbt_floodmark.environment import environment_variable
from dbt_floodmark.project.runner import (
    colour_options,
    default_profiles,
    exit_code,
    invoke,
    usage_sentence,
)
from dbt_floodmark.spark import warm

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
    "deps": "Install the packages of packages.yml.",
    "clean": "Remove target/ and installed packages.",
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
            said = environment_variable(warm.VARIABLE, _WARM[one])
            click.get_current_context().with_resource(said)
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
        added = [*default_profiles(arguments), *colour_options(arguments)]
        result = invoke([name, *arguments, *added])
        sentence = usage_sentence(result)
        if sentence:
            click.echo(f"floodmark: {sentence}", err=True)
        sys.exit(exit_code(result))

    return command
