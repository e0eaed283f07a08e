"""RULES.md, the quarantine: rows are looked at, corrected, loaded once, or given up."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable

import agate
import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = pytest.mark.long("thrift")

RULES = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {"name": "small", "expect": "amount < 100", "on_violation": "quarantine"},
]
MODELS = {
    "appended": {},
    "merged": {"incremental_strategy": "merge", "unique_key": "id"},
    "overwritten": {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    "changed": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "at"}},
    "historic": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "stored_as_scd_type": 2},
    },
}
FIRST = [
    (1, 1, "2024-05-01 01:00:00"),
    (2, -2, "2024-05-01 02:00:00"),
    (3, 300, "2024-05-01 03:00:00"),
]
SECOND = [
    (1, -1, "2024-05-01 04:00:00"),  # a later version of 1, quarantined
    (2, 22, "2024-05-01 05:00:00"),  # a later version of 2, loaded: the quarantined one is older
    (4, -4, "2024-05-01 06:00:00"),
]


def rows(project: Project, model: str, columns: str = "id, amount") -> Counter:
    return Counter(project.sql(f"select {columns} from {project.schema}.{model}"))


def states(project: Project, model: str) -> Counter:
    return Counter(
        project.sql(
            f"select id, amount, _floodmark_state from {project.schema}.{model}__quarantine"
        )
    )


def model_text(settings: dict, rules: list = RULES) -> str:
    return incremental(table("t"), watermark={"column": "at"}, expectations=rules, **settings)


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("replay")
    project.source("t")
    project.sql(
        f"create table {project.schema}.t (id int, amount int, at timestamp, day date) using delta"
    )
    for name, settings in MODELS.items():
        # As people end statements; commands put the SELECT into theirs.
        end = " ; -- the end" if name == "merged" else ""
        project.model(name, model_text(settings) + end)
    for batch in (FIRST, SECOND):
        project.sql(
            f"insert into {project.schema}.t values {values([(*row, '2024-05-01') for row in batch])}"
        )
        project.build()
    return project


def test_the_commands_list_and_show_open_rows(project: Project) -> None:
    code, output = command(project, "quarantine", "list", "--json")
    assert code == 0, output
    listed = json.loads(output)["quarantine"]
    merged = {row["rule"]: int(row["rows"]) for row in listed if row["model"].endswith(".merged")}
    assert merged == {"positive": 3, "small": 1}
    code, output = command(project, "quarantine", "show", "merged", "--rule", "small", "--json")
    assert code == 0, output
    [shown] = json.loads(output)["rows"]
    assert shown["reason"] == "small: amount < 100" and json.loads(shown["row"])["id"] == 3
    code, output = command(project, "quarantine", "show", "merged")
    assert code == 0 and "positive: amount > 0" in output, output


@pytest.mark.edge
def test_the_operations_print_the_same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # agate prints to what was the standard output when it was imported.
    original, out = agate.Table.print_table, io.StringIO()
    monkeypatch.setattr(
        agate.Table, "print_table", lambda table, **given: original(table, output=out, **given)
    )
    run = project.dbt("run-operation", "floodmark.quarantine_list")
    assert run.success, run.log[-3000:]
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in out.getvalue().split("\n")
    ]
    assert [f"{project.schema}.merged", "positive", "3"] in [line[:3] for line in lines], lines
    assert [f"{project.schema}.merged", "small", "1"] in [line[:3] for line in lines], lines
    run = project.dbt(
        "run-operation", "floodmark.quarantine_show", "--args", "{model: merged, rule: small}"
    )
    assert run.success, run.log[-3000:]
    shown = out.getvalue().split("reason")[1]
    assert "small: amount < 100" in shown and '"id":3' in shown and '"id":2' not in shown


@pytest.mark.edge
def test_a_schema_that_is_not_there_yet_hides_no_other(project: Project) -> None:
    project.model("unbuilt", model_text({"schema": "later"}))
    code, output = command(project, "quarantine", "list", "--json")
    assert code == 0, output
    assert {row["model"] for row in json.loads(output)["quarantine"]} == {
        f"{project.schema}.{name}" for name in MODELS
    }
    code, output = command(project, "quarantine", "show", "unbuilt")
    assert code == 1 and "it has no quarantine: no row of it was ever quarantined" in sentence(
        output
    )
    (project.root / "models/unbuilt.sql").unlink()


def test_status_and_history_count_what_was_held_back(project: Project) -> None:
    code, output = command(project, "status", "--select", "merged", "--json")
    assert code == 0, output
    [model] = json.loads(output)["models"]
    assert int(model["last_batch"]["rows_quarantined"]) == 2
    assert model["rows_open"] == 4
    code, output = command(project, "history", "merged", "--json")
    assert code == 0, output
    batches = json.loads(output)["batches"]
    assert [(int(b["rows_quarantined"]), int(b["rows_dropped"])) for b in batches] == [
        (2, 0),
        (2, 0),
    ]
    code, output = command(project, "status", "--select", "merged")
    assert code == 0 and "quarantined" in output and "dropped" not in output, output
    assert " open " in output


def test_a_dry_run_counts(project: Project) -> None:
    before = states(project, "merged")
    for words in (
        ["replay", "merged", "--rule", "positive"],
        ["discard", "merged", "--rule", "positive", "--reason", "no"],
    ):
        code, output = command(project, "quarantine", *words, "--dry-run")
        assert code == 0, output
        assert f"Would {words[0]} 3 rows of {project.schema}.merged." in output
    for words, said in (
        (["replay", "merged", "--set", "nobody = 1"], 'got "nobody"; expected a column of'),
        (["discard", "merged", "--rule", "postive", "--reason", "no"], 'rule: got "postive"'),
    ):
        code, output = command(project, "quarantine", *words, "--dry-run")
        assert code == 1 and said in sentence(output), output
    assert states(project, "merged") == before


def test_rows_that_still_break_a_rule_stay_open(project: Project) -> None:
    before, marks = states(project, "merged"), project.mark("merged")
    run = project.build("--select", "merged", "--vars", "{floodmark_replay: true}")
    assert states(project, "merged") == before
    assert "MERGE 4 read, 4 quarantined" in run.message["merged"]
    assert project.mark("merged") == marks
    assert project.ledger("merged", "kind, rows_read, rows_kept, rows_quarantined")[-1] == (
        "replay",
        4,
        0,
        4,
    )


#: What each model has once the rows are right: `abs(amount)`, and 300 as it was.
REPLAYED = {
    # once each, beside what is there
    "appended": {(1, 1): 2, (2, 22): 1, (2, 2): 1, (4, 4): 1},
    # the later version of 1 wins, the older one of 2 does not
    "merged": {(1, 1): 1, (2, 22): 1, (4, 4): 1},
    "overwritten": {(1, 1): 2, (2, 22): 1, (2, 2): 1, (4, 4): 1},
    "changed": {(1, 1): 1, (2, 22): 1, (4, 4): 1},
    "historic": {(1, 1): 1, (2, 22): 1, (2, 2): 1, (4, 4): 1},
}


def test_a_replay_loads_what_is_right_now(project: Project) -> None:
    marks = {name: project.mark(name) for name in MODELS}
    wanted = "{floodmark_replay: {rule: positive, set: {amount: abs(amount)}}}"
    for _ in range(2):
        project.build("--vars", wanted)
        for name, expected in REPLAYED.items():
            assert rows(project, name) == Counter(expected), name
            kept = states(project, name)
            # insert_overwrite has read the partition again: rows of its first batch came again with the second.
            older = {(-2, "superseded"), (300, "superseded")} if name == "overwritten" else set()
            states_of = {(row[1], row[2]) for row in kept}
            assert (
                states_of
                == {(-1, "replayed"), (-2, "replayed"), (-4, "replayed"), (300, "open")} | older
            )
            assert project.mark(name) == marks[name]
    [_, two] = sorted(
        project.sql(f"select __start_at, __end_at from {project.schema}.historic where id = 2")
    )
    assert [str(value)[:16] for value in two[:1]] == ["2024-05-01 05:00"]


@pytest.mark.edge
@pytest.mark.parametrize("name", ["appended", "merged"])
def test_reconcile_misses_no_row_that_was_held_back(project: Project, name: str) -> None:
    keys = () if name == "merged" else ("--key", "id")
    code, output = command(project, "reconcile", name, *keys, "--json")
    assert code == 0, output
    found = json.loads(output)
    assert (found["missing"], found["repeated"]) == (0, 0), found


@pytest.mark.edge
def test_the_next_run_goes_on_above_the_mark(project: Project) -> None:
    project.sql(
        f"insert into {project.schema}.t values (5, 5, timestamp'2024-05-01 07:00:00', date'2024-05-01')"
    )
    code, output = command(project, "plan", "--select", "merged", "--json")
    assert code == 0, output
    [planned] = json.loads(output)["models"]
    assert (planned["rows"], planned["error"]) == (1, None)
    project.build()
    for name in MODELS:
        assert rows(project, name)[(5, 5)] == 1
        read = 7 if name == "overwritten" else 1
        assert project.ledger(name, "kind, rows_read")[-1] == ("incremental", read)


@pytest.mark.edge
def test_a_rule_that_changed_lets_rows_in_by_an_operation(project: Project) -> None:
    # In a folder of its own: the run that follows finds it there.
    (project.root / "models/merged.sql").unlink()
    (project.root / "models/silver").mkdir()
    project.model("silver/merged", model_text(MODELS["merged"], RULES[:1]))
    # A model in a folder of that name is another one.
    (project.root / "models/silver/merged").mkdir()
    project.model("silver/merged/beside", "select 1 as id")
    run = project.dbt(
        "run-operation", "floodmark.quarantine_replay", "--args", "{model: merged, rule: small}"
    )
    assert run.success, run.log[-3000:]
    assert rows(project, "merged")[(3, 300)] == 1
    assert states(project, "merged")[(3, 300, "replayed")] == 1
    assert not project.sql(f"show tables in {project.schema} like 'beside'")
    (project.root / "models/silver/merged/beside.sql").unlink()


def test_rows_are_given_up(project: Project) -> None:
    code, output = command(
        project,
        "quarantine",
        "discard",
        "appended",
        "--where",
        f"amount in (select amount from {project.schema}.t where id = 3)",
        "--reason",
        "a test",
    )
    assert code == 0, output
    assert f"Discarded 1 row of {project.schema}.appended." in output
    [(state, reason)] = project.sql(
        "select _floodmark_state, _floodmark_reason from "
        f"{project.schema}.appended__quarantine where id = 3"
    )
    assert state == "discarded"
    assert reason.startswith("small: amount < 100; discarded by ") and reason.endswith(": a test")


@pytest.mark.edge
def test_rows_are_given_up_by_an_operation(project: Project) -> None:
    asked = "model: historic, rule: small, reason: a test"
    for more, state in ((", dry_run: true", "open"), ("", "discarded")):
        run = project.dbt(
            "run-operation", "floodmark.quarantine_discard", "--args", f"{{{asked}{more}}}"
        )
        assert run.success, run.log[-3000:]
        assert states(project, "historic")[(3, 300, state)] == 1


@pytest.mark.edge
def test_no_row_is_given_up_that_an_unfinished_replay_has_loaded(project: Project) -> None:
    """The run dies behind the commit of the table, so the row is in the table and still open."""
    name = "settling"
    project.model(name, model_text({}, RULES[:1]))
    project.build("--select", name)
    asked = ("--vars", json.dumps({"floodmark_replay": {"set": {"amount": "abs(amount)"}}}))
    with injected(Faults(cuts={name: "before: merge into .*__quarantine"})):
        assert not project.dbt("run", "--select", name, *asked).success
    words = ("quarantine", "discard", name, "--reason", "a test")
    code, output = command(project, *words)
    assert code == 1, output
    assert "replays rows and is unfinished: run the model first, which finishes the batch" in (
        sentence(output)
    )
    assert {state for *_, state in states(project, name)} == {"open"}
    # A discard that had looked before the replay began.
    quarantine = f"{project.schema}.{name}__quarantine"
    [(first,)] = project.sql(f"select min(_floodmark_id) from {quarantine}")
    project.sql(
        f"update {quarantine} set _floodmark_state = 'discarded' where _floodmark_id = '{first}'"
    )
    project.build("--select", name)
    assert {state for *_, state in states(project, name)} == {"replayed"}
    code, output = command(project, *words)
    assert code == 0 and "Discarded 0 rows" in output, output
    (project.root / f"models/{name}.sql").unlink()


@pytest.mark.edge
def test_a_replay_whose_staging_table_is_gone_has_two_ways_out(project: Project) -> None:
    """The run dies behind the commit of the table, and somebody drops what tells which rows."""
    names = ("told", "refreshed")
    for name in names:
        project.model(name, model_text({}, RULES[:1]))
    project.build("--select", *names)
    asked = ("--vars", json.dumps({"floodmark_replay": {"set": {"amount": "abs(amount)"}}}))
    with injected(Faults(cuts=dict.fromkeys(names, "before: merge into .*__quarantine"))):
        assert not project.dbt("run", "--select", *names, *asked).success
    loaded = {name: rows(project, name) for name in names}
    judged = project.sql(f"show tables in {project.schema}_floodmark like 'stage__*__judged'")
    for _, stage, _ in judged:
        project.sql(f"drop table {project.schema}_floodmark.{stage}")
    run = project.dbt("run", "--select", *names)
    for name in names:
        assert (
            "is gone, so nobody can tell which: run it once with --full-refresh, or discard the "
            f"open rows of the quarantine that {project.schema}.{name} has and reset the model to "
            "its mark" in sentence(run.message[name])
        )

    project.build("--select", "refreshed", "--full-refresh")
    assert {state for *_, state in states(project, "refreshed")} == {"open", "superseded"}

    [(mark,)] = project.sql(
        f"select watermark_value from {project.schema}_floodmark.watermarks "
        f"where table_name = '{project.schema}.told'"
    )
    for words in (("quarantine", "discard", "told"), ("reset", "told", "--to", mark)):
        code, output = command(project, *words, "--reason", "a test")
        assert code == 0, output
    project.build("--select", "told")
    assert rows(project, "told") == loaded["told"]
    assert {state for *_, state in states(project, "told")} == {"discarded"}
    for name in names:
        (project.root / f"models/{name}.sql").unlink()


@pytest.mark.edge
def test_a_table_that_was_emptied_is_loaded_anew_before_a_replay(project: Project) -> None:
    """Behind a replay it would have rows, and the next run would go on above the mark."""
    settings = {"appended": {}, "merged": MODELS["merged"]}
    models = {f"emptied_{name}": model_text(config, RULES[:1]) for name, config in settings.items()}
    # All rows are held back: the table has none, and nobody has emptied it.
    none = [{"name": "none", "expect": "amount > 1000", "on_violation": "quarantine"}]
    models["held_back"] = model_text({}, none)
    for name, text in models.items():
        project.model(name, text)
    project.build("--select", *models)
    for name in ("emptied_appended", "emptied_merged"):
        project.sql(f"delete from {project.schema}.{name}")
    asked = ("--vars", json.dumps({"floodmark_replay": {"set": {"amount": "2000"}}}))
    run = project.dbt("run", "--select", *models, *asked)
    for name in ("emptied_appended", "emptied_merged"):
        said = sentence(run.message[name])
        assert f"and somebody emptied {project.schema}.{name}. Run the model first" in said, said
    assert run.status["held_back"] == "success", run.message["held_back"]
    assert len(list(rows(project, "held_back").elements())) == 7
    project.build("--select", *models)
    project.build("--select", *models, *asked)
    project.build("--select", *models)
    for name in models:
        assert {state for *_, state in states(project, name)} <= {"replayed", "superseded"}
    found = {id for id, _ in rows(project, "emptied_merged")}
    assert found == {id for id, _ in rows(project, "emptied_appended")} == {1, 2, 3, 4, 5}
    assert len(list(rows(project, "emptied_appended").elements())) == 7
    for name in models:
        (project.root / f"models/{name}.sql").unlink()


REFUSED = {
    "{rule: x, when: now}": "floodmark_replay.when: expected one of rule, where, set",
    "{set: {nobody: '1'}}": 'floodmark_replay.set: got "nobody"; expected a column of the quarantine '
    "(id, amount, at, day). Correct the name",
    "{rule: postive}": 'rule: got "postive"; expected one of positive, small. Correct the name',
    "{where: '(id'}": 'floodmark_replay.where: got "(id"; expected a SQL expression, but this has a parenthesis',
}


@pytest.mark.edge
@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_replayed_is_refused(project: Project, asked: str) -> None:
    run = project.dbt("run", "--select", "changed", "--vars", f"{{floodmark_replay: {asked}}}")
    assert run.status["changed"] == "error"
    assert REFUSED[asked] in sentence(run.message["changed"])


@pytest.mark.edge
def test_a_model_without_a_quarantine(project: Project) -> None:
    project.model("clean", model_text({}, []))
    project.build("--select", "clean")
    run = project.dbt("run", "--select", "clean", "--vars", "{floodmark_replay: true}")
    said = "it has no quarantine: no row of it was ever quarantined"
    assert said in sentence(run.message["clean"])
    code, output = command(project, "quarantine", "show", "clean")
    assert code == 1 and said in sentence(output)


@pytest.mark.edge
def test_a_snapshot_is_read_again_instead(project: Project) -> None:
    project.model(
        "compared",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
        f"expectations={RULES!r}) }}}} select id, amount from {{{{ source('raw', 't') }}}} where id > 2",
    )
    project.build("--select", "compared")
    run = project.dbt("run", "--select", "compared", "--vars", "{floodmark_replay: true}")
    assert (
        "expected a strategy that can replay, and this is snapshot_diff. Correct the rows upstream: the next run reads all of them"
        in sentence(run.message["compared"])
    )


@pytest.mark.edge
def test_a_model_that_follows_and_is_past_the_row_is_named(project: Project) -> None:
    """It reads what lies above its mark; a row that gets a time of its own is there."""
    follows = {"incremental_strategy": "merge", "unique_key": "id"}
    project.model(
        "following",
        incremental(
            "{{ ref('changed') }}", "id, amount, at", watermark={"column": "at"}, **follows
        ),
    )
    # It reads the row again that lies below its mark.
    project.model(
        "looking_back",
        incremental(
            "{{ ref('changed') }}",
            "id, amount, at",
            watermark={"column": "at", "lookback": "400 days"},
            **follows,
        ),
    )
    project.build("--select", "following", "looking_back")
    wanted = "{floodmark_replay: {rule: small, set: {amount: '3'%s}}}"
    run = project.build("--select", "changed", "--vars", wanted % ", at: at + interval 1 year")
    assert "of this replay" not in run.log
    project.build("--select", "following", "looking_back")
    assert rows(project, "following")[(3, 3)] == 1
    project.sql(
        f"update {project.schema}.changed__quarantine set _floodmark_state = 'open' where id = 3"
    )
    run = project.build("--select", "changed", "--vars", wanted % "")
    assert "CDC 1 read" in run.message["changed"]
    assert (
        f"rows of this replay are at or below the mark of {project.schema}.following (at), which does not load them: "
        "backfill it, or give them another at with set when you replay" in sentence(run.log)
    )
    assert f"{project.schema}.looking_back (at)" not in sentence(run.log)


@pytest.mark.edge
def test_a_replay_that_gives_another_time_gives_its_partition_too(project: Project) -> None:
    wanted = "{floodmark_replay: {rule: small, set: {amount: '3', at: at + interval 1 year%s}}}"
    run = project.dbt("run", "--select", "overwritten", "--vars", wanted % "")
    assert (
        'floodmark_replay.set: got {"amount": "3", "at": "at + interval 1 year"}; expected day to follow from at by '
        f"day in each row, as in {project.schema}.overwritten. Set day as well when you replay"
    ) in sentence(run.message["overwritten"])
    assert states(project, "overwritten")[(3, 300, "open")] == 1
    moved = ", day: date(at + interval 1 year)"
    project.build("--select", "overwritten", "--vars", wanted % moved)
    assert rows(project, "overwritten")[(3, 3)] == 1
    assert states(project, "overwritten")[(3, 300, "open")] == 0
