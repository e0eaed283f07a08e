"""Streams as dbt models: sources, output modes, strategies; each row once, whatever is run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import Project, values

pytestmark = pytest.mark.parametrize("target", ["session"], scope="module")

EVENTS = "event_id bigint, key string, amount int, at timestamp"


def stream(select: str, **config: object) -> str:
    """SQL of a streaming model."""
    settings = {"materialized": "streaming_table"} | config
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"{{{{ config({arguments}) }}}}\n{select}\n"


def event(number: int, key: str, amount: int, minute: int) -> tuple[object, ...]:
    """A row of `events`: minute is counted from 06:00."""
    return (number, key, amount, f"2026-01-01 {6 + minute // 60:02}:{minute % 60:02}:00")


def arrive(project: Project, *rows: tuple[object, ...]) -> None:
    """Put rows into the source table."""
    project.sql(f"insert into {project.schema}.events values {values(rows)}")


MODELS = {
    "copied": stream("select * from stream({{ source('raw', 'events') }}) with (maxFilesPerTrigger = 1)"),
    "counted": stream(
        "select key, count(*) as events, sum(amount) as amount from stream({{ source('raw', 'events') }}) group by key",
        output_mode="complete",
    ),
    "updated": stream(
        "select key, count(*) as events, sum(amount) as amount from stream({{ source('raw', 'events') }}) group by key",
        output_mode="update",
        unique_key="key",
    ),
    "latest": stream(
        "select * from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour",
        incremental_strategy="merge",
        unique_key="key",
    ),
    "scd1": stream(
        "select * from stream({{ source('raw', 'events') }})",
        incremental_strategy="cdc",
        unique_key="key",
        cdc={"sequence_by": "event_id", "apply_as_deletes": "amount = 0"},
    ),
    "scd2": stream(
        "select key, amount, event_id from stream({{ source('raw', 'events') }})",
        incremental_strategy="cdc",
        unique_key="key",
        cdc={
            "sequence_by": "event_id",
            "apply_as_deletes": "amount = 0",
            "stored_as_scd_type": 2,
            "except_column_list": ["event_id"],
        },
    ),
    "hourly": stream(
        "select window.start as hour, key, sum(amount) as amount "
        "from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour "
        "group by window(at, '1 hour'), key"
    ),
    "distinct_events": stream(
        "select * from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour",
        unique_key="event_id",
    ),
    "named": stream(
        "select e.*, n.name from stream({{ source('raw', 'events') }}) as e left join {{ source('raw', 'names') }} as n on n.key = e.key"
    ),
}


def test_each_row_once_in_every_mode(make_project: Callable[..., Project]) -> None:
    project = make_project("modes")
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    project.sql(f"create table {project.schema}.names using delta as select 'a' as key, 'Ann' as name")
    project.source("events", "names")
    for name, sql in MODELS.items():
        project.model(name, sql)
    arrive(project, event(1, "a", 1, 0), event(2, "b", 2, 10))
    arrive(project, event(3, "a", 3, 20), event(3, "a", 3, 20))
    run = project.build()
    print(run.message)
    for name in MODELS:
        print(name, project.sql(f"select * from {project.schema}.{name}"))
        print(project.ledger(name, "batch_id, kind, state, low, high, rows_read, rows_inserted, rows_updated, rows_deleted, rows_late, started_at, finished_at"))
    arrive(project, event(4, "b", 0, 30), event(5, "c", 5, 200))
    run = project.build()
    print(run.message)
    for name in MODELS:
        print(name, project.sql(f"select * from {project.schema}.{name}"))
        print(project.ledger(name, "batch_id, kind, state, low, high, rows_read, rows_inserted, rows_updated, rows_deleted, rows_late"))
    run = project.build()
    print(run.message)
    assert 0
