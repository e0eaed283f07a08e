"""Rows that are held back, and what is said of them: names that clash, conditions that look elsewhere, types that changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

RULE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
BY_N = {"watermark": {"column": "n"}}
ROWS = [(1, 1, 1), (2, -2, 2), (3, 3, 3)]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("held_rows")
    project.source("raw", "stores", "changing")
    for name in ("raw", "changing"):
        project.sql(
            f"create table {project.schema}.{name} (id int, amount int, n bigint) using delta"
        )
        project.sql(f"insert into {project.schema}.{name} values {values(ROWS)}")
    project.sql(
        f"create table {project.schema}.stores using delta as select explode(array(1, 2, 99)) as id"
    )
    return project


def states(project: Project, model: str) -> Counter[tuple[int, str]]:
    return Counter(
        project.sql(f"select id, _floodmark_state from {project.schema}.{model}__quarantine")
    )


def ids(project: Project, model: str) -> list[int]:
    return sorted(id for (id,) in project.sql(f"select id from {project.schema}.{model}"))


def done(project: Project, *args: str) -> str:
    code, output = command(project, *args)
    assert code == 0, output
    return output


def refused(project: Project, *args: str) -> str:
    code, output = command(project, *args)
    assert code != 0, output
    return sentence(output)


def reconciled(project: Project, name: str) -> tuple[int, int, int]:
    """What reconcile finds: the exit code, and keys missing and held too often."""
    code, output = command(project, "reconcile", name, "--key", "id", "--json")
    found = json.loads(output)
    return code, found["missing"], found["repeated"]


def test_a_name_alone_is_the_model_also_beside_a_source_of_that_name(project: Project) -> None:
    """The source has a row that the model leaves out, and the model under test reads both."""
    project.model(
        "stores",
        "{{ config(alias='known_stores') }} select * from {{ source('raw', 'stores') }} where id < 99",
    )
    known = "floodmark.in_relation('id', {})"
    for name, where in [("of_model", "'stores'"), ("of_source", "['raw', 'stores']")]:
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
            "expectations=[{'name': 'known', 'expect': "
            f"{known.format(where)}, 'on_violation': 'quarantine'}}]) }}}}\n"
            f"select * from {table('stores')}",
        )
    project.build("--select", "stores", "of_model", "of_source")
    assert ids(project, "of_model") == [1, 2]
    assert ids(project, "of_source") == [1, 2, 99]


def test_a_rule_on_an_ephemeral_model_is_refused(project: Project) -> None:
    project.model("passing", "{{ config(materialized='ephemeral') }}\nselect 1 as id")
    project.model(
        "over_passing",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        "expectations=[{'name': 'known', 'expect': "
        "floodmark.in_relation('id', 'passing')}]) }}\n" + f"select * from {table('stores')}",
    )
    run = project.dbt("run", "--select", "over_passing")
    (project.root / "models/over_passing.sql").unlink()
    assert (
        "a rule looks into passing, which is ephemeral: materialize it as a table or a view"
        in sentence(run.message["over_passing"])
    )


def test_a_column_called_rule_is_listed(project: Project) -> None:
    select = "id, amount, n, 'x' as rule, id as file, 'y' as reason, 1 as at"
    project.model("ruled", incremental(table("raw"), select, expectations=[RULE], **BY_N))
    project.build("--select", "ruled")
    listed = json.loads(done(project, "quarantine", "list", "--json"))["quarantine"]
    assert [one["rule"] for one in listed if one["model"].endswith(".ruled")] == ["positive"]
    (row,) = json.loads(done(project, "quarantine", "show", "ruled", "--json"))["rows"]
    assert json.loads(row["row"])["rule"] == "x"


@pytest.mark.parametrize("option", ["--where", "--rule"])
def test_an_empty_condition_is_not_every_row(project: Project, option: str) -> None:
    """As of a variable of the shell that is not set."""
    project.model("empty", incremental(table("raw"), expectations=[RULE], **BY_N, **MERGE))
    project.build("--select", "empty")
    for words in (
        ["discard", "empty", "--reason", "x"],
        ["replay", "empty", "--set", "amount = 0"],
    ):
        said = refused(project, "quarantine", *words, option, "")
        assert 'where: got ""' in said if option == "--where" else 'rule: got ""' in said
    if option == "--rule":
        assert 'rule: got ""' in refused(project, "quarantine", "show", "empty", "--rule", "")
    assert states(project, "empty") == Counter({(2, "open"): 1})


def test_set_gives_a_column_that_only_the_table_has(project: Project) -> None:
    """The dry run and dbt's own operation take what the replay takes."""
    project.model("grown", incremental(table("raw"), expectations=[RULE], **BY_N, **MERGE))
    project.build("--select", "grown")
    added = "currency string, known boolean"
    project.sql(f"alter table {project.schema}.grown add columns ({added})")
    correction = ["--set", "amount = 2", "--set", "currency = 'USD'"]
    said = done(project, "quarantine", "replay", "grown", *correction, "--dry-run")
    assert "Would replay 1 row" in said
    assert "expected a column of the quarantine" in refused(
        project, "quarantine", "replay", "grown", "--set", "nowhere = 1", "--dry-run"
    )
    # The operation fails as the run that follows it: with 1, since dbt has run it.
    arguments = """{model: grown, set: {amount: "'many'"}}"""
    code, output = command(
        project, "run-operation", "floodmark.quarantine_replay", "--args", arguments
    )
    assert code == 1, output
    assert states(project, "grown") == Counter({(2, "open"): 1})
    arguments = "{model: grown, set: {amount: '2', currency: \"'😀'\", known: true}}"
    run = project.dbt(
        "run-operation",
        "floodmark.quarantine_replay",
        *("--args", arguments),
        *("--vars", "{day: 2026-01-01}"),
    )
    assert run.success, run.log[-3000:]
    found = project.sql(f"select amount, currency, known from {project.schema}.grown where id = 2")
    assert found == [(2, "😀", True)]


def test_set_gives_a_column_that_only_the_select_has(project: Project) -> None:
    """Nothing was loaded since the model got it."""
    project.model("wider", incremental(table("raw"), expectations=[RULE], **BY_N, **MERGE))
    project.build("--select", "wider")
    priced = {"name": "priced", "expect": "currency is not null", "on_violation": "quarantine"}
    settings = {"expectations": [RULE, priced], "on_schema_change": "append_new_columns"}
    select = "id, amount, n, cast('EUR' as string) as currency"
    project.model("wider", incremental(table("raw"), select, **settings, **BY_N, **MERGE))
    words = ["quarantine", "replay", "wider", "--set", "amount = 2"]
    assert "1 stays open" in done(project, *words)
    correction = [*words, "--set", "currency = 'USD'"]
    assert "Would replay 1 row" in done(project, *correction, "--dry-run")
    assert "1 inserted" in done(project, *correction)
    found = project.sql(f"select amount, currency from {project.schema}.wider where id = 2")
    assert found == [(2, "USD")]


def test_names_for_which_the_quarantine_alone_needs_column_mapping(project: Project) -> None:
    """The tables leave the column out: `except_column_list` names it, or it came later."""
    spaced = "id, amount, n, n as `my n`"
    events = {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "n", "except_column_list": ["my n"]},
    }
    later: dict[str, Any] = {"expectations": [RULE], "on_schema_change": "ignore", **BY_N, **MERGE}
    models = ("spaced_events", "spaced_later")
    project.model(
        models[0], incremental(table("raw"), spaced, expectations=[RULE], **BY_N, **events)
    )
    project.model(models[1], incremental(table("raw"), "id, amount, n", **later))
    project.build("--select", *models)
    project.model(models[1], incremental(table("raw"), spaced, **later))
    done(project, "backfill", models[1], "--from", "1", "--to", "3")
    for name in models:
        open_rows = f"{project.schema}.{name}__quarantine where _floodmark_state = 'open'"
        assert project.sql(f"select id, `my n` from {open_rows}") == [(2, 2)], name
        done(project, "quarantine", "replay", name, "--set", "amount = abs(amount)")
        assert ids(project, name) == [1, 2, 3]


def test_a_key_that_is_refused_makes_no_quarantine(project: Project) -> None:
    """It would keep that type, and have no keys once the SELECT is mended."""
    events = {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "n"}}
    models: dict[str, dict[str, Any]] = {"keyed_rows": MERGE, "keyed_events": events}
    for name, settings in models.items():
        select = "map(id, 1) as id, amount, n"
        model = incremental(table("raw"), select, expectations=[RULE], **BY_N, **settings)
        project.model(name, model)
    project.model("unkeyed", incremental(table("raw"), "null as id, amount, n", **BY_N, **MERGE))
    run = project.dbt("run", "--select", *models, "unkeyed")
    (project.root / "models/unkeyed.sql").unlink()
    assert (
        'unique_key: got "id without a type (NULL, or an empty array or map)"; expected a column with a type'
        in sentence(run.message["unkeyed"])
    )
    for name, settings in models.items():
        said = 'unique_key: got "id map<int,int>"; expected a type that can be compared'
        assert said in sentence(run.message[name])
        assert project.sql(f"show tables in {project.schema} like '{name}__quarantine'") == []
        project.model(name, incremental(table("raw"), expectations=[RULE], **BY_N, **settings))
    project.build("--select", *models)
    for name in models:
        assert states(project, name) == Counter({(2, "open"): 1}), name


def test_an_aggregate_is_no_rule_of_rows(project: Project) -> None:
    rules = [RULE, {"name": "total", "expect": "sum(amount) > 0"}]
    project.model("aggregated", incremental(table("raw"), expectations=rules, **BY_N))
    run = project.dbt("run", "--select", "aggregated")
    (project.root / "models/aggregated.sql").unlink()
    said = sentence(run.message["aggregated"])
    assert "expectations.total.expect: got" in said and "expectations.positive" not in said
    assert (
        "It is asked of each row: judge the batch as a whole with 'rows' or 'unique', or the table with a dbt test"
    ) in said


def test_a_window_function_is_judged_in_the_whole_table_too(project: Project) -> None:
    rule = {
        "name": "single",
        "expect": "count(*) over (partition by id) = 1",
        "on_violation": "quarantine",
    }
    project.model("windowed", incremental(table("raw"), expectations=[rule], **BY_N, **MERGE))
    (project.root / "models/windowed.yml").write_text(
        "models:\n  - name: windowed\n    data_tests: [floodmark.expectations_hold]\n"
    )
    run = project.dbt("build", "--select", "windowed")
    assert "pass" in run.status.values() and run.success, run.log[-3000:]
    assert reconciled(project, "windowed") == (0, 0, 0)


def test_the_deletes_of_a_list_of_changes_violate_no_rule(project: Project) -> None:
    """They have NULL beside their key; a row that is there, and violates a rule, is found."""
    extract = f"{project.schema}.extract_of_changes"
    project.sql(f"create table {extract} using delta as select id, id as amount from range(1, 4)")
    known = "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
    select = (
        f"snapshot_diff={{'output': 'changes'}}, expectations=%r) }}}}\nselect * from {extract}"
    )
    warns = {"name": "positive", "expect": "amount > 0"}
    project.model("listed", known + select % [warns])
    (project.root / "models/listed.yml").write_text(
        "models:\n  - name: listed\n    data_tests:\n"
        "      - floodmark.expectations_hold\n"
        "      - floodmark.expectations_hold: {name: of_some, config: {where: 'id > 1'}}\n"
    )
    project.build("--select", "listed")
    project.sql(f"delete from {extract} where id = 2")
    run = project.dbt("build", "--select", "listed")
    assert run.success, run.log[-3000:]
    kinds = project.sql(f"select _change_type from {project.schema}.listed where amount is null")
    assert kinds == [("delete",)]
    project.sql(f"update {extract} set amount = -3 where id = 3")
    run = project.dbt("build", "--select", "listed")
    told = [run.message[name] for name in ("of_some", "floodmark_expectations_hold_listed_")]
    assert all(message.startswith("Got 1 result") for message in told), told


CORRECTED: dict[str, dict[str, Any]] = {"merged": MERGE, "appended": {}}


@pytest.mark.parametrize("name", CORRECTED)
def test_reconcile_expects_no_replayed_row_that_a_later_load_took_out(
    project: Project, name: str
) -> None:
    project.model(
        name, incremental(table("changing"), expectations=[RULE], **BY_N, **CORRECTED[name])
    )
    project.build("--select", name)
    done(project, "quarantine", "replay", name, "--set", "amount = abs(amount)")
    assert ids(project, name) == [1, 2, 3]
    assert reconciled(project, name) == (0, 0, 0)
    done(project, "backfill", name, "--from", "2", "--to", "3")
    done(project, "run", "--select", name, "--full-refresh")
    assert ids(project, name) == [1, 3]
    assert reconciled(project, name) == (0, 0, 0)
    # A replay that gives a row another key.
    done(project, "quarantine", "replay", name, "--set", "amount = 2", "--set", "id = 20")
    assert ids(project, name) == [1, 3, 20]
    assert reconciled(project, name) == (0, 0, 0)
    # What is missing is still found, and what is there twice.
    project.sql(f"delete from {project.schema}.{name} where id = 1")
    project.sql(
        f"insert into {project.schema}.{name} select * from {project.schema}.{name} where id = 3"
    )
    code, missing, repeated = reconciled(project, name)
    assert (missing, repeated) == (1, 1) and code != 0


def test_a_row_that_is_loaded_and_replayed_is_not_held_too_often(project: Project) -> None:
    """Corrected upstream after its replay, with append: the table has both, as it was asked to."""
    project.model("both", incremental(table("raw"), expectations=[RULE], **BY_N))
    project.build("--select", "both")
    done(project, "quarantine", "replay", "both", "--set", "amount = 2")
    project.sql(f"insert into {project.schema}.raw values (2, 5, 4)")
    project.build("--select", "both")
    assert ids(project, "both") == [1, 2, 2, 3]
    assert reconciled(project, "both") == (0, 0, 0)
    project.sql(f"delete from {project.schema}.raw where n = 4")


#: What a watermark was, and what it is: a type, and the three rows' values of it.
TYPES = {
    "sequence_to_timestamp": (
        "n",
        "timestamp_seconds(n * 3600)",
        "1970-01-01 01:30",
        "1970-01-01 02:30",
    ),
    "timestamp_to_sequence": ("timestamp_seconds(n * 3600)", "n", "2", "3"),
    "date_to_timestamp": (
        "date'2024-05-01'",
        "timestampadd(hour, cast(n as int), timestamp'2024-05-01')",
        "2024-05-01 01:30",
        "2024-05-01 02:30",
    ),
}


@pytest.mark.parametrize("change", TYPES)
def test_a_watermark_of_another_type_than_before(project: Project, change: str) -> None:
    """The quarantine keeps the first type. Ranges are of the second: they are superseded, replayed, and finished."""
    before, after, low, high = TYPES[change]
    name = change
    source = f"{project.schema}.source_{change}"
    select = "select id, amount, n, {} as m from " + f"{project.schema}.changing"
    project.source("raw", "stores", "changing", *(f"source_{one}" for one in TYPES))
    project.sql(f"create table {source} using delta as {select.format(before)}")
    settings = {"watermark": {"column": "m"}, "expectations": [RULE], **MERGE}
    project.model(name, incremental(table(f"source_{change}"), **settings))
    project.model(
        f"behind_{name}",
        incremental(f"{{{{ ref('{name}') }}}}", watermark={"column": "m"}, **MERGE),
    )
    project.build("--select", f"{name}+")
    project.sql(f"create or replace table {source} using delta as {select.format(after)}")
    project.build("--select", f"{name}+", "--full-refresh")
    assert states(project, name) == Counter({(2, "superseded"): 1, (2, "open"): 1})
    done(project, "backfill", name, "--from", low, "--to", high)
    assert states(project, name) == Counter({(2, "superseded"): 2, (2, "open"): 1})
    said = done(project, "quarantine", "replay", name, "--set", "amount = 2")
    assert f"are at or below the mark of {project.schema}.behind_{name} (m)" in sentence(said)
    assert ids(project, name) == [1, 2, 3]
    project.build("--select", f"{name}+")
