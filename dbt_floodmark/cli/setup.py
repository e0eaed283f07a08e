"""``floodmark setup``: the jars."""

from __future__ import annotations

import click

from dbt_floodmark.cli.output import console
from dbt_floodmark.jars import fetch_extra, fetch_jars, jar_folder, missing_jars
from dbt_floodmark.versions import EXTRAS, JAR_COORDINATE


@click.command()
@click.option(
    "--with",
    "extras",
    type=click.Choice(sorted(EXTRAS)),
    multiple=True,
    help="Also Kafka's connector, or PostgreSQL's JDBC driver; may be repeated.",
)
def setup(extras: tuple[str, ...]) -> None:
    """Fetch the Delta jars (once, about 10 MB).

    They go into the virtual environment, or to ~/.cache/floodmark outside of one;
    FLOODMARK_JARS names another folder.

    \b
    Example:
        floodmark setup
        floodmark setup --with kafka
    """
    screen = console()
    if missing_jars():
        with screen.status(f"Fetching {JAR_COORDINATE} and what it needs"):
            folder = fetch_jars()
        screen.print(f"The Delta jars are now in {folder}.", soft_wrap=True)
    else:
        screen.print(f"The Delta jars are in {jar_folder()}.", soft_wrap=True)
    for name in extras:
        with screen.status(f"Fetching {EXTRAS[name]} and what it needs"):
            folder = fetch_extra(name)
        screen.print(f"{name} is in {folder}.", soft_wrap=True)
