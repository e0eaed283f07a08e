"""What `set` gives a replay, and which columns a replay has beside a contract, a column without a type, and old rules."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

RULE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}
AT = {"watermark": {"column": "n"}, "expectations": [RULE]}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
SNAPSHOT = (
    "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
    f"expectations={[RULE]!r}) }}}} select id, amount from {{{{ source('raw', 'raw') }}}}"
)
CONTRACT = {"id": "int", "amount": "int", "n": "bigint", "note": "string"}


def contracted(*names: str) -> str:
    """The YAML of a model with these columns, of which one is new to its table."""
    types = CONTRACT | {"currency": "string"}
    return "columns:\n" + "".join(
        f"  - {{name: {name}, data_type: {types[name]}}}\n" for name in names
    )


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("replayed_values")
    project.source("raw")
    project.sql(
        f"create table {project.schema}.raw (id int, amount int, n bigint, note string, rate float, "
        "day date, s struct<a:int,b:string>) using delta"
    )
    rows = [(1, 1, 1, "x", 1, "2024-01-01", None), (2, -2, 2, "y", 1, "2024-01-01", None)]
    project.sql(f"insert into {project.schema}.raw values {values(rows)}")
    project.model("given", incremental(table("raw"), **AT))
    enforced = {"contract": {"enforced": True}, "on_schema_change": "append_new_columns", **MERGE}
    project.model(
        "contracted",
        incremental(table("raw"), "id, amount, n, note", **AT, **enforced),
        contracted(*CONTRACT),
    )
    project.model("untyped", incremental(table("raw"), "id, amount, n, null as note", **AT))
    project.model("compared", SNAPSHOT)
    project.build()
    return project


def replay(project: Project, name: str, *words: str) -> tuple[int, str]:
    code, output = command(project, "quarantine", "replay", name, *words)
    return code, sentence(output)


def rows(project: Project, name: str, columns: str, where: str = "true") -> list[tuple]:
    return sorted(project.sql(f"select {columns} from {project.schema}.{name} where {where}"))


HELD_BY_NO_COLUMN = {
    "amount = 3000000000": "`amount` is int in the table and cannot hold: 3000000000. Give it another value with set",
    "amount = 12.7": "`amount` is int in the table and cannot hold: 12.7",
    "amount = 'abc'": "`amount` is int in the table and cannot hold: abc",
    "amount = cast(n as double) / 3": "`amount` is int in the table and cannot hold: 0.66",
    "day = timestamp'2024-01-02 03:00:00'": "`day` is date in the table and cannot hold: 2024-01-02 03:00:00",
    "amount = day": 'floodmark_replay.set.amount: got "day date"; expected int, as in ',
    "amount = array(1)": 'floodmark_replay.set.amount: got "array(1) array<int>"; expected int, as in ',
}


def test_a_value_that_its_column_cannot_hold_stops_the_replay(project: Project) -> None:
    for given, said in HELD_BY_NO_COLUMN.items():
        also = () if given.startswith("amount") else ("--set", "amount = 2")
        code, output = replay(project, "given", "--set", given, *also)
        assert code == 1 and said in output, (given, output)
    states = rows(project, "given__quarantine", "id, _floodmark_state")
    assert states == [(2, "open")]
    assert rows(project, "given", "id") == [(1,)]
    batches = [state for (state,) in project.ledger("given", "state")]
    assert "planned" not in batches


def test_values_that_fit_are_loaded_as_they_are(project: Project) -> None:
    """A text that is a number, a number with a point and nothing behind it, NULL, fields by their names."""
    given = {
        "amount": "'12'",
        "note": None,
        "rate": "0.5",
        "n": "2.0",
        "day": "'2024-02-03'",
        "s": "named_struct('b', 7, 'a', '5')",
    }
    run = project.build(
        "--select", "given", "--vars", json.dumps({"floodmark_replay": {"set": given}})
    )
    assert "1 inserted" in run.log
    found = rows(project, "given", "amount, note, rate, n, cast(day as string), s.a, s.b", "id = 2")
    assert found == [(12, None, 0.5, 2, "2024-02-03", 5, "7")]


def test_a_contract_that_names_fewer_columns_than_the_table_has(project: Project) -> None:
    enforced = {"contract": {"enforced": True}, "on_schema_change": "append_new_columns", **MERGE}
    model = incremental(table("raw"), "id, amount, n", **AT, **enforced)
    project.model("contracted", model, contracted("id", "amount", "n"))
    code, output = replay(project, "contracted", "--set", "amount = 0")
    assert code == 0 and "1 stays open" in output, output
    # And one more than the table has yet.
    model = incremental(table("raw"), "id, amount, n, 'EUR' as currency", **AT, **enforced)
    project.model("contracted", model, contracted("id", "amount", "n", "currency"))
    code, output = replay(project, "contracted", "--set", "amount = 2")
    assert code == 0, output
    found = rows(project, "contracted", "id, amount, note, currency")
    assert found == [(1, 1, "x", None), (2, 2, None, None)]


def test_a_column_without_a_type_beside_one_whose_type_changed(project: Project) -> None:
    rows_3 = [(3, 0, 3, "z", 1, "2024-01-01", None)]
    project.sql(f"insert into {project.schema}.raw values {values(rows_3)}")
    changed = "id, amount - 0.5 as amount, n, null as note"
    project.model("untyped", incremental(table("raw"), changed, **AT))
    project.build("--select", "untyped")
    found = rows(project, "untyped__quarantine", "id, _floodmark_raw", "id = 3")
    assert [(id, json.loads(raw)) for id, raw in found] == [(3, {"id": 3, "amount": -0.5, "n": 3})]


def test_a_dry_run_of_a_replay_that_is_refused(project: Project) -> None:
    assert rows(project, "compared__quarantine", "id") == [(2,)]
    for words in (["--dry-run"], []):
        code, output = replay(project, "compared", *words)
        assert (
            code == 1 and "expected a strategy that can replay, and this is snapshot_diff" in output
        )


def test_two_runs_that_finish_one_batch_have_one_result(project: Project) -> None:
    log, model = f"{project.schema}_floodmark.batch_log", f"'{project.schema}.compared'"
    before = project.ledger("compared", "*", "expectation_results")
    project.sql(
        f"insert into {log} by name select * except (at, expectations), at + interval 1 second as at, "
        f"replace(expectations, 'positive', 'later') as expectations from {log} "
        f"where model = {model} and event = 'committed'"
    )
    after = project.ledger("compared", "name, violations", "expectation_results")
    assert len(after) == len(before) == 1 and after[0] == ("later", 1)


def test_a_test_with_where_is_of_some_rows(project: Project) -> None:
    tests = (
        "data_tests:\n"
        "  - floodmark.expectations_hold: {name: all_rows, config: {where: 'id > 0'}}\n"
        "  - floodmark.expectations_hold: {name: no_rows, config: {where: 'id < 0'}}\n"
        "  - floodmark.no_pii: {name: no_secrets, config: {where: 'id > 0'}}\n"
    )
    # A row that came around the rules.
    project.sql(f"insert into {project.schema}.given (id, amount, n) values (9, -9, 9)")
    project.model("given", incremental(table("raw"), **AT), tests)
    run = project.dbt("test", "--select", "given")
    found = {name: run.status.get(name) for name in ("all_rows", "no_rows", "no_secrets")}
    assert found == {"all_rows": "fail", "no_rows": "pass", "no_secrets": "pass"}, run.log
