"""``floodmark files``: the files of a model, and what is done with them by hand."""

from __future__ import annotations

import click

from dbt_floodmark.cli.output import console, print_json, table
from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.ledger import Row
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import json_option
from dbt_floodmark.texts import jinja_literal


@click.command()
@project_options
@json_option
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Newest files."
)
@click.option("--schema", "schemas", is_flag=True, help="Show the schemas that the files have had.")
@click.option(
    "--skip", multiple=True, metavar="PATH", help="Never load this file; may be repeated."
)
@click.option(
    "--forget", multiple=True, metavar="PATH", help="Load this file again; may be repeated."
)
@click.option(
    "--reset-schema", type=click.IntRange(1), metavar="VERSION", help="Return to this schema."
)
@click.option("--reason", metavar="TEXT", help="Why; the ledger keeps it with your name.")
@click.argument("model")
def files(
    open_project: OpenProject,
    as_json: bool,
    limit: int,
    schemas: bool,
    skip: tuple[str, ...],
    forget: tuple[str, ...],
    reset_schema: int | None,
    reason: str | None,
    model: str,
) -> None:
    """List a model's files and what each gave, or skip or reload some.

    PATH is a path as the list shows it, or the end of one.

    \b
    Example:
        floodmark files bronze_invoices
        floodmark files bronze_invoices --skip broken.json --reason 'sent again as fixed.json'
        floodmark files bronze_invoices --schema
    """
    asked = [bool(skip), bool(forget), reset_schema is not None, schemas]
    if sum(asked) > 1:
        raise UsageError("Give one of --skip, --forget, --schema and --reset-schema at a time.")
    project = open_project()
    chosen = project.one(model)
    if chosen.files is None or chosen.is_stream:
        raise UsageError(f"{model} loads no files as batches: see its watermark with `status`.")
    name = chosen.unique_id
    if skip:
        project.operation("skip_files", model=name, paths=list(skip), reason=reason)
    elif forget:
        project.operation("forget_files", model=name, paths=list(forget), reason=reason)
    elif reset_schema is not None:
        project.operation("reset_file_schema", model=name, version=reset_schema, reason=reason)
    elif schemas:
        rows = project.query("{{ floodmark._model_schemas_sql(" + jinja_literal(name) + ") }}")
        _show(rows, as_json, ["version", "batch_id", "decided_at", "schema", "reason"])
    else:
        sql = "{{ floodmark._model_files_sql(" + f"{jinja_literal(name)}, {limit}" + ") }}"
        shown = ["path", "size", "batch_id", "state", "rows", "rows_rescued", "rows_quarantined"]
        _show(project.query(sql), as_json, [*shown, "reason"])


def _show(rows: list[Row], as_json: bool, names: list[str]) -> None:
    if as_json:
        print_json({"files" if "path" in names else "schemas": rows})
    elif rows:
        columns = [(name.replace("_", " "), _side(name)) for name in names]
        console().print(table("", columns, [[row[name] for name in names] for row in rows]))
    else:
        console().print("No file has been loaded yet.")


def _side(name: str) -> str:
    is_number = name in ("size", "batch_id", "version") or name.startswith("rows")
    return "right" if is_number else "left"
