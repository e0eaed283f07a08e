"""RULES.md: what rejects a batch and what it says, rules of batches, conditions that are ready made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table, values

pytestmark = pytest.mark.long("session")

ROWS = [
    # id, kind, amount
    (1, "a", 2),
    (2, "a", 4),
    (3, "b", -1),
    (4, "c", -2),
    (5, None, 6),
]
POSITIVE = {"name": "positive", "expect": "amount > 0"}
KNOWN = {"name": "known", "expect": "kind in ('a', 'b')"}

MODELS = {
    "failing": [POSITIVE | {"on_violation": "fail"}, KNOWN],
    "too_many": [POSITIVE | {"max_violations": 1}, KNOWN | {"max_violations": 2}],
    "too_much": [POSITIVE | {"on_violation": "quarantine", "max_violation_fraction": 0.3}],
    "allowed": [POSITIVE | {"on_violation": "drop", "max_violation_fraction": 0.4}],
    "severe": [POSITIVE | {"severity": "error", "message": "an amount is above 0"}, KNOWN],
    "few": [{"name": "enough", "rows": {"min": 6, "max": 9}, "on_violation": "fail"}],
    "of_batch": [
        {"name": "enough", "rows": {"max": 3}},
        {"name": "alone", "unique": ["kind"]},
        {"name": "fresh", "fresh_within": "1 day", "column": "at"},
        {"name": "whole", "unique": ["id", "kind"]},
        {"name": "old", "fresh_within": "99999 days", "column": "at"},
    ],
    "unfit": [
        POSITIVE,
        {"name": "gone", "expect": "amount > missing", "where": "nowhere"},
        {"name": "text", "expect": "kind"},
        {"name": "double", "unique": "nobody"},
        {"name": "late", "fresh_within": "1 day", "column": "kind"},
    ],
    "warned": [KNOWN],
}
CONDITIONS = """\
{{ config(materialized='incremental', watermark={'column': 'at'}, expectations=[
    {'name': 'there', 'expect': floodmark.not_null('"kind"')},
    {'name': 'listed', 'expect': floodmark.in_set('kind', ['a', "b'c"])},
    {'name': 'numbered', 'expect': floodmark.in_set('id', [1, 2, 3])},
    {'name': 'ranged', 'expect': floodmark.in_range('"amount"', min=-1, max=4)},
    {'name': 'shaped', 'expect': floodmark.matches('kind', '^[ab]$')},
    {'name': 'in_source', 'expect': floodmark.in_relation('"kind"', ['raw', 'kinds'], '"name"')},
    {'name': 'in_model', 'expect': floodmark.in_relation('kind', 'names', 'name') ~ " or id = 4", 'nulls': 'pass'},
]) }}
select * from {{ source('raw', 't') }} where {{ floodmark.watermark_filter() }}
"""
SHARED = """\
{% macro house_rules() %}
    {{ return([{'name': 'positive', 'expect': 'amount > 0', 'on_violation': 'drop'}]) }}
{% endmacro %}
"""


@dataclass
class Story:
    project: Project
    run: Run


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("rules")
    project.source("t", "kinds")
    project.sql(
        f"create table {project.schema}.t (id int, kind string, amount int, at timestamp) using delta"
    )
    rows = [(*row, f"2024-05-01 00:{row[0]:02}:00") for row in ROWS]
    project.sql(f"insert into {project.schema}.t values {values(rows)}")
    project.sql(f"create table {project.schema}.kinds using delta as select 'a' as name")
    project.model("names", "{{ config(materialized='view') }} select 'b' as name")
    for name, rules in MODELS.items():
        project.model(name, incremental(table("t"), watermark={"column": "at"}, expectations=rules))
    project.model("conditions", CONDITIONS)
    (project.root / "macros/house_rules.sql").write_text(SHARED)
    plain = incremental(table("t"), watermark={"column": "at"})
    project.model(
        "shared", plain.replace("}}", ", expectations=house_rules()) }}", 1).replace(") ,", " ,", 1)
    )
    project.model(
        "in_yaml",
        plain,
        "config:\n  meta:\n    floodmark:\n      expectations:\n"
        "        - {name: positive, expect: amount > 0, on_violation: drop}\n",
    )
    return Story(project, project.dbt("run", "--exclude", "warned"))


def results(project: Project, model: str) -> dict[str, tuple]:
    found = project.ledger(model, "name, violations, rows_judged, sample", "expectation_results")
    return {name: rest for name, *rest in found}


REJECTED = {
    "failing": (
        "the batch breaks its expectations: - positive (fail): 2 of 5 rows violate amount > 0, such as "
        "{\"amount\":-1}, {\"amount\":-2} - known (warn): 2 of 5 rows violate kind in ('a', 'b'), such as "
        '{"kind":"c"}, {"kind":null} Nothing was written, and the mark stays: correct the rows upstream, or the rule',
        "expectations: positive is violated by 2 rows",
    ),
    "too_many": (
        'positive (warn): 2 of 5 rows violate amount > 0, such as {"amount":-1}, {"amount":-2}, more than '
        "max_violations (1) - known (warn): 2 of 5 rows violate",
        "expectations: positive is violated by 2 rows, more than max_violations (1)",
    ),
    "too_much": (
        "positive (quarantine): 2 of 5 rows violate amount > 0",
        "expectations: positive is violated by 2 rows, more than max_violation_fraction (0.3)",
    ),
    "few": (
        "enough (fail): 5 rows, fewer than min (6)",
        "expectations: enough is violated by the batch",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_batch_is_rejected(story: Story, name: str) -> None:
    said, error = REJECTED[name]
    assert story.run.status[name] == "error"
    assert said in sentence(story.run.message[name])
    [batch] = story.project.ledger(name, "state, error, rows_read, high")
    assert batch[:3] == ("failed", error, None)
    schema = story.project.schema
    assert not story.project.sql(f"show tables in {schema} like '{name}*'")
    assert not story.project.sql(f"show tables in {schema}_floodmark like 'stage__*{name}*'")
    assert story.project.mark(name) is None


def test_a_rejected_batch_has_its_results(story: Story) -> None:
    found = results(story.project, "failing")
    assert found["positive"][:2] == [2, 5] and found["known"][:2] == [2, 5]
    assert json.loads(found["positive"][2]) == [{"amount": -1}, {"amount": -2}]


def test_what_a_limit_allows(story: Story) -> None:
    assert story.run.status["allowed"] == "success"
    [counts] = story.project.ledger("allowed", "rows_read, rows_kept, rows_dropped")
    assert counts == (5, 3, 2)


def test_severity_error_fails_the_node_behind_the_commit(story: Story) -> None:
    assert story.run.status["severe"] == "error"
    assert (
        "expectation positive (warn): 2 of 5 rows violate an amount is above 0, such as "
        '{"amount":-1}, {"amount":-2}. The batch is committed: severity error fails the node'
    ) in sentence(story.run.message["severe"])
    [batch] = story.project.ledger("severe", "state, rows_kept")
    assert batch == ("committed", 5)


def test_rules_of_a_batch(story: Story) -> None:
    assert {name: row[0] for name, row in results(story.project, "of_batch").items()} == {
        "enough": 1,
        "alone": 1,
        "fresh": 0,  # a first load is as old as its table
        "whole": 0,
        "old": 0,
    }
    said = sentence(story.run.log)
    for warning in (
        "expectation enough (warn): 5 rows, more than max (3)",
        'expectation alone (warn): 1 row too many have the values of another in kind: {"kind":"a"}',
    ):
        assert f"model '{story.project.schema}.of_batch': {warning}" in said


def test_rules_that_do_not_fit_are_refused_at_once(story: Story) -> None:
    said = sentence(story.run.message["unfit"])
    assert "refuses model" in said and "5 problems" in said
    columns = "a condition of the SELECT's columns (id, kind, amount, at)"
    assert f'expectations.gone.expect: got "amount > missing"; expected {columns}. ' in said
    assert f'expectations.gone.where: got "nowhere"; expected {columns}. ' in said
    assert "`missing`" in said and "`nowhere`" in said
    assert (
        f"expectations.text.expect: got \"kind string\"; expected {columns}. Write one, such as 'amount > 0'"
        in said
    )
    assert (
        'expectations.double: got "nobody"; expected a column of the SELECT: id, kind, amount, at. Correct the name'
        in said
    )
    assert (
        'expectations.late.column: got "kind string"; expected a timestamp or a date. Cast it in the SELECT'
        in said
    )
    [batch] = story.project.ledger("unfit", "state, error")
    assert batch == ("failed", "its expectations do not fit its columns")


def test_ready_made_conditions(story: Story) -> None:
    assert story.run.status["conditions"] == "success", story.run.message["conditions"]
    assert {name: row[0] for name, row in results(story.project, "conditions").items()} == {
        "there": 1,
        "listed": 3,
        "numbered": 2,
        "ranged": 2,
        "shaped": 2,
        "in_source": 3,
        "in_model": 2,
    }
    assert "violate `kind` in kinds.`name`, such as" in sentence(story.run.log)


@pytest.mark.parametrize("name", ["shared", "in_yaml"])
def test_rules_from_a_macro_and_from_yaml(story: Story, name: str) -> None:
    [counts] = story.project.ledger(name, "rows_read, rows_kept, rows_dropped")
    assert counts == (5, 3, 2)


def test_warn_error_fails_the_node_behind_the_commit(story: Story) -> None:
    run = story.project.dbt("--warn-error", "run", "--select", "warned")
    assert run.status["warned"] == "error"
    assert "expectation known (warn): 2 of 5 rows" in sentence(run.message["warned"])
    [batch] = story.project.ledger("warned", "state, rows_kept")
    assert batch == ("committed", 5)


def test_the_whole_table_is_judged_by_the_same_rules(story: Story) -> None:
    page = "data_tests: [floodmark.expectations_hold]\n"
    for name in ("severe", "allowed", "conditions"):
        file = story.project.root / f"models/{name}.yml"
        body = "".join(f"    {line}\n" for line in page.splitlines())
        file.write_text(f"models:\n  - name: {name}\n{body}")
    run = story.project.dbt("test", "--select", "severe allowed conditions")
    found = {
        name.removeprefix("floodmark_expectations_hold_"): run.message[name] for name in run.status
    }
    assert found["severe_"].startswith("Got 2 results"), found
    assert found["conditions_"].startswith("Got 7 results"), found
    assert run.status["floodmark_expectations_hold_allowed_"] == "pass"


def test_a_rejected_batch_is_read_again_once_its_rows_are_right(story: Story) -> None:
    project = story.project
    project.sql(f"update {project.schema}.t set amount = 1 where amount < 0")
    project.sql(
        f"insert into {project.schema}.t values (6, 'a', 1, timestamp'2024-05-01 00:06:00')"
    )
    run = project.build("--select", "failing", "few", "of_batch")
    assert "fresh (warn): the greatest at is 2024-05-01 00:06:00, older than 1 day" in sentence(
        run.log
    )
    for name in ("failing", "few"):
        batches = project.ledger(name, "state, rows_kept")
        assert batches == [("failed", None), ("committed", 6)]
