"""Tables that two nodes, or a node and the ledger, would write; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

MERGED = {"materialized": "incremental", "incremental_strategy": "merge", "watermark": {"column": "ts"}}  # fmt: skip
LEDGER = ["led.batch_log", "led.batches", "led.files"]


def node(name: str, alias: str, schema: str = "shop", kind: str = "model", **config: Any) -> Any:
    return SimpleNamespace(
        unique_id=f"{kind}.shop.{name}",
        name=name,
        alias=alias,
        schema=schema,
        resource_type=kind,
        config=config or MERGED,
    )


def said(*nodes: Any, selected: int = 1) -> str | None:
    """What a run of the first `selected` nodes says before it begins."""
    known = {one.unique_id: one for one in nodes}
    floodmark = load(graph=SimpleNamespace(nodes=known), selected_resources=list(known)[:selected])
    try:
        floodmark._check_shared_tables(LEDGER)
    except Refused as refused:
        return " ".join(str(refused).split())
    return None


@pytest.mark.parametrize(
    "other",
    [
        node("b", "Same"),
        node("b", "same", schema="SHOP"),
        node("b", "SAME", materialized="view"),
        node("same", "Same", kind="seed", materialized="seed"),
        node("b", "saMe", kind="snapshot", materialized="snapshot"),
    ],
)
def test_two_nodes_whose_tables_differ_in_capitals_alone_are_refused(other: Any) -> None:
    for nodes in ((node("a", "same"), other), (other, node("a", "same"))):
        told = said(*nodes)
        assert told is not None
        ids = " and ".join(sorted(one.unique_id for one in nodes))
        assert told.endswith(
            f'floodmark refuses the run: 1 problem - alias of {ids}: got "shop.same"; expected a table for each of them, '
            "and to Spark capitals and small letters are the same. Give one of them another alias or schema"
        )
        assert said(*nodes, selected=0) is None


@pytest.mark.parametrize(
    "nodes",
    [
        (node("a", "same"), node("b", "same2")),
        (node("a", "same"), node("b", "Same", schema="other")),
        (node("a", "same"), node("b", "Same", materialized="ephemeral")),
        (node("a", "same"), node("b", "Same", kind="test", materialized="test")),
        # Neither is loaded by floodmark: dbt's own.
        (node("a", "same", materialized="table"), node("b", "Same", materialized="table")),
        (node("a", "files"), node("b", "batch_log")),
    ],
)
def test_other_names_stop_no_run(nodes: tuple[Any, ...]) -> None:
    assert said(*nodes, selected=2) is None


@pytest.mark.parametrize("alias", ["files", "Batches", "BATCH_LOG"])
@pytest.mark.parametrize("config", [MERGED, {"materialized": "view"}])
def test_a_name_of_the_ledgers_in_its_schema_is_refused(alias: str, config: Any) -> None:
    told = said(node("a", alias, schema="led", **config))
    assert told is not None
    assert told.endswith(
        f'1 problem - alias of model.shop.a: got "led.{alias.lower()}"; expected a name that the ledger does not have: '
        "led.batch_log, led.batches, led.files. Give the node another alias or schema, or give the ledger a schema of its "
        "own (variable floodmark_schema)"
    )
    assert said(node("a", alias, schema="led", **config), selected=0) is None


def test_the_ledger_has_its_log_and_every_view() -> None:
    floodmark = load()
    floodmark.ledger_schema = lambda: "Led"
    names = floodmark._ledger_names()
    assert names[0] == "led.batch_log"
    assert set(names[1:]) == {f"led.{name}" for name in floodmark._ledger_views("Led")}
