"""A variable of dbt's is the same for the hook of the package and the models of the project; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.config.project import VarProvider

from dbt_floodmark.adapter.for_macros import FOR_MACROS


@pytest.mark.parametrize(
    ("variables", "given", "found"),
    [
        ({}, {}, None),
        ({"v": "global"}, {}, "global"),
        ({"v": "global", "floodmark": {"v": "package"}}, {}, "package"),
        ({"floodmark": {"v": "package"}, "shop": {"v": "project"}}, {}, "project"),
        ({"shop": {"v": "project"}}, {"v": "command"}, "command"),
        ({"shop": {"v": "project"}}, {"v": None}, None),
        # No scopes: variables of these names.
        ({"shop": "v", "floodmark": ["v"]}, {}, None),
        ({"other": {"v": "of another package"}}, {}, None),
    ],
)
def test_a_variable_whatever_scope_it_is_set_in(
    variables: dict[str, Any], given: dict[str, Any], found: Any
) -> None:
    config = SimpleNamespace(project_name="shop", vars=VarProvider(variables), cli_vars=given)
    assert FOR_MACROS["floodmark_variable"](SimpleNamespace(config=config), "v") == found
