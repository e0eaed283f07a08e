"""``floodmark reset`` and ``floodmark maintain``: macros of the package as commands."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import select_option, target_options


@click.command()
@target_options
@click.option("--to", metavar="VALUE", help="The new mark (UTC). Without it the mark is forgotten.")
@click.option("--reason", metavar="TEXT", help="Why; the ledger keeps it with your name.")
@click.argument("model")
def reset(
    project_dir: Path,
    profiles_dir: str | None,
    target: str | None,
    to: str | None,
    reason: str | None,
    model: str,
) -> None:
    """Move a model's mark on purpose: its next run loads what lies above it.

    \b
    Example:
        floodmark reset silver_invoices --to '2026-01-31 06:00:00' --reason 'table restored'
        dbt run-operation floodmark.reset --args '{model: silver_invoices, to: 2026-01-31}'
    """
    project = Project(project_dir, profiles_dir, target)
    chosen = project.one(model)
    if chosen.watermark is None:
        raise UsageError(
            f"{model} has no watermark, so there is no mark to move: use --full-refresh."
        )
    project.operation("reset", model=chosen.unique_id, to=to, reason=reason)


@click.command()
@target_options
@select_option
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--small-file-mb",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="OPTIMIZE tables whose files are smaller on average.",
)
@click.option(
    "--min-small-files",
    type=click.IntRange(2),
    default=8,
    show_default=True,
    help="… and at least this many.",
)
@click.option(
    "--vacuum-days",
    type=click.IntRange(0),
    default=7,
    show_default=True,
    help="VACUUM tables whose last VACUUM is this old. Delta keeps the last 7 days.",
)
def maintain(
    project_dir: Path,
    profiles_dir: str | None,
    target: str | None,
    select: tuple[str, ...],
    dry_run: bool,
    small_file_mb: int,
    min_small_files: int,
    vacuum_days: int,
) -> None:
    """Compact small files and remove old ones: models that floodmark loads, and the ledger.

    \b
    Example:
        floodmark maintain --dry-run
        dbt run-operation floodmark.maintain --args '{dry_run: true}'
    """
    project = Project(project_dir, profiles_dir, target)
    names = [model.unique_id for model in project.select(select)] if select else None
    project.operation(
        "maintain",
        models=names,
        dry_run=dry_run,
        small_file_mb=small_file_mb,
        min_small_files=min_small_files,
        vacuum_days=vacuum_days,
    )
