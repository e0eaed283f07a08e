"""How an operation names one model to dbt."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("path", "selector"),
    [
        ("models/orders.sql", "package:shop,file:orders.sql"),
        ("models/orders/items.sql", "package:shop,file:items.sql"),
        ("models/a b/orders.v2.sql", "package:shop,file:orders.v2.sql"),
    ],
)
def test_a_model_is_named_by_its_file_not_by_the_folders_of_others(
    path: str, selector: str
) -> None:
    node = SimpleNamespace(package_name="shop", original_file_path=path)
    assert load()._selector_of(node) == selector
