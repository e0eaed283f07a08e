"""How the command writes: one console, quiet when nobody watches."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Columns of a file or a pipe, in which no line is to be folded.
_ENDLESS = 1_000_000
#: What rules and formats held back: columns of a table that has any.
HELD = ("rows_quarantined", "rows_dropped")


def list_commands(
    formatter: click.HelpFormatter, heading: str, commands: Iterable[click.Command], width: int = 0
) -> None:
    """Write commands under a heading, each with the whole first sentence of its help."""
    with formatter.section(heading):
        formatter.write_dl(
            [(str(one.name).ljust(width), one.get_short_help_str(limit=1000)) for one in commands]
        )


class Words(click.Group):
    """A command of several words, such as `quarantine list`: its help shows whole sentences."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the words."""
        list_commands(formatter, "Commands", self.commands.values())


def console(stderr: bool = False) -> Console:
    """Return the console; rich itself honours NO_COLOR.

    Into a file or a pipe, tables keep their lines whole. Progress goes to ``stderr``, so that
    what is printed can be piped.
    """
    # What is printed are people's names, paths and values: none of it is rich's markup.
    screen = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    if not screen.file.isatty():
        screen.width = _ENDLESS
    return screen


def lag_text(lag: int | None, kind: str | None) -> str | None:
    """Return a lag as people read it: '2 d 03:04:05', or a number with its unit."""
    if lag is None:
        return None
    if kind != "timestamp":
        return f"{lag:,} {'versions' if kind == 'version' else 'numbers'}"
    days, rest = divmod(max(lag, 0), 86_400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock


def table(title: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> Table:
    """Return a table of (heading, justification) columns; None shows as a dash, Text as it is."""
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for heading, justify in columns:
        made.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    for row in rows:
        made.add_row(*[value if isinstance(value, Text) else Text(cell(value)) for value in row])
    return made


def cell(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return "–"
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def held_counts(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Which of the counts of rows that were held back is not zero everywhere."""
    return tuple(name for name in HELD if any(int(row[name] or 0) for row in rows))


def count_columns(counts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns of a table for counts of the ledger."""
    return [(name.removeprefix("rows_"), "right") for name in counts]


def print_json(value: Any) -> None:
    """Print a value as JSON; times as ISO 8601, UTC."""
    click.echo(json.dumps(value, default=_text, indent=2))


def _text(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)
