"""``floodmark maintain``: compact tables, and clear what is no longer needed."""

from __future__ import annotations

import click

from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import select_option


@click.command()
@project_options
@select_option
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--small-file-mb",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="OPTIMIZE tables whose files are smaller than this on average.",
)
@click.option(
    "--min-small-files",
    type=click.IntRange(2),
    default=8,
    show_default=True,
    help="The least number of small files for OPTIMIZE.",
)
@click.option(
    "--vacuum-days",
    type=click.IntRange(0),
    default=7,
    show_default=True,
    help="VACUUM tables whose last VACUUM is this old. Delta keeps the last 7 days.",
)
def maintain(
    open_project: OpenProject,
    select: tuple[str, ...],
    dry_run: bool,
    small_file_mb: int,
    min_small_files: int,
    vacuum_days: int,
) -> None:
    """Run OPTIMIZE and VACUUM on the models' tables and on the ledger.

    It also archives or deletes loaded source files that are due (`on_loaded`).

    \b
    Example:
        floodmark maintain --dry-run
        dbt run-operation floodmark.maintain --args '{dry_run: true}'
    """
    project = open_project()
    names = [model.unique_id for model in project.select(select)] if select else None
    project.operation(
        "maintain",
        models=names,
        dry_run=dry_run,
        small_file_mb=small_file_mb,
        min_small_files=min_small_files,
        vacuum_days=vacuum_days,
    )
