"""``floodmark setup``: the jars, and the tables of a metastore that processes share."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_floodmark.cli.output import console
from dbt_floodmark.errors import ArchiveError
from dbt_floodmark.project.runner import load_parameters, profiles_option, project_option
from dbt_floodmark.spark.archive import make_archive
from dbt_floodmark.spark.home import resolve_home
from dbt_floodmark.spark.jars import fetch_extra, fetch_jars, jar_folder, missing_jars
from dbt_floodmark.spark.metastore import make_metastore
from dbt_floodmark.versions import EXTRAS, JAR_COORDINATE


@click.command()
@click.option(
    "--with",
    "extras",
    type=click.Choice(sorted(EXTRAS)),
    multiple=True,
    help="Also the connector of Kafka or of S3, or PostgreSQL's JDBC driver; may be repeated.",
)
@click.option(
    "--metastore",
    metavar="TARGET",
    help="Also make Hive's tables in the database that this target of the profile shares.",
)
@project_option
@profiles_option
def setup(
    extras: tuple[str, ...], metastore: str | None, project_dir: Path, profiles_dir: str | None
) -> None:
    """Fetch the Delta jars (once, about 10 MB), and prepare a fast start of Spark.

    The jars go into the virtual environment, or to ~/.cache/floodmark outside of one;
    FLOODMARK_JARS names another folder. Beside them the JVM keeps an archive of Spark's classes
    (once for each Java and Spark, about a minute and 230 MB). The connector of S3 is Hadoop's, with
    the parts of the AWS SDK that it calls (about 14 MB).

    \b
    Example:
        floodmark setup
        floodmark setup --with kafka --with s3
        floodmark setup --with postgresql --metastore shared
    """
    screen = console()
    if missing_jars():
        with screen.status(f"Fetching {JAR_COORDINATE} and what it needs"):
            folder = fetch_jars()
        screen.print(f"The Delta jars are now in {folder}.", soft_wrap=True)
    else:
        screen.print(f"The Delta jars are in {jar_folder()}.", soft_wrap=True)
    for name in extras:
        with screen.status(f"Fetching {EXTRAS[name][0]} and what it needs"):
            folder = fetch_extra(name)
        screen.print(f"{name} is in {folder}.", soft_wrap=True)
    with screen.status("Preparing a fast start of Spark (about a minute)"):
        try:
            make_archive()
        except ArchiveError as exc:
            screen.print(str(exc), soft_wrap=True)
    if metastore is not None:
        parameters = load_parameters(project_dir, profiles_dir, metastore)
        with screen.status("Making Hive's tables"):
            is_new = make_metastore(resolve_home(project_dir), parameters)
        screen.print(
            f"The metastore of {metastore} {'now has' if is_new else 'has'} Hive's tables."
        )
