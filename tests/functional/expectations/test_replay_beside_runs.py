"""RULES.md 4: a replay and a run of one model at once; whichever wins, each row is there once, and once replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.support.faults import Faults, injected, once
from tests.support.harness import Project, incremental, sentence, table, values
from tests.support.selection import sample
from tests.support.zygote import Zygote

pytestmark = [
    pytest.mark.lab,
    pytest.mark.edge,
    pytest.mark.parametrize("target", ["thrift"], scope="module"),
]

RULES = [{"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}]
STRATEGIES = {
    "append": {},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "cdc": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at", "stored_as_scd_type": 2},
    },
}
REPLAY = ("--vars", "{floodmark_replay: {set: {amount: abs(amount)}}}")
#: Before which statement of the first the second comes, and which of the two is the replay.
POINTS = {
    "plan": r"insert into \S+batch_log",
    "judged": r"create table \S+__judged",
    "applied": r"(merge into|insert into) \S+\.{model} ",
    "settled": r"(merge into \S+__quarantine|insert into \S+batch_log.*committed)",
}
CASES = [
    (strategy, first, point)
    for strategy in STRATEGIES
    for first in ("replay", "run")
    for point in POINTS
]
#: What a run may say that has lost.
LOST = ("another run is loading it now", "at the same time", "did not reach", "run again")


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote.start()
    yield zygote
    zygote.stop()


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("replay_beside")
    project.source("t")
    project.sql(f"create table {project.schema}.t (id int, amount int, at timestamp) using delta")
    return project


@pytest.mark.parametrize(("strategy", "first", "point"), sample(CASES, 4), ids=lambda name: name)
def test_each_row_is_loaded_once(
    project: Project, zygote: Zygote, strategy: str, first: str, point: str
) -> None:
    model = f"{strategy}_{first}_{point}"
    settings = {"watermark": {"column": "at"}, "expectations": RULES, **STRATEGIES[strategy]}
    project.sql(f"delete from {project.schema}.t")
    project.model(model, incremental(table("t"), **settings))
    _arrive(project, (1, 1, "2024-05-01 01:00:00"), (2, -2, "2024-05-01 02:00:00"))
    project.build("--select", model)
    _arrive(project, (3, 3, "2024-05-01 03:00:00"), (4, -4, "2024-05-01 04:00:00"))
    run, replay = ["run", "--select", model], ["run", "--select", model, *REPLAY]
    mine, other = (replay, run) if first == "replay" else (run, replay)

    answers = []

    def meanwhile() -> None:
        answers.extend(zygote.run({"args": other, "root": str(project.root)}))

    where = f"before: {POINTS[point].replace('{model}', model)}"
    with injected(Faults(cuts={model: where}, act=once(meanwhile))):
        ran = project.dbt(*mine)
    assert answers, "no statement matched: nothing happened meanwhile"
    for has_won, log in ((answers[0]["status"] == 0, answers[0]["log"]), (ran.success, ran.log)):
        assert has_won or any(words in sentence(log) for words in LOST), log[-3000:]
    _check_rows(project, model, strategy)

    project.build("--select", model)
    project.build("--select", model, *REPLAY)
    _check_rows(project, model, strategy)
    found = Counter(project.sql(f"select id, amount from {project.schema}.{model}"))
    assert found == Counter([(1, 1), (2, 2), (3, 3), (4, 4)])
    states = project.sql(
        f"select id, _floodmark_state from {project.schema}.{model}__quarantine order by 1"
    )
    assert states == [(2, "replayed"), (4, "replayed")]
    assert all(state != "planned" for (state,) in project.ledger(model, "state"))
    (project.root / f"models/{model}.sql").unlink()


def test_a_row_that_is_corrected_between_two_runs_of_one_batch(
    project: Project, zygote: Zygote
) -> None:
    """One run holds it back and dies; the slower one reads it corrected, and must not load it beside."""
    model = "corrected"
    project.sql(f"delete from {project.schema}.t")
    project.model(model, incremental(table("t"), watermark={"column": "at"}, expectations=RULES))
    _arrive(project, (1, 1, "2024-05-01 01:00:00"), (2, -2, "2024-05-01 02:00:00"))
    project.build("--select", model)
    _arrive(
        project,
        *((id, amount, f"2024-05-01 0{id}:00:00") for id, amount in ((5, -5), (6, -6), (7, 7))),
    )
    args, answers = ["run", "--select", model], []

    def meanwhile() -> None:
        cuts = {model: rf"before: insert into \S+\.{model} "}
        answers.extend(zygote.run({"args": args, "root": str(project.root), "cuts": cuts}))
        project.sql(f"update {project.schema}.t set amount = 5 where id = 5")

    where = f"before: {POINTS['judged']}"
    with injected(Faults(cuts={model: where}, act=once(meanwhile))):
        ran = project.dbt(*args)
    assert [answer["status"] for answer in answers] == [-9], answers
    said = "another run has checked the rows of batch 2 meanwhile: run again"
    assert not ran.success and said in sentence(ran.log), ran.log[-3000:]
    project.build("--select", model)
    _check_rows(project, model, "append")
    assert project.sql(f"select id from {project.schema}.{model} order by 1") == [(1,), (7,)]
    held = project.sql(f"select id, amount from {project.schema}.{model}__quarantine order by 1")
    assert held == [(2, -2), (5, -5), (6, -6)]
    (project.root / f"models/{model}.sql").unlink()


def _arrive(project: Project, *rows: tuple[object, ...]) -> None:
    project.sql(f"insert into {project.schema}.t values {values(rows)}")


def _check_rows(project: Project, model: str, strategy: str) -> None:
    """No row is there twice, and none is both loaded and open."""
    loaded = project.sql(f"select id from {project.schema}.{model}")
    assert len(loaded) == len(set(loaded)), loaded
    is_open = project.sql(
        f"select id from {project.schema}.{model}__quarantine where _floodmark_state = 'open'"
    )
    assert len(is_open) == len(set(is_open)), is_open
