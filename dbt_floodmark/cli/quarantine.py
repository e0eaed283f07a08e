"""``floodmark quarantine``: rows that were not loaded, and what becomes of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import click

from dbt_floodmark.cli.output import Words, console, print_json, table
from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.project.ledger import Row
from dbt_floodmark.project.project import Model, OpenProject, Project, ask_apart, project_options
from dbt_floodmark.project.runner import exit_code, json_option
from dbt_floodmark.texts import jinja_literal

rule_option = click.option("--rule", metavar="NAME", help="Only rows that break this rule.")
where_option = click.option("--where", metavar="SQL", help="Only rows for which this is true.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say how many rows.")


@click.group(cls=Words)
def quarantine() -> None:
    """Look at rows that rules or formats refused; load them again, or give them up.

    \b
    Example:
        floodmark quarantine list
        floodmark quarantine show silver_invoices --rule amount_positive
        floodmark quarantine replay silver_invoices --set "total_amount = abs(total_amount)"
    """


@quarantine.command(name="list")
@project_options
@json_option
def list_(open_project: OpenProject, as_json: bool) -> None:
    """List open rows by model and rule, with the oldest.

    A quarantine that cannot be read is listed with its error; the exit code is 1 then.
    """
    rows = _open_rows(open_project())
    has_errors = any(row["error"] for row in rows)
    if as_json:
        print_json({"quarantine": rows})
    elif rows:
        columns = [("model", "left"), ("rule", "left"), ("rows", "right"), ("oldest", "left")]
        columns += [("error", "left")] if has_errors else []
        shown = [
            [row["model"], row["rule"] or ("" if row["error"] else "(corrupt)")]
            + [row[name] for name, _ in columns[2:]]
            for row in rows
        ]
        console().print(table("", columns, shown))
    else:
        console().print("No row is open.")
    sys.exit(1 if has_errors else 0)


def _open_rows(project: Project) -> list[Row]:
    """Open rows by model and rule; where a quarantine cannot be read, a row that says why.

    Raises:
        FloodmarkError: none can be read, for one reason: it is not theirs.
    """

    def ask(some: Sequence[Model]) -> dict[str, list[Row]]:
        ids = jinja_literal([model.unique_id for model in some])
        rows = project.query("{{ floodmark._quarantine_list_sql(" + ids + ") }}")
        return {
            model.unique_id: [row for row in rows if row["model"] == model.model_id]
            for model in some
        }

    models = sorted(project.models.values(), key=lambda model: model.model_id)
    found = ask_apart(models, ask)
    broken = [one for one in found.values() if isinstance(one, FloodmarkError)]
    if len(broken) == len(models) > 1 and len({str(one) for one in broken}) == 1:
        raise broken[0]
    listed: list[Row] = []
    for model in models:
        rows = found[model.unique_id]
        if isinstance(rows, FloodmarkError):
            nothing = dict.fromkeys(("rule", "rows", "oldest"))
            listed.append({"model": model.model_id, **nothing, "error": str(rows)})
        else:
            listed += [row | {"error": None} for row in rows]
    return listed


@quarantine.command()
@project_options
@json_option
@rule_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows.")
@click.argument("model")
def show(
    open_project: OpenProject, as_json: bool, rule: str | None, limit: int, model: str
) -> None:
    """Show open rows of a model, oldest first, with the rules that they break."""
    project = open_project()
    name = jinja_literal(project.one(model).unique_id)
    arguments = f"{name}, {'none' if rule is None else jinja_literal(rule)}, {limit}"
    rows = project.query("{{ floodmark._quarantine_show_sql(" + arguments + ") }}")
    if as_json:
        print_json({"rows": rows})
    elif rows:
        columns = [("batch_id", "right"), ("rules", "left"), ("reason", "left")]
        columns += [("file", "left")] if any(row["file"] for row in rows) else []
        columns.append(("row", "left"))
        shown = [[row[name] for name, _ in columns] for row in rows]
        console().print(table("", columns, shown))
    else:
        console().print("No row is open.")


@quarantine.command()
@project_options
@rule_option
@where_option
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="'COLUMN = SQL'",
    help="Correct a column, or _floodmark_raw, the text of a corrupt record; may be repeated. "
    "Each expression sees the row as it lies there.",
)
@dry_run_option
@click.argument("model")
def replay(
    open_project: OpenProject,
    rule: str | None,
    where: str | None,
    assignments: tuple[str, ...],
    dry_run: bool,
    model: str,
) -> None:
    """Load open rows through the model's own strategy, exactly once.

    They are judged by today's rules: those that still break one stay open. An older row never
    overwrites a later one, and the mark stays where it is. Corrupt lines of files are parsed
    again, with the schema of today.

    \b
    Example:
        floodmark quarantine replay silver_invoices --rule known_store
        floodmark quarantine replay silver_invoices --set "total_amount = abs(total_amount)"
        floodmark quarantine replay bronze_invoices --set "_floodmark_raw = _floodmark_raw || '}'"
        dbt run-operation floodmark.quarantine_replay --args '{model: silver_invoices}'
    """
    project = open_project()
    chosen = project.one(model)
    wanted = {"rule": rule, "where": where, "set": dict(map(_assignment, assignments)) or None}
    if dry_run:
        project.operation("quarantine_replay", model=chosen.unique_id, **wanted, dry_run=True)
        return
    result = project.invoke(["run", "--select", chosen.selector], floodmark_replay=wanted)
    sys.exit(exit_code(result))


def _assignment(text: str) -> tuple[str, str]:
    # A name in quotes may hold the sign; the macros take them off.
    found = re.fullmatch(r"\s*(`(?:[^`]|``)+`|[^=]*[^=\s])\s*=\s*(.*\S)\s*", text, re.DOTALL)
    if found is None:
        raise UsageError(f"--set takes 'column = expression', and got {text!r}.")
    return found[1], found[2]


@quarantine.command()
@project_options
@rule_option
@where_option
@click.option("--reason", required=True, metavar="TEXT", help="Why; the rows keep it.")
@dry_run_option
@click.argument("model")
def discard(
    open_project: OpenProject,
    rule: str | None,
    where: str | None,
    reason: str,
    dry_run: bool,
    model: str,
) -> None:
    """Give open rows up: they stay in the quarantine, and are never loaded.

    \b
    Example:
        floodmark quarantine discard silver_invoices --where 'store_id = 99' --reason 'test data'
        dbt run-operation floodmark.quarantine_discard --args '{model: silver, reason: test data}'
    """
    project = open_project()
    name = project.one(model).unique_id
    project.operation(
        "quarantine_discard", model=name, rule=rule, where=where, reason=reason, dry_run=dry_run
    )
