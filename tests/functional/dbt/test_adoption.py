"""A dbt-spark project that knows nothing of floodmark adds the package, and then turns one model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harness import FULL, OPT_IN, Project, incremental, link_package, table

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

PLAIN = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='delta') }}
select id, v, ts from {{ source('raw', 'orders') }}
{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}
"""
BY_RUN = ("Created Time", "Last Access", "Statistics", "transient_lastDdlTime", "Table Properties")
MODELS = {
    "merged": PLAIN,
    "appended": PLAIN.replace("'merge'", "'append'").replace("unique_key='id', ", ""),
    "overwritten": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite', "
    "partition_by='v', file_format='parquet') }} select id, ts, v from " + table("orders"),
    "a_table": "{{ config(materialized='table', file_format='delta') }} select * from {{ ref('merged') }}",
    "a_view": "{{ config(materialized='view') }} select * from {{ ref('merged') }}",
}


def _looks(project: Project) -> dict[str, Any]:
    """Rows and definition of every model, without what changes from run to run."""
    found = {}
    project.sql(
        f"refresh table {project.schema}.overwritten"
    )  # Parquet: Spark keeps the old file list
    for model in MODELS:
        rows = project.rows(model)
        described = project.sql(f"describe table extended {project.schema}.{model}")
        lasting = [row for row in described if row[0] not in BY_RUN]
        properties = project.sql(f"show tblproperties {project.schema}.{model}")
        found[model] = (rows, lasting, [p for p in properties if p[0] not in BY_RUN])
    return found


def _arrive(project: Project, day: int) -> None:
    project.sql(
        f"insert into {project.schema}.orders values (1, 'v{day}', timestamp'2024-01-0{day} 00:00:00Z'), "
        f"({day + 1}, 'new', timestamp'2024-01-0{day} 00:00:00Z')"
    )


def _story(project: Project) -> list[dict[str, Any]]:
    """A run that makes the tables, one that adds to them, and what that left; with FLOODMARK_LAB=full what each left."""
    s = project.schema
    project.sql(
        f"create or replace table {s}.orders (id bigint, v string, ts timestamp) using delta"
    )
    looks = []
    for day in (1, 2):
        _arrive(project, day)
        project.build(*(["--full-refresh"] if day == 1 else []))
        if FULL or day == 2:
            looks.append(_looks(project))
    return looks


def test_its_models_build_as_before_and_one_becomes_watermarked(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("before")
    root = project.root
    project.source("orders")
    for name, sql in MODELS.items():
        project.model(name, sql)
    shutil.rmtree(root / "dbt_packages")
    (root / "packages.yml").unlink()
    (root / "macros" / "floodmark.sql").unlink()
    without = _story(project)

    link_package(root)
    (root / "packages.yml").write_text("packages: [{local: dbt_packages/floodmark}]\n")
    (root / "macros" / "floodmark.sql").write_text(OPT_IN)
    assert _story(project) == without
    assert project.sql(f"select * from {project.schema}_floodmark.batches") == []
    listed = project.dbt("ls", "--resource-type", "model", "--output", "name")
    assert set(listed.log.split()) >= set(MODELS)
    assert "bronze_invoices" not in listed.log  # the worked example stays off

    project.model(
        "merged",
        incremental(
            table("orders"),
            "id, v, ts",
            incremental_strategy="merge",
            unique_key="id",
            watermark={"column": "ts"},
        ),
    )
    _arrive(project, 3)
    for _ in range(2):
        project.build("--select", "merged")
    rows = project.sql(f"select id, v from {project.schema}.merged order by id")
    assert rows == [(1, "v3"), (2, "new"), (3, "new"), (4, "new")]
    assert project.mark("merged") == "2024-01-03 00:00:00.000000"
