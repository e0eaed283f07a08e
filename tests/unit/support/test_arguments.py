"""Arguments of operations and variables of a run are checked before anything is asked of Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


def spoken(error: pytest.ExceptionInfo[Refused]) -> str:
    return " ".join(str(error.value).split())


@pytest.fixture(scope="module")
def operations() -> SimpleNamespace:
    """The operations of a project that loads one model, `good`."""
    good = {"unique_id": "model.shop.good", "resource_type": "model", "name": "good"}
    good |= {"package_name": "shop", "schema": "shop", "alias": "good"}
    good["config"] = {"materialized": "incremental", "watermark": {"column": "t"}}
    return load(execute=True, graph={"nodes": {"model.shop.good": good}, "sources": {}})


@pytest.mark.parametrize(
    ("operation", "arguments", "said"),
    [
        ("reset", {"model": "nope"}, "floodmark loads no model 'nope': it loads good"),
        ("reset", {"model": 7}, "operation 'reset': 1 problem - model: got 7; expected text"),
        ("reset", {}, "operation 'reset': 1 problem - model: expected text"),
        (
            "reset",
            {"model": "good", "to": [1], "reason": {"a": 1}},
            "operation 'reset': 2 problems - to: got [1]; expected a time, a number or text. Correct it, or "
            'leave it out - reason: got {"a": 1}; expected text. Correct it, or leave it out',
        ),
        ("maintain", {"models": ["nope"]}, "floodmark loads no model 'nope'"),
        ("maintain", {"vacuum_days": True}, "vacuum_days: got true; expected a whole number"),
        ("status", {"models": {"a": 1}}, "operation 'status': 1 problem - models"),
        ("status", {"models": "nope"}, "floodmark loads no model 'nope'"),
        (
            "history",
            {"model": "good", "limit": "1; drop"},
            "operation 'history': 1 problem - limit: got \"1; drop\"; expected a whole number of at least 1",
        ),
        (
            "quarantine_replay",
            {"model": "good", "set": {"a": True, "b": [1], "c": None}, "dry_run": True},
            "operation 'quarantine_replay': 1 problem - set.b: got [1]; expected a time, a number or text",
        ),
        (
            "quarantine_replay",
            {"model": "good", "set": {"a": "(1"}},
            "operation 'quarantine_replay': 1 problem - set.a: got \"(1\"; expected a SQL expression",
        ),
        (
            "diff",
            {"a": "good", "b": 7, "key": {"id": 1}, "limit": "ten"},
            "operation 'diff': 3 problems - b: got 7; expected text. Correct it - key: got",
        ),
    ],
)
def test_an_operation_says_what_is_wrong(
    operations: SimpleNamespace, operation: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        getattr(operations, operation)(**arguments)
    assert said in spoken(refused)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "floodmark_key_filter_bytes",
            "x",
            '1 problem - floodmark_key_filter_bytes: got "x"; expected a whole number of bytes. Leave it out for 16 MiB',
        ),
        (
            "floodmark_backfill",
            "all",
            'floodmark_backfill: got "all"; expected a mapping such as',
        ),
        ("floodmark_backfill", {}, "floodmark_backfill: got {}; expected a mapping such as"),
        ("floodmark_backfill", 0, "floodmark_backfill: got 0; expected a mapping such as"),
        (
            "floodmark_backfill",
            {"from": [1], "to": 2, "form": 3},
            "2 problems - floodmark_backfill.from: got [1]; expected a time, a number or text. Correct it, or "
            "leave it out - floodmark_backfill.form: expected one of from, to, step. Remove it",
        ),
        (
            "floodmark_restate",
            7,
            "floodmark_restate: got 7; expected a mapping such as {from: ...}",
        ),
        ("floodmark_bounds", "all", "floodmark_bounds: got \"all\"; expected 'passed'"),
        (
            "floodmark_replay",
            {"set": {"a": True, "b": [1], "c": None}},
            "1 problem - floodmark_replay.set.b: got [1]; expected a time, a number or text",
        ),
        ("floodmark_plan", "maybe", 'floodmark_plan: got "maybe"; expected true or false'),
    ],
)
def test_a_variable_of_another_type(name: str, value: Any, said: str) -> None:
    floodmark = load(var=lambda asked, default=None: value if asked == name else default)
    with pytest.raises(Refused) as refused:
        floodmark._refuse(floodmark._variable_problems())
    assert said in spoken(refused)


@pytest.mark.parametrize("given", ["a b", 7, "x; drop"])
def test_the_ledgers_schema_is_a_name(given: Any) -> None:
    floodmark = load(var=lambda asked, default=None: given)
    with pytest.raises(Refused) as refused:
        floodmark.ledger_schema()
    assert "floodmark refuses variables: 1 problem - floodmark_schema: got" in spoken(refused)
    assert "expected the name of a schema" in spoken(refused)


def test_the_plugin_says_the_ledgers_schema() -> None:
    """dbt's `var` asks the package that the node at hand is of, which is floodmark for the hook."""
    adapter = SimpleNamespace(floodmark_variable={"floodmark_schema": "audit"}.get)
    floodmark = load(adapter=adapter, var=lambda asked, default=None: default)
    assert floodmark.ledger_schema() == "audit"


def test_flags_and_nulls_that_a_replay_gives_are_sql() -> None:
    given = {"`a b`": True, "b": False, "c": None, "d": "x + 1", "e": 7}
    wanted = {"a b": "true", "b": "false", "c": "null", "d": "x + 1", "e": 7}
    floodmark = load(var=lambda asked, default=None: {"set": given})
    assert floodmark._replay_asked() == {"rule": None, "where": None, "set": wanted}
