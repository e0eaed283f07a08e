"""``floodmark setup``: the jars."""

from __future__ import annotations

import click

from dbt_floodmark.cli.output import console
from dbt_floodmark.jars import fetch_jars, jar_folder, missing_jars
from dbt_floodmark.versions import JAR_COORDINATE


@click.command()
def setup() -> None:
    """Fetch the Delta jars (once, about 10 MB).

    They go into the virtual environment, or to ~/.cache/floodmark outside of one;
    FLOODMARK_JARS names another folder.

    \b
    Example:
        floodmark setup
    """
    screen = console()
    if not missing_jars():
        screen.print(f"The Delta jars are in {jar_folder()}.", soft_wrap=True)
        return
    with screen.status(f"Fetching {JAR_COORDINATE} and what it needs"):
        folder = fetch_jars()
    screen.print(f"The Delta jars are now in {folder}.", soft_wrap=True)
