"""Which models `floodmark rescue promote` fills, and which it refuses; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize("scd_type", [1, 2])
@pytest.mark.parametrize("keeps_events", [True, False])
def test_values_that_each_have_an_event_take_none_from_rescued_data(
    scd_type: int, keeps_events: bool
) -> None:
    """In SCD 1, too: the value would be as late as the row, and a late event could not replace it."""
    floodmark = load()
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._node_setting = lambda node, name: {"stored_as_scd_type": scd_type}
    names = ["id", "_floodmark_columns" if keeps_events else "_floodmark_sequence"]
    table = {"columns": [{"name": name} for name in names], "has_schema": True}
    if keeps_events:
        with pytest.raises(Refused, match=r"ignore_null_updates .* files\.schema: new events"):
            floodmark._check_promotes(SimpleNamespace(), table)
    else:
        floodmark._check_promotes(SimpleNamespace(), table)
