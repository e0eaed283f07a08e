"""Invariants 6 and 7: threads do not leak into each other; of two runs of one model one wins, and nothing doubles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.functional.zygote import Zygote
from tests.harness import Project, sentence

pytestmark = pytest.mark.lab

ROUNDS = 4


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote.start()
    yield zygote
    zygote.stop()


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_two_runs_of_one_model_load_each_row_once(
    make_project: Callable[..., Project], zygote: Zygote
) -> None:
    project = make_project("twins")
    project.sql(f"create table {project.schema}.events (seq bigint, v string) using delta")
    project.source("events")
    project.model(
        "m_append",
        "{{ config(materialized='incremental', watermark={'column': 'seq'}) }}"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}",
    )
    project.model(
        "m_merge",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='seq',"
        " watermark={'column': 'seq', 'step': 5}) }}"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}",
    )
    request = {"args": ["run"], "root": str(project.root)}
    refused = 0
    for round_ in range(ROUNDS):
        project.sql(
            f"insert into {project.schema}.events "
            f"select id, concat('v', id) from range({round_ * 10}, {round_ * 10 + 10})"
        )
        answers = zygote.run(request, request)
        for answer in answers:
            log = sentence(answer["log"])
            if answer["status"] != 0:
                refused += 1
                assert answer["status"] == 1, log
                assert "another run is loading it now" in log or "at the same time" in log, log
    project.build()
    expected = Counter(project.sql(f"select * from {project.schema}.events"))
    for model in ("m_append", "m_merge"):
        assert Counter(project.sql(f"select * from {project.schema}.{model}")) == expected
        assert {row[0] for row in project.ledger(model, "state")} == {"committed"}
        read = [int(row[0]) for row in project.ledger(model, "rows_inserted")]
        assert sum(read) == sum(expected.values())


def test_sessions_views_and_settings_stay_in_their_node(
    make_project: Callable[..., Project], target: str
) -> None:
    """floodmark's models and plain dbt-spark ones, one alias in two schemas, settings that differ."""
    project = make_project("leaks")
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]
    nodes = [(f"{schema}_{i}", schema, f"same_{i}") for i in range(6) for schema in ("one", "two")]
    for number, (name, schema, alias) in enumerate(nodes):
        zone = zones[number % len(zones)]
        watermark = number // 2 % 2 == 0
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='seq',"
            f" schema='{schema}', alias='{alias}', file_format='delta',"
            + (" watermark={'column': 'seq'}," if watermark else "")
            + f" pre_hook=[\"set time zone '{zone}'\","
            f" \"create or replace temporary view me as select '{name}' as who\"]) }}}}\n"
            "select seq, who, current_timezone() as zone from {{ source('raw', 'events') }} cross join me "
            + ("where {{ floodmark.watermark_filter() }}" if watermark else ""),
        )
    try:
        for round_ in range(1, 3):
            project.sql(f"insert into {project.schema}.events values ({round_})")
            project.build()
            for number, (name, schema, alias) in enumerate(nodes):
                rows = project.sql(f"select * from {project.schema}_{schema}.{alias} order by seq")
                zone = zones[number % len(zones)]
                assert rows == [(n, name, zone) for n in range(1, round_ + 1)], (name, target)
    finally:
        for schema in ("one", "two"):
            project.sql(f"drop schema if exists {project.schema}_{schema} cascade")
