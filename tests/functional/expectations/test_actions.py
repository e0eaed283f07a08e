"""RULES.md: what becomes of a row that breaks a rule, by action and strategy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table, values

pytestmark = pytest.mark.long("thrift")

RULES = [
    {"name": "known", "expect": "kind in ('a', 'b')"},
    {"name": "small", "expect": "amount < 100", "on_violation": "drop"},
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {
        "name": "named",
        "expect": "name is not null",
        "on_violation": "quarantine",
        "where": "kind = 'a'",
    },
    {"name": "even", "expect": "amount % 2 = 0", "nulls": "pass"},
]
ROWS = [
    # id, kind, amount, name
    (1, "a", 2, "x"),
    (2, "c", 4, "x"),  # known: warned
    (3, "a", 200, "x"),  # small: dropped
    (4, "a", -1, "x"),  # positive, even: quarantined
    (5, "a", 300, None),  # small and named: quarantined, which beats drop
    (6, "b", 8, None),  # named is asked of kind a alone
    (7, "b", None, "x"),  # NULL violates small and positive, and passes even
    (8, None, 6, "x"),  # NULL violates known
    (9, "b", 3, "x"),  # even: warned
]
KEPT = {1, 2, 6, 8, 9}
QUARANTINED = {
    4: ["positive", "even"],
    5: ["small", "named"],
    7: ["small", "positive"],
}
VIOLATIONS = {"known": 2, "small": 3, "positive": 2, "named": 1, "even": 2}
STRATEGIES = {
    "appended": {},
    "merged": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwritten": {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    "changed": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "at"}},
    "historic": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "stored_as_scd_type": 2},
    },
    "compared": {"incremental_strategy": "snapshot_diff", "unique_key": "id"},
}


@dataclass
class Story:
    project: Project
    run: Run
    results: dict[str, dict[str, tuple]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("actions")
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, kind string, amount int, name string, at timestamp, day date) "
        "using delta"
    )
    rows = [(*row, f"2024-05-01 00:{row[0]:02}:00", "2024-05-01") for row in ROWS]
    project.sql(f"insert into {project.schema}.t values {values(rows)}")
    for name, settings in STRATEGIES.items():
        watermark = {"watermark": {"column": "at"}}
        if name == "compared":
            watermark = {}
            project.model(
                name,
                "{{ config(materialized='incremental', "
                + ", ".join(f"{k}={v!r}" for k, v in (settings | {"expectations": RULES}).items())
                + ") }} select * from {{ source('raw', 't') }}",
            )
            continue
        project.model(name, incremental(table("t"), **settings, **watermark, expectations=RULES))
    return Story(project, project.build())


@pytest.mark.parametrize("name", STRATEGIES)
def test_rows_are_kept_dropped_and_quarantined(story: Story, name: str) -> None:
    project = story.project
    kept = project.sql(f"select id from {project.schema}.{name}")
    assert Counter(row[0] for row in kept) == Counter(KEPT)
    quarantined = project.sql(
        f"select id, to_json(_floodmark_rules), _floodmark_state, _floodmark_batch_id, amount "
        f"from {project.schema}.{name}__quarantine"
    )
    amounts = {row[0]: row[2] for row in ROWS}
    assert {row[0]: row for row in quarantined} == {
        id: (id, str(rules).replace("'", '"').replace(", ", ","), "open", 1, amounts[id])
        for id, rules in QUARANTINED.items()
    }
    assert len(quarantined) == 3
    [counts] = project.ledger(name, "rows_read, rows_kept, rows_dropped, rows_quarantined, state")
    assert counts == (9, 5, 1, 3, "committed")
    results = project.ledger(name, "name, action, rows_judged, violations", "expectation_results")
    assert {row[0]: row[3] for row in results} == VIOLATIONS
    assert {row[0]: row[2] for row in results} == {
        "known": 9,
        "small": 9,
        "positive": 9,
        "named": 4,
        "even": 9,
    }
    assert {row[0]: row[1] for row in results} == {
        rule["name"]: rule.get("on_violation", "warn") for rule in RULES
    }
    assert "3 quarantined, 1 dropped, 3 warned" in story.run.message[name]
    assert not project.sql(f"show tables in {project.schema}_floodmark like 'stage__*{name}*'")


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_rule_is_a_warning(story: Story, name: str) -> None:
    said = sentence(story.run.log)
    model = f"floodmark, model '{story.project.schema}.{name}': expectation"
    assert f"{model} known (warn): 2 of 9 rows violate kind in ('a', 'b'), such as " in said
    assert f"{model} named (quarantine): 1 of 4 rows violates name is not null, such as " in said
