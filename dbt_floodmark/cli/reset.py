"""``floodmark reset``: move a model's mark on purpose."""

from __future__ import annotations

import click

from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import OpenProject, project_options


@click.command()
@project_options
@click.option("--to", metavar="VALUE", help="The new mark (UTC). Without it the mark is forgotten.")
@click.option("--reason", metavar="TEXT", help="Why; the ledger keeps it with your name.")
@click.argument("model")
def reset(open_project: OpenProject, to: str | None, reason: str | None, model: str) -> None:
    """Move a model's mark on purpose: its next run loads what lies above it.

    \b
    Example:
        floodmark reset silver_invoices --to '2026-01-31 06:00:00' --reason 'table restored'
        dbt run-operation floodmark.reset --args '{model: silver_invoices, to: 2026-01-31}'
    """
    project = open_project()
    chosen = project.one(model)
    if chosen.watermark is None:
        raise UsageError(
            f"{model} has no watermark, so there is no mark to move: use --full-refresh."
        )
    project.operation("reset", model=chosen.unique_id, to=to, reason=reason)
