"""A RESTORE to a time, which Delta notes by the clock of its JVM; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

AT = "2024-05-01 08:00:00.123"


def commit(version: int, operation: str = "WRITE", **restored: Any) -> dict[str, Any]:
    gone_back = {"version": None, "time": ""} | restored
    return {"version": version, "at": AT, "operation": operation, "restored": gone_back}


@pytest.mark.parametrize(
    ("back", "said"), [(True, "was restored to 2024-05-01 11:00:00.0"), (False, None)]
)
def test_spark_compares_the_clock_of_its_jvm_with_the_commit(back: bool, said: str | None) -> None:
    asked: list[str] = []

    def run_query(sql: str) -> SimpleNamespace:
        asked.append(sql)
        return SimpleNamespace(rows=[[back]])

    commits = [commit(4, "RESTORE", time="2024-05-01 11:00:00.0"), commit(3)]
    assert load(run_query=run_query)._restored_below(commits, 3) == said
    (sql,) = asked
    assert (
        "cast('2024-05-01 11:00:00.0 ' || java_method('java.time.ZoneId', 'systemDefault')" in sql
    )
    assert f"greatest(timestamp'{AT} UTC', timestamp'{AT}')" in sql


def test_nobody_is_asked_where_the_commit_is_unknown_or_the_version_says_all() -> None:
    floodmark = load()
    assert floodmark._restored_below([commit(4, "RESTORE", time="2024-05-01 11:00:00.0")], 3)
    assert (
        floodmark._restored_below(
            [commit(4, "RESTORE") | {"restored": {"version": 1}}, commit(3)], 3
        )
        == "was restored to version 1"
    )
    assert (
        floodmark._restored_below(
            [commit(4, "RESTORE") | {"restored": {"version": 3}}, commit(3)], 3
        )
        is None
    )
