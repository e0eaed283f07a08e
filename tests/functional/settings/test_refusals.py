"""Refusals that are one clean message, and wrong words on the command line: dbt's and floodmark's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.support.harness import FULL, OPT_IN, Project, incremental, sentence, table

#: What is wrong on a command line is found before anything runs; tests/unit/support/test_arguments.py has each sentence.
pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

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


#: The word as it runs models and as it does not; `build` is the first again.
@pytest.mark.parametrize("word", ["run", "build", "compile"] if FULL else ["run", "compile"])
def test_a_refusal_is_one_message(project: Project, word: str) -> None:
    run = project.dbt(word, "--select", "wrong")
    assert not run.success
    said = run.message.get("wrong") or run.log
    assert "floodmark refuses model" in said and 'watermark.gaps: got "maybe"' in said
    assert "in model wrong (models/wrong.sql)" in run.log
    for noise in ("> in macro", "> called by"):
        assert noise not in run.log


def test_rules_that_nobody_would_check_stop_the_run(project: Project) -> None:
    rules = [{"name": "positive", "expect": "id > 0"}]
    config = f"config(materialized='view', expectations={rules!r})"
    project.model("unjudged", f"{{{{ {config} }}}}\nselect 1 as id")
    run = project.dbt("run", "--select", "unjudged", "good")
    (project.root / "models/unjudged.sql").unlink()
    assert not run.success and run.status.get("good") != "success"
    assert (
        "floodmark refuses the run: 1 problem - expectations of unjudged (models/unjudged.sql): got "
        '"materialized: view"; expected materialized: incremental or streaming_table'
    ) in sentence(run.log)
    for noise in ("> in macro", "> called by"):
        assert noise not in run.log


def test_without_the_opt_in_nothing_is_loaded(make_project: Callable[..., Project]) -> None:
    """dbt-spark's own materialization would append all rows again in each run."""
    project = make_project("not_opted_in")
    s, root = project.schema, project.root
    project.sql(f"create table {s}.src ({SRC}) using delta")
    project.sql(f"insert into {s}.src values {FIRST}")
    project.source("src")
    settings = {"incremental_strategy": "append", "watermark": {"column": "t"}}
    project.model("appended", incremental(table("src"), **settings))
    project.model("plain", "select 1 as id")
    (root / "macros" / "floodmark.sql").unlink()
    lines = " ".join(OPT_IN.split())

    run = project.dbt("run")
    assert not run.success and run.status.get("plain") != "success"
    assert (
        "floodmark refuses the run: 1 problem - materialization incremental in project 'shop': expected floodmark's, "
        "for appended. Without this opt-in each run would load all rows again. Write these lines into "
        "macros/floodmark.sql, or into another file in a folder of macro-paths (dbt_project.yml): "
        f"{lines}"
    ) in sentence(run.log)
    assert project.dbt("compile").success
    assert project.dbt("run", "--select", "plain").success

    # dbt runs the models although a hook has failed, and then floodmark's hook does not run.
    broken = root / "dbt_packages" / "audit"
    broken.mkdir()
    (broken / "dbt_project.yml").write_text(
        "{name: audit, version: 1.0.0, config-version: 2, on-run-start: select * from not_there}"
    )
    packages = (root / "packages.yml").read_text()
    (root / "packages.yml").write_text(
        "packages: [{local: dbt_packages/floodmark}, {local: dbt_packages/audit}]"
    )
    run = project.dbt("run", "--select", "appended")
    assert run.status["appended"] == "error"
    said = sentence(run.message["appended"])
    assert f"floodmark refuses model '{s}.appended'" in said and lines in said
    assert not project.sql(f"show tables in {s} like 'appended'")
    shutil.rmtree(broken)
    (root / "packages.yml").write_text(packages)

    # Only the name of the macro counts, in a file of any name.
    (root / "macros" / "of_ours.sql").write_text(OPT_IN)
    for _ in range(2):
        # A partial parse would keep the hook of the package that is gone.
        project.build("--no-partial-parse", "--select", "appended")
    assert project.sql(f"select id from {s}.appended order by id") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("operation", "arguments", "said"),
    [
        ("reset", "{model: nope}", "floodmark loads no model 'nope': it loads good, wrong"),
        ("reset", "{}", "operation 'reset': 1 problem - model: expected text"),
        (
            "maintain",
            "{vacuum_days: '7; drop', dry_run: maybe, models: 7, small_file_mb: '16', min_small_files: 0}",
            "operation 'maintain': 5 problems - models: got 7; expected a name or a list of names. Correct it, or "
            'leave it out - dry_run: got "maybe"; expected true or false. Write it without quotes - small_file_mb: '
            'got "16"; expected a number above 0. Write it without quotes - min_small_files: got 0; expected a '
            'whole number of at least 1. Correct it, or leave it out - vacuum_days: got "7; drop"; expected a '
            "whole number of at least 0. Write it without quotes",
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
        (
            "{floodmark_key_filter_bytes: 'x', floodmark_backfill: {from: [1], to: 2, form: 3}, floodmark_restate: 7, "
            "floodmark_bounds: all}",
            "5 problems - floodmark_backfill.from: got [1]; expected a time, a number or text. Correct it, or "
            "leave it out - floodmark_backfill.form: expected one of from, to, step. Remove it or correct its name - "
            "floodmark_restate: got 7; expected a mapping such as {from: ...}",
        ),
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


COMMANDS = [
    (
        ("reset", "good", "--to", "soon"),
        "got 'soon' as a mark: expected a UTC time such as '2026-01-31'",
    ),
    (("backfill", "wrong", "--from", "2024-01-01", "--to", "2024-02-01"), "watermark.gaps"),
    (("restate", "good", "--from", "1"), "good is not a cdc model"),
    (("reconcile", "wrong"), "watermark.gaps"),
    (("diff", "good", "nope", "--key", "id"), "B: there is no table"),
]
if FULL:  # words that call an operation, as the first does
    COMMANDS += [
        (("reset", "nope"), "floodmark loads no model 'nope'"),
        (("maintain", "--select", "nope"), "nope"),
    ]


@pytest.mark.parametrize(("words", "said"), COMMANDS)
def test_the_command_keeps_the_sentence(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    code, output = command(project, *words)
    assert code != 0 and said in output
    assert "in macro" not in output and "called by" not in output


REASONS = [
    "- é, 漢字, \u2028 and \x7f",
    "moved 😀",
    'it\'s "quoted": {a: 1}, [b] # no comment',
    "back\\slash \\n and\nline end\ttab",
    "{{ target.name }} {% raw %} {# no comment #}",
]


#: A text is quoted whole (tests/unit/cli/test_command_words.py), so what may stand in one may stand beside the others.
@pytest.mark.parametrize("reason", [*REASONS, "null"] if FULL else ["; ".join(REASONS)])
def test_any_text_reaches_the_macro(project: Project, reason: str) -> None:
    code, output = command(
        project, "reset", "good", "--to", "2024-05-01 09:00:00", "--reason", reason
    )
    assert code == 0, output
    assert project.ledger("good", "reason")[-1][0] == reason


STRATEGIES = {
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "append": {"incremental_strategy": "append"},
    "overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": "p"},
    "snapshot": {"incremental_strategy": "snapshot_diff", "unique_key": "id"},
    "cdc": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "t"}},
}
#: Models of two columns of one name: the run in which the second comes, the strategy, the second's name.
TWICE = {
    f"twice_{begins}_{strategy}_{index}": (begins, strategy, second)
    for begins in ("first", "later")
    for strategy in STRATEGIES
    for index, second in enumerate(("V", "T", "v"))
    if second == "V"
    or (second == "T" and strategy in ("cdc", "append"))
    or (second == "v" and strategy == "merge")
}
if not FULL:  # one check serves all strategies: each once, in a first run or a later one, and each second name
    TWICE = {
        name: TWICE[name]
        for name in (
            "twice_first_merge_2",
            "twice_first_overwrite_0",
            "twice_later_merge_0",
            "twice_later_append_1",
            "twice_later_snapshot_0",
            "twice_later_cdc_0",
        )
    }


@dataclass
class Twice:
    """What the run with a column twice said of each model, and how its batch ended."""

    project: Project
    said: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, *, doubled: bool) -> None:
        _, strategy, second = TWICE[name]
        select = "id, t, v" + (f", {second.lower()} as {second}" if doubled else "")
        select += ", cast(t as date) as p" if strategy == "overwrite" else ""
        settings = STRATEGIES[strategy]
        if strategy != "snapshot":
            settings = settings | {"watermark": {"column": "t"}}
        sql = incremental(table("src"), select, **settings)
        self.project.model(name, sql[: sql.rindex("where")] if strategy == "snapshot" else sql)

    def run(self, begins: str) -> None:
        """Run all models; those that have a column twice in this run are refused."""
        run = self.project.dbt("run", "--select", *TWICE)
        for name, (when, *_) in TWICE.items():
            if when == begins:
                assert run.status[name] == "error", name
                self.said[name] = sentence(run.message[name])
                self.states[name] = self.project.ledger(name, "state")[-1][0]
            else:
                assert run.status[name] == "success", run.message[name]


@pytest.fixture(scope="module")
def twice(project: Project) -> Twice:
    """Some are refused in their first run, some in the second; in the third all load."""
    twice = Twice(project)
    for name, (begins, *_) in TWICE.items():
        twice.write(name, doubled=begins == "first")
    twice.run("first")
    project.sql(f"insert into {project.schema}.src values (3, timestamp'2024-06-01 08:00:00', 'c')")
    for name, (begins, *_) in TWICE.items():
        twice.write(name, doubled=begins == "later")
    twice.run("later")
    for name in TWICE:
        twice.write(name, doubled=False)
    project.build("--select", *TWICE)
    return twice


@pytest.mark.parametrize("name", TWICE)
def test_a_column_that_comes_twice(twice: Twice, name: str) -> None:
    *_, second = TWICE[name]
    spelled = f", as {second.lower()} and {second}" if second != second.lower() else ""
    assert f'got "a column {second.lower()} twice in the SELECT{spelled}"' in twice.said[name]
    assert "expected each column once. Give one another name" in twice.said[name]
    assert twice.states[name] == "failed"
    rows = twice.project.sql(f"select id from {twice.project.schema}.{name} order by id")
    assert rows == [(1,), (2,), (3,)]


def test_dry_runs_say_it_too(project: Project) -> None:
    project.model("dry", merge("id, t, v, v as V"))
    run = project.dbt("run", "--select", "dry", "--empty")
    assert 'SELECT: got "a column v twice in the SELECT, as v and V"' in sentence(run.log)


def test_a_field_that_comes_twice(project: Project) -> None:
    project.model("fields", merge("id, t, named_struct('v', v, 'V', v) as s"))
    said = 'SELECT: got "a column s.v twice in the SELECT, as s.v and s.V"'
    assert said in sentence(project.dbt("run", "--select", "fields").message["fields"])
    assert said in sentence(project.dbt("run", "--select", "fields", "--empty").log)
