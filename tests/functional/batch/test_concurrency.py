"""Invariants 6 and 7: threads do not leak into each other; of two runs of one model one wins, and nothing doubles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, sentence
from tests.support.zygote import Zygote

pytestmark = [pytest.mark.edge, pytest.mark.lab]

ROUNDS = 4 if FULL else 2


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
        loads = project.ledger(model, "kind, rows_inserted")
        # Where both runs began the table, the greater batch has replaced what the other had made.
        first = max(number for number, (kind, _) in enumerate(loads) if kind == "first_load")
        assert sum(int(rows) for _, rows in loads[first:]) == sum(expected.values())


@pytest.fixture
def meanwhile(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Have another dbt process do something, to its end, behind the next statement that matches."""
    from dbt_floodmark.adapter.thrift import FloodmarkThrift

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


#: Before which statement of a run the other one comes: its look at the table, or its plan.
POINTS = {"look": r"describe history \S+\.`{}` limit 1", "plan": r"insert into \S+batch_log"}
#: A strategy and a point each; that an append sees at its plan what happened meanwhile, a reset shows.
LOADS = [("append", "look"), ("merge", "plan")]
RESETS = ["plan"]
if FULL:
    LOADS += [("append", "plan"), ("merge", "look")]
    RESETS += ["look"]
#: Like `_numbers`, but stops where a column is missing: MODE is its on_schema_change.
STRICT = (
    "{{ config(materialized='incremental', watermark={'column': 'seq'}, on_schema_change='MODE') }}"
    "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}"
)


@pytest.fixture(scope="module")
def numbers(make_project: Callable[..., Project]) -> Project:
    """A model for each test, with numbers 0 to 9 in it; 10 to 19 have arrived since."""
    project = make_project("numbers")
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    for strategy, point in LOADS:
        project.model(f"{strategy}_{point}", _numbers(strategy))
    for point in RESETS:
        project.model(f"reset_{point}", _numbers("append"))
    project.model("failures", _numbers("append"))
    project.model("given_up", STRICT.replace("MODE", "fail"))
    for first in (0, 10):
        project.sql(
            f"insert into {project.schema}.events select id from range({first}, {first + 10})"
        )
        if first == 0:
            project.build()
    return project


def _numbers(strategy: str) -> str:
    settings = {
        "append": "watermark={'column': 'seq'}",
        "merge": "watermark={'column': 'seq', 'lookback': 5}, unique_key='seq'",
    }[strategy]
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', {settings}) }}}} "
        "select * from {{ source('raw', 'events') }} where {{ floodmark.watermark_filter() }}"
    )


def _loaded(project: Project, model: str) -> list[int]:
    return [row[0] for row in project.sql(f"select seq from {project.schema}.{model} order by seq")]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
@pytest.mark.parametrize(("strategy", "point"), LOADS)
def test_what_another_run_loads_meanwhile_is_not_loaded_again(
    numbers: Project, meanwhile: Callable[..., None], strategy: str, point: str
) -> None:
    """The ledger is read when an invocation begins; a run that loads the model behind that is seen all the same."""
    model = f"{strategy}_{point}"
    meanwhile(numbers, POINTS[point].format(model), "run", "--select", model)
    run = numbers.build("--select", model)
    assert run.message[model] == f"{strategy.upper()} nothing new"
    assert _loaded(numbers, model) == list(range(20))
    assert numbers.ledger(model, "batch_id, state, rows_inserted") == [
        (1, "committed", 10),
        (2, "committed", 10),
    ]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
@pytest.mark.parametrize("point", RESETS)
def test_a_reset_meanwhile_holds(
    numbers: Project, meanwhile: Callable[..., None], point: str
) -> None:
    model = f"reset_{point}"
    arguments = f"{{model: {model}, to: 14}}"
    meanwhile(numbers, POINTS[point].format(model), "run-operation", "reset", "--args", arguments)
    numbers.build("--select", model)
    assert _loaded(numbers, model) == [*range(10), *range(15, 20)]
    assert numbers.ledger(model, "batch_id, kind, low, high") == [
        (1, "first_load", None, "9"),
        (2, "reset", "9", "14"),
        (3, "incremental", "14", "19"),
    ]


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_a_mark_behind_many_failures_is_found(numbers: Project) -> None:
    numbers.sql(
        f"insert into {numbers.schema}_floodmark.batch_log (model, batch_id, event, at, kind) "
        f"select '{numbers.schema}.failures', id, explode(array('planned', 'failed')), now(), 'incremental' "
        "from range(2, 42)"
    )
    for _ in range(2):
        numbers.build("--select", "failures")
        assert _loaded(numbers, "failures") == list(range(20))
    assert numbers.ledger("failures", "batch_id, low, high")[-1] == (42, "9", "19")


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_a_batch_that_another_run_has_given_up_is_not_applied(
    numbers: Project, zygote: Zygote
) -> None:
    """A slow run and a dead one look alike: who takes a batch over and refuses it keeps the slow one from writing it."""
    project, select = numbers, ("--select", "given_up")
    answers = []

    def refuse() -> None:
        if not answers:
            project.sql(f"alter table {project.schema}.events add columns (v string)")
            answers.extend(zygote.run({"args": ["run", *select], "root": str(project.root)}))

    with injected(Faults(cuts={"given_up": r"before: insert into \S+\.given_up "}, act=refuse)):
        run = project.dbt("run", *select)
    assert answers[0]["status"] == 1
    assert "on_schema_change is 'fail'" in sentence(answers[0]["log"])
    assert f"batch 2 did not reach {project.schema}.given_up" in sentence(run.message["given_up"])
    assert _loaded(project, "given_up") == list(range(10))
    assert [row[0] for row in project.ledger("given_up", "state")] == ["committed", "failed"]
    project.model("given_up", STRICT.replace("MODE", "ignore"))
    project.build(*select)
    assert _loaded(project, "given_up") == list(range(20))


def test_sessions_views_and_settings_stay_in_their_node(
    make_project: Callable[..., Project], target: str
) -> None:
    """floodmark's models and plain dbt-spark ones, one alias in two schemas, settings that differ."""
    project = make_project("leaks")
    project.sql(f"create table {project.schema}.events (seq bigint) using delta")
    project.source("events")
    zones = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]
    nodes = [(f"{schema}_{i}", schema, f"same_{i}") for i in range(2) for schema in ("one", "two")]
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
