"""What a table beside the model's (state, quarantine) takes on of it; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

MODE = "delta.columnMapping.mode"


def mapping(
    columns: dict[str, str], config: dict[str, str], table: dict[str, str] | None
) -> tuple[Any, int]:
    """The mode of a table with these columns, and how often the model's table was asked."""
    asked: list[Any] = []
    floodmark = load(config={"tblproperties": config})
    floodmark._present_relation = lambda: table is not None or None
    floodmark._properties_of = lambda relation: asked.append(relation) or table
    given = [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in columns.items()]
    return floodmark._column_mapping([*given, {"name": "_floodmark_kind", "type": "string"}]), len(
        asked
    )


@pytest.mark.parametrize("name", ["customer id", "a,b", "a;b", "{a}", "(a)", "a=b", "a\tb", "a\nb"])
def test_names_that_need_a_mapping_get_that_of_the_table(name: str) -> None:
    """A table that somebody made has it, and the config need not say so."""
    assert mapping({"id": "int", name: "int"}, {}, {MODE: "name"}) == ("name", 1)
    assert mapping({"id": "int", name: "int"}, {}, {MODE: "id"}) == ("id", 1)
    assert mapping({"id": "int", name: "int"}, {}, {}) == (None, 1)
    # A first load has no table yet.
    assert mapping({"id": "int", name: "int"}, {}, None) == (None, 0)


def test_fields_of_structs_may_need_one() -> None:
    assert mapping({"p": "struct<`a b`:int>"}, {}, {MODE: "name"}) == ("name", 1)
    assert mapping({"p": "array<struct<a:int,b:string>>"}, {}, {MODE: "name"}) == (None, 0)


def test_a_config_that_says_it_is_not_asked_again() -> None:
    assert mapping({"a b": "int"}, {MODE: "name"}, {}) == ("name", 0)


def test_other_names_ask_nothing() -> None:
    assert mapping({"id": "int", "über-1": "int"}, {}, {MODE: "name"}) == (None, 0)
