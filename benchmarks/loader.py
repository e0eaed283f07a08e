"""Against a loader written by hand in PySpark: watermark table, filter, DeltaTable.merge, update."""

from __future__ import annotations

from benchmarks.bench import COLUMNS, SCHEMA, Project, Result, in_turn, project, timed
from benchmarks.tables import arrive, create_source, ours

APPEND = (
    "{{ config(materialized='incremental', watermark={'column': 'updated_at'}) }}\n"
    "select * from {{ source('raw', 'source') }} where {{ floodmark.watermark_filter() }}"
)


def by_hand(made: Project) -> None:
    """What people write: no stage, no transaction id, and the mark moves in a second commit."""
    from delta.tables import DeltaTable

    spark = made.spark
    mark = spark.sql(f"select max(mark) from {SCHEMA}.marks").collect()[0][0]
    fresh = spark.table(f"{SCHEMA}.source").where(f"updated_at > timestamp'{mark}'")
    target = DeltaTable.forName(spark, f"{SCHEMA}.by_hand")
    merge = target.alias("t").merge(fresh.alias("s"), "s.id = t.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    high = fresh.selectExpr("max(updated_at)").collect()[0][0]
    if high is not None:
        spark.sql(f"update {SCHEMA}.marks set mark = timestamp'{high}'")


def _prepare(made: Project, rows: int) -> None:
    create_source(made, rows)
    made.run("ours", full_refresh=True)
    made.sql(
        f"create or replace table {SCHEMA}.by_hand using delta as select * from {SCHEMA}.source"
    )
    made.sql(
        f"create or replace table {SCHEMA}.marks using delta as "
        "select timestamp'2025-01-01 00:00:00Z' as mark"
    )


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """Recent and random keys at `rows`; appends of a tenth and of all against insert into … select."""
    results = []
    with project() as made:
        made.sources("source")
        made.model("ours", ours())
        for keys, limit in (("recent", 1.0), ("random", 0.6)):
            _prepare(made, rows)
            node, hand = in_turn(
                rounds,
                lambda number, keys=keys: arrive(made, rows, number, keys),
                lambda: made.run("ours")["ours"],
                lambda: timed(lambda: by_hand(made)),
            )
            question = f"PySpark loader, {keys} keys, {rows // 1_000_000} million rows"
            results.append(Result(question, f"≤ {limit:.2f}", node, hand, limit))
        for size, limit in ((rows // 10, 1.5), (rows, 1.1)):
            results.append(_append(made, size, limit, rounds))
    return results


def _append(made: Project, rows: int, limit: float, rounds: int) -> Result:
    create_source(made, rows)
    made.model("appended", APPEND)
    made.run("appended", full_refresh=True)
    made.sql(
        f"create or replace table {SCHEMA}.inserted using delta as select * from {SCHEMA}.source"
    )
    at = "timestamp'2025-01-02 00:00:00Z' + make_interval(0, 0, 0, {})"
    latest = [0]

    def land(number: int) -> None:
        latest[0] = number
        columns = COLUMNS.format(at=at.format(number))
        first = rows * (number + 1)
        made.sql(
            f"insert into {SCHEMA}.source select {columns} from range({first}, {first + rows}, 1, 4)"
        )

    def insert() -> None:
        made.sql(
            f"insert into {SCHEMA}.inserted select * from {SCHEMA}.source "
            f"where updated_at = {at.format(latest[0])}"
        )

    node, bare = in_turn(
        rounds, land, lambda: made.run("appended")["appended"], lambda: timed(insert)
    )
    question = f"Append of {rows / 1_000_000:g} million rows, against insert into … select"
    return Result(question, f"≤ {limit:.2f}", node, bare, limit)
