"""RULES.md, 9: rules are asked in each micro-batch of a stream, once, of what its SELECT gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dbt_floodmark.streaming.service import Service, running
from tests.support.faults import Faults, injected
from tests.support.files import land, lines
from tests.support.harness import Project, incremental, sentence, table, values
from tests.support.streams import EVENTS, arrive, event, stream

pytestmark = pytest.mark.parametrize("target", ["session"], scope="module")

RULES = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {"name": "small", "expect": "amount < 100", "on_violation": "drop"},
]
SELECT = "select * from stream({{ source('raw', 'events') }})"
MODELS = {
    "copied": stream(SELECT, expectations=RULES),
    "latest": stream(
        SELECT + " watermark at delay of interval 1 hour",
        expectations=RULES,
        incremental_strategy="merge",
        unique_key="key",
    ),
    "history": stream(
        SELECT,
        expectations=RULES,
        incremental_strategy="cdc",
        unique_key="key",
        cdc={"sequence_by": "event_id", "stored_as_scd_type": 2, "apply_as_deletes": "amount = 0"},
    ),
    "summed": stream(
        "select key, sum(amount) as amount from stream({{ source('raw', 'events') }}) group by key",
        expectations=[{"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}],
        output_mode="update",
        unique_key="key",
    ),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("judged_streams")
    project.source("events")
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    for name, sql in MODELS.items():
        project.model(name, sql)
    arrive(project, event(1, "a", 1, 1), event(2, "b", -2, 2))
    arrive(project, event(3, "c", 300, 3), event(4, "a", 4, 4))
    project.build()
    return project


def rows(project: Project, model: str, columns: str) -> list[tuple]:
    return sorted(project.sql(f"select {columns} from {project.schema}.{model}"))


def test_rows_are_judged_in_each_micro_batch(project: Project) -> None:
    assert rows(project, "copied", "event_id") == [(1,), (4,)]
    counted = project.ledger("copied", "kind, rows_read, rows_kept, rows_dropped, rows_quarantined")
    assert counted == [("stream", 4, 2, 1, 1)]
    assert rows(project, "latest", "key, amount") == [("a", 4)]
    assert rows(project, "history", "key, amount") == [("a", 1), ("a", 4)]
    # Of an aggregation the sums are judged.
    assert rows(project, "summed", "key, amount") == [("a", 5), ("c", 300)]
    for name in MODELS:
        assert rows(project, f"{name}__quarantine", "key, amount") == [("b", -2)], name


@pytest.mark.edge
def test_a_micro_batch_that_died_is_judged_once(project: Project) -> None:
    arrive(project, event(5, "d", 5, 5), event(6, "e", -6, 6))
    names = ["copied", "latest", "history"]
    cuts = {
        "copied": "after: insert into .*copied__quarantine",
        "latest": "after: merge into",
        "history": "after: __judged using",
    }
    with injected(Faults(cuts=cuts)):
        run = project.dbt("run", "--select", *names)
    assert set(run.status[name] for name in names) == {"error"}
    project.build("--select", *names)
    for name in names:
        kept = rows(project, f"{name}__quarantine", "key, amount")
        assert kept == [("b", -2), ("e", -6)], name
        assert ("d", 5) in rows(project, name, "key, amount")
        last = project.ledger(name, "rows_read, rows_kept, rows_quarantined")[-1]
        assert last == (2, 1, 1), name
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


@pytest.mark.edge
def test_a_micro_batch_that_was_given_up_is_planned_anew(project: Project) -> None:
    """Spark sends it once more, and takes it for written then: it must be, though its batch was given up."""
    names = {"copied": "given_up", "history": "given_up_history"}
    for name, copy in names.items():
        project.model(copy, MODELS[name])
    project.build("--select", *names.values())
    for copy in names.values():
        project.sql(f"alter table {project.schema}.{copy} add constraint low check (amount < 50)")
    arrive(project, event(22, "t", 60, 22), event(23, "u", -23, 23))
    cuts = dict.fromkeys(names.values(), "before: insert into .*batch_log.*'failed'")
    with injected(Faults(cuts=cuts)):
        run = project.dbt("run", "--select", *names.values())
    assert {run.status[copy] for copy in cuts} == {"error"}, run.status
    for copy in cuts:
        project.sql(f"alter table {project.schema}.{copy} drop constraint low")
    project.build("--select", *cuts)
    for copy in cuts:
        assert rows(project, copy, "key, amount").count(("t", 60)) == 1, copy
        held = rows(project, f"{copy}__quarantine", "key, amount, _floodmark_state")
        assert held.count(("u", -23, "open")) == 1, copy
        states = [state for (state,) in project.ledger(copy, "state")]
        assert states[-2:] == ["failed", "committed"], copy
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


def replay(**asked: object) -> tuple[str, str]:
    """Words that have a run of dbt replay what it is asked for."""
    return "--vars", json.dumps({"floodmark_replay": asked})


@pytest.mark.edge
def test_a_replay_stands_between_two_micro_batches(project: Project) -> None:
    """It is loaded by the strategy, once, also where a run of it died; then the stream goes on."""
    names = ["copied", "latest", "history"]
    some = replay(where="key = 'b'", set={"amount": "abs(amount)"})
    cuts = {
        "copied": r"before: insert into \S+copied`? \(",
        "latest": "after: merge into",
        "history": "before: merge into .*quarantine",
    }
    with injected(Faults(cuts=cuts)):
        run = project.dbt("run", "--select", *names, *some)
    assert set(run.status[name] for name in names) == {"error"}
    arrive(project, event(10, "i", 10, 10), event(11, "j", -11, 11))
    project.build("--select", *names)
    project.build("--select", *names, *some)
    arrive(project, event(12, "k", 12, 12))
    project.build("--select", *names)
    for name in names:
        found = rows(project, name, "key, amount")
        for row in (("b", 2), ("i", 10), ("k", 12)):
            assert found.count(row) == 1, (name, row)
        states = dict(
            project.sql(f"select key, _floodmark_state from {project.schema}.{name}__quarantine")
        )
        assert (states["b"], states["j"]) == ("replayed", "open"), name
    kinds = [kind for (kind,) in project.ledger("copied", "kind")]
    assert kinds[-3:] == ["stream", "replay", "stream"] and kinds.count("replay") == 2
    run = project.build("--select", "copied", *replay(where="key = 'j'"))
    assert "STREAM APPEND 1 read, 1 quarantined, 1 stays open" in run.log
    assert project.sql(f"show tables in {project.schema}_floodmark like 'stage__*'") == []


@pytest.mark.edge
def test_a_replay_waits_for_the_micro_batch_that_is_open(project: Project) -> None:
    """Spark sends the micro-batch again: a replay in between would have it loaded twice."""
    project.model("open", MODELS["copied"])
    project.build("--select", "open")
    arrive(project, event(20, "x", 20, 20), event(21, "y", -21, 21))
    with injected(Faults(cuts={"open": r"after: insert into \S+\.`?open`? \("})):
        assert not project.dbt("run", "--select", "open").success
    some = replay(where="key = 'b'", set={"amount": "2"})
    run = project.dbt("run", "--select", "open", *some)
    assert "its last micro-batch is unfinished" in sentence(run.log)
    project.build("--select", "open")
    project.build("--select", "open", *some)
    found = rows(project, "open", "key, amount")
    assert (found.count(("x", 20)), found.count(("b", 2))) == (1, 1)


@pytest.mark.edge
def test_a_stream_that_starts_over_supersedes_what_was_open(project: Project) -> None:
    project.model("over", MODELS["copied"])
    project.build("--select", "over")
    states = f"select _floodmark_state, count(*) from {project.schema}.over__quarantine group by 1"
    # Nothing is read again where its table could not be replaced.
    with injected(Faults(cuts={"over": "before: create or replace table"})):
        assert not project.dbt("run", "--select", "over", "--full-refresh").success
    assert dict(project.sql(states)).keys() == {"open"}
    assert rows(project, "over", "count(*)") != [(0,)]
    project.build("--select", "over", "--full-refresh")
    counted = dict(project.sql(states))
    assert counted["superseded"] == counted["open"] > 0
    run = project.dbt("run", "--select", "over", "--full-refresh", *replay(where="true"))
    assert "expected a model that was loaded before, with a quarantine" in sentence(run.log)
    assert rows(project, "over", "count(*)") != [(0,)]


@pytest.mark.edge
def test_a_stream_that_starts_over_without_rules_supersedes_too(project: Project) -> None:
    project.model("bare", MODELS["copied"])
    project.build("--select", "bare")
    project.model("bare", stream(SELECT))
    # Nor where the run dies behind the new table.
    with injected(Faults(cuts={"bare": "after: create or replace table"})):
        assert not project.dbt("run", "--select", "bare", "--full-refresh").success
    project.build("--select", "bare")
    found = project.sql(f"select distinct _floodmark_state from {project.schema}.bare__quarantine")
    assert found == [("superseded",)]


@pytest.mark.edge
def test_a_stream_that_gives_the_whole_table_has_no_replay(project: Project) -> None:
    project.model("all_of_it", MODELS["summed"].replace("'update', unique_key='key'", "'complete'"))
    project.build("--select", "all_of_it")
    run = project.dbt("run", "--select", "all_of_it", *replay(where="true"))
    assert not run.success
    assert (
        "expected an output_mode other than 'complete'. Correct the rows upstream: each micro-batch gives the whole "
        "table again"
    ) in sentence(run.log)


@pytest.mark.edge
def test_a_replayed_stream_is_no_batch_that_reads_all_again(project: Project) -> None:
    """Another materialization must not take the replay for the last of its own batches."""
    project.model("turned", MODELS["copied"])
    project.build("--select", "turned")
    project.build("--select", "turned", *replay(where="key = 'b'", set={"amount": "2"}))
    project.model("turned", incremental(table("events"), watermark={"column": "event_id"}))
    run = project.dbt("run", "--select", "turned")
    assert "was filled by a stream, which leaves no mark" in sentence(run.log)


@pytest.mark.edge
def test_files_that_stream_are_judged(project: Project) -> None:
    land(
        project.root / "landing", {"1.json": lines({"id": 1, "amount": 1}, {"id": 2, "amount": -2})}
    )
    project.model(
        "landed",
        "{{ config(materialized='streaming_table', files={'path': 'landing', 'format': 'json', "
        f"'schema': 'id int, amount int'}}, expectations={RULES!r}) }}}} "
        "select id, amount, _metadata.file_path as source_file from {{ floodmark.new_files() }}",
    )
    project.build("--select", "landed")
    assert rows(project, "landed", "id") == [(1,)]
    [(held, file)] = rows(project, "landed__quarantine", "id, _floodmark_file")
    assert held == 2 and file.endswith("/landing/1.json")


@pytest.mark.edge
def test_a_stream_that_gets_rules_goes_on(project: Project) -> None:
    project.model("later", stream(SELECT))
    project.build("--select", "later")
    before = len(rows(project, "later", "event_id"))
    project.model("later", stream(SELECT, expectations=RULES))
    arrive(project, event(7, "f", 7, 7), event(8, "g", -8, 8))
    project.build("--select", "later")
    assert len(rows(project, "later", "event_id")) == before + 1
    project.model("later", stream(SELECT))
    arrive(project, event(9, "h", -9, 9))
    project.build("--select", "later")
    assert len(rows(project, "later", "event_id")) == before + 2
    assert rows(project, "later__quarantine", "event_id") == [(8,)]


@pytest.mark.edge
def test_a_group_that_is_updated_is_open_once(project: Project) -> None:
    """Its later value is the whole one, so that a replay loads that alone, and none where it passes by then."""
    sales = f"{project.schema}.updates"
    project.sql(f"create table {sales} ({EVENTS}) using delta")
    select = f"select key, sum(amount) as amount from stream({sales}) group by key"
    summed = stream(select, output_mode="update", unique_key="key", expectations=RULES[:1])
    project.model("sums", summed)
    for events in (
        [event(1, "a", -1, 1), event(2, "b", -2, 2), event(3, "c", -3, 3)],
        [event(4, "a", -1, 4), event(5, "b", 7, 5)],
    ):
        project.sql(f"insert into {sales} values {values(events)}")
        project.build("--select", "sums")
    held = "key, amount, _floodmark_state"
    assert rows(project, "sums__quarantine", held) == [
        ("a", -2, "open"),
        ("a", -1, "superseded"),
        ("b", -2, "superseded"),
        ("c", -3, "open"),
    ]
    corrected = replay(where="true", set={"amount": "abs(amount)"})
    project.build("--select", "sums", *corrected)
    assert rows(project, "sums", "key, amount") == [("a", 2), ("b", 5), ("c", 3)]
    # It is newer than the value that the table has.
    project.sql(f"insert into {sales} values {values([event(6, 'b', -20, 6)])}")
    project.build("--select", "sums")
    assert rows(project, "sums", "key, amount") == [("a", 2), ("b", 5), ("c", 3)]
    project.build("--select", "sums", *corrected)
    assert rows(project, "sums", "key, amount") == [("a", 2), ("b", 15), ("c", 3)]
    assert ("b", -15, "replayed") in rows(project, "sums__quarantine", held)


@pytest.mark.edge
def test_a_micro_batch_that_gives_no_row_has_not_too_few(project: Project) -> None:
    """Its windows are open yet, or it only moves the event-time watermark."""
    timed = f"{project.schema}.timed"
    project.sql(f"create table {timed} ({EVENTS}) using delta")
    select = (
        f"select window.start as hour, count(*) as n from stream({timed}) watermark at delay of interval 1 minute "
        "group by window(at, '1 hour')"
    )
    some = {"name": "some", "rows": {"min": 1}, "on_violation": "fail"}
    project.model("windowed", stream(select, expectations=[some]))
    for events in ([event(1, "a", 1, 0), event(2, "b", 2, 180)], [event(3, "c", 3, 600)]):
        project.sql(f"insert into {timed} values {values(events)}")
        project.build("--select", "windowed")
    assert (1,) in rows(project, "windowed", "n")
    batches = project.ledger("windowed", "state, rows_read")
    assert {state for state, _ in batches} == {"committed"} and ("committed", 0) in batches


@pytest.mark.edge
def test_a_rejected_micro_batch_comes_again_as_the_select_gives_it_then(project: Project) -> None:
    """Its rows are those that the checkpoint has, whatever becomes of them upstream."""
    failing = [{"name": "positive", "expect": "amount > 0", "on_violation": "fail"}]
    project.model("halted", stream(SELECT, expectations=failing))
    run = project.dbt("run", "--select", "halted")
    assert run.status["halted"] == "error"
    assert (
        "Nothing was written. The stream reads the same rows again, even if you correct them upstream: change the "
        "rule, correct or leave out the rows in the SELECT, or correct them upstream and run once with --full-refresh"
    ) in sentence(run.message["halted"])
    project.model("halted", stream(SELECT + " where amount > 0", expectations=failing))
    project.build("--select", "halted")
    assert project.ledger("halted", "state, high") == [("failed", "0"), ("committed", "0")]
    assert ("a", 1) in rows(project, "halted", "key, amount")


@pytest.mark.edge
def test_a_stream_that_starts_over_has_not_too_many_rows(project: Project) -> None:
    """Nor too old ones: it reads all that its source has."""
    steady = f"{project.schema}.steady"
    project.sql(f"create table {steady} ({EVENTS}) using delta")
    for one in (event(1, "a", 1, 1), event(2, "b", 2, 2), event(3, "c", 3, 3)):
        project.sql(f"insert into {steady} values {values([one])}")
    rows_rule = {"rows": {"change_from_median": 0.5, "of_last": 3}}
    alike = {"name": "alike", "on_violation": "fail"} | rows_rule
    fresh = {"name": "fresh", "fresh_within": "1 day", "column": "at", "on_violation": "fail"}
    select = f"select * from stream({steady})"
    by_one = f"{select} with (maxFilesPerTrigger = 1)"
    project.model("steadily", stream(by_one, expectations=[alike]))
    project.build("--select", "steadily")
    project.model("steadily", stream(select, expectations=[alike, fresh]))
    project.build("--select", "steadily", "--full-refresh")
    assert project.ledger("steadily", "rows_read") == [(1,), (1,), (1,), (3,)]


@pytest.mark.edge
@pytest.mark.parametrize("severity", ["error", "warn"])
def test_a_rule_that_fails_the_node_ends_no_live_stream(project: Project, severity: str) -> None:
    """`floodmark stream` starts it again, behind the micro-batch that is committed; with `warn` under --warn-error."""
    name, few = f"live_{severity}", f"{project.schema}.few_{severity}"
    project.sql(f"create table {few} ({EVENTS}) using delta")
    for one in (event(1, "a", 1, 1), event(2, "b", -2, 2), event(3, "c", 3, 3)):
        project.sql(f"insert into {few} values {values([one])}")
    rule = {
        "name": "positive",
        "expect": "amount > 0",
        "on_violation": "drop",
        "severity": severity,
    }
    select = f"select * from stream({few}) with (maxFilesPerTrigger = 1)"
    project.model(name, stream(select, expectations=[rule]))
    said: list[str] = []
    service = Service(say=said.append)
    service.wait = lambda seconds: len(said) > 9  # type: ignore[method-assign]
    flags = ["--warn-error"] if severity == "warn" else []
    with running(service):
        run = project.dbt(*flags, "run", "--select", name)
    assert run.success, run.log[-6000:]
    failed = [line for line in said if "failed" in line]
    assert len(failed) == 1 and "expectation positive (drop)" in failed[0], said
    assert rows(project, name, "key, amount") == [("a", 1), ("c", 3)]
    assert sorted(project.ledger(name, "rows_read, rows_dropped")) == [(1, 0), (1, 0), (1, 1)]


@pytest.mark.edge
def test_a_whole_table_is_judged_anew_in_each_micro_batch(project: Project) -> None:
    """Sums that were refused come in once they are right, and the other way round; a cut changes nothing."""

    def quarantined() -> list[tuple]:
        return rows(project, "whole__quarantine", "key, amount, _floodmark_state")

    project.source("events", "sales")
    project.sql(f"create table {project.schema}.sales ({EVENTS}) using delta")

    def sell(*events: tuple[object, ...]) -> None:
        project.sql(f"insert into {project.schema}.sales values {values(events)}")

    project.model(
        "whole",
        stream(
            "select key, sum(amount) as amount from stream({{ source('raw', 'sales') }}) group by key",
            output_mode="complete",
            expectations=RULES,
        ),
    )
    sell(event(1, "a", 1, 1), event(2, "b", -2, 2), event(3, "c", 300, 3))
    project.build("--select", "whole")
    assert rows(project, "whole", "key, amount") == [("a", 1)]
    assert quarantined() == [("b", -2, "open")]
    sell(event(4, "a", -4, 4), event(5, "b", 7, 5))
    with injected(Faults(cuts={"whole": "after: replace where true"})):
        assert project.dbt("run", "--select", "whole").status["whole"] == "error"
    project.build("--select", "whole")
    assert rows(project, "whole", "key, amount") == [("b", 5)]
    assert quarantined() == [("a", -3, "open"), ("b", -2, "superseded")]
    counted = project.ledger("whole", "rows_read, rows_kept, rows_dropped, rows_quarantined")
    assert counted == [(3, 1, 1, 1), (3, 1, 1, 1)]
    sell(event(6, "b", -9, 6))
    project.build("--select", "whole")
    assert rows(project, "whole", "key, amount") == []
    assert [row[:2] for row in quarantined() if row[2] == "open"] == [("a", -3), ("b", -4)]


@pytest.mark.edge
def test_rules_that_come_after_a_run_of_deltas_own_sink_died(project: Project) -> None:
    """Spark sends a micro-batch again whose end its checkpoint lacks; the table's history tells that it is there.

    `sent` dies between the commit of the table and that of the checkpoint, `unheard` behind both. And the other way
    round: of `ruled` the rules are gone, and Delta's own sink does not know what was written under them.
    """
    names = ["sent", "unheard", "ruled"]
    for name in names:
        project.model(name, MODELS["copied"] if name == "ruled" else stream(SELECT))
    project.build("--select", *names)
    arrive(project, event(30, "p", 30, 30), event(31, "q", 31, 31))
    cuts = {name: "before: insert into .*batch_log.*'committed'" for name in names[:2]}
    cuts["ruled"] = "after: insert into .*batch_log.*'committed'"
    with injected(Faults(cuts=cuts)):
        run = project.dbt("run", "--select", *names)
    assert {run.status[name] for name in names} == {"error"}, run.status
    for name in ("sent", "ruled"):
        lose_last_commit(project, name)
    arrive(project, event(32, "r", 32, 32), event(33, "s", -33, 33))
    for name in names:
        project.model(name, stream(SELECT) if name == "ruled" else MODELS["copied"])
    for _ in range(2):
        project.build("--select", *names)
        for name in names:
            found = [number for (number,) in rows(project, name, "event_id") if number >= 30]
            assert found == [30, 31, 32] + ([33] if name == "ruled" else []), name
            marks = [mark for (mark,) in project.ledger(name, "high")]
            assert marks == [str(number) for number in range(len(marks))], (name, marks)
            assert {state for (state,) in project.ledger(name, "state")} == {"committed"}


def lose_last_commit(project: Project, model: str) -> None:
    """Have a checkpoint lack the end of its last micro-batch, as where the run died before it."""
    [(schema,)] = [
        row[1:2]
        for row in project.sql(f"describe schema {project.schema}_floodmark")
        if row[0] == "Location"
    ]
    base = Path(schema.removeprefix("file:")) / "_checkpoints" / f"{project.schema}.{model}"
    [folder] = [one for one in base.iterdir() if (one / "commits").is_dir()]
    offsets = {int(one.name) for one in (folder / "offsets").iterdir() if one.name.isdigit()}
    for name in (f"{max(offsets)}", f".{max(offsets)}.crc"):
        (folder / "commits" / name).unlink(missing_ok=True)
