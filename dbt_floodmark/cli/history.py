"""``floodmark history``: a model's batches."""

from __future__ import annotations

from typing import Any

import click

from dbt_floodmark.cli.output import console, count_columns, held_counts, print_json, table
from dbt_floodmark.project.ledger import NoLedgerError, Row
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import json_option
from dbt_floodmark.texts import jinja_literal

#: The ledger lags: a run of several models records their commits together, when it ends.
_PLANNED = "may be in the table already: the end of its run, or the next run, records it"


@click.command()
@project_options
@json_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.argument("model")
def history(open_project: OpenProject, as_json: bool, limit: int, model: str) -> None:
    """Show a model's batches, newest first.

    \b
    Example:
        floodmark history silver_invoices --limit 5
    """
    with console(stderr=True).status("Reading the ledger"):
        project = open_project()
        chosen = project.one(model)
        try:
            call = f"floodmark._history_sql({jinja_literal(chosen.unique_id)}, {limit})"
            rows = project.query("{{ " + call + " }}")
        except NoLedgerError:
            rows = []
    if as_json:
        print_json({"model": chosen.name, "batches": rows})
        return
    if not rows:
        console().print(f"{chosen.name} has not been loaded yet.")
        return
    console().print(_history_table(rows))


def _history_table(rows: list[Row]) -> Any:
    left = ("batch_id", "kind", "state", "low", "high")
    right = (
        "rows_read",
        "rows_inserted",
        "rows_updated",
        "rows_deleted",
        "rows_late",
        *held_counts(rows),
    )
    columns = [(name.replace("_id", ""), "left") for name in left]
    columns += [*count_columns(right), ("finished (UTC)", "left"), ("note", "left")]
    lines = []
    for row in rows:
        who = f" ({row['recorded_by']})" if row["recorded_by"] else ""
        note = row["error"] or f"{row['reason'] or ''}{who}".strip() or None
        if row["state"] == "planned":
            note = f"{note}; {_PLANNED}" if note else _PLANNED
        finished = str(row["finished_at"] or "–").partition(".")[0]
        lines.append([*(row[name] for name in (*left, *right)), finished, note])
    return table("", columns, lines)
