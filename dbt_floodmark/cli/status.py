"""``floodmark status``: marks, lag and last batches."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from dbt_floodmark.cli.output import (
    HELD,
    console,
    count_columns,
    held_counts,
    lag_text,
    print_json,
    table,
)
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.project.ledger import NO_LEDGER, Row
from dbt_floodmark.project.project import Model, OpenProject, Project, ask_apart, project_options
from dbt_floodmark.project.runner import json_option, select_option
from dbt_floodmark.texts import jinja_literal


@click.command()
@project_options
@select_option
@json_option
def status(open_project: OpenProject, select: tuple[str, ...], as_json: bool) -> None:
    """Show each model's mark, its lag behind the source, and its last batch.

    A source that cannot be read leaves its model without a lag, and a quarantine that cannot be
    read without its open rows; the exit code is 1 then.

    \b
    Example:
        floodmark status --project-dir shop
        floodmark status --select silver --json
    """
    with console(stderr=True).status("Reading the ledger"):
        project = open_project()
        rows = _rows(project, project.select(select))
    if as_json:
        print_json({"models": [_json_row(row) for row in rows]})
    elif not rows:
        console().print("No model of this project sets a watermark or files.")
    elif not select and not any(row["batch_id"] or row["source_error"] for row in rows):
        console().print(NO_LEDGER)
    else:
        console().print(_table(rows))
    sys.exit(1 if any(row["source_error"] for row in rows) else 0)


def _rows(project: Project, models: list[Model]) -> list[Row]:
    """One row a model; where its source or quarantine cannot be read, why, and the rest."""

    def ask(some: Sequence[Model], *reads: bool) -> dict[str, Row]:
        ids = {model.model_id: model.unique_id for model in some}
        arguments = ", ".join([jinja_literal(list(ids.values())), *map(str, reads)])
        rows = project.query("{{ floodmark._status_sql(" + arguments + ") }}") if some else []
        return {ids[row["model"]]: row | {"source_error": None} for row in rows}

    found = ask_apart(models, ask)
    broken = [model for model in models if isinstance(found[model.unique_id], FloodmarkError)]
    for model in broken:
        why = {"source_error": str(found[model.unique_id])}
        # Without the source, without the quarantine, without both.
        for reads in ((False, True), (True, False)):
            with contextlib.suppress(FloodmarkError):
                found[model.unique_id] = ask([model], *reads)[model.unique_id] | why
                break
        else:
            found[model.unique_id] = ask([model], False, False)[model.unique_id] | why
    return sorted((row for row in found.values() if isinstance(row, dict)), key=_by_model)


def _by_model(row: Row) -> str:
    return str(row["model"])


_COUNTS = ("rows_read", "rows_inserted", "rows_updated", "rows_deleted")


def _json_row(row: Row) -> Row:
    counts = (*_COUNTS, "rows_future", *HELD)
    batch = ("batch_id", "batch_kind", "state", *counts, "finished_at", "error")
    shown: Row = {key: row[key] for key in ("name", "model", "kind", "mark", "source_value")}
    shown["lag"] = int(row["lag"]) if row["lag"] is not None else None
    shown["lag_unit"] = {"timestamp": "seconds", "sequence": "numbers", "version": "versions"}.get(
        row["kind"]
    )
    last = {key.removeprefix("batch_"): row[key] for key in batch if key != "batch_id"}
    shown["source_error"] = row["source_error"]
    waiting = row["rows_waiting"]
    shown["rows_waiting"] = int(waiting) if waiting is not None else None
    shown["rows_open"] = int(row["rows_open"])
    shown["last_batch"] = {"batch_id": row["batch_id"], **last} if row["batch_id"] else None
    return shown


def _table(rows: list[Row]) -> Any:
    columns = [("model", "left"), ("mark", "left"), ("lag", "right"), ("batch", "right")]
    columns += [("state", "left"), ("read", "right"), ("inserted", "right"), ("updated", "right")]
    columns += [
        ("deleted", "right"),
        ("waiting", "right"),
        *count_columns(held := held_counts(rows)),
    ]
    has_open = any(int(row["rows_open"]) for row in rows)
    columns += [("open", "right")] if has_open else []
    columns.append(("finished (UTC)", "left"))
    lines = []
    for row in rows:
        lag = int(row["lag"]) if row["lag"] is not None else None
        line = [row["name"], row["mark"], lag_text(lag, row["kind"]), row["batch_id"]]
        line += [row["state"], *(row[name] for name in (*_COUNTS, "rows_waiting", *held))]
        line += [row["rows_open"]] if has_open else []
        lines.append([*line, str(row["finished_at"] or "–").partition(".")[0]])
    if any(row["error"] or row["source_error"] for row in rows):
        columns.append(("error", "left"))
        for line, row in zip(lines, rows, strict=True):
            line.append(row["source_error"] or row["error"])
    return table("", columns, lines)
