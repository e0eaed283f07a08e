"""The tables of the questions: a source with a history, and changes that arrive in it."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.bench import COLUMNS, SCHEMA, Project, in_turn

CHANGED, NEW = 10_000, 1_000


def create_source(project: Project, rows: int, name: str = "source") -> None:
    """A Delta table of `rows` rows, one a key, all changed at one time."""
    columns = COLUMNS.format(at="timestamp'2025-01-01 00:00:00Z'")
    project.sql(
        f"create or replace table {SCHEMA}.{name} using delta as "
        f"select {columns} from range(0, {rows}, 1, 8)"
    )


def arrive(project: Project, rows: int, number: int, keys: str, name: str = "source") -> None:
    """10,000 changed and 1,000 new rows: `recent` keys are the highest, `random` ones lie anywhere."""
    at = f"timestamp'2025-01-02 00:00:00Z' + make_interval(0, 0, 0, {number})"
    first = rows + number * NEW
    if keys == "recent":
        changed = f"range({first - CHANGED}, {first})"
    else:
        step = rows // CHANGED
        changed = f"(select id * {step} + {number * 7 % step} as id from range({CHANGED}))"
    project.sql(
        f"insert into {SCHEMA}.{name} select {COLUMNS.format(at=at)} from "
        f"(select id from {changed} union all select id from range({first}, {first + NEW}))"
    )


def ours(source: str = "source") -> str:
    """floodmark's merge by a timestamp watermark."""
    return (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        "watermark={'column': 'updated_at'}) }}\n"
        f"select * from {{{{ source('raw', '{source}') }}}} where {{{{ floodmark.watermark_filter() }}}}"
    )


def theirs(source: str = "source") -> str:
    """dbt-spark's merge, as dbt's docs write it."""
    return (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        "file_format='delta') }}\n"
        f"select * from {{{{ source('raw', '{source}') }}}}\n"
        "{% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) {% endif %}"
    )


def ours_and_theirs(
    project: Project, rows: int, rounds: int, prepare: Callable[[int], None]
) -> list[list[float]]:
    """Seconds of the nodes `ours` and `theirs`, both loaded in full from a source of `rows` rows before."""
    create_source(project, rows)
    project.run("ours", "theirs", full_refresh=True)
    return in_turn(
        rounds,
        prepare,
        lambda: project.run("ours")["ours"],
        lambda: project.run("theirs")["theirs"],
    )
