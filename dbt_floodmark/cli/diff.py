"""``floodmark diff``: how two tables, versions or files differ, by key."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dbt_floodmark.cli.output import console, print_json, table
from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.project.ledger import said
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import json_option
from dbt_floodmark.secrets import PLACE, has_secret, masked
from dbt_floodmark.texts import jinja_literal

#: What the macro says of wrong input, without dbt's frame around it.
_REFUSED = re.compile(r"floodmark diff: (.*?)(?: > in macro .*)?$")

#: What Spark and Delta say of a path or a version that is not there, or that holds nothing.
_NOT_THERE = re.compile(
    r"\[(?:PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|DELTA_PATH_DOES_NOT_EXIST|DELTA_TABLE_NOT_FOUND"
    r"|DELTA_MISSING_DELTA_TABLE|DELTA_VERSION_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND"
    r")\] (.*?)(?: SQLSTATE: .*| > in macro .*)?$"
)

_CHANGES = {
    "unchanged": "the same in A and B",
    "updated": "different",
    "deleted": "only in A",
    "inserted": "only in B",
}


@click.command()
@project_options
@json_option
@click.option("--key", multiple=True, help="A column that identifies a row; may be repeated.")
@click.option("--columns", metavar="NAMES", help="Compare these columns only, separated by commas.")
@click.option("--except", "except_columns", metavar="NAMES", help="Leave these columns out.")
@click.option(
    "--limit", type=click.IntRange(0), default=10, show_default=True, help="Keys shown per change."
)
@click.argument("a")
@click.argument("b")
def diff(
    open_project: OpenProject,
    as_json: bool,
    key: tuple[str, ...],
    columns: str | None,
    except_columns: str | None,
    limit: int,
    a: str,
    b: str,
) -> None:
    """Compare two tables, versions or files by key; exit code 1 where they differ.

    A and B are each a dbt node (a model, a seed, a snapshot, source_name.table), schema.table, or a
    path: a Delta folder, or a Parquet, CSV or JSON file or folder by its ending, or format:path.
    @v12 after a Delta table is its version 12. Writes nothing.

    \b
    Example:
        floodmark diff silver_products@v0 silver_products --key sku
        floodmark diff shop.orders@v12 shop.orders --key order_id --except loaded_at
    """
    if not key:
        raise UsageError("Name the columns that identify a row with --key.")
    for label, side in (("A", a), ("B", b)):
        # dbt would write the path into its log and into target/.
        if has_secret(side):
            raise UsageError(
                f"{label} got '{masked(side)}': expected a path without credentials. {PLACE}."
            )
    here = Path.cwd()
    with console(stderr=True).status("Comparing A with B"):
        project = open_project()
        arguments = [a, b, list(key), columns or [], except_columns or [], limit, str(here)]
        given = ", ".join(jinja_literal(value) for value in arguments)
        rows = project.query("{{ floodmark._diff_sql(" + given + ") }}", _failure)
    found = json.loads(rows[0]["found"])
    notes = found.pop("notes")
    if as_json:
        print_json(found)
    else:
        _print(found, notes)
    sys.exit(0 if found["equal"] else 1)


def _failure(result: Any, _: str) -> FloodmarkError:
    text = said(result)
    for sentence in (_REFUSED, _NOT_THERE):
        found = sentence.search(text)
        if found:
            return UsageError(found.group(1))
    return FloodmarkError(f"dbt could not compare: {text}")


def _print(found: dict[str, Any], notes: list[str]) -> None:
    screen = console()
    for side in ("a", "b"):
        _say(screen, f"{side.upper()}: {found[side]}, {_rows(found[f'rows_{side}'])}")
    for note in notes:
        _say(screen, note)
    columns = [("change", "left"), ("keys", "right"), ("", "left")]
    screen.print(table("", columns, [[name, found[name], what] for name, what in _CHANGES.items()]))
    differing = [[name, rows] for name, rows in found["columns"].items() if rows]
    if differing:
        screen.print(table("", [("column", "left"), ("differs in rows", "right")], differing))
    if found["sample"]:
        headings = ("change", "key", "column", "A", "B")
        lines = [line for row in found["sample"] for line in _lines(row)]
        screen.print(table("", [(heading, "left") for heading in headings], lines))


def _lines(row: dict[str, Any]) -> list[list[Any]]:
    start = [row["change"], row["key"]]
    if not row["columns"]:
        return [[*start, None, _rows(row["in_a"]), _rows(row["in_b"])]]
    return [
        [*start, one["column"], *(_shown(one[side]) for side in ("a", "b"))]
        for one in row["columns"]
    ]


def _rows(count: int) -> str:
    return f"{count:,} row" + ("" if count == 1 else "s")


def _shown(value: str | None) -> str:
    return "NULL" if value is None else value


def _say(screen: Console, sentence: str) -> None:
    screen.print(sentence, soft_wrap=True)
