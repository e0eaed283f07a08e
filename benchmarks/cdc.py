"""CDC: SCD 1 against a loader written by hand in PySpark, SCD 2 against dbt's own snapshot."""

from __future__ import annotations

from benchmarks.bench import SCHEMA, Project, Result, in_turn, project, timed

EVENTS = 100_000
CHANGED, NEW = 10_000, 1_000
#: An event of key `id`: one in five deletes. Keys are the highest, each with one or two events.
COLUMNS = (
    "cast({key} as bigint) as id, concat('name ', {key} % 1000) as name, cast(id % 1000 as double) as amount, "
    "cast({seq} as bigint) as seq, {op} as op, cast({arrived} as bigint) as arrived"
)
LATEST = """
{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='id',
          watermark={'column': 'arrived', 'gaps': 'ignore'},
          cdc={'sequence_by': 'seq', 'apply_as_deletes': "op = 'D'", 'except_column_list': ['op', 'arrived']}) }}
select * from {{ source('raw', 'feed') }} where {{ floodmark.watermark_filter() }}
"""
HISTORY = """
{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='id',
          watermark={'column': 'arrived', 'gaps': 'ignore'},
          cdc={'sequence_by': 'seq', 'apply_as_deletes': "op = 'D'", 'stored_as_scd_type': 2,
               'except_column_list': ['op', 'arrived', 'seq']}) }}
select * from {{ source('raw', 'feed') }} where {{ floodmark.watermark_filter() }}
"""
SNAPSHOT = """
{% snapshot snapped %}
{{ config(unique_key='id', strategy='timestamp', updated_at='changed_at', file_format='delta',
          hard_deletes='invalidate') }}
select id, name, amount, timestamp_seconds(seq) as changed_at from {{ source('raw', 'state') }}
{% endsnapshot %}
"""


def by_hand(made: Project) -> None:
    """What people write: the latest event of each key, blind to what came before it in another batch."""
    from delta.tables import DeltaTable
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    spark = made.spark
    mark = spark.sql(f"select max(mark) from {SCHEMA}.marks").collect()[0][0]
    fresh = spark.table(f"{SCHEMA}.feed").where(f"arrived > {mark}")
    latest = Window.partitionBy("id").orderBy(f.col("seq").desc())
    events = fresh.withColumn("rank", f.row_number().over(latest)).where("rank = 1").drop("rank")
    columns = {name: f"s.{name}" for name in ("id", "name", "amount", "seq")}
    merge = (
        DeltaTable.forName(spark, f"{SCHEMA}.by_hand")
        .alias("t")
        .merge(events.alias("s"), "s.id = t.id")
    )
    merge = merge.whenMatchedDelete("s.op = 'D'").whenMatchedUpdate(set=columns)
    merge.whenNotMatchedInsert("s.op <> 'D'", columns).execute()
    high = fresh.selectExpr("max(arrived)").collect()[0][0]
    if high is not None:
        spark.sql(f"update {SCHEMA}.marks set mark = {high}")


def _feed(made: Project, rows: int) -> None:
    columns = COLUMNS.format(key="id", seq="0", op="'U'", arrived="0")
    made.sql(
        f"create or replace table {SCHEMA}.feed using delta as select {columns} from range(0, {rows}, 1, 8)"
    )


def _events(made: Project, rows: int, number: int) -> None:
    """100,000 events of 60,000 recent keys, a tenth of them new, 20 % deletes."""
    first = rows + number * 6_000 - 54_000
    columns = COLUMNS.format(
        key=f"{first} + id % 60000",
        seq=f"{number + 1} * 1000000 + id",
        op="if(id % 5 = 0, 'D', 'U')",
        arrived=number + 1,
    )
    made.sql(f"insert into {SCHEMA}.feed select {columns} from range({EVENTS})")


def _latest(made: Project, rows: int, rounds: int) -> tuple[list[float], list[float]]:
    _feed(made, rows)
    made.run("latest", full_refresh=True)
    made.sql(
        f"create or replace table {SCHEMA}.by_hand using delta as select id, name, amount, seq from {SCHEMA}.feed"
    )
    made.sql(f"create or replace table {SCHEMA}.marks using delta as select 0L as mark")
    node, hand = in_turn(
        rounds,
        lambda number: _events(made, rows, number),
        lambda: made.run("latest")["latest"],
        lambda: timed(lambda: by_hand(made)),
    )
    return node, hand


def _history(made: Project, rows: int, rounds: int) -> tuple[list[float], list[float]]:
    """10,000 changed and 1,000 new keys, as events and as the state that a snapshot compares."""
    _feed(made, rows)
    made.sql(
        f"create or replace table {SCHEMA}.state using delta as select id, name, amount, seq from {SCHEMA}.feed"
    )
    made.sql(f"drop table if exists {SCHEMA}.snapped")
    made.run("history", full_refresh=True)
    made.run("snapped", command="snapshot")

    def change(number: int) -> None:
        first = rows + number * NEW
        columns = COLUMNS.format(
            key="id", seq=(number + 1) * 1000, op="'U'", arrived=number + 1
        ).replace("cast(id % 1000 as double)", f"cast(id % 1000 + {number + 1} as double)")
        made.sql(
            f"insert into {SCHEMA}.feed select {columns} from range({first - CHANGED}, {first + NEW})"
        )
        made.sql(
            f"merge into {SCHEMA}.state t using (select * from {SCHEMA}.feed where arrived = {number + 1}) s "
            "on s.id = t.id when matched then update set * when not matched then insert *"
        )

    node, theirs = in_turn(
        rounds,
        change,
        lambda: made.run("history")["history"],
        lambda: made.run("snapped", command="snapshot")["snapped"],
    )
    return node, theirs


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """SCD 1 at a tenth of `rows` and at `rows`; SCD 2 at a tenth and at half of `rows`."""
    results = []
    with project() as made:
        made.sources("feed", "state")
        made.model("latest", LATEST)
        made.model("history", HISTORY)
        (made.root / "snapshots").mkdir()
        (made.root / "snapshots" / "snapped.sql").write_text(SNAPSHOT)
        nodes = []
        for size, limit in ((rows // 10, 1.3), (rows, 0.8)):
            node, hand = _latest(made, size, rounds)
            nodes.append(node)
            millions = f"{size / 1_000_000:g} million rows"
            question = f"SCD 1 against a PySpark loader, 100,000 events, {millions}"
            results.append(Result(question, f"≤ {limit:.2f}", node, hand, limit))
        grown = f"SCD 1 at {rows / 1_000_000:g} million rows, against {rows / 10_000_000:g} million"
        results.append(Result(grown, "≤ 1.40", nodes[1], nodes[0], 1.4))
        for size, limit in ((rows // 10, 0.5), (rows // 2, 0.2)):
            node, theirs = _history(made, size, rounds)
            question = (
                f"SCD 2 against dbt's snapshot, 11,000 changes, {size / 1_000_000:g} million rows"
            )
            results.append(Result(question, f"≤ {limit:.2f}", node, theirs, limit))
    return results
