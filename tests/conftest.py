"""One warm JVM for the whole suite, a Spark session and a Thrift server in it, and a project for each test."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from dbt_floodmark.spark.home import HOME_VARIABLE
from dbt_floodmark.spark.warm import VARIABLE
from tests.support.harness import FULL, Project, cache_parsed_templates, run_sql
from tests.support.selection import left_out
from tests.support.spark_host import SparkHost, attach, shared_host

# Feed.expect compares tables: its assertions show the rows that differ.
pytest.register_assert_rewrite("tests.support.cdc")

cache_parsed_templates()
# A full collection goes through the trees of a thousand macros, which never become garbage.
gc.set_threshold(100_000, 50, 100)

#: The profile targets that the tests of loading run on.
TARGETS = os.environ.get("FLOODMARK_TEST_TARGETS", "session,thrift").split(",")

#: The modules of edge cases that this run left out.
OTHER_EDGES = pytest.StashKey[set[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a lab take its time: only a default run has a limit for each test (pyproject.toml)."""
    if FULL and config.option.timeout is None:
        config.option.timeout = 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run does not take (tests/support/selection.py); what needs a target comes first."""
    asked = {Path(argument.partition("::")[0]).name for argument in config.args}
    reasons = left_out(items, TARGETS, is_whole=asked <= {"tests", "functional"})
    config.stash[OTHER_EDGES] = {
        item.nodeid.partition("::")[0] for item, reason in reasons.items() if reason == "edge"
    }
    config.hook.pytest_deselected(items=list(reasons))
    items[:] = [item for item in items if item not in reasons]
    items.sort(key=lambda item: target_of(item.nodeid) is None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker of xdist tell the process that began the suite what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["edge"] = sorted(session.config.stash[OTHER_EDGES])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker left out for the summary."""
    left = node.config.stash.setdefault(OTHER_EDGES, set())
    left.update(getattr(node, "workeroutput", {}).get("edge", ()))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the modules whose edge cases this run left to other commits."""
    modules = sorted(Path(module).stem for module in config.stash.get(OTHER_EDGES, set()))
    if modules:
        terminalreporter.write_line(
            f"Edge cases that run with other commits: {', '.join(modules)}. "
            "FLOODMARK_LAB=full runs all of them."
        )


def target_of(nodeid: str) -> str | None:
    """Return the target that a test runs on, one of its parameters; None where it belongs to neither."""
    parameters = nodeid.partition("[")[2].rstrip("]").split("-")
    return next((target for target in TARGETS if target in parameters), None)


class ByTarget(LoadScopeScheduling):
    """With workers (`-n 2`), all tests of a target go to one of them, the others file by file to who is free."""

    def _split_scope(self, nodeid: str) -> str:
        return target_of(nodeid) or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByTarget:
    """The scheduler of `pytest -n`: the targets begin, the rest follows."""
    config.option.loadscopereorder = False
    return ByTarget(config, log)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """Where the suite's warehouse and metastore lie, one for all workers."""
    base = tmp_path_factory.getbasetemp()
    path = (base if worker_id == "master" else base.parent) / "floodmark"
    os.environ["FLOODMARK_HOME"] = str(path)
    yield path
    os.environ.pop("FLOODMARK_HOME", None)


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """No test leaves variables that have the next one work on another Spark or another folder."""

    def ours() -> dict[str, str]:
        return {name: os.environ.get(name, "") for name in (HOME_VARIABLE, VARIABLE)}

    before = ours()
    yield
    assert ours() == before


@pytest.fixture(scope="session")
def spark_host(home: Path, worker_id: str) -> SparkHost:
    """The suite's JVM, which both targets share; it ends with the process that began the suite."""
    return shared_host(home, os.getpid() if worker_id == "master" else os.getppid())


@pytest.fixture(scope="session")
def thrift_port(spark_host: SparkHost) -> int:
    """The port of the suite's Thrift server."""
    return spark_host.thrift_port


@pytest.fixture(scope="session")
def attached(spark_host: SparkHost) -> None:
    """The session target's Spark: the host's."""
    attach(spark_host)


@pytest.fixture(params=TARGETS, scope="module")
def target(request: pytest.FixtureRequest) -> str:
    """The profile target that a test of loading runs on."""
    return str(request.param)


@pytest.fixture(scope="module")
def make_project(
    target: str,
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Callable[..., Project]:
    """Make a project with a schema of its own, dropped after the module: make_project('name')."""
    made: list[Project] = []
    if target == "session":
        request.getfixturevalue("attached")
    thrift_port = request.getfixturevalue("thrift_port")

    def make(name: str, threads: int = 4, schema: str | None = None) -> Project:
        module = re.sub(r"\W", "_", request.module.__name__.split(".")[-1])
        project = Project(
            root=tmp_path_factory.mktemp(name),
            target=target,
            # Both targets have one metastore.
            schema=schema or f"{module}_{name}_{target[0]}".lower(),
            thrift_port=thrift_port,
            threads=threads,
        )
        run_sql(target, thrift_port, f"drop schema if exists {project.schema} cascade")
        run_sql(target, thrift_port, f"drop schema if exists {project.schema}_floodmark cascade")
        run_sql(target, thrift_port, f"create schema {project.schema}")
        made.append(project)
        return project

    yield make
    for project in made:
        run_sql(target, thrift_port, f"drop schema if exists {project.schema} cascade")
        run_sql(target, thrift_port, f"drop schema if exists {project.schema}_floodmark cascade")
