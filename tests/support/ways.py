"""One small table, and a model over it in each way of loading."""

from __future__ import annotations

from typing import Any

from tests.support.harness import Project, incremental, table
from tests.support.rows import AT

#: Strategies whose batches are one statement or several on tables that may refuse a row.
WAYS: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": ["day"]},
    "latest": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "apply_as_deletes": "v < 0 and id = 3"},
    },
    "periods": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2, "apply_as_deletes": "v < 0 and id = 3"},
    },
}  # fmt: skip
#: Ways of `snapshot_diff`: name -> SCD type.
SNAPSHOTS = {"extract": 1, "extracts": 2}


def way_model(name: str, source: str = "src", select: str = "*") -> str:
    """A model over `source` that loads in this way."""
    if name in SNAPSHOTS:
        return (
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
            f"snapshot_diff={{'stored_as_scd_type': {SNAPSHOTS[name]}}}) }}}} select {select} from {table(source)}"
        )
    watermark = {"column": "ts"} | ({"lookback": "2 days"} if name == "merge" else {})
    return incremental(table(source), select, watermark=watermark, **WAYS[name])


def make_source(project: Project, *names: str) -> None:
    """Make the tables `src`, or those named, with two rows each, and declare them."""
    schema = project.schema
    sources = names or ("src",)
    for name in sources:
        project.sql(
            f"create table {schema}.{name} (id int, v int, day date, ts timestamp) using delta"
        )
        project.sql(
            f"insert into {schema}.{name} values (1, 1, date'2024-05-01', {AT}), (2, 2, date'2024-05-01', {AT})"
        )
    project.source(*sources)


def merged(upstream: str, select: str = "*", **config: Any) -> str:
    """A merge by `id` that looks back a day."""
    watermark = {"column": "ts", "lookback": "1 day"} | config.pop("watermark", {})
    settings = {"incremental_strategy": "merge", "unique_key": "id"} | config
    return incremental(table(upstream), select, watermark=watermark, **settings)
