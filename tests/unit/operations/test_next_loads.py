"""The kind of the next batch of models that read all that their SELECT gives; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load

RELATION = SimpleNamespace(is_delta=True)
PLANNED = {"model": "shop.orders", "batch_id": 1, "generation": "g", "kind": "first_load"}


@pytest.mark.parametrize(
    ("tag", "files", "kind"),
    [("g/1", 3, "incremental"), ("g/1", 0, "first_load"), ("other/1", 3, "first_load")],
)
def test_a_first_load_that_died_without_an_event_is_in_the_table(
    tag: str, files: int, kind: str
) -> None:
    adapter = SimpleNamespace(get_relation=lambda *_: RELATION)
    floodmark = load(adapter=adapter)
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._model_state = lambda id: {
        "last_batch_id": 1,
        "finished_id": None,
        "planned": PLANNED,
        "committed": None,
        "landed": None,
    }
    floodmark._history = lambda table, limit: [
        {"tag": f"floodmark/shop.orders/{tag}", "operation": "WRITE", "version": 1}
        | {"counts": {}, "writer": None, "peak": None, "counted": None, "restored": None}
    ]
    floodmark._detail = lambda relation: {"files": files, "id": "t"}
    node = SimpleNamespace(schema="shop", alias="orders", name="orders", config={})
    assert floodmark._next_kind(node, True) == kind
