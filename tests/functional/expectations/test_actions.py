"""RULES.md: what becomes of a row that breaks a rule, by action and strategy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.files import land, lines, loader
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


def dated(rows: list[tuple], minute: int = 0) -> list[tuple]:
    """Rows with their time and day."""
    return [(*row, f"2024-05-01 00:{row[0] + minute:02}:00", "2024-05-01") for row in rows]


def model_text(name: str, source: str, rules: list[dict]) -> str:
    settings = STRATEGIES[name] | {"expectations": rules}
    if name != "compared":
        return incremental(table(source), watermark={"column": "at"}, **settings)
    config = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return f"{{{{ config(materialized='incremental', {config}) }}}} select * from {table(source)}"


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("actions")
    project.source("t", "later")
    project.sql(
        f"create table {project.schema}.t (id int, kind string, amount int, name string, at timestamp, day date) "
        "using delta"
    )
    project.sql(f"insert into {project.schema}.t values {values(dated(ROWS))}")
    for name in STRATEGIES:
        project.model(name, model_text(name, "t", RULES))
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


#: Three of these reject a batch, each in its own way; the last one would hold a row back.
REJECTING = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "fail"},
    {"name": "known", "expect": "kind in ('a', 'b')", "max_violations": 1},
    {
        "name": "small",
        "expect": "amount < 100",
        "on_violation": "drop",
        "max_violation_fraction": 0.1,
    },
    {"name": "named", "expect": "name is not null", "on_violation": "quarantine"},
]
LOADED = [(1, "a", 2, "x"), (2, "b", 4, "x")]
#: A later version of 2 breaks the rule that fails and the one that quarantines.
REJECTED = [(2, "b", -5, None)] + [(id, "c", 300 if id == 3 else id, "x") for id in range(3, 9)]
RIGHT = [(id, "a", 5 if id == 2 else id, "x") for id in range(2, 9)]
#: Those that read all rows of the partition or the source, and those that keep both versions of 2.
READ_ALL = ("overwritten", "compared")
KEEP_BOTH = ("appended", "historic", "landed")


def amounts(project: Project, name: str) -> Counter:
    return Counter(project.sql(f"select id, amount from {project.schema}.rejected_{name}"))


@pytest.mark.edge
def test_a_batch_is_rejected_and_loaded_once_it_is_right(story: Story) -> None:
    project, names = story.project, [*STRATEGIES, "landed"]
    later = f"{project.schema}.later"
    project.sql(
        f"create table {later} (id int, kind string, amount int, name string, at timestamp, day date) "
        "using delta"
    )
    for name in STRATEGIES:
        project.model(f"rejected_{name}", model_text(name, "later", REJECTING))
    given = {"format": "json", "schema": "id int, kind string, amount int, name string"}
    config = {"expectations": REJECTING}
    select = "* except (_metadata), _metadata"
    project.model("rejected_landed", loader("landing", select, config=config, **given))
    columns = ("id", "kind", "amount", "name")
    folder = project.root / "landing"
    models = [f"rejected_{name}" for name in names]

    project.sql(f"insert into {later} values {values(dated(LOADED))}")
    land(folder, {"1.json": lines(*(dict(zip(columns, row, strict=True)) for row in LOADED))})
    project.build("--select", *models)
    loaded = Counter({(1, 2): 1, (2, 4): 1})
    assert {name: amounts(project, name) for name in names} == dict.fromkeys(names, loaded)
    before = {name: (project.commits(name), project.mark(name)) for name in models}

    project.sql(f"delete from {later} where id = 2")
    project.sql(f"insert into {later} values {values(dated(REJECTED, 10))}")
    land(folder, {"2.json": lines(*(dict(zip(columns, row, strict=True)) for row in REJECTED))})
    run = project.dbt("run", "--select", *models)
    assert {name: run.status[name] for name in models} == dict.fromkeys(models, "error")
    for name in names:
        check_rejected(project, name, sentence(run.message[f"rejected_{name}"]))
    assert {name: (project.commits(name), project.mark(name)) for name in models} == before
    assert {name: amounts(project, name) for name in names} == dict.fromkeys(names, loaded)

    project.sql(f"delete from {later} where id > 1")
    project.sql(f"insert into {later} values {values(dated(RIGHT, 10))}")
    land(folder, {"2.json": lines(*(dict(zip(columns, row, strict=True)) for row in RIGHT))})
    project.build("--select", *models)
    for name in names:
        expected = {(row[0], row[2]) for row in RIGHT} | {(1, 2)}
        expected |= {(2, 4)} if name in KEEP_BOTH else set()
        assert amounts(project, name) == Counter(expected), name
        read = 8 if name in READ_ALL else 7
        batches = project.ledger(f"rejected_{name}", "state, rows_read, rows_kept")
        assert batches[1:] == [("failed", None, None), ("committed", read, read)], name


def check_rejected(project: Project, name: str, said: str) -> None:
    """Hold what a rejected batch says and leaves against its rules and rows."""
    model, rows = f"rejected_{name}", 8 if name in READ_ALL else 7
    assert "the batch breaks its expectations: - positive (fail): 1 of" in said
    for told in (
        f"- positive (fail): 1 of {rows} rows violates amount > 0, such as ",
        f"- known (warn): 6 of {rows} rows violate kind in ('a', 'b'), such as ",
        ", more than max_violations (1) - small (drop): ",
        f"- small (drop): 1 of {rows} rows violates amount < 100, such as ",
        ", more than max_violation_fraction (0.1) - named (quarantine): ",
        "Nothing was written, and the mark stays: correct the rows upstream, or the rule",
    ):
        assert told in said, name
    assert project.ledger(model, "state, error")[1] == (
        "failed",
        "expectations: positive is violated by 1 row; known is violated by 6 rows, more than max_violations (1); "
        "small is violated by 1 row, more than max_violation_fraction (0.1)",
    )
    results = project.ledger(
        model, "name, violations, sample, state, batch_id", "expectation_results"
    )
    samples = {row[0]: json.loads(row[2]) for row in results if row[4] == 2}
    assert {row[:2] for row in results if row[3] == "failed"} == {
        ("positive", 1),
        ("known", 6),
        ("small", 1),
        ("named", 1),
    }
    # Five rows at most, with their keys and their file.
    assert len(samples["known"]) == 5
    for shown in (samples["positive"][0], *samples["known"]):
        assert ("id" in shown) == (name not in ("appended", "overwritten", "landed")), name
        assert shown.get("file", "").endswith("landing/2.json") == (name == "landed"), name
    assert json.dumps(samples["positive"][0], separators=(",", ":")) in said
    assert samples["positive"][0]["amount"] == -5
    left = project.sql(f"show tables in {project.schema} like '{model}__quarantine'")
    left += project.sql(f"show tables in {project.schema}_floodmark like 'stage__*{model}*'")
    assert not left, name
