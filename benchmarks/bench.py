"""A dbt project on a warm session with Delta's defaults, and what every benchmark measures with."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
SCHEMA = "bench"
#: What a laptop's session would be given; the same for ours and for the peer.
PARAMETERS = {
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "1",
}
#: A table as wide as the questions ask for: the key, four values, the time of the last change.
COLUMNS = (
    "id, id % 50000 as customer, cast(id % 9999 as decimal(12, 2)) as amount, "
    "concat('status ', id % 7) as status, date'2024-01-01' + cast(id % 700 as int) as ordered_on, "
    "{at} as updated_at"
)

#: The session of a script written by hand: its arguments are the folder of the jars and one of its own.
BARE_SESSION = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
jars = sorted(str(p) for p in Path(sys.argv[1]).glob("*.jar"))
spark = (SparkSession.builder.master("local[*]").config("spark.jars", ",".join(jars))
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.warehouse.dir", sys.argv[2] + "/warehouse")
    .config("spark.ui.enabled", "false")
    .config("javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + sys.argv[2] + "/metastore;create=true")
    .config("spark.sql.shuffle.partitions", "2").enableHiveSupport().getOrCreate())
spark.sparkContext.setLogLevel("OFF")
"""


@dataclass
class Result:
    """One line of the report: seconds of ours and of the peer, each a list of runs."""

    question: str
    goal: str
    ours: list[float]
    peer: list[float]
    #: Ours may take at most this many times the peer's time; none where no goal was set.
    limit: float | None

    @property
    def ratio(self) -> float:
        """Ours by the peer's, medians."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    def line(self) -> str:
        """A row of the Markdown table."""
        ours, peer = statistics.median(self.ours), statistics.median(self.peer)
        verdict = "" if self.limit is None else "met" if self.ratio <= self.limit else "**missed**"
        return (
            f"| {self.question} | {ours:.2f} s | {peer:.2f} s | {self.ratio:.2f} | "
            f"{self.goal} | {verdict} |"
        )


@dataclass
class Project:
    """Models over tables of one schema, run by dbt in this process."""

    root: Path
    threads: int = 4
    spark: Any = None
    manifest: Any = None
    models: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the project and start Spark."""
        from dbt_floodmark.spark.gateway import root_session

        (self.root / "models").mkdir(parents=True)
        (self.root / "macros").mkdir()
        package = self.root / "dbt_packages" / "floodmark"
        package.mkdir(parents=True)
        (package / "dbt_project.yml").write_text((REPOSITORY / "dbt_project.yml").read_text())
        (package / "macros").symlink_to(REPOSITORY / "macros")
        (self.root / "packages.yml").write_text("packages: [{local: dbt_packages/floodmark}]\n")
        (self.root / "macros" / "floodmark.sql").write_text(
            "{% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}"
            "{{ return(floodmark.materialization_incremental_spark()) }}{% endmaterialization %}"
        )
        flags = {"send_anonymous_usage_stats": False}
        self._yaml("dbt_project.yml", name="bench", version="1.0", profile="bench", flags=flags)
        output = {
            "type": "spark",
            "method": "session",
            "host": "localhost",
            "schema": SCHEMA,
            "threads": self.threads,
            "server_side_parameters": PARAMETERS,
        }
        self._yaml("profiles.yml", bench={"target": "session", "outputs": {"session": output}})
        os.environ["FLOODMARK_HOME"] = str(self.root / "home")
        self.spark = root_session(self.root / "home", PARAMETERS)
        self.sql(f"create schema if not exists {SCHEMA}")

    def _yaml(self, file: str, **content: Any) -> None:
        (self.root / file).write_text(yaml.safe_dump(content))

    def sources(self, *names: str) -> None:
        """Declare tables of the schema as source `raw`."""
        tables = [{"name": name} for name in names]
        source = {"name": "raw", "schema": SCHEMA, "tables": tables}
        (self.root / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [source]}))

    def model(self, name: str, sql: str) -> None:
        """Write a model."""
        (self.root / "models" / f"{name}.sql").write_text(sql)
        self.manifest = None

    def sql(self, statement: str) -> list[Any]:
        """Run one statement."""
        return list(self.spark.sql(statement).collect())

    def run(
        self, *models: str, full_refresh: bool = False, command: str = "run"
    ) -> dict[str, float]:
        """`dbt run` of these models: seconds of each node, and of all of them as 'wall'."""
        from dbt.cli.main import dbtRunner

        where = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        quiet = ["--quiet", "--no-write-json", "--log-level-file", "none"]
        if self.manifest is None:
            self.manifest = dbtRunner().invoke(["parse", *where, "--quiet"]).result
        more = ["--full-refresh"] if full_refresh else []
        begun = time.perf_counter()
        runner = dbtRunner(manifest=self.manifest)
        outcome = runner.invoke([command, "--select", *models, *more, *quiet, *where])
        wall = time.perf_counter() - begun
        if not outcome.success:
            raise SystemExit(f"dbt failed: {outcome.exception or outcome.result.results}")
        seconds = {one.node.name: one.execution_time for one in outcome.result.results}
        return seconds | {"wall": wall}


@contextmanager
def project(threads: int = 4) -> Iterator[Project]:
    """A project in a folder of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(
        prefix="floodmark-bench-", ignore_cleanup_errors=True
    ) as folder:
        made = Project(Path(folder) / "project", threads)
        try:
            yield made
        finally:
            made.sql(f"drop schema if exists {SCHEMA} cascade")
            made.sql(f"drop schema if exists {SCHEMA}_floodmark cascade")


def in_turn(
    rounds: int,
    prepare: Callable[[int], None],
    *runs: Callable[[], float],
    warm_up: int = 3,
) -> list[list[float]]:
    """Seconds of each of `runs`, one after the other, in `rounds` rounds after `warm_up` others.

    Who goes first changes from round to round. In one process the JVM needs three rounds until it has
    compiled most of what it runs: the first takes twice as long as the fourth.
    """
    taken: list[list[float]] = [[] for _ in runs]
    for number in range(warm_up + rounds):
        prepare(number)
        order = list(range(len(runs)))
        for index in order if number % 2 else reversed(order):
            seconds = runs[index]()
            if number >= warm_up:
                taken[index].append(seconds)
    return taken


def timed(action: Callable[[], Any]) -> float:
    """Seconds that an action takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def machine() -> str:
    """The machine and the versions, in one line."""
    from importlib.metadata import version

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ("dbt-core", "dbt-spark", "pyspark", "delta-spark")
    named = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {named}"
    )
