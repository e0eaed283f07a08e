"""``floodmark status``: the marks and the last batches."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import click

from dbt_floodmark.cli.ledger import NoLedgerError, Row, read_ledger
from dbt_floodmark.cli.output import console, table
from dbt_floodmark.cli.runner import require_project, target_options

_MARKS = "select * from {{ floodmark.ledger_schema() }}.watermarks order by table_name"
_BATCHES = (
    "select * from {{ floodmark.ledger_schema() }}.batches order by started_at desc, model limit "
)


@click.command()
@target_options
@click.option("--batches", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def status(
    project_dir: Path, profiles_dir: str | None, target: str | None, batches: int, as_json: bool
) -> None:
    """Show each table's mark and the last batches.

    \b
    Example:
        floodmark status --project-dir shop
        floodmark status --json
    """
    project = require_project(project_dir)
    try:
        marks = read_ledger(_MARKS, project, profiles_dir, target)
        last = read_ledger(f"{_BATCHES}{batches}", project, profiles_dir, target)
    except NoLedgerError as exc:
        empty: dict[str, list[Row]] = {"watermarks": [], "batches": []}
        click.echo(json.dumps(empty) if as_json else str(exc))
        return
    if as_json:
        click.echo(json.dumps({"watermarks": marks, "batches": last}, default=_text, indent=2))
        return
    screen = console()
    screen.print(_marks_table(marks))
    screen.print()
    screen.print(_batches_table(last))


def _text(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)


def _marks_table(rows: list[Row]) -> Any:
    names = ("table_name", "watermark_value", "kind", "batch_id", "last_updated")
    columns = [("table", "left"), ("mark", "left"), ("kind", "left"), ("batch", "right")]
    return table(
        "Marks",
        [*columns, ("last updated (UTC)", "left")],
        [[row[name] for name in names] for row in rows],
    )


def _batches_table(rows: list[Row]) -> Any:
    left = ("model", "batch_id", "kind", "state", "low", "high")
    right = ("rows_read", "rows_inserted", "rows_updated", "rows_deleted")
    columns = [
        *[(name.replace("_id", ""), "left") for name in left],
        *[(name.removeprefix("rows_"), "right") for name in right],
        ("finished (UTC)", "left"),
        ("error", "left"),
    ]
    names = (*left, *right, "finished_at", "error")
    return table("Last batches", columns, [[row[name] for name in names] for row in rows])
