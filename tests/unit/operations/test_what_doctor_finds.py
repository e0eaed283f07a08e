"""`floodmark doctor`: what is wrong between a ledger and a table, and what helps; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("target_id", "config", "problem", "hint"),
    [
        ("t", {}, None, ""),
        ("another", {}, "it is not the table that batch 3 left", ""),
        # --full-refresh alone would do nothing.
        (
            "another",
            {"full_refresh": False},
            "it is not the table that batch 3 left",
            " (take full_refresh=false out for that run)",
        ),
        # A reset has recorded a batch that was in the table, and died behind it: the next run goes on.
        (None, {}, None, ""),
    ],
)
def test_a_table_that_another_took_the_place_of(
    target_id: str | None, config: dict[str, Any], problem: str | None, hint: str
) -> None:
    relation = SimpleNamespace(is_delta=True)
    floodmark = load(adapter=SimpleNamespace(get_relation=lambda *_: relation))
    committed: dict[str, Any] = {"batch_id": 3, "target_id": target_id}
    floodmark._model_state = lambda id: {
        "last_batch_id": 3, "finished_id": 3, "committed": committed, "landed": None,
    }  # fmt: skip
    floodmark._detail = lambda relation: {"id": "t"}
    floodmark._node_name = lambda node: "orders.v1"
    floodmark._node_setting = lambda node, name: {"column": "n"} if name == "watermark" else None
    node = SimpleNamespace(
        schema="shop", alias="orders", name="orders", package_name="shop", config=config,
        original_file_path="models/orders/orders_v1.sql",
    )  # fmt: skip
    # dbt selects by file: by a name it would find the folder, too.
    remedy = (
        f"`dbt build -s package:shop,file:orders_v1.sql --full-refresh`{hint}, "
        "or `floodmark reset orders.v1 --to <value>`"
    )
    assert floodmark._disagreement(node) == ([problem, remedy] if problem else None)
    # A batch of which the ledger has no event.
    committed.update({"target_id": "t", "mark": "9", "kind": "incremental"})
    landed = {"model": "shop.orders", "batch_id": 3, "target_version": 1}
    state = {"last_batch_id": 3, "finished_id": 3, "committed": committed, "landed": landed}
    floodmark._model_state = lambda id: state
    commits = [{"version": 2, "operation": "WRITE", "tag": "floodmark/shop.orders/g/4"}]
    floodmark._history = lambda relation, limit: commits
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._query_json = lambda sql: []
    assert floodmark._disagreement(node) == [
        "it has batch 4, of which the ledger has no event",
        remedy,
    ]
    floodmark._query_json = lambda sql: [{"model": "shop.orders", "generation": "g", "batch_id": 4}]
    assert floodmark._disagreement(node) is None


@pytest.mark.parametrize(
    ("strategy", "restored", "replaced", "has_state", "misfits"),
    [
        ("cdc", "was restored", False, False, True),
        ("cdc", None, True, True, True),
        # Nothing was remembered of the rows of before.
        ("cdc", None, True, False, False),
        ("cdc", None, False, True, False),
        ("merge", "was restored", True, True, False),
    ],
)
def test_no_reset_is_offered_for_a_table_that_does_not_fit_its_state_table(
    strategy: str, restored: str | None, replaced: bool, has_state: bool, misfits: bool
) -> None:
    beside = "shop.orders__cdc_state"
    this = SimpleNamespace(schema="shop", identifier="orders")
    floodmark = load(
        adapter=SimpleNamespace(
            get_relation=lambda _, *name: beside if has_state and ".".join(name) == beside else None
        ),
        config={"incremental_strategy": strategy},
        this=this,
    )
    floodmark._setting = lambda name: {"column": "n"}
    floodmark._node_name = lambda node: "orders"
    assert bool(floodmark._misfits_state(this, strategy, restored, replaced)) is misfits
    said = floodmark._ways_out(is_restored=restored, is_replaced=replaced)
    assert ("floodmark reset" not in said) is misfits
