"""A dbt project of a test: models written by the test, dbt run in this process, tables read back by SQL."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import yaml

from dbt_floodmark.spark.archive import LATE_COMPILER

REPOSITORY = Path(__file__).resolve().parents[2]

#: Whether labs run whole, long tests on both targets, and random histories at their full length.
FULL = os.environ.get("FLOODMARK_LAB") == "full"

#: Arguments of a run in which tables of any size get the filter of keys that large ones get.
FILTERED = ("--vars", "{floodmark_key_filter_bytes: 0}")

#: The suite's Spark runs thousands of statements over a few rows each, so planning and compiling are all its work:
#: interpreted expressions, one task a stage, and room for the JIT's code (when the code cache fills up, the JVM throws
#: compiled code away and everything takes three times as long). Hive's metastore asks for a full collection every ten
#: seconds where many threads open it: a seventh of the time, in which both workers stand still. So do collections of a
#: heap that grows bit by bit: it has its size from the start. Both cores are busy, so the optimizing compiler takes its
#: time from the tests: started late, it has a tenth of the processor's time less.
JAVA_OPTIONS = (
    f"{LATE_COMPILER} -XX:ReservedCodeCacheSize=512m -XX:+UseParallelGC -XX:ParallelGCThreads=2"
    " -Xms7g -Xmn3g -XX:MetaspaceSize=512m -XX:+DisableExplicitGC"
)
SPARK_PARAMETERS = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.memory": "7g",
    "spark.sql.adaptive.enabled": "false",
    # Spark walks the stack for every column that Delta's own code names, a fifteenth of the suite's time.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Every tenth commit of a table would write a checkpoint of it; the ledger does, every thirtieth.
    "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    # Files of the log without Hadoop's FileContext, which starts ten processes a commit (readlink, chmod).
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}
#: The same for a JVM that lives for a minute, which does not earn back what the optimizing compiler costs.
BRIEF_SPARK_PARAMETERS = SPARK_PARAMETERS | {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC",
    "spark.driver.memory": "2g",
}

OPT_IN = """\
{% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}
    {{ return(floodmark.materialization_incremental_spark()) }}
{% endmaterialization %}
"""


@dataclass
class Run:
    """What a dbt invocation did: node name -> status and message, and everything it logged."""

    success: bool
    status: dict[str, str] = field(default_factory=dict)
    message: dict[str, str] = field(default_factory=dict)
    log: str = ""


def link_package(root: Path) -> None:
    """Install floodmark's macros in a project, as `dbt deps` would."""
    package = root / "dbt_packages" / "floodmark"
    package.mkdir(parents=True)
    shutil.copy(REPOSITORY / "dbt_project.yml", package)
    os.symlink(REPOSITORY / "macros", package / "macros")


@dataclass
class Project:
    """A project in `root` on one profile target; every table lies in `schema`."""

    root: Path
    target: str
    schema: str
    thrift_port: int
    threads: int = 4
    profile: str = "shop"

    def __post_init__(self) -> None:
        """Lay out the project with the package and the opt-in that `floodmark init` writes."""
        for folder in ("models", "macros", "seeds", "tests"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        link_package(self.root)
        (self.root / "packages.yml").write_text("packages: [{local: dbt_packages/floodmark}]\n")
        (self.root / "macros" / "floodmark.sql").write_text(OPT_IN)
        (self.root / "dbt_project.yml").write_text(
            yaml.safe_dump(
                {
                    "name": "shop",
                    "version": "1.0.0",
                    "config-version": 2,
                    "profile": "shop",
                    "flags": {
                        "send_anonymous_usage_stats": False,
                        "validate_macro_args": True,
                        # Writing a manifest with the package's macros, twice a command, takes most of a second.
                        "write_json": False,
                    },
                    "dispatch": [
                        {"macro_namespace": "dbt", "search_order": ["shop", "floodmark", "dbt"]}
                    ],
                }
            )
        )
        self.write_profile()

    def write_profile(self, **settings: Any) -> None:
        """Write profiles.yml for this target; `settings` go into the output."""
        output: dict[str, Any] = {"type": "spark", "schema": self.schema, "threads": self.threads}
        if self.target == "session":
            output |= {
                "method": "session",
                "host": "localhost",
                "server_side_parameters": SPARK_PARAMETERS,
            }
        else:
            output |= {
                "method": "thrift",
                "host": "127.0.0.1",
                "port": self.thrift_port,
                "user": "test",
                "poll_interval": 1,
                "query_retries": 0,
            }
        outputs = {self.target: output | settings}
        (self.root / "profiles.yml").write_text(
            yaml.safe_dump({self.profile: {"target": self.target, "outputs": outputs}})
        )

    def model(self, name: str, sql: str, yml: str | None = None) -> None:
        """Write a model, and its YAML entry where given (the text below `- name: ...`)."""
        (self.root / "models" / f"{name}.sql").write_text(sql)
        if yml is not None:
            body = "".join(f"    {line}\n" for line in yml.strip("\n").split("\n"))
            (self.root / "models" / f"{name}.yml").write_text(f"models:\n  - name: {name}\n{body}")

    def source(self, *tables: str) -> None:
        """Declare source `raw` over tables of this project's schema: {{ source('raw', 't') }}."""
        entry = {"name": "raw", "schema": self.schema, "tables": [{"name": t} for t in tables]}
        (self.root / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [entry]}))

    def dbt(self, *args: str) -> Run:
        """Run dbt in this process and say what became of each node."""
        from dbt.cli.main import dbtRunner

        lines: list[str] = []
        runner = dbtRunner(callbacks=[lambda event: lines.append(str(event.info.msg))])
        command = [*args, "--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        with working_directory(self.root):
            outcome = runner.invoke([*command, "--quiet", "--no-use-colors"])
        run = Run(success=outcome.success, log="\n".join(lines))
        if outcome.exception is not None:
            run.log += f"\n{outcome.exception}"
        for result in getattr(outcome.result, "results", None) or []:
            if hasattr(result, "node"):  # run-operation has none
                run.status[result.node.name] = str(result.status.value)
                run.message[result.node.name] = result.message or ""
        return run

    def build(self, *args: str) -> Run:
        """`dbt run`, which must succeed."""
        run = self.dbt("run", *args)
        assert run.success, run.log[-6000:]
        return run

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement on this target's Spark and fetch its rows."""
        return run_sql(self.target, self.thrift_port, statement)

    def rows(self, relation: str, columns: str = "*") -> Counter[tuple[Any, ...]]:
        """The rows of a table as a multiset of texts, so that duplicates count."""
        columns = "to_json(struct(*))" if columns == "*" else f"to_json(struct({columns}))"
        return Counter(self.sql(f"select {columns} from {self.schema}.{relation}"))

    def ledger(self, model: str, columns: str, view: str = "batches") -> list[tuple[Any, ...]]:
        """Rows of a ledger view for one model, by batch."""
        name = "table_name" if view == "watermarks" else "model"
        return self.sql(
            f"select {columns} from {self.schema}_floodmark.{view} "
            f"where {name} = '{self.schema}.{model}' order by batch_id"
        )

    def mark(self, model: str) -> str | None:
        """The model's mark in the ledger."""
        marks = self.ledger(model, "watermark_value", "watermarks")
        return marks[0][0] if marks else None

    def version(self, model: str) -> int:
        """The Delta version of a model's table."""
        return int(self.sql(f"describe history {self.schema}.`{model}` limit 1")[0][0])

    def commits(self, model: str) -> int:
        """How many commits a model's table has, without those that keep a failed batch out."""
        history = self.sql(f"describe history {self.schema}.`{model}`")
        return sum("/fence/" not in str(commit) for commit in history)


@dataclass
class Runs:
    """A project and its runs by name, which a module's tests look at."""

    project: Project
    runs: dict[str, Run] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        """`dbt run`, kept under this name."""
        self.runs[name] = self.project.dbt("run", *args)

    def said(self, run: str, model: str) -> str:
        """The message of a node of a run, white space folded."""
        return sentence(self.runs[run].message[model])


def cache_parsed_templates() -> None:
    """Let Jinja parse a text once: every new project has dbt parse the same thousand macros, twice.

    What dbt compiles is parsed for itself, as compiling changes the tree.
    """
    original = jinja2.Environment.parse
    trees: dict[tuple[type, str], Any] = {}

    def parse(self: Any, source: str, name: Any = None, filename: Any = None) -> Any:
        key = (type(self), source)
        if key not in trees:
            trees[key] = original(self, source, name, filename)
        return trees[key]

    jinja2.Environment.parse = parse


def run_sql(target: str, thrift_port: int, statement: str) -> list[tuple[Any, ...]]:
    """One statement on the warm session of this process, or on the test Thrift server."""
    if target == "session":
        from dbt_floodmark.spark.gateway import root_session

        session = root_session(Path(os.environ["FLOODMARK_HOME"]), SPARK_PARAMETERS)
        return [tuple(row) for row in session.sql(statement).collect()]
    from pyhive import hive

    with hive.connect(host="127.0.0.1", port=thrift_port, username="test") as connection:
        cursor = connection.cursor()
        cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


@contextmanager
def working_directory(path: Path) -> Iterator[None]:
    """dbt leaves the process in the project's folder; tests share one process."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def values(rows: Iterable[tuple[Any, ...]]) -> str:
    """SQL text of rows for `insert into t values ...`: strings quoted, None as null, rest as they are."""

    def text(value: Any) -> str:
        if value is None:
            return "null"
        return "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else str(value)

    return ", ".join("(" + ", ".join(map(text, row)) + ")" for row in rows)


def sentence(log: str) -> str:
    """A log with all white space folded, so that wrapped sentences can be found."""
    return re.sub(r"\s+", " ", log)


def incremental(
    upstream: str,
    select: str = "*",
    *,
    guard: bool = False,
    where: str = "",
    alias: str | None = None,
    **config: Any,
) -> str:
    """SQL of an incremental model over `upstream` (Jinja), bounded by `watermark_filter()`."""
    call = "floodmark.watermark_filter(" + (f"alias='{alias}'" if alias else "") + ")"
    bounds = f"where {{{{ {call} }}}}{where}"
    if guard:
        bounds = f"{{% if is_incremental() %}}\n{bounds}\n{{% endif %}}"
    settings = {"materialized": "incremental"} | config
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"{{{{ config({arguments}) }}}}\nselect {select} from {upstream}\n{bounds}\n"


def table(name: str) -> str:
    """Jinja of a table declared with Project.source."""
    return f"{{{{ source('raw', '{name}') }}}}"
