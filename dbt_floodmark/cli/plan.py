"""``floodmark plan``: what the next run would load. Nothing is written."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import click
from rich.text import Text

from dbt_floodmark.cli.output import console, print_json, table
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.project.ledger import NoLedgerError, NoTableError, Row
from dbt_floodmark.project.project import Model, OpenProject, Project, ask_apart, project_options
from dbt_floodmark.project.runner import json_option, select_option
from dbt_floodmark.texts import jinja_literal, named_text

_PLAN = re.compile(r"/\*floodmark:plan (\{.*?\})\*/", re.DOTALL)
#: How many files of a model are named.
FILES_SHOWN = 5


@click.command()
@project_options
@select_option
@json_option
@click.option("--count/--no-count", default=True, help="Count the rows (reads them).")
def plan(open_project: OpenProject, select: tuple[str, ...], as_json: bool, count: bool) -> None:
    """Show what the next run would load: bounds, rows, files, versions. Writes nothing.

    \b
    Example:
        floodmark plan --select silver_invoices
        floodmark plan --no-count --json
    """
    screen = console(stderr=True)
    with screen.status("Parsing the project") as progress:
        project = open_project()
        models = project.select(select)
        progress.update("Reading marks and sources")
        compiled = _compiled(project, models)
        kinds = _kinds(project, models)
        plans = []
        for number, model in enumerate(models, 1):
            progress.update(f"Counting rows of {model.name} ({number} of {len(models)})")
            kind = kinds.get(model.unique_id, "first_load")
            plans.append(_plan_of(project, model, compiled.get(model.unique_id, ""), kind, count))
    if as_json:
        print_json({"models": plans})
    elif plans:
        console().print(_table(plans))
        for one in plans:
            if one["paths"]:
                console().print(Text(f"{one['name']}: {_named_files(one)}", "dim"))
    else:
        console().print("No model of this project sets a watermark or files.")
    sys.exit(1 if any(one["error"] for one in plans) else 0)


def _compiled(project: Project, models: list[Model]) -> dict[str, str | FloodmarkError]:
    """The SQL of each model by id, or why there is none.

    Raises:
        FloodmarkError: all fail, for one reason: it is not the models'.
    """
    found = ask_apart(models, lambda some: project.compile(some, floodmark_plan=True))
    refused = [one for one in found.values() if isinstance(one, FloodmarkError)]
    is_alike = len(refused) == len(models) and len({str(one) for one in refused}) == 1
    # What is said of one model may be its own fault: then it names the model.
    if is_alike and (len(models) > 1 or models[0].name not in str(refused[0])):
        raise refused[0]
    return found


def _kinds(project: Project, models: list[Model]) -> dict[str, str | FloodmarkError]:
    """What the next run is of models that read all, which have no marker in their SQL, by id."""

    def ask(some: Sequence[Model]) -> dict[str, str]:
        ids = jinja_literal([model.unique_id for model in some])
        rows = project.query("{{ floodmark._next_kinds_sql(" + ids + ") }}") if some else []
        return {row["unique_id"]: row["kind"] for row in rows}

    read_all = [
        model
        for model in models
        if model.watermark is None and model.files is None and not model.is_stream
    ]
    return ask_apart(read_all, ask)


def _plan_of(
    project: Project,
    model: Model,
    sql: str | FloodmarkError,
    kind: str | FloodmarkError,
    count: bool,
) -> Row:
    shown: Row = {"name": model.name, "model": model.model_id, "kind": kind}
    shown |= dict.fromkeys(("low", "high", "lookback", "files", "bytes", "paths", "rows"))
    shown |= dict.fromkeys(("rows_null", "rows_future", "new_columns", "error"))
    try:
        if isinstance(sql, FloodmarkError):
            raise sql
        if isinstance(kind, FloodmarkError):
            raise kind
        return shown | (
            _pending(project, model, sql) if model.is_stream else _due(project, sql, shown, count)
        )
    except FloodmarkError as exc:
        return shown | {"kind": "error", "error": str(exc)}


def _due(project: Project, sql: str, shown: Row, count: bool) -> Row:
    """What the marker in a model's SQL says of its next run, and the rows of it."""
    found = _PLAN.search(sql)
    if found:
        shown |= json.loads(found.group(1))
    elif "/*floodmark:end*/" in sql:
        shown["kind"] = "upstream is missing"
        return shown
    due = shown["kind"] != "nothing new" and not shown["files"]
    if count and due:
        try:
            counted = "select count(*) as n from (\n{{ floodmark._select_text(due) }}\n)"
            rows = project.query(named_text("due", sql) + counted)
        except (NoTableError, NoLedgerError):
            # A source may be called like a table of the ledger, which this query does not read.
            shown["kind"] = "upstream is missing"
            return shown
        shown["rows"] = rows[0]["n"]
    elif shown["kind"] == "nothing new":
        shown["rows"] = 0
    return shown


def _pending(project: Project, model: Model, sql: str) -> Row:
    """What lies beyond a stream's checkpoint.

    The number of rows is unknown without running the query.
    """
    found = project.ask("_pending_sql", model, sql)
    return found | {"rows": 0 if found["kind"] == "nothing new" else None}


def _table(plans: list[Row]) -> Any:
    columns = [("model", "left"), ("next", "left"), ("above", "left"), ("up to", "left")]
    columns += [("rows", "right"), ("files", "right"), ("MB", "right")]
    grows = any(one["new_columns"] for one in plans)
    columns += [("new columns", "left")] if grows else []
    has_errors = any(one["error"] for one in plans)
    columns += [("error", "left")] if has_errors else []
    lines = []
    for one in plans:
        size = None if one["bytes"] is None else f"{one['bytes'] / 1e6:,.1f}"
        kind = str(one["kind"]).replace("_", " ")
        line = [one["name"], kind, one["low"], one["high"], one["rows"], one["files"], size]
        line += [", ".join(".".join(path) for path in one["new_columns"] or [])] if grows else []
        lines.append([*line, one["error"]] if has_errors else line)
    return table("", columns, lines)


def _named_files(plan: Row) -> str:
    """The files of a model that are due, the first of many by name."""
    names = [unquote(str(path)).rpartition("/")[2] for path in plan["paths"][:FILES_SHOWN]]
    more = plan["files"] - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
