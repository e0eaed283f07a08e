"""Invariants 6 and 7: threads do not leak into each other; of two runs of one model one wins, and nothing doubles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.functional.faults import Faults, injected
from tests.functional.zygote import Zygote
from tests.harness import FULL, Project, sentence

pytestmark = pytest.mark.lab

ROUNDS = 4 if FULL else 3


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote.start()
    yield zygote
    zygote.stop()


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_two_runs_of_one_model_load_each_row_once(
    make_project: Callable[..., Project], zygote: Zygote
) -> None:
    project = make_project("twins")
    project.sql(f"create table {project.schema}.events (seq bigint, v string) using delta")
    project.source("events")
    project.model(
        "m_append",
        "{{ config(materialized='incremental', watermark={'column': 'seq'}) }}"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}",
    )
    project.model(
        "m_merge",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='seq',"
        " watermark={'column': 'seq', 'step': 5}) }}"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}",
    )
    request = {"args": ["run"], "root": str(project.root)}
    refused = 0
    for round_ in range(ROUNDS):
        project.sql(
            f"insert into {project.schema}.events "
            f"select id, concat('v', id) from range({round_ * 10}, {round_ * 10 + 10})"
        )
        answers = zygote.run(request, request)
        for answer in answers:
            log = sentence(answer["log"])
            if answer["status"] != 0:
                refused += 1
                assert answer["status"] == 1, log
                assert "another run is loading it now" in log or "at the same time" in log, log
    project.build()
    expected = Counter(project.sql(f"select * from {project.schema}.events"))
    for model in ("m_append", "m_merge"):
        assert Counter(project.sql(f"select * from {project.schema}.{model}")) == expected
        assert {row[0] for row in project.ledger(model, "state")} == {"committed"}
        read = [int(row[0]) for row in project.ledger(model, "rows_inserted")]
        assert sum(read) == sum(expected.values())


@pytest.fixture
def meanwhile(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Have another dbt process do something, to its end, behind the next statement that matches."""
    from dbt_floodmark.thrift import FloodmarkThrift

    execute = FloodmarkThrift.execute
    done: list[str] = []

    def plan(project: Project, before: str, *args: str) -> None:
        def execute_behind_it(connection, sql, bindings=None):
            if not done and re.search(before, sql):
                done.append(sql)
                (answer,) = zygote.run({"args": list(args), "root": str(project.root)})
                assert answer["status"] == 0, answer["log"]
            return execute(connection, sql, bindings)

        monkeypatch.setattr(FloodmarkThrift, "execute", execute_behind_it)

    yield plan
    assert done, "no statement matched: nothing happened meanwhile"


LOOK, PLAN = r"describe history \S+\.`m` limit 1", r"insert into \S+batch_log"


def _numbers(make_project: Callable[..., Project], name: str, strategy: str) -> Project:
    project = make_project(name)
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    settings = {
        "append": "watermark={'column': 'seq'}",
        "merge": "watermark={'column': 'seq', 'lookback': 5}, unique_key='seq'",
    }[strategy]
    project.model(
        "m",
        f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', {settings}) }}}} "
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}",
    )
    _arrive(project, 0)
    project.build()
    _arrive(project, 10)
    return project


def _arrive(project: Project, first: int) -> None:
    project.sql(f"insert into {project.schema}.events select id from range({first}, {first + 10})")


def _loaded(project: Project) -> list[int]:
    return [row[0] for row in project.sql(f"select seq from {project.schema}.m order by seq")]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
@pytest.mark.parametrize(
    ("strategy", "before"),
    [("append", LOOK), ("append", PLAN), ("merge", PLAN)] + ([("merge", LOOK)] if FULL else []),
    ids=lambda value: {LOOK: "look", PLAN: "plan"}.get(value, value),
)
def test_what_another_run_loads_meanwhile_is_not_loaded_again(
    make_project: Callable[..., Project], meanwhile: Callable[..., None], strategy: str, before: str
) -> None:
    """The ledger is read when an invocation begins; a run that loads the model behind that is seen all the same."""
    project = _numbers(make_project, f"meanwhile_{strategy}_{len(before)}", strategy)
    meanwhile(project, before, "run")
    run = project.build()
    assert run.message["m"] == f"{strategy.upper()} nothing new"
    assert _loaded(project) == list(range(20))
    assert project.ledger("m", "batch_id, state, rows_inserted") == [
        (1, "committed", 10),
        (2, "committed", 10),
    ]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
@pytest.mark.parametrize("before", [LOOK, PLAN], ids=["look", "plan"])
def test_a_reset_meanwhile_holds(
    make_project: Callable[..., Project], meanwhile: Callable[..., None], before: str
) -> None:
    project = _numbers(make_project, f"reset_{len(before)}", "append")
    meanwhile(project, before, "run-operation", "reset", "--args", "{model: m, to: 14}")
    project.build()
    assert _loaded(project) == [*range(10), *range(15, 20)]
    assert project.ledger("m", "batch_id, kind, low, high") == [
        (1, "first_load", None, "9"),
        (2, "reset", "9", "14"),
        (3, "incremental", "14", "19"),
    ]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_a_batch_that_another_run_has_given_up_is_not_applied(
    make_project: Callable[..., Project], zygote: Zygote
) -> None:
    """A slow run and a dead one look alike: who takes a batch over and refuses it keeps the slow one from writing it."""
    project = make_project("given_up")
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    sql = (
        "{{ config(materialized='incremental', watermark={'column': 'seq'}, on_schema_change='MODE') }}"
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}"
    )
    project.model("m", sql.replace("MODE", "fail"))
    _arrive(project, 0)
    project.build()
    _arrive(project, 10)
    answers = []

    def refuse() -> None:
        if not answers:
            project.sql(f"alter table {project.schema}.events add columns (v string)")
            answers.extend(zygote.run({"args": ["run"], "root": str(project.root)}))

    with injected(Faults(cuts={"m": r"before: insert into \S+\.m \("}, act=refuse)):
        run = project.dbt("run")
    assert answers[0]["status"] == 1
    assert "on_schema_change is 'fail'" in sentence(answers[0]["log"])
    assert f"batch 2 did not reach {project.schema}.m" in sentence(run.message["m"])
    assert _loaded(project) == list(range(10))
    assert [row[0] for row in project.ledger("m", "state")] == ["committed", "failed"]
    project.model("m", sql.replace("MODE", "ignore"))
    project.build()
    assert _loaded(project) == list(range(20))


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_a_mark_behind_many_failures_is_found(make_project: Callable[..., Project]) -> None:
    project = _numbers(make_project, "failures", "append")
    project.sql(
        f"insert into {project.schema}_floodmark.batch_log (model, batch_id, event, at, kind) "
        f"select '{project.schema}.m', id, explode(array('planned', 'failed')), now(), 'incremental' "
        "from range(2, 42)"
    )
    for _ in range(2):
        project.build()
        assert _loaded(project) == list(range(20))
    assert project.ledger("m", "batch_id, low, high")[-1] == (42, "9", "19")


def test_sessions_views_and_settings_stay_in_their_node(
    make_project: Callable[..., Project], target: str
) -> None:
    """floodmark's models and plain dbt-spark ones, one alias in two schemas, settings that differ."""
    project = make_project("leaks")
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]
    nodes = [(f"{schema}_{i}", schema, f"same_{i}") for i in range(3) for schema in ("one", "two")]
    for number, (name, schema, alias) in enumerate(nodes):
        zone = zones[number % len(zones)]
        watermark = number // 2 % 2 == 0
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='seq',"
            f" schema='{schema}', alias='{alias}', file_format='delta',"
            + (" watermark={'column': 'seq'}," if watermark else "")
            + f" pre_hook=[\"set time zone '{zone}'\","
            f" \"create or replace temporary view me as select '{name}' as who\"]) }}}}\n"
            "select seq, who, current_timezone() as zone from {{ source('raw', 'events') }} cross join me "
            + ("where {{ floodmark.watermark_filter() }}" if watermark else ""),
        )
    try:
        for round_ in range(1, 3):
            project.sql(f"insert into {project.schema}.events values ({round_})")
            project.build()
            for number, (name, schema, alias) in enumerate(nodes):
                rows = project.sql(f"select * from {project.schema}_{schema}.{alias} order by seq")
                zone = zones[number % len(zones)]
                assert rows == [(n, name, zone) for n in range(1, round_ + 1)], (name, target)
    finally:
        for schema in ("one", "two"):
            project.sql(f"drop schema if exists {project.schema}_{schema} cascade")
