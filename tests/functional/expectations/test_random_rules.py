"""Random rows under random rules, against Python: read = kept + dropped + quarantined, and each count is Python's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.harness import FULL, Project, incremental, table, values

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

SEED = 20261127
#: Sets of rules, each on every strategy.
CASES = 12 if FULL else 2
ROWS = 60

Row = tuple[int, "int | None", "str | None"]


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


STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    "cdc": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "at"}},
    "snapshot": {"incremental_strategy": "snapshot_diff", "unique_key": "id"},
}


def model(name: str, rules: list[dict[str, Any]]) -> str:
    settings = STRATEGIES[name] | {"expectations": rules}
    if name == "snapshot":
        arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        config = f"{{{{ config(materialized='incremental', {arguments}) }}}}"
        return f"{config} select * from {table('t')}"
    return incremental(table("t"), watermark={"column": "at"}, **settings)


def test_counts_are_those_of_python(make_project: Callable[..., Project]) -> None:
    rng = random.Random(SEED)
    project = make_project("random_rules")
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, amount int, kind string, at timestamp, day date) "
        "using delta"
    )
    rows: list[Row] = [
        (number, rng.choice([None, *range(-9, 20)]), rng.choice([None, *"abcde"]))
        for number in range(ROWS)
    ]
    made = [
        (*row, f"2024-05-01 {row[0] // 60:02}:{row[0] % 60:02}:00", "2024-05-01") for row in rows
    ]
    project.sql(f"insert into {project.schema}.t values {values(made)}")
    cases = [
        [rule(rng, number) for number in range(rng.randint(1, 70 if case == 1 else 6))]
        for case in range(CASES)
    ]
    for case, rules in enumerate(cases):
        for name in STRATEGIES:
            project.model(f"{name}_{case}", model(name, [one.setting for one in rules]))
    project.build()
    for case, rules in enumerate(cases):
        broken = {row: [one for one in rules if one.is_violated(row)] for row in rows}
        actions = {
            row: {one.setting["on_violation"] for one in found} for row, found in broken.items()
        }
        quarantined = {row for row in rows if "quarantine" in actions[row]}
        dropped = {row for row in rows if "drop" in actions[row]} - quarantined
        kept = set(rows) - quarantined - dropped
        for name in STRATEGIES:
            table_name = f"{name}_{case}"
            where = f"{project.schema}.{table_name}"
            assert Counter(project.sql(f"select id, amount, kind from {where}")) == Counter(kept)
            [counts] = project.ledger(
                table_name, "rows_read, rows_kept, rows_dropped, rows_quarantined"
            )
            assert counts == (ROWS, len(kept), len(dropped), len(quarantined))
            results = project.ledger(
                table_name, "name, rows_judged, violations", "expectation_results"
            )
            assert {result[0]: result[1:] for result in results} == {
                one.setting["name"]: (
                    sum(map(one.is_asked, rows)),
                    sum(map(one.is_violated, rows)),
                )
                for one in rules
            }
            if quarantined:
                held = project.sql(
                    f"select id, amount, kind, concat_ws(' ', _floodmark_rules) from {where}__quarantine"
                )
                assert Counter(held) == Counter(
                    (*row, " ".join(one.setting["name"] for one in broken[row]))
                    for row in quarantined
                )


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
