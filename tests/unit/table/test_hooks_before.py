"""A table that a hook has made behind dbt's back, whose cache is older; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

OURS = "operation.floodmark.floodmark-on-run-start-0"
THEIRS = "operation.shop.shop-on-run-start-0"
LATER = "operation.shop.shop-on-run-end-0"


class This(SimpleNamespace):
    """The model's relation."""

    def __str__(self) -> str:
        return "shop.orders"

    def incorporate(self, **more: Any) -> dict[str, Any]:
        return more


def present(
    hooks: list[str] | None = None, pre: bool = False, provider: str | None = "", **more: Any
) -> tuple[Any, int]:
    """What is found, and how many statements that takes; a `provider` of "" is of no table."""
    sent: list[str] = []
    floodmark = load(
        this=This(schema="shop", identifier="Orders"),
        load_relation=lambda this: more.get("cached"),
        flags=SimpleNamespace(WHICH=more.get("which", "run")),
        graph=SimpleNamespace(nodes=dict.fromkeys(["model.shop.orders", *(hooks or [])])),
        pre_hooks=[{"sql": "create table"}] if pre else [],
        run_query=lambda sql: (
            sent.append(sql) or SimpleNamespace(rows=[1] if provider != "" else [])
        ),
    )
    floodmark._describe = lambda relation: {"provider": provider}
    return floodmark._present_relation(), len(sent)


def test_what_dbt_knows_asks_nothing() -> None:
    assert present(cached="cached", pre=True, provider="delta") == ("cached", 0)
    assert present([OURS, LATER], provider="delta") == (None, 0)
    assert present([THEIRS], pre=True, provider="delta", which="compile") == (None, 0)


@pytest.mark.parametrize(("hooks", "pre"), [([THEIRS], False), ([OURS], True)])
def test_a_table_that_a_hook_made_is_there(hooks: list[str], pre: bool) -> None:
    assert present(hooks, pre, provider="delta") == ({"type": "table", "is_delta": True}, 2)
    assert present(hooks, pre, provider="parquet") == ({"type": "table", "is_delta": False}, 2)
    assert present(hooks, pre, provider=None) == ({"type": "view", "is_delta": False}, 2)
    # No schema: its tables would be an error.
    assert present(hooks, pre) == (None, 1)


def test_an_upstream_that_a_hook_made_is_there() -> None:
    """It is looked for by its own name; a rule looks into it, too."""
    sent: list[str] = []
    floodmark = load(
        this=This(schema="shop", identifier="orders"),
        load_relation=lambda relation: None,
        flags=SimpleNamespace(WHICH="run"),
        graph=SimpleNamespace(nodes={THEIRS: None}),
        run_query=lambda sql: sent.append(sql) or SimpleNamespace(rows=[1]),
    )
    floodmark._describe = lambda relation: {"provider": None}
    events = This(schema="raw", identifier="Events")
    assert floodmark._present_relation(events) == {"type": "view", "is_delta": False}
    assert sent == ["show schemas like 'raw'", "show tables in raw like 'events'"]
    floodmark._relation_in_spark = lambda relation: relation
    assert floodmark._pinned(This(schema="raw", is_view=True), {}) == "shop.orders"


@pytest.mark.parametrize(
    ("materialized", "files", "more"),
    [
        (
            "incremental",
            {"path": "in"},
            ". If its run has succeeded, it waits for the first file in in",
        ),
        # These have a table before any file.
        ("incremental", {"path": "in", "schema": "id int"}, ""),
        ("streaming_table", {"path": "in"}, ""),
        ("incremental", None, ""),
        (None, None, ""),
    ],
)
def test_an_upstream_that_is_not_there_may_wait_for_a_file(
    materialized: str | None, files: dict[str, str] | None, more: str
) -> None:
    floodmark = load(model=None)

    def stop(sentence: str) -> None:
        raise Refused(sentence)

    node = {"config": {"materialized": materialized, "files": files}}
    floodmark._stop, floodmark._present_relation = stop, lambda relation: None
    floodmark._upstream_node, floodmark._node_relation = lambda *_: node, lambda node: "shop.landed"
    floodmark._relation_name, floodmark._model_id = str, lambda: "shop.orders"
    absent = f"does not exist: build it first{more}"
    with pytest.raises(Refused, match=f"^its upstream shop.landed {absent}$"):
        floodmark._upstream({"watermark": {"from": "landed"}})
    with pytest.raises(Refused, match=f"^a rule looks into shop.landed, which {absent}$"):
        floodmark._pinned("shop.landed", node)


@pytest.mark.parametrize(
    ("guarded", "is_empty", "full_refresh", "stops"),
    [
        (True, False, False, True),
        (True, True, False, False),
        (True, False, True, False),
        (False, False, False, False),
    ],
)
def test_a_select_that_was_compiled_before_the_table_was_there_is_not_loaded(
    guarded: bool, is_empty: bool, full_refresh: bool, stops: bool
) -> None:
    """Behind the guard it has no bounds, and a mark read from the table would be that of its rows."""
    floodmark = load(
        this=This(schema="shop", identifier="orders"),
        is_incremental=lambda: False,
        should_full_refresh=lambda: full_refresh,
    )
    for name in ("_check_zone", "_drop_left_stages", "_check_target", "_stages", "_upstream_log"):
        setattr(floodmark, name, lambda *_: None)
    for name in ("_backfill_range", "_restate_asked", "_replay_asked"):
        setattr(floodmark, name, lambda: None)
    floodmark._remembered_state = lambda: {
        "last_batch_id": None, "finished_id": None, "committed": None, "is_remembered": True
    }  # fmt: skip
    floodmark._target_state = lambda state: {"is_known": True, "is_empty": is_empty}
    floodmark._is_untouched = lambda run: False
    floodmark._upstream = lambda settings, commits: {"family": "timestamp"}
    settings = SimpleNamespace(watermark={"column": "ts"})
    sql = (
        "select 1" if guarded else "select 1 where /*floodmark:bounds `ts`*/ true /*floodmark:end*/"
    )
    if stops:
        with pytest.raises(Refused, match=r"shop\.orders got its rows, .* run again"):
            floodmark._begin_run(settings, sql)
    else:
        assert floodmark._begin_run(settings, sql)["guarded"] is guarded
