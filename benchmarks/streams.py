"""Streams against the same query written by hand in PySpark: throughput, and the time to the first commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench import BARE_SESSION, COLUMNS, SCHEMA, Project, Result, in_turn, project, timed

FILES = 30
MICRO_BATCHES = 10
MODEL = """
{{ config(materialized='streaming_table') }}
select id, customer, amount * 2 as amount, status, ordered_on, updated_at
from stream({{ source('raw', 'events') }}) with (maxFilesPerTrigger = 3)
"""
EXPRESSIONS = ("id", "customer", "amount * 2 as amount", "status", "ordered_on", "updated_at")
LANDED = """
{{ config(materialized='streaming_table') }}
select id, v from stream(json.`landing`) with (schema = 'id bigint, v string')
"""
SCRIPT = f"""{BARE_SESSION}folder = sys.argv[2]
frame = spark.readStream.schema("id bigint, v string").json(folder + "/landing")
query = (frame.writeStream.format("delta").trigger(availableNow=True)
    .option("checkpointLocation", folder + "/checkpoint").toTable("landed"))
query.awaitTermination()
"""


def by_hand(made: Project, number: int) -> None:
    """What people write: readStream, a projection, writeStream to the end of what is there."""
    frame = made.spark.readStream.option("maxFilesPerTrigger", 3).table(f"{SCHEMA}.events")
    query = (
        frame.selectExpr(*EXPRESSIONS)
        .writeStream.format("delta")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(made.root / f"checkpoint-{number}"))
        .toTable(f"{SCHEMA}.by_hand")
    )
    query.awaitTermination()


def run(rows: int = 10_000_000, rounds: int = 5) -> list[Result]:
    """Ten micro-batches over three times `rows`: nodes, and their throughput; processes up to their first commit."""
    with project() as made:
        made.sources("events")
        made.model("streamed", MODEL)
        at = "timestamp'2025-01-01 00:00:00Z' + make_interval(0, 0, 0, 0, 0, 0, id % 1000)"
        made.sql(
            f"create or replace table {SCHEMA}.events using delta as "
            f"select {COLUMNS.format(at=at)} from range(0, {3 * rows}, 1, {FILES})"
        )
        made.run("streamed", full_refresh=True)
        numbers = [0]
        steady: dict[str, list[float]] = {"streamed": [], "by_hand": []}

        def prepare(number: int) -> None:
            # Both write a table without a history: Delta's own checkpoints come at the same commits.
            numbers[0] = number
            for table in ("by_hand", "streamed"):
                made.sql(f"drop table if exists {SCHEMA}.{table}")

        def ours() -> float:
            seconds = made.run("streamed", full_refresh=True)["streamed"]
            steady["streamed"].append(_first_to_last_commit(made, "streamed"))
            return seconds

        def hand() -> float:
            seconds = timed(lambda: by_hand(made, numbers[0]))
            steady["by_hand"].append(_first_to_last_commit(made, "by_hand"))
            return seconds

        whole = in_turn(rounds, prepare, ours, hand, warm_up=1)
    question = f"Stream of {3 * rows / 1_000_000:g} million rows in ten micro-batches"
    # The first round warms up.
    between = [seconds[1:] for seconds in steady.values()]
    return [
        Result(f"{question}, first commit to last", "≤ 1.05", *between, 1 / 0.95),
        Result(f"{question}, whole node", "", *whole, None),
        _cold(rounds),
    ]


def _first_to_last_commit(made: Project, table: str) -> float:
    """Seconds in which a stream's newest micro-batches but the first were read and committed."""
    history = made.spark.sql(f"describe history {SCHEMA}.{table}")
    commits = history.where("operation = 'STREAMING UPDATE'").orderBy("version", ascending=False)
    times = [row.timestamp.timestamp() for row in commits.limit(MICRO_BATCHES).collect()]
    return times[0] - times[-1]


def _cold(rounds: int) -> Result:
    """From the start of a process to its first commit: a file has landed, the stream has run before."""
    from dbt_floodmark.spark.jars import jar_folder

    os.environ.pop("FLOODMARK_HOME", None)
    code = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"
    with tempfile.TemporaryDirectory(
        prefix="floodmark-bench-", ignore_cleanup_errors=True
    ) as folder:
        root = Path(folder)
        subprocess.run(
            [sys.executable, "-c", code, "init", "shop"], cwd=root, check=True, capture_output=True
        )
        shop = root / "shop"
        (shop / "models" / "landed.sql").write_text(LANDED)
        (root / "bare").mkdir()
        (root / "bare.py").write_text(SCRIPT)
        ours = [sys.executable, "-c", code, "run", "--select", "landed"]
        bare = [sys.executable, str(root / "bare.py"), str(jar_folder()), str(root / "bare")]

        def land(number: int) -> None:
            for place in (shop, root / "bare"):
                (place / "landing").mkdir(exist_ok=True)
                (place / "landing" / f"{number}.json").write_text(f'{{"id": {number}, "v": "x"}}\n')

        land(-1)
        for command, place in ((ours, shop), (bare, root)):
            subprocess.run(command, cwd=place, check=True, capture_output=True)
        seconds = in_turn(
            rounds,
            land,
            lambda: _first_commit(ours, shop, shop / ".floodmark"),
            lambda: _first_commit(bare, root, root / "bare"),
            warm_up=1,
        )
    return Result("Cold process up to a stream's first commit", "≤ 1.20", *seconds, 1.2)


def _first_commit(command: list[str], place: Path, home: Path) -> float:
    """Seconds from a process's start to the first micro-batch in the log of table `landed` below `home`."""
    begun = time.time()
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    times = []
    for log in home.rglob("landed/_delta_log/*.json"):
        for line in log.read_text("utf-8").splitlines():
            info = json.loads(line).get("commitInfo", {})
            if info.get("operation") == "STREAMING UPDATE":
                times.append(info["timestamp"] / 1000)
    return min(at for at in times if at >= begun) - begun
