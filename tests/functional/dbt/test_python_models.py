"""Python models on the session profile: tables, incremental models, and what they say when they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harness import Project, sentence
from tests.support.python_models import python_model

pytestmark = [
    pytest.mark.edge,
    pytest.mark.parametrize("target", ["session"], scope="module"),
]

TABLE = """
def model(dbt, session):
    dbt.config(materialized="table", file_format="delta")
    from pyspark.sql import functions as F

    from dataclasses import dataclass

    @dataclass
    class Rate:
        value: int

    orders = dbt.source("raw", "orders")
    assert Rate(1).value == 1
    return orders.groupBy("customer").agg(F.sum("amount").alias("amount"))
"""
#: Loads what lies above its own newest row, as dbt's guide to Python models does.
INCREMENTAL = """
def model(dbt, session):
    dbt.config(
        materialized="incremental",
        incremental_strategy="{strategy}",
        unique_key="id",
        file_format="delta",
    )
    orders = dbt.source("raw", "orders")
    if dbt.is_incremental:
        newest = session.sql(f"select max(ts) from {{dbt.this}}").first()[0]
        if newest is not None:
            orders = orders.filter(orders.ts > newest)
    return orders.select("id", "customer", "amount", "ts")
"""
FAILING = {
    "wrong_type": ("def model(dbt, session):\n    return 42\n", "models/wrong_type.py: Exception:"),
    "raises": (
        "def model(dbt, session):\n    rate = 0\n    return 1 / rate\n",
        "models/raises.py, line 3: ZeroDivisionError: division by zero",
    ),
    "exits": (
        "\n\nimport sys\n\n\ndef model(dbt, session):\n    sys.exit('enough')\n    return session.range(1)\n",
        "models/exits.py, line 7: SystemExit: enough",
    ),
    "no_table": (
        "def model(dbt, session):\n\n    return session.table('nowhere')\n",
        "models/no_table.py, line 3: [TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found.",
    ),
}


def _orders(project: Project, *rows: tuple[int, str, int, int]) -> None:
    text = ", ".join(
        f"({id}, '{customer}', {amount}, timestamp'2024-01-{day:02} 00:00:00')"
        for id, customer, amount, day in rows
    )
    project.sql(f"insert into {project.schema}.orders values {text}")


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    made = make_project("python")
    made.sql(
        f"create table {made.schema}.orders (id bigint, customer string, amount bigint, ts timestamp) using delta"
    )
    made.source("orders")
    return made


def test_tables_and_incremental_models(project: Project) -> None:
    """With a SQL model behind them; the second run merges and appends what is new alone."""
    python_model(project, "totals", TABLE)
    python_model(project, "merged", INCREMENTAL.format(strategy="merge"))
    python_model(project, "appended", INCREMENTAL.format(strategy="append"))
    project.model("behind", "select count(*) as n from {{ ref('totals') }}")
    _orders(project, (1, "a", 10, 1), (2, "b", 20, 1))
    project.build()
    _orders(project, (1, "a", 11, 2), (3, "a", 5, 2))
    before = project.version("appended")
    project.build()
    assert project.rows("totals") == _json(
        {"customer": "a", "amount": 26}, {"customer": "b", "amount": 20}
    )
    pair = "id, amount"
    assert project.rows("merged", pair) == _json(
        {"id": 1, "amount": 11}, {"id": 2, "amount": 20}, {"id": 3, "amount": 5}
    )
    assert project.rows("appended", pair) == project.rows("orders", pair)
    assert project.version("appended") == before + 1
    assert project.rows("behind") == _json({"n": 2})
    temporary = [row[1] for row in project.sql(f"show tables in {project.schema} like '*dbt_tmp*'")]
    assert temporary == []


def test_failures_name_the_line(project: Project) -> None:
    for name, (code, _) in FAILING.items():
        python_model(project, name, code)
    python_model(
        project, "not_python", "def model(dbt, session):\n    dbt.config(x=1)\n    return (\n"
    )
    failed = project.dbt("run")
    assert "not_python" in failed.log and "line 3" in failed.log  # dbt parses it itself
    (project.root / "models" / "not_python.py").unlink()
    failed = project.dbt("run", "--select", *FAILING)
    assert {failed.status[name] for name in FAILING} == {"error"}
    for name, (_, expected) in FAILING.items():
        assert expected in sentence(failed.message[name]), failed.message[name]


def _json(*rows: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    import json

    return Counter((json.dumps(row, separators=(",", ":")),) for row in rows)
