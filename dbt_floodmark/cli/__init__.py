"""The ``floodmark`` command: a thin runner over dbt, and a few words of its own."""

from __future__ import annotations

import sys

import click

from dbt_floodmark.cli.backfill import backfill
from dbt_floodmark.cli.dbt_commands import PASSED_THROUGH, dbt_command
from dbt_floodmark.cli.demo import demo
from dbt_floodmark.cli.diff import diff
from dbt_floodmark.cli.doctor import doctor
from dbt_floodmark.cli.init import init
from dbt_floodmark.cli.operations import maintain, reset
from dbt_floodmark.cli.plan import plan
from dbt_floodmark.cli.reconcile import reconcile
from dbt_floodmark.cli.restate import restate
from dbt_floodmark.cli.serve import serve
from dbt_floodmark.cli.setup import setup
from dbt_floodmark.cli.status import history, status
from dbt_floodmark.cli.stream import stream
from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.versions import __version__

__all__ = ["main"]


class Floodmark(click.Group):
    """Shows every floodmark error as one sentence: exit code 2 for wrong input, else 1."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except UsageError as exc:
            click.echo(f"floodmark: {exc}", err=True)
            sys.exit(2)
        except FloodmarkError as exc:
            click.echo(f"floodmark: {exc}", err=True)
            sys.exit(1)


@click.group(cls=Floodmark, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="floodmark")
def main() -> None:
    """Incremental loading on Spark and Delta Lake, written in SQL, run by dbt.

    \b
    Example:
        floodmark init shop
        floodmark build --project-dir shop
        floodmark status --project-dir shop
    """


_OWN = (
    init,
    demo,
    status,
    history,
    plan,
    stream,
    backfill,
    restate,
    reset,
    reconcile,
    diff,
    maintain,
    doctor,
    serve,
    setup,
)

for _command in _OWN:
    main.add_command(_command)
for _name in PASSED_THROUGH:
    main.add_command(dbt_command(_name))
