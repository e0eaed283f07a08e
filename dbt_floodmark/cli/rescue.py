"""``floodmark rescue``: what files had and a model's table has no column for."""

from __future__ import annotations

import click

from dbt_floodmark.cli.output import Words, console, print_json, table
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import json_option
from dbt_floodmark.texts import jinja_literal


@click.group(cls=Words)
def rescue() -> None:
    """Look into rescued data, and move a key of it into a column.

    \b
    Example:
        floodmark rescue show bronze_invoices
        floodmark rescue promote bronze_invoices discount --type 'decimal(10, 2)'
    """


@rescue.command()
@project_options
@json_option
@click.argument("model")
def show(open_project: OpenProject, as_json: bool, model: str) -> None:
    """List the keys in a model's rescued data: how many rows, which types, and an example."""
    project = open_project()
    name = jinja_literal(project.one(model).unique_id)
    rows = project.query("{{ floodmark._rescued_keys_sql(" + name + ") }}")
    if as_json:
        print_json({"keys": rows})
    elif rows:
        columns = [("key", "left"), ("rows", "right"), ("types", "left"), ("example", "left")]
        console().print(table("", columns, [[row[name] for name, _ in columns] for row in rows]))
    else:
        console().print("Nothing is rescued: every value has its column.")


@rescue.command()
@project_options
@click.option(
    "--type",
    "type_",
    metavar="TYPE",
    help="The type of a new column, such as bigint; else string, or as files.infer_column_types "
    "says.",
)
@click.argument("model")
@click.argument("column")
def promote(open_project: OpenProject, type_: str | None, model: str, column: str) -> None:
    """Fill a column from the key of its name in rescued data, and take the key out.

    A row that has a value in the column keeps it, and a value that does not fit stays rescued. The
    command may be repeated.

    \b
    Example:
        floodmark rescue promote bronze_invoices discount --type 'decimal(10, 2)'
        dbt run-operation floodmark.promote_rescued --args '{model: bronze, column: discount}'
    """
    project = open_project()
    name = project.one(model).unique_id
    project.operation("promote_rescued", model=name, column=column, type=type_)
