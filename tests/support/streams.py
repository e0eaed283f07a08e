"""Streaming models, the events that they read, and the rows of their tables."""

from __future__ import annotations

from tests.support.harness import Project, values

#: Columns of the source table.
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


def rows(project: Project, model: str, columns: str) -> list[str]:
    """The rows of a table, each as one text, in order."""
    found = project.sql(
        f"select concat_ws(' ', {columns}) from {project.schema}.{model} order by 1"
    )
    return [row[0] for row in found]
