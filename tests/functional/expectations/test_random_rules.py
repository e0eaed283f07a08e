"""Random rows under random rules, against Python: read = kept + dropped + quarantined, and each count is Python's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.harness import FULL, Project, incremental, table, values

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

SEED = 20261127
#: Of its rules, those of case 1 let the first batch in and reject the second.
RULES_SEED = 20261854
#: Sets of rules, each on every strategy.
CASES = 12 if FULL else 2
ROWS = 60

#: id, amount, kind, the day on which it arrives
Row = tuple[int, "int | None", "str | None", int]


def three_valued(test: Callable[[Any], bool], value: Any) -> bool | None:
    return None if value is None else test(value)


@dataclass
class Rule:
    """A rule, and what Python says of a row: True, False or None."""

    setting: dict[str, Any]
    holds: Callable[[Row], bool | None]
    is_asked: Callable[[Row], bool]

    def is_violated(self, row: Row) -> bool:
        if not self.is_asked(row):
            return False
        held = self.holds(row)
        return self.setting.get("nulls") != "pass" if held is None else not held


def conditions(rng: random.Random) -> tuple[str, Callable[[Row], bool | None]]:
    """A condition in SQL and in Python."""
    bound = rng.randint(-5, 15)
    kinds = rng.sample("abcd", 2)
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    return rng.choice(
        [
            (f"amount > {bound}", lambda row: three_valued(lambda v: v > bound, row[1])),
            (
                f"pmod(amount, 3) <> {bound % 3}",
                lambda row: three_valued(lambda v: v % 3 != bound % 3, row[1]),
            ),
            (f"kind in ({listed})", lambda row: three_valued(lambda v: v in kinds, row[2])),
            ("kind is not null", lambda row: row[2] is not None),
            (
                f"amount is null or amount < {bound}",
                lambda row: True if row[1] is None else row[1] < bound,
            ),
        ]
    )


def rule(rng: random.Random, number: int) -> Rule:
    sql, holds = conditions(rng)
    setting: dict[str, Any] = {
        "name": f"r{number}",
        "expect": sql,
        "on_violation": rng.choice(["warn", "drop", "quarantine"]),
    }
    if rng.random() < 0.4:
        setting["nulls"] = "pass"
    is_asked: Callable[[Row], bool] = lambda row: True  # noqa: E731
    if rng.random() < 0.4:
        setting["where"], asked = conditions(rng)
        is_asked = lambda row: asked(row) is True  # noqa: E731
    return Rule(setting, holds, is_asked)


def rejecting_rule(rng: random.Random, number: int) -> Rule:
    """A rule that rejects some batches: by `fail`, or by a limit."""
    if rng.random() < 0.5:
        id = rng.randrange(ROWS // 2, ROWS * 2)
        setting = {"name": f"r{number}", "expect": f"id <> {id}", "on_violation": "fail"}
        return Rule(setting, lambda row: row[0] != id, lambda row: True)
    found = rule(rng, number)
    limit = rng.choice([{"max_violations": ROWS // 2}, {"max_violation_fraction": 0.4}])
    found.setting |= limit
    return found


def rejects(one: Rule, rows: Iterable[Row]) -> bool:
    asked = [row for row in rows if one.is_asked(row)]
    violations = sum(map(one.is_violated, asked))
    setting = one.setting
    return violations > 0 and (
        setting["on_violation"] == "fail"
        or violations > setting.get("max_violations", len(asked))
        or violations / len(asked) > setting.get("max_violation_fraction", 1)
    )


STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    "cdc": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "at"}},
    "history": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "stored_as_scd_type": 2},
    },
    "snapshot": {"incremental_strategy": "snapshot_diff", "unique_key": "id"},
}


#: Those that keep the latest row of an id.
KEYED = ("merge", "cdc", "snapshot")


def model(name: str, rules: list[dict[str, Any]]) -> str:
    settings = STRATEGIES[name] | {"expectations": rules}
    if name == "snapshot":
        arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        config = f"{{{{ config(materialized='incremental', {arguments}) }}}}"
        latest = f"select id, max(at) from {table('t')} group by id"
        return f"{config} select * from {table('t')} where (id, at) in ({latest})"
    return incremental(table("t"), watermark={"column": "at"}, **settings)


@dataclass
class Expected:
    """What a model is to have under its rules; each batch takes the rows that no batch before it has loaded."""

    strategy: str
    rules: list[Rule]
    waiting: list[Row] = field(default_factory=list)
    loaded: list[Row] = field(default_factory=list)
    held: dict[Row, str] = field(default_factory=dict)
    #: Of each batch: state, rows read, kept, dropped and quarantined.
    batches: list[tuple[Any, ...]] = field(default_factory=list)
    #: Of each batch and rule: the rows on which it was evaluated, and those that violate it.
    results: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)

    def arrive(self, rows: list[Row]) -> None:
        self.waiting += rows
        read = self.waiting
        if self.strategy == "snapshot":  # it reads all, and has the latest row of an id
            self.waiting = read = list({row[0]: row for row in read}.values())
        number = len(self.batches) + 1
        for one in self.rules:
            counts = (sum(map(one.is_asked, read)), sum(map(one.is_violated, read)))
            self.results[number, one.setting["name"]] = counts
        if any(rejects(one, read) for one in self.rules):
            self.batches.append(("failed", None, None, None, None))
            return
        broken = {row: [one for one in self.rules if one.is_violated(row)] for row in read}
        actions = {
            row: {one.setting["on_violation"] for one in found} for row, found in broken.items()
        }
        quarantined = [row for row in read if "quarantine" in actions[row]]
        kept = [row for row in read if not {"drop", "quarantine"} & actions[row]]
        dropped = len(read) - len(kept) - len(quarantined)
        self.batches.append(("committed", len(read), len(kept), dropped, len(quarantined)))
        self.held |= {
            row: " ".join(one.setting["name"] for one in broken[row]) for row in quarantined
        }
        self.loaded += kept
        if self.strategy in KEYED:
            self.loaded = list({row[0]: row for row in self.loaded}.values())
        if self.strategy != "snapshot":
            self.waiting = []


def arrivals(rng: random.Random) -> list[list[Row]]:
    """The rows of two days: half of the ids of the first come again."""
    return [
        [
            (number, rng.choice([None, *range(-9, 20)]), rng.choice([None, *"abcde"]), day)
            for number in range(first, first + ROWS)
        ]
        for day, first in ((1, 0), (2, ROWS // 2))
    ]


def rule_sets(rng: random.Random) -> list[list[Rule]]:
    """The rules of each case; every other case has one that may reject a batch."""
    cases = []
    for case in range(CASES):
        rules = [rule(rng, number) for number in range(rng.randint(1, 70 if case == 1 else 6))]
        cases.append(rules + [rejecting_rule(rng, len(rules))] * (case % 2))
    return cases


def test_counts_are_those_of_python(make_project: Callable[..., Project]) -> None:
    rng = random.Random(RULES_SEED)
    project = make_project("random_rules")
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, amount int, kind string, at timestamp, day date) "
        "using delta"
    )
    days = arrivals(rng)
    expected = {
        f"{name}_{case}": Expected(name, rules)
        for case, rules in enumerate(rule_sets(rng))
        for name in STRATEGIES
    }
    for name, one in expected.items():
        project.model(name, model(one.strategy, [rule.setting for rule in one.rules]))
    for rows in days:
        made = [
            (
                *row[:3],
                f"2024-05-0{row[3]} {row[0] // 60:02}:{row[0] % 60:02}:00",
                f"2024-05-0{row[3]}",
            )
            for row in rows
        ]
        project.sql(f"insert into {project.schema}.t values {values(made)}")
        run = project.dbt("run")
        for name, one in expected.items():
            one.arrive(rows)
            is_loaded = one.batches[-1][0] == "committed"
            assert run.status[name] == ("success" if is_loaded else "error"), run.message[name]
            check(project, name, one)


def check(project: Project, name: str, expected: Expected) -> None:
    """Hold a model's table, its quarantine and its ledger against what Python says."""
    where = f"{project.schema}.{name}"
    columns = "state, rows_read, rows_kept, rows_dropped, rows_quarantined"
    assert project.ledger(name, columns) == expected.batches, name
    results = project.ledger(name, "batch_id, name, rows_judged, violations", "expectation_results")
    assert {result[:2]: result[2:] for result in results} == expected.results, name
    known = {row[1] for row in project.sql(f"show tables in {project.schema} like '{name}*'")}
    assert (name in known) == any(state == "committed" for state, *_ in expected.batches)
    if name in known:
        kept = Counter(project.sql(f"select id, amount, kind from {where}"))
        assert kept == Counter(row[:3] for row in expected.loaded), name
    if expected.held:
        held = project.sql(
            f"select id, amount, kind, concat_ws(' ', _floodmark_rules) from {where}__quarantine"
        )
        assert Counter(held) == Counter(
            (*row[:3], names) for row, names in expected.held.items()
        ), name
    else:
        assert f"{name}__quarantine" not in known


REPLAYED: dict[str, dict[str, Any]] = {
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "scd1": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "apply_as_deletes": "kind = 'D'"},
    },
    "scd2": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "apply_as_deletes": "kind = 'D'", "stored_as_scd_type": 2},
    },
}
POSITIVE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}


def test_a_replay_gives_the_table_of_rows_that_were_right_from_the_start(
    make_project: Callable[..., Project],
) -> None:
    rng = random.Random(SEED + 1)
    project = make_project("random_replay")
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, amount int, kind string, at timestamp) using delta"
    )
    for name, settings in REPLAYED.items():
        watermark = {"watermark": {"column": "at"}}
        project.model(
            name, incremental(table("t"), expectations=[POSITIVE], **settings, **watermark)
        )
        right = "id, abs(amount) as amount, kind, at"
        project.model(f"{name}_control", incremental(table("t"), right, **settings, **watermark))
    clock = 0
    for _ in range(6 if FULL else 3):
        made = []
        for _ in range(12):
            clock += 1
            is_delete = rng.random() < 0.2
            made.append(
                (
                    rng.randint(1, 6),
                    rng.choice([-1, 1]) * rng.randint(1, 50),
                    "D" if is_delete else "U",
                    f"2024-05-01 {clock // 60:02}:{clock % 60:02}:00",
                )
            )
        project.sql(f"insert into {project.schema}.t values {values(made)}")
        project.build()
        if rng.random() < 0.5:
            wanted = "{floodmark_replay: {set: {amount: abs(amount)}}}"
            project.build("--select", *REPLAYED, "--vars", wanted)
    project.build(
        "--select", *REPLAYED, "--vars", "{floodmark_replay: {set: {amount: abs(amount)}}}"
    )
    for name in REPLAYED:
        ends = ", __start_at, __end_at" if name == "scd2" else ""
        found = [
            Counter(project.sql(f"select id, amount, kind{ends} from {project.schema}.{one}"))
            for one in (name, f"{name}_control")
        ]
        assert found[0] == found[1], name
        states = project.sql(
            f"select distinct _floodmark_state from {project.schema}.{name}__quarantine"
        )
        assert states == [("replayed",)], name
