"""``floodmark backfill``: read a range again, exactly once."""

from __future__ import annotations

import sys
from typing import Any

import click

from dbt_floodmark.cli.output import console, table
from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import OpenProject, Project, project_options
from dbt_floodmark.project.runner import exit_code
from dbt_floodmark.texts import jinja_literal


@click.command()
@project_options
@click.option("--from", "start", required=True, metavar="VALUE", help="First value, inclusive.")
@click.option("--to", "end", required=True, metavar="VALUE", help="End of the range, exclusive.")
@click.option("--step", metavar="STEP", help="At most this much a batch: '1 day', 100000.")
@click.argument("model")
def backfill(open_project: OpenProject, start: str, end: str, step: str | None, model: str) -> None:
    """Read a range of the watermark again; the mark stays where it is.

    With merge, the rows are merged. With append and insert_overwrite, the range is deleted and
    inserted again. Each batch is one commit. Times are UTC. A backfill that was stopped continues
    when it is run again.

    \b
    Example:
        floodmark backfill silver_invoices --from 2026-01-01 --to 2026-02-01 --step '1 day'
    """
    project = open_project()
    chosen = project.one(model)
    if chosen.strategy == "snapshot_diff":
        raise UsageError(
            f"{model} takes whole snapshots, in their order, and a part of one cannot be loaded "
            "alone: load them again with --full-refresh."
        )
    kind = (chosen.watermark or {}).get("kind")
    if chosen.watermark is None or kind == "version":
        raise UsageError(
            f"{model} has no timestamp or sequence watermark: load files and versions again "
            "with --full-refresh."
        )
    wanted: dict[str, Any] = {"from": start, "to": end}
    if step is not None:
        wanted["step"] = step
    result = project.invoke(["run", "--select", chosen.selector], floodmark_backfill=wanted)
    if result.success:
        _show(project, chosen.model_id, wanted)
    sys.exit(exit_code(result))


def _show(project: Project, model_id: str, wanted: dict[str, Any]) -> None:
    model = f"{{{{ floodmark._string_literal({jinja_literal(model_id)}) }}}}"
    is_asked = f"{{{{ floodmark._is_asked_sql({jinja_literal(wanted)}) }}}}"
    rows = project.query(
        "select batch_id, low, high, rows_read, rows_inserted, rows_updated, rows_deleted, "
        "{{ floodmark._utc_text_sql('finished_at') }} as finished "
        f"from {{{{ floodmark.ledger_schema() }}}}.batches where model = {model} "
        f"and kind = 'backfill' and state = 'committed' and {is_asked} "
        "order by batch_id"
    )
    columns = [("batch", "right"), ("above", "left"), ("up to", "left"), ("read", "right")]
    columns += [(name, "right") for name in ("inserted", "updated", "deleted")]
    # An equal backfill of an earlier day is listed, too: it may have been stopped.
    columns += [("finished (UTC)", "left")]
    console().print(table("", columns, [list(row.values()) for row in rows]))
