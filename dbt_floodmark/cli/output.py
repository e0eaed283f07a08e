"""How the command writes: one console, quiet when nobody watches."""

from __future__ import annotations

import datetime as dt
from typing import Any

from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Return the console; rich itself honours NO_COLOR.

    Into a file or a pipe, tables keep their lines whole.
    """
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=200)


def table(title: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> Table:
    """Return a table of (heading, justification) columns; None shows as a dash."""
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for heading, justify in columns:
        made.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    for row in rows:
        made.add_row(*[cell(value) for value in row])
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
