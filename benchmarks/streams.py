"""Streams against the same query written by hand in PySpark: all rows of a table, and the time to the first commit."""

from __future__ import annotations

import time

from benchmarks.bench import COLUMNS, SCHEMA, Project, Result, in_turn, project

FILES = 30
MODEL = """
{{ config(materialized='streaming_table') }}
select id, customer, amount * 2 as amount, status, ordered_on, updated_at
from stream({{ source('raw', 'events') }}) with (maxFilesPerTrigger = 3)
"""
EXPRESSIONS = ("id", "customer", "amount * 2 as amount", "status", "ordered_on", "updated_at")


def by_hand(made: Project, number: int) -> None:
    """What people write: readStream, a projection, writeStream to the end of what is there."""
    frame = made.spark.readStream.option("maxFilesPerTrigger", 3).table(f"{SCHEMA}.events")
    query = (
        frame.selectExpr(*EXPRESSIONS)
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(made.root / f"checkpoint-{number}"))
        .toTable(f"{SCHEMA}.by_hand")
    )
    query.awaitTermination()


def _first_commit(made: Project, table: str, begun: float) -> float:
    """Seconds from `begun` (since 1970) to the first micro-batch that the table's history has behind it."""
    rows = made.sql(
        f"select min(unix_millis(timestamp)) from (describe history {SCHEMA}.{table}) "
        f"where operation = 'STREAMING UPDATE' and unix_millis(timestamp) >= {int(begun * 1000)}"
    )
    return float(rows[0][0]) / 1000 - begun


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """Whole nodes over three times `rows` in ten micro-batches, and the first commit over a small table."""
    results = []
    with project() as made:
        made.sources("events")
        made.model("streamed", MODEL)
        for count, files, question in (
            (
                3 * rows,
                FILES,
                f"Stream of {3 * rows // 1_000_000} million rows in ten micro-batches",
            ),
            (10_000, 1, "Time to a stream's first commit"),
        ):
            at = "timestamp'2025-01-01 00:00:00Z' + make_interval(0, 0, 0, 0, 0, 0, id % 1000)"
            made.sql(
                f"create or replace table {SCHEMA}.events using delta as "
                f"select {COLUMNS.format(at=at)} from range(0, {count}, 1, {files})"
            )
            made.run("streamed", full_refresh=True)
            numbers = [0]

            def prepare(number: int, count: int = count, numbers: list[int] = numbers) -> None:
                numbers[0] = count + number
                made.sql(f"drop table if exists {SCHEMA}.by_hand")

            def whole() -> float:
                return made.run("streamed", full_refresh=True)["streamed"]

            def first() -> float:
                whole()
                return _first_commit(made, "streamed", made.started["streamed"])

            def hand(numbers: list[int] = numbers) -> float:
                begun = time.perf_counter()
                by_hand(made, numbers[0])
                return time.perf_counter() - begun

            def hand_first(numbers: list[int] = numbers) -> float:
                begun = time.time()
                by_hand(made, numbers[0])
                return _first_commit(made, "by_hand", begun)

            is_first = count == 10_000
            ours, peer = in_turn(
                rounds,
                prepare,
                first if is_first else whole,
                hand_first if is_first else hand,
            )
            limit = 1.2 if is_first else 1 / 0.95
            results.append(Result(question, f"≤ {limit:.2f}", ours, peer, limit))
    return results
