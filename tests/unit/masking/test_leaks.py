"""What the test no_pii compares, by name and by value; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load, refuse


def node(
    name: str, *upstream: str, tagged: str = "", materialized: str = "table"
) -> dict[str, Any]:
    return {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "schema": "shop",
        "name": name,
        "alias": name,
        "depends_on": {"nodes": [f"model.shop.{one}" for one in upstream]},
        "columns": {tagged: {"tags": ["pii"]}} if tagged else {},
        "config": {"materialized": materialized},
    }


def no_pii(
    columns: dict[str, str],
    upstream: dict[str, Any],
    secrets: dict[str, str] | None = None,
    **given: Any,
) -> tuple[str, list[str]]:
    """The SELECT of the test over a model with these columns and this upstream, and its warnings."""
    nodes = [node("published", upstream["name"]), upstream, node("gone", tagged="pin")]
    said: list[str] = []

    def get_relation(database: None, schema: str, identifier: str) -> str | None:
        return f"{schema}.{identifier}" if identifier == "people" else None

    floodmark = load(
        execute=True,
        graph=SimpleNamespace(nodes={one["unique_id"]: one for one in nodes}, sources={}),
        adapter=SimpleNamespace(get_relation=get_relation),
        exceptions=SimpleNamespace(warn=said.append, raise_compiler_error=refuse),
        model=SimpleNamespace(attached_node="model.shop.published"),
    )
    floodmark._columns_of = lambda query=None, relation=None: [
        {"name": name, "type": type.lower(), "ddl": type}
        for name, type in (columns if query else secrets or {"card_no": "string"}).items()
    ]
    published = SimpleNamespace(schema="shop", identifier="published")
    return floodmark.no_pii(published, **given), said


@pytest.mark.parametrize(
    ("type", "is_compared"),
    [
        ("string", True),
        ("tinyint", True),
        ("smallint", True),
        ("int", True),
        ("bigint", True),
        ("decimal(16,0)", True),
        ("decimal(16,2)", False),
        ("double", False),
        ("timestamp", False),
    ],
)
def test_texts_and_whole_numbers_are_compared(type: str, is_compared: bool) -> None:
    sql, said = no_pii({"number": type}, node("people", tagged="card_no"))
    assert ("'number', array('number'), array(cast(`number` as string))" in sql) is is_compared
    assert not said


@pytest.mark.parametrize("materialized", ["ephemeral", "table"])
def test_a_name_of_what_is_no_table_is_found(materialized: str) -> None:
    """An ephemeral model has no values that could be compared: that is said. Another table may be deferred."""
    between = node("between", tagged="card_no", materialized=materialized)
    sql, said = no_pii({"Card_No": "string"}, between)
    assert "select 'Card_No' as column_name, 'shop.between.card_no' as leaked_from" in sql
    assert "select distinct" not in sql
    assert said == [
        "floodmark, model 'shop.published': no_pii looks only for the name of shop.between.card_no, and not for its "
        "values, since shop.between is ephemeral: tag the columns that it comes from as well"
    ] * (materialized == "ephemeral")


def test_a_table_is_searched_for_names_and_values() -> None:
    sql, said = no_pii({"card_no": "string"}, node("people", tagged="card_no"))
    assert "'shop.people.card_no' as leaked_from, 'name' as how" in sql
    assert "explode(array(cast(`card_no` as string))) as value from shop.people" in sql
    assert not said


@pytest.mark.parametrize(
    ("type", "leaves"),
    [
        ("int", {"c": "array(cast(`c` as string))"}),
        (
            "struct<`a b`:string,Deep:struct<n:bigint>>",
            {
                "c.a b": "array(cast(`c`.`a b` as string))",
                "c.Deep.n": "array(cast(`c`.`Deep`.`n` as string))",
            },
        ),
        (
            "array<string>",
            {"c": "coalesce(flatten(transform(`c`, @0 -> array(cast(@0 as string)))), array())"},
        ),
        (
            "array<struct<n:array<int>>>",
            {
                "c.n": "coalesce(flatten(transform(`c`, @0 -> coalesce(flatten(transform(@0.`n`, @1 -> "
                "array(cast(@1 as string)))), array()))), array())"
            },
        ),
    ],
)
def test_the_leaves_of_a_value(type: str, leaves: dict[str, str]) -> None:
    found = load()._leaf_texts([{"name": "c", "path": "c"}], "`c`", type)
    told = {one["places"][-1]["path"]: one["sql"] for one in found}
    assert told == {path: sql.replace("@", "_floodmark_item_") for path, sql in leaves.items()}


def test_a_map_has_keys_and_values() -> None:
    found = load()._leaf_texts([{"name": "c", "path": "c"}], "`c`", "map<string,int>")
    assert [one["type"] for one in found] == ["string", "int"]
    assert ["map_keys(`c`)" in found[0]["sql"], "map_values(`c`)" in found[1]["sql"]] == [True] * 2


def test_a_name_within_a_struct_is_found_and_its_values_are_not_told_again() -> None:
    columns = {"customer": "struct<Card_No:string,id:int>", "cards": "array<struct<card_no:int>>"}
    sql, _ = no_pii(columns, node("people", tagged="card_no"))
    for path in ("customer.Card_No", "cards.card_no"):
        assert f"select '{path}' as column_name, 'shop.people.card_no' as leaked_from" in sql
    assert "'customer.Card_No', array('customer', 'card_no'), array(cast(" in sql
    assert "not array_contains(names, own_name)" in sql


def test_each_leaf_of_a_tagged_struct_is_looked_for() -> None:
    secrets = {"card_no": "struct<line:string,n:array<int>>"}
    sql, _ = no_pii({"shipped_to": "string"}, node("people", tagged="card_no"), secrets)
    assert "explode(array(cast(`card_no`.`line` as string))) as value from shop.people" in sql
    assert "explode(coalesce(flatten(transform(`card_no`.`n`, " in sql
    assert sql.count("as leaked_from, 'card_no' as own_name") == 2


def test_harmless_columns_are_not_looked_at() -> None:
    columns = {"Store_City": "string", "card_no": "string"}
    people = node("people", tagged="card_no")
    sql, _ = no_pii(columns, people, except_columns=["store_city"])
    assert "Store_City" not in sql and "'card_no', array(" in sql
    sql, _ = no_pii(columns, people, except_columns=["Card_No"])
    assert "'name' as how" not in sql
    with pytest.raises(Refused, match=r"names city, and .* has no such column: correct"):
        no_pii(columns, people, except_columns=["city"])


@pytest.mark.parametrize(
    ("attached", "schema", "found"),
    [
        # With --defer the relation is of the other target.
        ("model.shop.published", "prod", "published"),
        ("model.shop.gone", "shop", "gone"),
        # A singular test is attached to nothing.
        (None, "shop", "published"),
        (None, "prod", None),
    ],
)
def test_a_tests_own_node_tells_what_it_is_of(
    attached: str | None, schema: str, found: str | None
) -> None:
    floodmark = load(model=SimpleNamespace(attached_node=attached))
    nodes = [node("published"), node("gone")]
    relation = SimpleNamespace(schema=schema, identifier="published")
    one = floodmark._node_of(relation, nodes)
    assert (one and one["name"]) == found


@pytest.mark.parametrize(
    ("is_there", "deferred", "favored", "selected", "schema"),
    [
        (True, True, False, False, "shop"),
        (False, True, False, False, "prod"),
        (False, False, False, False, "shop"),
        # --favor-state, but for what the same command tests.
        (True, True, True, False, "prod"),
        (True, True, True, True, "shop"),
        (True, False, True, False, "shop"),
    ],
)
def test_what_is_not_in_this_target_is_looked_for_where_dbt_defers_to(
    is_there: bool, deferred: bool, favored: bool, selected: bool, schema: str
) -> None:
    adapter = SimpleNamespace(get_relation=lambda *names: "shop.people" if is_there else None)
    at = {"schema": "prod", "alias": "persons"} if deferred else None
    people = node("people") | {"defer_relation": at}
    floodmark = load(
        adapter=adapter,
        invocation_args_dict={"favor_state": favored},
        selected_resources=[people["unique_id"]] if selected else [],
    )
    found = floodmark._tested_place(people)
    name = "persons" if schema == "prod" else "people"
    assert found == {"schema": schema, "identifier": name}
