"""One warm Spark session and one Thrift server for the whole suite, each with its own warehouse."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.harness import FULL, SPARK_PARAMETERS, Project, cache_parsed_templates, run_sql

cache_parsed_templates()

#: The profile targets that the tests of loading run on.
TARGETS = os.environ.get("FLOODMARK_TEST_TARGETS", "session,thrift").split(",")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `long` to the target that their mark names, unless everything was asked for."""
    left_out = [
        item for item in items if len(TARGETS) > 1 and not FULL and _belongs_elsewhere(item)
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _belongs_elsewhere(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("long")
    parameters = getattr(item, "callspec", None)
    return (
        mark is not None
        and parameters is not None
        and parameters.params.get("target") not in mark.args
    )


class ByTarget(LoadScopeScheduling):
    """With workers (`-n 2`), all tests of a target go to one of them: a JVM is cold for minutes."""

    def _split_scope(self, nodeid: str) -> str:
        parameters = nodeid.partition("[")[2].rstrip("]").split("-")
        return next((target for target in TARGETS if target in parameters), "neither")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByTarget:
    """The scheduler of `pytest -n`: the targets begin, the rest follows."""
    config.option.loadscopereorder = False
    return ByTarget(config, log)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the suite's warehouses and metastores lie."""
    path = tmp_path_factory.mktemp("floodmark")
    os.environ["FLOODMARK_HOME"] = str(path)
    yield path
    os.environ.pop("FLOODMARK_HOME", None)


@pytest.fixture(scope="session")
def thrift_port(home: Path) -> Iterator[int]:
    """The port of the suite's Thrift server; FLOODMARK_TEST_THRIFT_PORT names one that runs already."""
    running = os.environ.get("FLOODMARK_TEST_THRIFT_PORT")
    if running:
        yield int(running)
        return
    from dbt_floodmark.serve import start_server, stop_server

    server = start_server(home, parameters=SPARK_PARAMETERS)
    yield server.port
    stop_server(server)


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
    thrift_port = request.getfixturevalue("thrift_port") if target == "thrift" else 0

    def make(name: str, threads: int = 4) -> Project:
        module = re.sub(r"\W", "_", request.module.__name__.split(".")[-1])
        project = Project(
            root=tmp_path_factory.mktemp(name),
            target=target,
            schema=f"{module}_{name}".lower(),
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
