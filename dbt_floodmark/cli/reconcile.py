"""``floodmark reconcile``: rows that the mark has passed and the target lacks, or holds twice."""

from __future__ import annotations

import sys
from typing import Any

import click

from dbt_floodmark.cli.output import console, print_json, table
from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import Model, OpenProject, Project, project_options
from dbt_floodmark.project.runner import json_option


@click.command()
@project_options
@json_option
@click.option("--key", multiple=True, help="A key column; may be repeated. Default: unique_key.")
@click.option("--sample", type=click.IntRange(1), default=10, show_default=True, help="Keys shown.")
@click.argument("model")
def reconcile(
    open_project: OpenProject, as_json: bool, key: tuple[str, ...], sample: int, model: str
) -> None:
    """Compare what the SELECT gives up to the mark with the table; exit code 1 on a difference.

    Says which keys the table lacks or holds too often, how late the missing rows are, the
    lookback that would have caught them, and the backfill that repairs them. Writes nothing.
    A stream is compared with what its checkpoint has read.

    \b
    Example:
        floodmark reconcile silver_invoices
        floodmark reconcile bronze_events --key event_id
    """
    with console(stderr=True).status("Comparing the source with the table"):
        project = open_project()
        chosen = project.one(model)
        keys = key or chosen.unique_key
        _refuse(chosen, keys)
        sql = project.compile([chosen], floodmark_bounds="passed")[chosen.unique_id]
        found = _compare(project, chosen, keys, sql, sample)
    if as_json:
        print_json(found)
    else:
        _print(found)
    sys.exit(0 if found["missing"] == found["repeated"] == 0 else 1)


def _refuse(model: Model, keys: tuple[str, ...]) -> None:
    if model.strategy == "cdc" and model.is_stream:
        raise UsageError(
            f"{model.name} applies change events, so its rows are not those of its SELECT: read "
            f"everything again with `floodmark run --select {model.selector} --full-refresh`."
        )
    if not model.is_stream and (
        model.watermark is None or model.watermark.get("kind") == "version"
    ):
        raise UsageError(
            f"{model.name} has no timestamp or sequence watermark, so there is nothing to compare: "
            "loading by files or versions misses nothing."
        )
    if model.strategy == "cdc":
        raise UsageError(
            f"{model.name} applies change events, so its rows are not those of its SELECT: read "
            f"events again with `floodmark backfill {model.name} --from ... --to ...`, which "
            "changes nothing where nothing is missing."
        )
    if model.strategy == "snapshot_diff":
        raise UsageError(
            f"{model.name} compares each snapshot with the table, so its next run finds what is "
            "missing: run it."
        )
    if not keys:
        raise UsageError(
            f"{model.name} has no unique_key: name the columns that identify a row with --key."
        )


def _compare(
    project: Project, model: Model, keys: tuple[str, ...], sql: str, sample: int
) -> dict[str, Any]:
    macro = "_reconcile_stream_sql" if model.is_stream else "_reconcile_sql"
    found = {"model": model.model_id, **project.ask(macro, model, sql, list(keys), sample)}
    found["backfill"] = None
    if found["missing"] or found["repeated"]:
        # Of rows without the watermark column nothing tells in which range they lie. A MERGE
        # updates all rows of a key, and leaves as many.
        keeps_copies = found["repeated"] and model.strategy == "merge"
        found["backfill"] = (
            f"floodmark run --select {model.selector} --full-refresh"
            if model.is_stream or found["from"] is None or keeps_copies
            else f"floodmark backfill {model.name} --from '{found['from']}' --to '{found['to']}'"
        )
    return found


def _print(found: dict[str, Any]) -> None:
    screen = console()
    screen.print(
        f"{found['model']}, up to its mark {found['mark']}: {found['expected']:,} rows expected, "
        f"{found['missing']:,} keys missing, {found['repeated']:,} keys held too often."
    )
    if found["missing"] == found["repeated"] == 0:
        return
    columns = [("problem", "left"), ("key", "left"), ("expected", "right"), ("held", "right")]
    lines = [[one["problem"], one["key"], one["expected"], one["held"]] for one in found["sample"]]
    screen.print(table("", columns, lines))
    if found["lookback"]:
        screen.print(
            f"The missing rows lie up to {found['lookback']} below the mark: "
            f"a lookback of '{found['lookback']}' would have caught them."
        )
    screen.print(f"To repair: {found['backfill']}", soft_wrap=True)
