"""Rows that are appended are judged by the statement that loads them, where the batch before broke no rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import Project, incremental, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

RULES: list[dict[str, Any]] = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {"name": "small", "expect": "amount < 100", "on_violation": "drop"},
    {"name": "even", "expect": "amount % 2 = 0"},
]
FAILS = RULES[0] | {"on_violation": "fail"}
AT = {"watermark": {"column": "n"}}
MODELS = {
    "appended": incremental(table("raw"), expectations=RULES, **AT),
    "first_even": incremental(
        table("raw"), expectations=[RULES[2] | {"on_violation": "fail"}, RULES[0]], **AT
    ),
    # The rows that break a rule are those that the model itself leaves out.
    "left_out": incremental(
        table("raw"),
        where=" and amount % 2 = 0 and amount between 1 and 99",
        expectations=RULES,
        **AT,
    ),
    "some": incremental(
        table("raw"), expectations=[RULES[0] | {"where": "id > 0"}, *RULES[1:]], **AT
    ),
    "counted": incremental(
        table("raw"), expectations=[*RULES, {"name": "any", "rows": {"min": 1}}], **AT
    ),
    "merged": incremental(
        table("raw"), incremental_strategy="merge", unique_key="id", expectations=RULES, **AT
    ),
}
#: What arrives, batch after batch: (id, amount).
CLEAN = [(1, 2), (2, 4)], [(3, 6)]
ODD = [(4, -2), (5, 200), (6, 7), (7, 8)]
LATER = [(8, 2)], [(9, 4), (10, 6)]


@dataclass
class Story:
    project: Project
    #: Of each run: model -> what was written, `judged` or `table`.
    ways: list[dict[str, list[str]]] = field(default_factory=list)
    status: list[dict[str, str]] = field(default_factory=list)

    def arrive(self, rows: list[tuple[int, int]]) -> None:
        rows = [(*row, row[0]) for row in rows]
        self.project.sql(f"insert into {self.project.schema}.raw values {values(rows)}")

    def run(self) -> None:
        with injected(Faults()) as faults:
            run = self.project.dbt("run")
        self.status.append(run.status)
        self.ways.append({model: written(model, faults.sent[model]) for model in MODELS})

    def counts(self, model: str) -> list[tuple]:
        return self.project.ledger(
            model, "rows_read, rows_kept, rows_dropped, rows_quarantined", "batches"
        )


def written(model: str, sent: list[str]) -> list[str]:
    kinds = {"__judged using": "judged", f".{model} (": "table", f".{model} as": "table"}
    kinds[f".{model}\n"] = "table"
    heads = [sql[:200] for sql in sent if sql.startswith(("create", "insert into", "merge into"))]
    return [kind for head in heads for mark, kind in kinds.items() if mark in head]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("judged_straight")
    project.source("raw")
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    for rows in (*CLEAN, ODD, *LATER):
        story.arrive(rows)
        story.run()
    return story


def test_a_clean_batch_behind_a_clean_one_is_written_once(story: Story) -> None:
    assert [way["appended"] for way in story.ways] == [
        ["judged", "table"],  # the first load: nobody knows
        ["table"],
        ["judged", "table"],  # the look for a first row found one that breaks a rule
        ["judged", "table"],
        ["table"],
    ]
    assert [way["merged"] for way in story.ways] == [["judged", "table"]] * 5


def test_the_counts_are_those_of_a_judged_batch(story: Story) -> None:
    expected = [(2, 2, 0, 0), (1, 1, 0, 0), (4, 2, 1, 1), (1, 1, 0, 0), (2, 2, 0, 0)]
    assert story.counts("appended") == story.counts("merged") == expected
    columns = "batch_id, name, action, rows_judged, violations"
    results = {
        model: sorted(story.project.ledger(model, columns, "expectation_results"))
        for model in ("appended", "merged")
    }
    assert results["appended"] == results["merged"]
    assert len(results["appended"]) == 5 * len(RULES)
    assert sorted(ids(story.project, "appended")) == [1, 2, 3, 6, 7, 8, 9, 10]
    assert story.project.sql(
        f"select id, _floodmark_state from {story.project.schema}.appended__quarantine"
    ) == [(4, "open")]


def test_a_rule_that_fails_the_batch_fails_it_with_its_rows(story: Story) -> None:
    assert [run["first_even"] for run in story.status] == ["success"] * 2 + ["error"] * 3
    states = story.project.ledger("first_even", "state, error", "batches")
    assert [state for state, _ in states] == ["committed"] * 2 + ["failed"] * 3
    assert "even" in states[2][1]
    assert sorted(ids(story.project, "first_even")) == [1, 2, 3]


def test_rows_that_the_model_leaves_out_are_not_judged(story: Story) -> None:
    assert [way["left_out"] for way in story.ways] == [["judged", "table"]] + [["table"]] * 4
    assert sorted(ids(story.project, "left_out")) == [1, 2, 3, 7, 8, 9, 10]


@pytest.mark.parametrize("model", ["some", "counted"])
def test_what_the_commit_does_not_tell_is_counted_before(story: Story, model: str) -> None:
    """Rows that a rule is asked of, and rules of the batch as a whole."""
    assert [way[model] for way in story.ways] == [["judged", "table"]] * 5


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_run_that_dies_beside_the_statement_is_counted_once(
    make_project: Callable[..., Project], cut: str
) -> None:
    story = Story(make_project(f"judged_straight_{cut}"))
    project = story.project
    project.source("raw")
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    project.model("appended", MODELS["appended"])
    story.arrive(CLEAN[0])
    project.build()
    story.arrive(CLEAN[1])
    with injected(Faults(cuts={"appended": f"{cut}: insert into \\S+\\.appended "})):
        assert not project.dbt("run").success
    story.arrive(ODD)
    project.build()
    assert story.counts("appended") == [(2, 2, 0, 0), (1, 1, 0, 0), (4, 2, 1, 1)]
    results = project.ledger(
        "appended", "batch_id, name, rows_judged, violations", "expectation_results"
    )
    assert {row[1:] for row in results if row[0] == 2} == {
        ("positive", 1, 0),
        ("small", 1, 0),
        ("even", 1, 0),
    }


def ids(project: Project, model: str) -> list[int]:
    return [id for (id,) in project.sql(f"select id from {project.schema}.{model}")]


def test_a_server_elsewhere_names_no_cause(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a task that failed, Thrift tells the outermost failure; the rest stands in the log of a server of ours."""
    monkeypatch.setattr("dbt_floodmark.adapter.connecting._log_of_own", lambda credentials: None)
    project = make_project("judged_elsewhere")
    project.source("raw")
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    project.model("behind", MODELS["appended"])
    project.model("rejected", incremental(table("raw"), expectations=[FAILS], **AT))
    for rows in ([(1, 2, 1)], [(2, 4, 2)], [(3, 6, 3), (4, -2, 4)]):
        project.sql(
            f"insert into {project.schema}.raw select /*+ coalesce(1) */ * from values {values(rows)}"
        )
        run = project.dbt("run")
    assert (run.status["behind"], run.status["rejected"]) == ("success", "error"), run.message
    assert "positive (fail): 1 of 2 rows violates amount > 0" in run.message["rejected"]
    assert sorted(project.sql(f"select id from {project.schema}.behind")) == [(1,), (2,), (3,)]
    held = f"{project.schema}.behind__quarantine"
    assert project.sql(f"select id, _floodmark_state from {held}") == [(4, "open")]
    assert project.ledger("rejected", "state")[-1] == ("failed",)


def test_a_batch_that_is_rejected_adds_no_column(make_project: Callable[..., Project]) -> None:
    project = make_project("judged_columns")
    project.source("raw")
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    for more, rows in (
        ("", [(1, 2, 1)]),
        ("", [(2, 4, 2)]),
        (", 1 as more", [(3, 6, 3), (4, -2, 4)]),
    ):
        project.model(
            "grown",
            incremental(
                table("raw"),
                f"*{more}",
                expectations=[FAILS],
                on_schema_change="append_new_columns",
                **AT,
            ),
        )
        project.sql(f"insert into {project.schema}.raw values {values(rows)}")
        run = project.dbt("run")
    assert run.status["grown"] == "error"
    assert "more" not in [row[0] for row in project.sql(f"describe {project.schema}.grown")]
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


def test_a_model_without_rules_sends_no_statement_for_them(
    make_project: Callable[..., Project],
) -> None:
    """The same for none and for an empty list, and none that judges."""
    project = make_project("judged_nothing")
    # One model after the other: what the first one looks up is there for the second.
    project.threads = 1
    project.write_profile()
    project.source("raw")
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    ways = {"appended": {}, "merged": {"incremental_strategy": "merge", "unique_key": "id"}}
    sent: list[list[str]] = []
    # The batch behind a first load looks for late rows, too.
    for number, rules in enumerate(({}, {}, {}, {"expectations": []}), start=1):
        for name, settings in ways.items():
            project.model(name, incremental(table("raw"), **settings, **AT, **rules))
        project.sql(f"insert into {project.schema}.raw values ({number}, -1, {number})")
        with injected(Faults()) as faults:
            project.build()
        sent.append([sql for some in faults.sent.values() for sql in some])
    without, empty = (Counter(" ".join(sql.split()[:2]) for sql in one) for one in sent[2:])
    assert without == empty
    for sql in (sql for one in sent for sql in one):
        assert not any(word in sql for word in ("__judged", "_floodmark_broken", "__quarantine"))
    for name in ways:
        columns = "rows_read, rows_kept, rows_dropped, rows_quarantined"
        assert project.ledger(name, columns) == [(1, 1, 0, 0)] * 4
        assert project.ledger(name, "name", "expectation_results") == []
        assert Counter(ids(project, name)) == Counter((1, 2, 3, 4))
