"""Refusals that are one clean message, and wrong words on the command line: dbt's and floodmark's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.harness import Project, incremental, sentence, table

SRC = "id int, t timestamp, v string"
FIRST = "(1, timestamp'2024-05-01 08:00:00', 'a'), (2, timestamp'2024-05-01 09:00:00', 'b')"


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    """A model that is loaded, beside many that are refused."""
    project = make_project("refusals")
    project.sql(f"create table {project.schema}.src ({SRC}) using delta")
    project.sql(f"insert into {project.schema}.src values {FIRST}")
    project.source("src")
    project.model("good", merge())
    project.model("wrong", merge(watermark={"column": "t", "gaps": "maybe"}))
    project.build("--select", "good")
    return project


def merge(select: str = "*", **config: Any) -> str:
    settings = {
        "incremental_strategy": "merge",
        "unique_key": "id",
        "watermark": {"column": "t", "lookback": "1 day"},
    }
    return incremental(table("src"), select, **(settings | config))


def command(project: Project, *words: str) -> tuple[int, str]:
    folder = str(project.root)
    options = ["--project-dir", folder, "--profiles-dir", folder]
    result = CliRunner().invoke(main, [*words, *options], prog_name="floodmark")
    return result.exit_code, sentence(result.output)


@pytest.mark.parametrize("word", ["run", "build", "compile"])
def test_a_refusal_is_one_message(project: Project, word: str) -> None:
    run = project.dbt(word, "--select", "wrong")
    assert not run.success
    said = run.message.get("wrong") or run.log
    assert "floodmark refuses model" in said and 'watermark.gaps: got "maybe"' in said
    assert "in model wrong (models/wrong.sql)" in run.log
    for noise in ("> in macro", "> called by"):
        assert noise not in run.log


@pytest.mark.parametrize(
    ("operation", "arguments", "said"),
    [
        ("reset", "{model: nope}", "floodmark loads no model 'nope': it loads good, wrong"),
        ("reset", "{model: 7}", "operation 'reset': 1 problem - model: got 7; expected a text"),
        ("reset", "{}", "operation 'reset': 1 problem - model: expected a text"),
        (
            "reset",
            "{model: good, to: [1], reason: {a: 1}}",
            "operation 'reset': 2 problems - to: got [1]; expected a time, a number or a text. Correct it, or "
            'leave it out - reason: got {"a": 1}; expected a text. Correct it, or leave it out',
        ),
        (
            "maintain",
            "{vacuum_days: '7; drop', dry_run: maybe, models: 7, small_file_mb: '16', min_small_files: 0}",
            "operation 'maintain': 5 problems - models: got 7; expected a name or a list of names. Correct it, or "
            'leave it out - dry_run: got "maybe"; expected true or false. Write it without quotes - small_file_mb: '
            'got "16"; expected a number above 0. Write it without quotes - min_small_files: got 0; expected a '
            'whole number of at least 1. Correct it, or leave it out - vacuum_days: got "7; drop"; expected a '
            "whole number of at least 0. Write it without quotes",
        ),
        ("maintain", "{models: [nope]}", "floodmark loads no model 'nope'"),
        ("maintain", "{vacuum_days: true}", "vacuum_days: got true; expected a whole number"),
        ("status", "{models: {a: 1}}", "operation 'status': 1 problem - models"),
        ("status", "{models: nope}", "floodmark loads no model 'nope'"),
        (
            "history",
            "{model: good, limit: '1; drop'}",
            "operation 'history': 1 problem - limit: got \"1; drop\"; expected a whole number of at least 1",
        ),
        (
            "diff",
            "{a: good, b: 7, key: {id: 1}, limit: ten}",
            "operation 'diff': 3 problems - b: got 7; expected a text. Correct it - key: got",
        ),
        ("diff", "{a: good, b: nope, key: id}", "floodmark diff: B: there is no table"),
    ],
)
def test_an_operation_says_what_is_wrong(
    project: Project, operation: str, arguments: str, said: str
) -> None:
    run = project.dbt("run-operation", f"floodmark.{operation}", "--args", arguments)
    assert not run.success
    assert said in sentence(run.log)
    for noise in ("> in macro", "> called by", "unsupported operand", "not supported between"):
        assert noise not in run.log


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            "{floodmark_schema: 'a b'}",
            'floodmark refuses variables: 1 problem - floodmark_schema: got "a b"; expected the name of a schema',
        ),
        ("{floodmark_schema: 7}", "floodmark_schema: got 7; expected the name of a schema"),
        ("{floodmark_schema: 'x; drop'}", "expected the name of a schema"),
        (
            "{floodmark_key_filter_bytes: 'x'}",
            'floodmark_key_filter_bytes: got "x"; expected a whole number of bytes. Leave it out for 16 MiB',
        ),
        ("{floodmark_backfill: all}", 'floodmark_backfill: got "all"; expected a mapping such as'),
        ("{floodmark_backfill: {}}", "floodmark_backfill: got {}; expected a mapping such as"),
        ("{floodmark_backfill: 0}", "floodmark_backfill: got 0; expected a mapping such as"),
        (
            "{floodmark_backfill: {from: [1], to: 2, form: 3}}",
            "2 problems - floodmark_backfill.from: got [1]; expected a time, a number or a text. Correct it, or "
            "leave it out - floodmark_backfill.form: expected one of from, to, step. Remove it",
        ),
        (
            "{floodmark_restate: 7}",
            "floodmark_restate: got 7; expected a mapping such as {from: ...}",
        ),
        ("{floodmark_bounds: all}", "floodmark_bounds: got \"all\"; expected 'passed'"),
        ("{floodmark_plan: maybe}", 'floodmark_plan: got "maybe"; expected true or false'),
    ],
)
def test_a_variable_of_another_type(project: Project, variables: str, said: str) -> None:
    before = len(project.ledger("good", "batch_id"))
    run = project.dbt("run", "--select", "good", "--vars", variables)
    assert not run.success
    assert said in sentence(run.log)
    assert "called by" not in run.log
    assert len(project.ledger("good", "batch_id")) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("reset", "good", "--to", "soon"),
            "got 'soon' as a mark: expected a UTC time such as '2026-01-31'",
        ),
        (("reset", "nope"), "floodmark loads no model 'nope'"),
        (("maintain", "--select", "nope"), "nope"),
        (("backfill", "wrong", "--from", "2024-01-01", "--to", "2024-02-01"), "watermark.gaps"),
        (("restate", "good", "--from", "1"), "good is no cdc model"),
        (("reconcile", "wrong"), "watermark.gaps"),
        (("diff", "good", "nope", "--key", "id"), "B: there is no table"),
    ],
)
def test_the_command_keeps_the_sentence(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    code, output = command(project, *words)
    assert code != 0 and said in output
    assert "in macro" not in output and "called by" not in output


@pytest.mark.parametrize(
    "reason",
    [
        "moved 😀",
        'it\'s "quoted": {a: 1}, [b] # no comment',
        "back\\slash \\n and\nline end\ttab",
        "{{ target.name }} {% raw %} {# no comment #}",
        "null",
        "- é, 漢字, \u2028 and \x7f",
    ],
)
def test_any_text_reaches_the_macro(project: Project, reason: str) -> None:
    code, output = command(
        project, "reset", "good", "--to", "2024-05-01 09:00:00", "--reason", reason
    )
    assert code == 0, output
    assert project.ledger("good", "reason")[-1][0] == reason


NUMBERS = itertools.count(10)
CASES = {
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "append": {"incremental_strategy": "append"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": "p"},
    "snapshot": {"incremental_strategy": "snapshot_diff", "unique_key": "id"},
    "cdc": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "t"}},
}


@pytest.mark.parametrize("strategy", list(CASES))
@pytest.mark.parametrize("begins", [True, False], ids=["first", "later"])
@pytest.mark.parametrize("second", ["V", "T", "v"])
def test_a_column_that_comes_twice(
    project: Project, strategy: str, begins: bool, second: str
) -> None:
    if (second == "v" and strategy != "merge") or (
        second == "T" and strategy not in ("cdc", "append")
    ):
        pytest.skip("one strategy shows it")
    number = next(NUMBERS)
    name = f"twice_{number}"
    settings = CASES[strategy]
    if strategy != "snapshot":
        settings = settings | {"watermark": {"column": "t"}}
    select = "id, t, v" + (", cast(t as date) as p" if strategy == "overwrite" else "")
    good = incremental(table("src"), select, **settings)
    if strategy == "snapshot":
        good = good[: good.rindex("where")]
    doubled = good.replace("id, t, v", f"id, t, v, {second.lower()} as {second}")
    if not begins:
        project.model(name, good)
        project.build("--select", name)
        later = f"({number}, timestamp'2024-06-{number % 28 + 1:02} 08:00:00', 'c')"
        project.sql(f"insert into {project.schema}.src values {later}")
    project.model(name, doubled)
    run = project.dbt("run", "--select", name)
    assert not run.success
    said = sentence(run.message[name])
    spelled = f", as {second.lower()} and {second}" if second != second.lower() else ""
    assert f'got "a column {second.lower()} twice in the SELECT{spelled}"' in said
    assert "expected each column once. Give one another name" in said
    assert project.ledger(name, "state")[-1] == ("failed",)
    project.model(name, good)
    project.build("--select", name)
    assert len(project.sql(f"select * from {project.schema}.{name}")) >= 2


def test_dry_runs_say_it_too(project: Project) -> None:
    project.model("dry", merge("id, t, v, v as V"))
    run = project.dbt("run", "--select", "dry", "--empty")
    assert 'SELECT: got "a column v twice in the SELECT, as v and V"' in sentence(run.log)
