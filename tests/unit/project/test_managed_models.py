"""Which models are floodmark's: the command and the macros say the same. No Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt_floodmark.project import project
from tests.support.macros import load


class Config(dict[str, Any]):
    """A config of a node, whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def test_both_know_the_same_settings() -> None:
    floodmark = load()
    assert [*project._SETTINGS] == floodmark._managing_settings()
    assert {*project._OWN} == {*floodmark._own_settings()}


@pytest.mark.parametrize(
    ("config", "is_managed"),
    [
        ({"watermark": {"column": "ts"}}, True),
        ({"files": {}}, True),
        ({"meta": {"floodmark": {"expectations": []}}}, True),
        ({"incremental_strategy": "cdc"}, True),
        ({"materialized": "streaming_table"}, True),
        # What a run refuses, it names as a model of floodmark's.
        ({"meta": {"floodmark": {"watermrak": {"column": "ts"}}}}, True),
        ({"meta": {"floodmark": {"unique_key": "id"}}}, True),
        ({"meta": {"floodmark": "watermark"}}, True),
        ({"meta": {"floodmark": []}}, True),
        ({"meta": {"floodmark": {"change_feed": False}}}, False),
        ({"meta": {"floodmark": {}}}, False),
        ({"meta": {"owner": "me"}}, False),
        ({"incremental_strategy": "merge"}, False),
        ({}, False),
        ({"materialized": "table", "watermark": {"column": "ts"}}, False),
    ],
)
def test_a_model_is_floodmarks(config: dict[str, Any], is_managed: bool) -> None:
    node = SimpleNamespace(
        resource_type="model", config=Config({"materialized": "incremental"} | config)
    )
    floodmark = load(graph=SimpleNamespace(nodes={"model.shop.notes": node}))
    assert project._is_managed(node) is is_managed
    assert bool(floodmark._managed_nodes()) is is_managed
