"""dbt's own commands, passed through with the session ready."""

from __future__ import annotations

import sys

import click

from dbt_floodmark.cli.runner import (
    colour_options,
    default_profiles,
    exit_code,
    invoke,
    usage_sentence,
)

PASSED_THROUGH = (
    "build",
    "run",
    "test",
    "seed",
    "snapshot",
    "compile",
    "show",
    "docs",
    "list",
    "ls",
    "parse",
    "debug",
    "deps",
    "clean",
    "clone",
    "retry",
    "run-operation",
    "source",
)

_EXAMPLES = {
    "docs": "floodmark docs generate",
    "run-operation": "floodmark run-operation my_macro --args '{day: 1}'",
    "show": "floodmark show --select silver_invoices --limit 5",
    "source": "floodmark source freshness",
}


def dbt_command(name: str) -> click.Command:
    """Return a command that hands everything to ``dbt <name>``."""
    example = _EXAMPLES.get(name, f"floodmark {name} --project-dir shop")

    @click.command(
        name,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        short_help=f"dbt {name}.",
        help=f"Run `dbt {name}`: every option of dbt's is passed on (`dbt {name} --help` lists "
        "them). Profiles are looked for in the project's profiles folder first.\n\n"
        f"\b\nExample:\n    {example}",
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        added = [*default_profiles(arguments), *colour_options(arguments)]
        result = invoke([name, *arguments, *added])
        sentence = usage_sentence(result)
        if sentence:
            click.echo(f"floodmark: {sentence}", err=True)
        sys.exit(exit_code(result))

    return command
