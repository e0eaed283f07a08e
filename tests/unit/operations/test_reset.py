"""When a model has no mark to move; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("strategy", "files", "said"),
    [
        ("append", None, "it has no table yet: its next run is a first load, from `start` on"),
        ("append", 0, "its table is empty: its next run is a first load, from `start` on"),
        ("merge", 0, "its table is empty"),
        ("insert_overwrite", 0, "its table is empty"),
        ("append", 1, "went on"),
        # cdc remembers deletes: behind a reset an empty table is not new.
        ("cdc", 0, "went on"),
    ],
)
def test_a_table_that_is_loaded_from_the_start_has_no_mark(
    strategy: str, files: int | None, said: str
) -> None:
    relation = SimpleNamespace(is_delta=True) if files is not None else None
    floodmark = load(adapter=SimpleNamespace(get_relation=lambda *_: relation))
    node = SimpleNamespace(
        schema="shop", name="orders", alias="orders", config={"incremental_strategy": strategy}
    )
    floodmark._managed_node = lambda model: node
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._node_setting = lambda node, name: {"column": "ts"}
    floodmark._detail = lambda relation: {"files": files, "id": "t"}

    def go_on(id: str) -> None:
        raise Refused("went on")

    floodmark._model_state = go_on
    with pytest.raises(Refused) as refused:
        floodmark.reset("orders", to="2024-01-03")
    assert said in str(refused.value)
