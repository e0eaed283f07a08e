"""A whole small project, process by process: ten models over two sources, with floodmark and with dbt-spark alone.

Two appends, four merges, two aggregates by merge and two tables, four threads. Cold is Spark inside each dbt process;
warm is one Thrift server for all, the same one for both; `--warm` is floodmark's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks.bench import Result, timed

FIRST_ROWS = 10_000
NEW_ROWS = 1_000
SOURCES = (1, 2)

#: What the peer's own session needs for Delta, and what floodmark sets for a small machine too.
PEER_CONF = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.memory": "4g",
}

LAND = """
{% macro land(seed, rows) %}
  {% do run_query('create schema if not exists ' ~ target.schema ~ '_raw') %}
  {% for i in [1, 2] %}
    {% set table = target.schema ~ '_raw.src_' ~ i %}
    {% do run_query('create table if not exists ' ~ table
        ~ ' (id bigint, cust string, amt double, ts timestamp) using delta') %}
    {% do run_query('insert into ' ~ table ~ ' select ' ~ seed ~ " * 1000000 + id, concat('c', id % 500), id * 1.5, "
        ~ "timestamp'2024-01-01' + make_dt_interval(" ~ seed ~ ', 0, 0, id * 0.001) from range(0, ' ~ rows ~ ', 1, 1)') %}
  {% endfor %}
{% endmacro %}
"""


def models(new_rows: str, watermark: str) -> dict[str, str]:
    """The SELECTs of both sides, which differ in how new rows are found."""

    def incremental(strategy: str, key: str | None, select: str) -> str:
        found_by = f", unique_key='{key}'" if key else ""
        return (
            f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', "
            f"file_format='delta'{found_by}{watermark}) }}}}\n{select}"
        )

    made = {}
    for i in SOURCES:
        made[f"bronze_{i}"] = incremental(
            "append", None, f"select * from {{{{ source('raw', 'src_{i}') }}}} {new_rows}"
        )
        for j in (1, 2):
            made[f"silver_{i}{j}"] = incremental(
                "merge",
                "id",
                f"select id, cust, amt * {j} as amt, ts from {{{{ ref('bronze_{i}') }}}} {new_rows}",
            )
        silver = f"{{{{ ref('silver_{i}1') }}}}"
        made[f"gold_{i}"] = incremental(
            "merge",
            "cust",
            f"select cust, sum(amt) as amt, max(ts) as ts from {silver} "
            f"where cust in (select cust from {silver} {new_rows}) group by cust",
        )
        made[f"mart_{i}"] = (
            "{{ config(materialized='table', file_format='delta') }}\n"
            f"select cust, count(*) as n from {{{{ ref('silver_{i}2') }}}} group by cust"
        )
    return made


@dataclass
class Side:
    """One of the two projects, and how its commands are run."""

    root: Path
    command: tuple[str, ...]
    profiles: Path
    environment: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def call(self, *arguments: str) -> None:
        """Run a command on the project; its output is shown where it fails."""
        where = ("--project-dir", str(self.root), "--profiles-dir", str(self.profiles))
        done = subprocess.run(
            [*self.command, *arguments, *where],
            cwd=self.root,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{arguments} failed:\n{done.stdout}{done.stderr}")

    def land(self, *options: str) -> None:
        """Put new rows into both sources."""
        rows = NEW_ROWS if self.number else FIRST_ROWS
        given = yaml.safe_dump({"seed": self.number, "rows": rows}, default_flow_style=True).strip()
        self.call("run-operation", "land", "--args", given, *options)
        self.number += 1


def _write(side: Side, sql: dict[str, str]) -> Side:
    for folder in ("models", "macros"):
        (side.root / folder).mkdir(parents=True, exist_ok=True)
    for name, select in sql.items():
        (side.root / "models" / f"{name}.sql").write_text(select)
    tables = [{"name": f"src_{i}"} for i in SOURCES]
    source = {"name": "raw", "schema": "{{ target.schema }}_raw", "tables": tables}
    (side.root / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [source]}))
    (side.root / "macros" / "land.sql").write_text(LAND)
    return side


def _ours(folder: Path, target: dict[str, object]) -> Side:
    code = "from dbt_floodmark.cli import main; main(prog_name='floodmark')"
    command = (sys.executable, "-c", code)
    root = folder / "ours"
    subprocess.run([*command, "init", str(root)], check=True, stdout=subprocess.PIPE)
    for old in (
        "models/events.sql",
        "models/events.yml",
        "seeds/raw_events.csv",
        "seeds/raw_events.yml",
    ):
        (root / old).unlink(missing_ok=True)
    profile = yaml.safe_load((root / "profiles" / "profiles.yml").read_text())
    profile["ours"]["outputs"]["session"].update(target, schema="ours")
    (root / "profiles" / "profiles.yml").write_text(yaml.safe_dump(profile))
    side = Side(root, command, root / "profiles")
    new = "{% if is_incremental() %} where {{ floodmark.watermark_filter() }} {% endif %}"
    return _write(side, models(new, ", watermark={'column': 'ts'}"))


def _peer(folder: Path, target: dict[str, object]) -> Side:
    from dbt_floodmark.spark.jars import jar_folder

    root = folder / "peer"
    root.mkdir()
    jars = ",".join(map(str, sorted(jar_folder().glob("*.jar"))))
    place = {
        "spark.sql.warehouse.dir": str(root / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={root}/metastore;create=true",
        "spark.jars": jars,
    }
    output: dict[str, object] = {
        "type": "spark",
        "method": "session",
        "host": "localhost",
        "schema": "peer",
        "threads": 4,
        "server_side_parameters": {**PEER_CONF, **place},
        **target,
    }
    project = {"name": "peer", "version": "1.0", "profile": "peer"}
    (root / "dbt_project.yml").write_text(yaml.safe_dump(project))
    outputs = {"peer": {"target": "session", "outputs": {"session": output}}}
    (root / "profiles.yml").write_text(yaml.safe_dump(outputs))
    code = "from dbt.cli.main import cli; cli()"
    off = {"FLOODMARK_PLUGIN": "0", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    side = Side(root, (sys.executable, "-c", code), root, off)
    new = "{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}"
    return _write(side, models(new, ""))


def _compare(
    what: str, ours: Side, peer: Side, rounds: int, limits: tuple[float, ...]
) -> list[Result]:
    """First load, new rows, nothing new; both in turn, whoever goes first changes."""
    seconds: dict[str, tuple[list[float], list[float]]] = {}
    kinds = ["first load", *["new rows"] * rounds, *["nothing new"] * rounds]
    for number, kind in enumerate(kinds):
        if kind != "nothing new":
            ours.land()
            peer.land()
        taken = seconds.setdefault(kind, ([], []))
        sides = [(ours, taken[0]), (peer, taken[1])]
        for side, into in sides if number % 2 else reversed(sides):
            into.append(timed(lambda one=side: one.call("build")))
    return [
        Result(f"Small project, {what}, {kind}", f"≤ {limit:.2f}", *seconds[kind], limit)
        for kind, limit in zip(seconds, limits, strict=True)
    ]


def _on_one_server(folder: Path, rounds: int) -> list[Result]:
    from dbt_floodmark.spark.server import start_server, stop_server

    folder.mkdir()
    server = start_server(folder / "home")
    try:
        target: dict[str, object] = {
            "method": "thrift",
            "host": "127.0.0.1",
            "port": server.port,
            "user": "floodmark",
            "poll_interval": 1,
            "query_retries": 0,
            "server_side_parameters": {},
        }
        sides = _ours(folder, target), _peer(folder, target)
        return _compare("one warm Thrift server", *sides, rounds, (1.2, 0.8, 0.5))
    finally:
        stop_server(server)


def _on_our_warm_server(ours: Side, cold: list[float], rounds: int) -> Result:
    """The second build with new rows and those after it, against the peer's cold ones."""
    ours.call("build", "--warm")
    taken = []
    try:
        for _ in range(rounds):
            ours.land("--warm")
            taken.append(timed(lambda: ours.call("build", "--warm")))
    finally:
        subprocess.run([*ours.command, "serve", "stop"], cwd=ours.root, check=True)
    return Result(
        "Small project, `build --warm`, new rows, against dbt-spark's cold build",
        "≤ 0.30",
        taken,
        cold,
        0.3,
    )


def run(rounds: int = 3) -> list[Result]:
    """Cold processes, one warm server for both, and floodmark's own warm server."""
    with tempfile.TemporaryDirectory(prefix="floodmark-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        ours, peer = _ours(folder, {}), _peer(folder, {})
        cold = _compare("cold", ours, peer, rounds, (1.0, 0.8, 0.5))
        warm = _on_our_warm_server(ours, cold[1].peer, rounds)
        return [*cold, warm, *_on_one_server(folder / "server", rounds)]
