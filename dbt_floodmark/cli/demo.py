"""``floodmark demo``: the worked example in its own fresh warehouse, from day 1 to nothing new."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.rule import Rule

from dbt_floodmark.cli.demo_findings import Oddity, Query, Refusal, odd_files, refused_rows
from dbt_floodmark.cli.output import console, table
from dbt_floodmark.demo.chain import ODD_DAY
from dbt_floodmark.demo.data import MINIMUM_INVOICES, land_day
from dbt_floodmark.environment import environment_variable
from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.package import PACKAGE, package_root
from dbt_floodmark.project.ledger import Row
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import (
    dbt_arguments,
    exit_code,
    invoke,
    project_option,
    project_settings,
)
from dbt_floodmark.spark import warm
from dbt_floodmark.spark.home import FOLDER, HOME_VARIABLE
from dbt_floodmark.texts import yaml_text

_BATCHES = (
    "select model, batch_id, kind, low, high, rows_read, rows_inserted, rows_updated, "
    "rows_deleted, rows_late, started_at, finished_at, invocation_id, "
    "'{{ floodmark.ledger_schema() }}' as ledger "
    "from {{ floodmark.ledger_schema() }}.batches "
    "where state = 'committed' order by started_at, model"
)

#: An invoice of the odd day counts its items below zero. The models that follow read what was
#: loaded after their mark, so the row is loaded as of now.
_MODEL = "silver_invoices"
CORRECTIONS = {"number_of_items": "abs(number_of_items)", "loaded_at": "current_timestamp()"}


@dataclass(frozen=True)
class Build:
    """One run of dbt in the demo."""

    number: int
    invocation_id: str


@click.command()
@project_option
@click.option(
    "--invoices",
    type=click.IntRange(MINIMUM_INVOICES),
    default=500,
    show_default=True,
    help="Invoices a day.",
)
@click.option("--land", "land_only", type=click.IntRange(1), help="Only land this day's files.")
@click.option("--resume", is_flag=True, help="Build once more in the demo's warehouse, as it is.")
def demo(project_dir: Path, invoices: int, land_only: int | None, resume: bool) -> None:
    """Load the worked example: days 1 to 3, an odd day 4, a row that is corrected, nothing new.

    The demo has a warehouse of its own, .floodmark/demo, and starts it afresh together with
    data/landing.

    \b
    Example:
        floodmark demo
        floodmark demo --invoices 100000
        floodmark demo --land 5 && floodmark demo --resume
    """
    project = example_project(project_dir)
    landing = project / "data" / "landing"
    if land_only is not None:
        _land(landing, land_only, invoices)
        return
    home = project / FOLDER / "demo"
    for name, value in _environment(project, home).items():
        click.get_current_context().with_resource(environment_variable(name, value))
    if resume:
        builds = [_run(project, 1, "build")]
        _show(project, builds)
        return
    for folder in (home, landing):
        shutil.rmtree(folder, ignore_errors=True)
    builds = []
    for number, days in enumerate(((1, 2, 3), (ODD_DAY,)), start=1):
        for day in days:
            _land(landing, day, invoices)
        builds.append(_run(project, number, "build"))
    builds.append(_replay(project, len(builds) + 1))
    builds.append(_run(project, len(builds) + 1, "build", "--select", f"{_MODEL}+"))
    before = _versions(project)
    builds.append(_run(project, len(builds) + 1, "build"))
    after = _versions(project)
    _show(project, builds)
    _say_commits(len(builds), before, after)


def example_project(project_dir: Path) -> Path:
    """Return the project with the worked example: the one named, else floodmark's checkout.

    Raises:
        UsageError: neither has it. A project of another name is the user's, whatever its models
            are called.
    """
    for candidate in (project_dir, package_root()):
        example = candidate / "models" / "bronze" / "bronze_invoices.sql"
        if example.is_file() and project_settings(candidate).get("name") == PACKAGE:
            return candidate.resolve()
    raise UsageError(
        "The worked example is not here: run `floodmark demo` in a checkout of floodmark, or name "
        "one with --project-dir."
    )


def _environment(project: Path, home: Path) -> dict[str, str]:
    """Return what stands in the environment meanwhile: what the user has there is not for us."""
    return {
        HOME_VARIABLE: str(home),
        # The example has streams, which run inside the dbt process.
        warm.VARIABLE: "0",
        "DBT_ENGINE_PROFILES_DIR": str(project / "profiles"),
        "DBT_ENGINE_PROFILE": PACKAGE,
    }


def _land(landing: Path, day: int, invoices: int) -> None:
    counts = land_day(landing, day, invoices=invoices)
    what = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    console().print(f"Day {day} has landed: {what}.")


def _replay(project: Path, number: int) -> Build:
    """As `floodmark quarantine replay silver_invoices --set ...` does."""
    wanted = yaml_text({"floodmark_replay": {"set": CORRECTIONS}})
    return _run(project, number, "run", "--select", _MODEL, "--vars", wanted)


def _run(project: Path, number: int, *words: str) -> Build:
    from dbt_common.invocation import get_invocation_id

    screen = console()
    title = f"run {number}: dbt {' '.join(words)}"
    screen.print(Rule(title, align="left"), width=min(screen.width, 100))
    options = dbt_arguments(project, None, "session")
    result = invoke([*words, *options])
    if not result.success:
        console().print("The run failed; `floodmark demo --resume` goes on where it stopped.")
        sys.exit(exit_code(result))
    return Build(number, str(get_invocation_id()))


def _rows(project: Path) -> list[Row]:
    return Project(project, None, "session").query(_BATCHES)


def _versions(project: Path) -> dict[str, int]:
    """Return the latest Delta version of each table that floodmark has loaded."""
    query = _session_query(project)
    names = sorted({row["model"] for row in _rows(project)})
    return {name: int(query(f"describe history {name} limit 1")[0][0]) for name in names}


def _session_query(project: Path) -> Query:
    """Return what runs a statement on the Spark in which dbt has built."""
    from dbt_floodmark.spark.gateway import root_session
    from dbt_floodmark.spark.home import resolve_home

    spark = root_session(resolve_home(project), {})
    return lambda statement: [tuple(row) for row in spark.sql(statement).collect()]


def _show(project: Path, builds: list[Build]) -> None:
    runs = {build.invocation_id: build.number for build in builds}
    rows = [row for row in _rows(project) if row["invocation_id"] in runs]
    columns = [("run", "right"), ("model", "left"), ("batch", "right"), ("bounds", "left")]
    columns += [
        (name, "right") for name in ("read", "inserted", "updated", "deleted", "late", "seconds")
    ]
    screen = console()
    screen.print()
    screen.print(table("What each run loaded", columns, [_line(runs, row) for row in rows]))
    for build in builds:
        if not any(row["invocation_id"] == build.invocation_id for row in rows):
            screen.print(f"Run {build.number} found nothing new.")
    if rows:
        query, ledger = _session_query(project), rows[0]["ledger"]
        columns = [("run", "right"), ("model", "left"), ("what", "left"), ("file", "left")]
        columns += [("line", "right"), ("", "left")]
        _print("What was odd in the files", columns, odd_files(query, ledger, runs))
        columns = [("run", "right"), ("model", "left"), ("why", "left"), ("now", "left")]
        columns += [("row", "left")]
        _print("What the rules refused", columns, refused_rows(query, ledger, runs))
        screen.print()


def _print(title: str, columns: list[tuple[str, str]], found: Sequence[Oddity | Refusal]) -> None:
    if found:
        shown = [list(one._replace(model=one.model.rpartition(".")[2])) for one in found]
        screen = console()
        screen.print()
        screen.print(table(title, columns, shown))


def _line(runs: dict[str, int], row: Row) -> list[Any]:
    seconds = (row["finished_at"] - row["started_at"]).total_seconds()
    counts = [row[f"rows_{name}"] for name in ("read", "inserted", "updated", "deleted", "late")]
    return [
        runs[row["invocation_id"]],
        row["model"].rpartition(".")[2],
        row["batch_id"],
        _bounds(row),
        *counts,
        f"{seconds:.1f}",
    ]


def _bounds(row: Row) -> str:
    low, high = (_short(row[name]) for name in ("low", "high"))
    if row["kind"] == "stream":
        return f"micro-batch {high}"
    if row["kind"] == "replay":
        return "replay"
    if not high:
        return "–"
    return f"{low} < … ≤ {high}" if low else f"≤ {high}"


def _short(value: Any) -> str:
    """A bound to the second: the table should fit a terminal."""
    return "" if value is None else str(value).partition(".")[0]


def _say_commits(number: int, before: dict[str, int], after: dict[str, int]) -> None:
    changed = [name for name in after if after[name] != before.get(name)]
    if changed:
        raise FloodmarkError(
            f"Run {number} had nothing new, but it committed on {', '.join(changed)}."
        )
    console().print(f"Run {number} made no commit on any of {len(after)} tables.")
