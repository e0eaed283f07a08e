"""Tables are dropped while dbt lists their schema: what stays is seen all the same, by every command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from dbt.adapters.spark.impl import SparkAdapter

from tests.support.harness import Project

LISTINGS = """\
{% macro count_listings_without(schema, identifier, times) %}
    {% set without = [] %}
    {% for _ in range(times) %}
        {% set found = adapter.list_relations_without_caching(api.Relation.create(schema=schema)) %}
        {% do without.append(1) if identifier not in found | map(attribute='identifier') %}
    {% endfor %}
    {% do log('listings without it: ' ~ without | length, info=true) %}
{% endmacro %}
"""


@pytest.fixture
def project(make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose macros list a schema whenever they like, as dbt itself does."""
    listing = {"list_relations_without_caching"}
    monkeypatch.setattr(SparkAdapter, "_available_", SparkAdapter._available_ | listing)
    project = make_project("listed")
    (project.root / "macros/listings.sql").write_text(LISTINGS)
    return project


def listings_without(project: Project, schema: str, identifier: str, times: int) -> int:
    """In how many of so many listings of a schema a table is missing."""
    arguments = f"{{schema: {schema}, identifier: {identifier}, times: {times}}}"
    run = project.dbt("run-operation", "count_listings_without", "--args", arguments)
    assert run.success, run.log[-3000:]
    return int(run.log.partition("listings without it: ")[2].split()[0])


@contextmanager
def dropping(project: Project, schema: str) -> Iterator[None]:
    """Two others make and drop tables in a schema, as fast as Spark lets them: their names are those of stages."""
    stop = threading.Event()

    def make_and_drop(number: int) -> None:
        while not stop.is_set():
            for turn in range(5):
                project.sql(
                    f"create table {schema}.stage__shop__t__{number}__{turn} (id int) using json"
                )
            for turn in range(5):
                project.sql(f"drop table {schema}.stage__shop__t__{number}__{turn}")

    others = [threading.Thread(target=make_and_drop, args=(number,)) for number in range(2)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        stop.set()
        for other in others:
            other.join()


@pytest.mark.edge
def test_a_listing_is_whole_while_tables_are_dropped(project: Project) -> None:
    project.sql(f"create table {project.schema}.stays (id int) using delta")
    with dropping(project, project.schema):
        assert listings_without(project, project.schema, "stays", times=15) == 0


def test_no_table_and_no_schema_are_empty_lists(project: Project) -> None:
    for schema in (project.schema, f"{project.schema}_gone"):
        assert listings_without(project, schema, "stays", times=1) == 1
