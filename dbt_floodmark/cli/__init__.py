"""The ``floodmark`` command: a thin runner over dbt, and a few words of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping

import click

from dbt_floodmark.cli.backfill import backfill
from dbt_floodmark.cli.dbt_commands import PASSED_THROUGH, behind_command, dbt_command
from dbt_floodmark.cli.demo import demo
from dbt_floodmark.cli.diff import diff
from dbt_floodmark.cli.doctor import doctor
from dbt_floodmark.cli.files import files
from dbt_floodmark.cli.history import history
from dbt_floodmark.cli.init import init
from dbt_floodmark.cli.maintain import maintain
from dbt_floodmark.cli.output import list_commands
from dbt_floodmark.cli.plan import plan
from dbt_floodmark.cli.quarantine import quarantine
from dbt_floodmark.cli.reconcile import reconcile
from dbt_floodmark.cli.rescue import rescue
from dbt_floodmark.cli.reset import reset
from dbt_floodmark.cli.restate import restate
from dbt_floodmark.cli.serve import serve
from dbt_floodmark.cli.setup import setup
from dbt_floodmark.cli.status import status
from dbt_floodmark.cli.stream import stream
from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.versions import __version__

__all__ = ["main"]


class Floodmark(click.Group):
    """Shows every floodmark error as one sentence: exit code 2 for wrong input, else 1."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, each with the first sentence of its help."""
        width = max(map(len, self.commands))
        for heading, commands in GROUPS.items():
            list_commands(formatter, heading, commands, width)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; dbt's global options may stand before its commands, as with dbt."""
        return super().parse_args(ctx, behind_command(args))

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
        except BrokenPipeError:
            # Whoever reads has enough: click ends quietly.
            raise
        except OSError as exc:
            where = f"{exc.filename}: " if exc.filename else ""
            click.echo(f"floodmark: {where}{exc.strerror or exc}.", err=True)
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
    # What the terminal's encoding lacks, such as the dash of an empty cell, is shown as `?`.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


#: The commands in the order in which a person meets them, under the headings of `floodmark --help`.
GROUPS: Mapping[str, tuple[click.Command, ...]] = {
    "Set up": (init, setup, doctor, demo),
    "Load": (dbt_command("build"), dbt_command("run"), stream),
    "Look": (status, plan, history, files, diff, reconcile),
    "Repair": (backfill, restate, quarantine, rescue, reset),
    "Keep running": (maintain, serve),
    "dbt's own": tuple(
        dbt_command(name) for name in PASSED_THROUGH if name not in ("build", "run")
    ),
}
for _commands in GROUPS.values():
    for _command in _commands:
        main.add_command(_command)
