"""Models of snapshot_diff over a table of snapshots, and random series of them."""

from __future__ import annotations

import random
from typing import Any

from tests.support.harness import Project, incremental, table, values
from tests.support.snapshot_oracle import Snapshot


def diff(upstream: str, select: str = "*", *, step: int | None = 1, **settings: Any) -> str:
    """A snapshot_diff model over a table whose snapshots are numbered in `v`."""
    config = settings.pop("config", {})
    watermark = {"column": "v", "gaps": "ignore"} | ({"step": step} if step else {})
    return incremental(
        table(upstream),
        select,
        incremental_strategy="snapshot_diff",
        unique_key=settings.pop("key", "k"),
        watermark=watermark,
        snapshot_diff={"version": "v"} | settings,
        **config,
    )


def whole(
    upstream: str, select: str = "*", key: Any = "k", where: str = "", **settings: Any
) -> str:
    """A snapshot_diff model without a watermark: all that the table holds is the snapshot."""
    config = settings.pop("config", {})
    arguments = {
        "materialized": "incremental",
        "incremental_strategy": "snapshot_diff",
        "unique_key": key,
        "snapshot_diff": settings,
    } | config
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"{{{{ config({text}) }}}}\nselect {select} from {table(upstream)} {where}"


def land(project: Project, name: str, snapshots: list[Snapshot], columns: str) -> None:
    """A table of (v, k, ...) with a row for each key of each snapshot."""
    project.sql(f"create table {project.schema}.{name} (v int, k string, {columns}) using delta")
    add(project, name, snapshots)


def add(project: Project, name: str, snapshots: list[Snapshot]) -> None:
    """More snapshots."""
    rows = [
        (version, key, *row) for version, snapshot in snapshots for key, row in snapshot.items()
    ]
    if rows:
        project.sql(f"insert into {project.schema}.{name} values {values(rows)}")


def random_series(seed: int, keys: int, versions: int) -> list[Snapshot]:
    """Keys come, change in case, white space and to NULL, go, and come again as they were or not."""
    chance = random.Random(seed)
    series: list[Snapshot] = []
    state: dict[str, tuple[Any, ...]] = {}
    texts = [None, "", " ", "a", "A", "a ", "a|b", "NULL"]
    for version in range(1, versions + 1):
        for number in range(keys):
            key = f"k{number}"
            if key in state and chance.random() < 0.15:
                del state[key]
            elif (key not in state and chance.random() < 0.4) or chance.random() < 0.3:
                state[key] = (
                    chance.choice(texts),
                    chance.choice(texts),
                    chance.choice([None, 0, 1]),
                )
        state["always"] = ("x", "y", 1)
        series.append((version, dict(state)))
    return series
