"""``floodmark reset``: move a model's mark on purpose."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import target_options


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
